# What all scripts of both packages begin with. Put before each of them when the package is built,
# with the marks of this line filled in: package @PACKAGE@, version @VERSION@, units @UNITS@, state @STATE@.
set -e

say() { printf '@PACKAGE@: %s\n' "$*" >&2; }

# Units that ran before an upgrade are started again behind it.
WAS_ACTIVE=/run/@PACKAGE@.was-active

has_systemd() { [ -d /run/systemd/system ]; }

stop_units() {
    has_systemd || return 0
    for unit in @UNITS@; do
        if systemctl --quiet is-active "$unit" || [ "$(systemctl is-active "$unit")" = activating ]; then
            echo "$unit" >>"$WAS_ACTIVE"
        fi
    done
    # Ended anywhere, a night loses nothing: the next one goes on from there.
    deb-systemd-invoke stop @UNITS@ || true
}

start_units() {
    [ -e "$WAS_ACTIVE" ] || return 0
    if has_systemd; then
        systemctl daemon-reload || true
        while read -r unit; do
            deb-systemd-invoke start --no-block "$unit" || say "$unit could not be started: systemctl status $unit"
        done <"$WAS_ACTIVE"
    fi
    rm -f "$WAS_ACTIVE"
}

# Python compiles each module once, here, since nobody but root may write beside them.
compile_modules() { /usr/lib/flex/bin/python3 -m compileall -q -j 0 /usr/lib/flex/lib || true; }

forget_compiled() {
    if [ -d /usr/lib/flex ]; then
        find /usr/lib/flex -depth -type d -name __pycache__ -exec rm -rf '{}' +
    fi
}

# refuse_older FROM TO: false, after the reason, where that would be a downgrade.
refuse_older() {
    if dpkg --compare-versions "$1" gt "$2"; then
        say "version $2 is older than $1, which is installed: an older FLEX cannot use what a newer one keeps."
        say "Nothing was changed; $1 goes on. To go back all the same: stop FLEX, \`apt remove @PACKAGE@\`, put the"
        say "copy of the database from @STATE@/backups in its place, and install version $2."
        return 1
    fi
}

make_account() {
    if ! getent passwd flex >/dev/null; then
        adduser --quiet --system --group --home @STATE@ --no-create-home --gecos FLEX flex
        # Debian lets this group read the logs. Who takes FLEX out of it again is not overruled.
        adduser --quiet flex adm
    fi
}

make_folder() {
    [ -d "$1" ] || install -d -o "$2" -g "$3" -m "$4" "$1"
}

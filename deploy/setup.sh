#!/usr/bin/env bash
# Makes this checkout ready to run: `deploy/setup.sh STEP...`, with the steps below. The Makefile calls it.
#
#   run       .venv with the locked packages FLEX runs on, and FLEX itself, editable
#   dev       the same with what tests and checks need
#   native    the hot loops in Rust, where there is a cargo that runs
#   named     BIND, without which the demo cannot start
#   spark     what tests of reading logs on a cluster need, where there is a Java; they are skipped without
#   servers   BIND, its tools, Knot DNS, PostgreSQL, HAProxy and Chromium for the tests, which skip what is missing, and
#             what the commands of deploy/hooks work with: rsync, OpenSSH, nginx, Apache, PHP, MariaDB (160 MB, a minute);
#             after `dev`, as Chromium's driver is among the packages of Python
#   fresh     debootstrap, for `make fresh`
#   docs      Sphinx, in an environment of its own: nothing else uses it
#
# A step leaves a stamp that holds the digest of what it was made from, and does nothing while the stamp fits.
# What the tools say goes to .cache/setup.log, without the addresses of the machine's package mirrors.
set -euo pipefail
cd "$(dirname "$0")/.."

here=$PWD
log=.cache/setup.log
stamps=.venv/stamps
wheels=.cache/wheels
python=.venv/bin/python

say() { printf 'set-up: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

without_addresses() { sed -uE "s#[a-z+]+://[^ '\"]+#<address>#g; s#host='[^']*'#host=<address>#g"; }

# Nothing that a step starts may keep the lock (descriptor 9) or wait for a keyboard.
logged() {
    { printf '\n$ %s\n' "$*"; "$@" 2>&1 9>&- </dev/null; } | without_addresses >>"$log"
}

timed() {
    local what=$1 started=$SECONDS
    shift
    say "$what …"
    if logged "$@"; then
        say "$what: done ($((SECONDS - started)) s)"
    else
        say "$what: failed after $((SECONDS - started)) s, see $log"
        return 1
    fi
}

digest() { sha256sum "$@" | sha256sum | cut -d' ' -f1; }
stamped() { [ "$(cat "$stamps/$1" 2>/dev/null)" = "$2" ]; }
stamp() {
    mkdir -p "$stamps"
    printf '%s\n' "$2" >"$stamps/$1"
}

# --- Debian packages ------------------------------------------------------------------------------------------

# Package scripts start the servers they bring and enable them at boot. Neither is wanted here: FLEX starts
# private ones. Under systemd the first variable makes `start` do nothing, elsewhere runlevel 1 does.
apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive SYSTEMD_OFFLINE=1 RUNLEVEL=1 PREVLEVEL=N \
        apt-get -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

install_packages() { apt_get install "$@" || { apt_get update && apt_get install "$@"; }; }

leave_off() {
    local service
    for service in "$@"; do
        if [ -d /run/systemd/system ]; then
            "${as_root[@]}" systemctl disable --now "$service.service"
        else
            "${as_root[@]}" update-rc.d "$service" disable
        fi
    done
}

# Its service has the version in its name.
leave_off_php() {
    local script
    for script in /etc/init.d/php*-fpm; do
        [ ! -e "$script" ] || leave_off "${script##*/}"
    done
}

# packages WHY NAME...: false, after one line that says what to install, where we may not do it ourselves.
packages() {
    local why=$1
    shift
    if [ "$(id -u)" = 0 ]; then
        as_root=(env)
    else
        as_root=(sudo -n)
    fi
    if ! type -P apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
        say "$why: please install $* (Debian: apt install --no-install-recommends $*)"
        return 1
    fi
    timed "installing $* from Debian" install_packages "$@" || return 1
    case " $* " in *" bind9 "*) logged leave_off named ;; esac
    case " $* " in *" postgresql "*) logged leave_off postgresql ;; esac
    case " $* " in *" haproxy "*) logged leave_off haproxy ;; esac
    case " $* " in *" knot "*) logged leave_off knot ;; esac
    case " $* " in *" openssh-server "*) logged leave_off ssh ;; esac
    case " $* " in *" nginx "*) logged leave_off nginx ;; esac
    case " $* " in *" php-fpm "*) logged leave_off_php ;; esac
}

# --- Does it run? ---------------------------------------------------------------------------------------------

# A program can be there and still not start: a library is missing, or cargo has no toolchain. So each is started;
# where its file is says nothing. What it answered is in `answer`.
runs() { answer=$(PATH=$PATH:/usr/sbin timeout 60 "$@" 2>&1 9>&- </dev/null); }

# Debian keeps PostgreSQL's own programs out of the path; the tests look in the same two places.
postgresql_programs() {
    local initdb
    initdb=$(type -P initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1) || return 1
    dirname "$(realpath "$initdb")"
}

runs_named() { runs named -V; }
runs_dig() { runs dig -v; }
runs_nsupdate() { runs nsupdate -V; }
runs_postgresql() {
    local folder
    answer=''
    folder=$(postgresql_programs) || return 1
    runs "$folder/initdb" --version && runs "$folder/postgres" --version
}
runs_haproxy() { runs haproxy -v; }
runs_knotd() { runs knotd -V && runs knotc -V; }
runs_chromium() { runs chromium --version; }
runs_curl() { runs curl --version; }
runs_rsync() { runs rsync --version; }
runs_sshd() { runs sshd -V; }
runs_nginx() { runs nginx -v; }
runs_apache2() { runs apache2 -v; }
# Debian's has the version in its name.
runs_php() {
    local program
    answer=''
    program=$(PATH=$PATH:/usr/sbin type -P php-fpm || compgen -G '/usr/sbin/php-fpm[0-9]*' | sort -V | tail -n 1) || return 1
    [ -n "$program" ] && runs "$program" -v
}
runs_mariadbd() { runs mariadbd --no-defaults --version; }
runs_dump() { runs mariadb-dump --no-defaults --version && runs mariadb --no-defaults --version; }
runs_cargo() { runs cargo --version && runs rustc --version; }
runs_java() { runs java -version; }

# The tests drive Chromium with Playwright, and that brings a Node.js of its own.
find_driver='from playwright._impl._driver import compute_driver_executable as driver; print(driver()[0])'
runs_driver() { runs "$python" -c "$find_driver" && runs "$answer" --version; }

# Each with the Debian package that brings it, or what it lacks: Playwright's Node.js wants libatomic1.
server_tools=(named:bind9 dig:bind9-dnsutils nsupdate:bind9-dnsutils postgresql:postgresql haproxy:haproxy
    knotd:knot chromium:chromium driver:libatomic1 curl:curl rsync:rsync sshd:openssh-server nginx:nginx
    apache2:apache2-bin php:php-fpm mariadbd:mariadb-server-core dump:mariadb-client)

step_named() {
    runs_named && return
    packages "the demo needs a name server of its own" bind9 || exit 1
    runs_named || die "named is installed and does not start: $answer"
}

step_servers() {
    local tool missing=()
    for tool in "${server_tools[@]}"; do
        "runs_${tool%%:*}" && continue
        case " ${missing[*]} " in *" ${tool#*:} "*) ;; *) missing+=("${tool#*:}") ;; esac
    done
    [ ${#missing[@]} = 0 ] && return
    packages "tests with real servers will be skipped" "${missing[@]}" || return 0
    for tool in "${server_tools[@]}"; do
        "runs_${tool%%:*}" || say "${tool%%:*} is installed and does not start: ${answer:-it is not found}"
    done
}

step_fresh() {
    runs debootstrap --version || packages "no fresh Debian will be made" debootstrap || true
}

# --- Python ---------------------------------------------------------------------------------------------------

# Debian takes ensurepip out of its Python; without it there is no pip in the environment.
usable() { "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if usable "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

# A copied or moved checkout, or a Python that was upgraded beneath us, leaves an environment that only looks sound.
environment_is_sound() {
    grep -qsF "$here/.venv" .venv/bin/activate &&
        "$python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

environment() {
    environment_is_sound && return
    local base
    base=$(find_python) || {
        packages "FLEX needs Python 3.11 or newer with venv" python3 python3-venv || exit 1
        base=$(find_python) || die "FLEX needs Python 3.11 or newer with venv, and this Debian brings an older one"
    }
    timed "making .venv with $("$base" --version)" "$base" -m venv --clear .venv || exit 1
}

pip() { "$python" -m pip --disable-pip-version-check --no-input "$@"; }

# locked STAMP LOCK...: what the lock files name, in their exact versions, checked against their hashes.
locked() {
    local name=$1 wanted arguments=() lock
    shift
    environment
    wanted=$(digest "$@")
    stamped "$name" "$wanted" && return
    for lock in "$@"; do arguments+=(-r "$lock"); done
    timed "installing the Python packages of $*" pip install --progress-bar off --require-hashes "${arguments[@]}" ||
        die "the Python packages could not be installed; nothing else was changed"
    stamp "$name" "$wanted"
}

editable() {
    local wanted
    wanted=$(digest pyproject.toml flex/__init__.py)
    stamped flex "$wanted" && return
    timed "installing FLEX from this checkout" pip install --no-index --no-deps --no-build-isolation -e . || exit 1
    # As pip does with a wheel: where Python may keep no bytecode, each start would compile every module anew.
    logged "$python" -m compileall -q flex api dns solver logs_ingest
    stamp flex "$wanted"
}

step_run() {
    locked run requirements/run.txt requirements/build.txt
    editable
}

step_dev() {
    locked dev requirements/dev.txt
    editable
}

# Half a gigabyte that only a few slow tests want: never a reason to stop.
step_spark() {
    if ! runs_java; then
        say "there is no java that runs: tests on Spark will be skipped"
    elif ! (locked spark requirements/spark.txt); then
        say "tests on Spark will be skipped"
    fi
}

# Neither FLEX nor its tests need it, and its packages would slow down every other set-up: so it stands alone.
step_docs() {
    local site=.cache/docs wanted base
    wanted=$(digest requirements/docs.txt)
    stamped docs "$wanted" && "$site/bin/python" -c 'import sphinx' 2>/dev/null && return
    base=$(find_python) || die "Sphinx needs Python 3.11 or newer with venv"
    logged "$base" -m venv --clear "$site" || die "no environment could be made in $site"
    timed "installing the Python packages of requirements/docs.txt" "$site/bin/python" -m pip \
        --disable-pip-version-check --no-input install --progress-bar off --require-hashes -r requirements/docs.txt ||
        die "the packages that build the docs could not be installed; nothing else was changed"
    stamp docs "$wanted"
}

# --- The native loops -----------------------------------------------------------------------------------------

native_sources() {
    find native '(' -name target -o -name fuzz ')' -prune -o -type f ! -name Cargo.lock ! -name '*.pyc' -print0 | sort -z
}

build_native() {
    rm -rf "$wheels"
    CARGO_NET_RETRY=2 CARGO_HTTP_TIMEOUT=20 "$python" -m maturin build --release \
        --manifest-path native/Cargo.toml --interpreter "$python" --out "$wheels" &&
        pip install --no-index --no-deps --force-reinstall "$wheels"/*.whl
}

# without_native STAMP: an extension built from other sources would answer in the references' name.
without_native() {
    rm -rf "$wheels"
    logged pip uninstall --yes flex-native
    stamp native "$1"
}

# Never a reason to stop: every loop has its reference in Python, and whoever runs FLEX is told which loops it runs on.
step_native() {
    local wanted
    if ! runs_cargo; then
        stamped native none && return
        without_native none
        return
    fi
    wanted=$(native_sources | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
    if stamped native "$wanted" || stamped native "failed $wanted"; then return; fi
    if timed "building the native loops with $(cargo --version)" build_native; then
        stamp native "$wanted"
    else
        without_native "failed $wanted"
        say "FLEX runs on its Python loops, slower; \`make native\` tries again"
    fi
}

# --------------------------------------------------------------------------------------------------------------

[ $# -gt 0 ] || die "which of run, dev, native, named, spark, servers, fresh, docs?"
mkdir -p .cache
exec 9>.cache/setup.lock
flock --nonblock 9 || {
    say "waiting for another set-up of this checkout"
    flock 9
}
for step in "$@"; do
    case $step in
        run | dev | native | named | spark | servers | fresh | docs) "step_$step" ;;
        *) die "no step $step; there are run, dev, native, named, spark, servers, fresh, docs" ;;
    esac
done

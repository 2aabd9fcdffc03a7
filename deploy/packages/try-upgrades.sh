#!/usr/bin/env bash
# What operators do with the packages, in a Debian that has nothing yet: `upgrades.py` calls it there, as root, with a
# folder of packages: controllers of several versions, `new` among them, and the newest node's.
#
# Installs the oldest, makes plans with a BIND, leaves one half applied, and upgrades over all versions to the newest. Then
# a refused downgrade, the plan finished, an update that fails, the node's package, a purge. Says each thing that held, and
# ends with 1 at the first that does not.
set -euo pipefail
cd "$1"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

held() { printf 'held: %s\n' "$*"; }
broken() {
    printf 'BROKEN: %s\n' "$*"
    exit 1
}
as_flex() { runuser -u flex -- flex "$@"; }
# ends CODE COMMAND...
ends() {
    local wanted=$1 code=0
    shift
    "$@" >answer 2>&1 || code=$?
    [ "$code" = "$wanted" ] || { cat answer; broken "'$*' ended with $code, not $wanted"; }
}
tables() { sqlite3 /var/lib/flex/flex.db "$1"; }
files_of_flex() { find /usr/lib/flex /usr/sbin/flex /etc/flex /var/lib/flex -xdev ! -type d -print0 2>/dev/null | sort -z | xargs -0 sha256sum; }
paths() {
    find / -xdev ! -path '/proc/*' ! -path '/sys/*' ! -path '/dev/*' ! -path '/[t]mp/*' ! -path '/run/*' ! -path "$PWD/*" \
        ! -path '/var/cache/*' ! -path '/var/log/*' ! -path '/var/lib/apt/*' ! -path '/var/lib/dpkg/*' ! -path '/etc/*-' \
        ! -path '/var/tmp/*' ! -path '/var/lib/bind/*' ! -path '/[r]oot/*' | sort
}

mapfile -t versions < <(cd controllers && printf '%s\n' *.deb | sort -V)
oldest=${versions[0]}
newest=${versions[-1]}

apt-get -q -y --no-install-recommends install python3 python3.11 adduser libstdc++6 bind9 bind9-dnsutils sqlite3 procps >/dev/null
paths >before

# --- A name server ---------------------------------------------------------------------------------------------

mkdir -p /var/lib/bind
tsig-keygen flex-update >/etc/bind/flex-update.key
cat >/etc/bind/named.conf <<'CONF'
include "/etc/bind/flex-update.key";
options { directory "/var/cache/bind"; listen-on port 5300 { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; notify no; };
controls { };
zone "hosting.example." {
  type primary; file "/var/lib/bind/hosting.example.db";
  update-policy { deny flex-update name ns.hosting.example. ANY; deny flex-update name hosting.example. ANY;
    grant flex-update subdomain _flex.hosting.example. TXT; grant flex-update zonesub A AAAA; };
};
CONF
cat >/var/lib/bind/hosting.example.db <<'ZONE'
$TTL 300
@ IN SOA ns.hosting.example. hostmaster.hosting.example. 1 3600 900 1209600 300
@ IN NS ns.hosting.example.
ns IN A 127.0.0.1
ZONE
chown -R bind:bind /var/lib/bind /etc/bind/flex-update.key
# Not as a daemon: this script ends it.
named -u bind -f >named.log 2>&1 &
named=$!
trap 'kill $named 2>/dev/null || true' EXIT
address() { dig +short -p 5300 @127.0.0.1 "$1.hosting.example" A | sort | tr '\n' ' '; }

# --- The oldest version, and a plan that is half applied ---------------------------------------------------------

apt-get -q -y --no-install-recommends install "./controllers/$oldest" >install.log 2>&1 || { cat install.log; broken "$oldest cannot be installed"; }
[ "$(stat -c '%U:%G %a' /var/lib/flex)" = 'flex:flex 750' ] || broken "rights of /var/lib/flex"
id -nG flex | grep -qw adm || broken "flex may not read logs"
held "$oldest is installed, with its user and folders"

install -o root -g flex -m 640 /etc/bind/flex-update.key /etc/flex/flex.key
yesterday=$(date -u -d yesterday +%d/%b/%Y)
mkdir -p /srv/logs
for node in 1 2 3; do
    for site in $(seq 1 12); do
        for hour in $(seq -w 0 23); do
            for ((n = 0; n < 4 + site; n++)); do
                echo "s$site.hosting.example:80 198.51.100.$n - - [$yesterday:$hour:1$((n % 6)):00 +0000] \"GET /p$n HTTP/1.1\" 200 $((1000 * site)) \"-\" \"-\""
            done
        done
    done >"/srv/logs/n$node.log"
done
seq -f 's%g.hosting.example' 1 12 >/etc/flex/sites
{
    printf 'schema = 1\n[cluster]\nmode = "review"\n[database]\nurl = "sqlite:////var/lib/flex/flex.db"\n'
    for node in 1 2 3; do
        printf '[[node]]\nname = "n%s"\naddresses = ["192.0.2.%s"]\nram = "1 GiB"\n' $node $node
        printf '[[ingest.source]]\nglob = "/srv/logs/n%s.log"\nnode = "n%s"\n' $node $node
    done
    printf '[ingest]\ndirectory = "/var/lib/flex/partials"\nsites_file = "sites"\n'
    printf '[report]\ndir = "/var/lib/flex/reports"\n'
    printf '[dns]\nserver = "127.0.0.1"\nport = 5300\nkey_file = "flex.key"\nzones = ["hosting.example."]\n'
    printf 'ttl = 60\nmake_before_break = true\nverify_ns = false\n'
} >/etc/flex/flex.toml
chgrp flex /etc/flex/flex.toml
ends 0 as_flex db upgrade
ends 0 as_flex ingest
ends 0 as_flex plan
ends 0 as_flex apply
moved=s12
from=$(address $moved)
to=2
[ "$from" != '192.0.2.2 ' ] || to=3
ends 0 as_flex sites pin $moved.hosting.example --nodes n$to
ends 0 as_flex plan --force safety.site_cooldown --force safety.trigger_imbalance
setpriv --reuid flex --regid flex --init-groups -- flex apply >apply.log 2>&1 &
applying=$!
for ((n = 0; n < 300; n++)); do
    [ "$(address $moved | wc -w)" = 2 ] && break
    sleep 0.2
done
[ "$(address $moved | wc -w)" = 2 ] || { cat apply.log; broken "the plan did not begin"; }
kill -9 $applying
wait $applying 2>/dev/null || true
half=$(tables "select count(*) from cycles where state = 'applying'")
[ "$half" = 1 ] || broken "no plan is half applied"
held "a plan is half applied: $moved.hosting.example is at $(address $moved)"
plans=$(tables 'select count(*) from cycles')
pins=$(tables 'select count(*) from pins')

# --- Over all versions ---------------------------------------------------------------------------------------------

copies=0
for version in "${versions[@]:1}"; do
    apt-get -q -y --no-install-recommends install "./controllers/$version" >install.log 2>&1 || { cat install.log; broken "$version cannot be installed"; }
    copies=$((copies + 1))
    [ "$(find /var/lib/flex/backups -type f | wc -l)" = $copies ] || broken "no copy was made before $version"
    as_flex -o json db status | python3 -c 'import json, sys; found = json.load(sys.stdin); sys.exit(found["revision"] != found["head"])' ||
        broken "the database is not that of $version"
    [ "$(tables 'select count(*) from cycles')" = "$plans" ] || broken "plans are missing with $version"
    [ "$(tables 'select count(*) from pins')" = "$pins" ] || broken "wishes are missing with $version"
    [ "$(tables "select count(*) from cycles where state = 'applying'")" = 1 ] || broken "the half applied plan is gone"
    held "upgraded to $version: a copy first, then the database at $(tables 'select version_num from alembic_version')"
done

# --- Back is refused before anything is touched ------------------------------------------------------------------

files_of_flex >files.1
for version in "${versions[@]:0:${#versions[@]}-1}"; do
    code=0
    dpkg -i "controllers/$version" >answer 2>&1 || code=$?
    [ $code != 0 ] || broken "a downgrade to $version was not refused"
    grep -q 'Nothing was changed' answer || { cat answer; broken "the refusal does not say what it left"; }
    files_of_flex >files.2
    cmp -s files.1 files.2 || { diff files.1 files.2 | head; broken "the refused downgrade to $version changed files"; }
    dpkg-query -W -f '${db:Status-Abbrev}' flex-controller | grep -q '^ii' || broken "the package is not whole after a refusal"
done
held "downgrades to $((${#versions[@]} - 1)) older versions are refused, and no file is another one"

# --- Nothing was lost ------------------------------------------------------------------------------------------------

ends 0 as_flex apply --resume
[ "$(address $moved)" = "192.0.2.$to " ] || broken "$moved is at $(address $moved)"
ends 0 as_flex verify
ends 0 as_flex audit verify
held "$newest finishes the plan of $oldest; DNS and the record of changes agree"

# --- A database that cannot be brought up to date ---------------------------------------------------------------------

sum=$(sha256sum </var/lib/flex/flex.db)
chmod 500 /var/lib/flex/backups
tables "update alembic_version set version_num = '9999'"
sum=$(sha256sum </var/lib/flex/flex.db)
code=0
dpkg -i "controllers/$newest" >answer 2>&1 || code=$?
[ $code != 0 ] || broken "a database from the future was taken"
grep -q 'dpkg --configure flex-controller' answer || { cat answer; broken "nothing says what to do"; }
[ "$sum" = "$(sha256sum </var/lib/flex/flex.db)" ] || broken "a database that cannot be used was changed"
tables "update alembic_version set version_num = '$(ls /usr/lib/flex/lib/python3*/site-packages/flex/store/migrations/versions | grep '^[0-9]' | sort | tail -n 1 | cut -d_ -f1)'"
chmod 700 /var/lib/flex/backups
ends 0 dpkg --configure flex-controller
held "a database that is not this version's stays as it is, and the package says so"

# --- Removed, and purged -----------------------------------------------------------------------------------------------

ends 0 apt-get -q -y remove flex-controller
[ -e /var/lib/flex/flex.db ] && [ -e /etc/flex/flex.toml ] || broken "removing took data away"
[ ! -e /usr/lib/flex ] || { find /usr/lib/flex | head; broken "removing left files"; }
ends 0 apt-get -q -y --no-install-recommends install "./controllers/$newest"
ends 0 as_flex verify
held "removed and installed again, it goes on"
ends 0 apt-get -q -y --no-install-recommends install ./nodes/*.deb
if [ -e /etc/flex/flex.toml ] && [ -x /usr/sbin/flex ]; then held "the node's package takes the controller's place"; else broken "the node's package"; fi
mkdir counted && chown flex counted
ends 0 runuser -u flex -- flex -q ingest --partials-only "$PWD/counted" --node n1 /srv/logs/n1.log
[ -n "$(ls counted/out)" ] || broken "nothing was counted"
ends 3 flex route follow --once --from http://127.0.0.1:9/x --token-file /etc/hostname
grep -q 'apt install haproxy' answer || { cat answer; broken "a node without HAProxy does not say what it lacks"; }
ends 3 flex serve
grep -q 'flex-controller' answer || { cat answer; broken "a node does not say where to serve"; }
held "a node counts its logs, asks for HAProxy where it is to follow orders, and says of other verbs that they are the controller's"
ends 0 apt-get -q -y purge flex-node flex-controller
kill $named
wait $named 2>/dev/null || true
rm -rf /srv/logs /etc/bind/flex-update.key
paths >after
diff before after | grep '^>' >left || true
[ ! -s left ] || { cat left; broken "the purge left files"; }
if getent passwd flex || getent group flex; then broken "the purge left the user"; fi
held "purged, nothing is left behind"

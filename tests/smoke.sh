#!/usr/bin/env bash
# Does the `flex` on the PATH work as installed? `tests/smoke.sh FOLDER` plays a little in a new folder below FOLDER.
# It uses nothing of a checkout, so that what is missing from a wheel shows here.
set -euo pipefail
folder=$(mktemp -d "${1:?the folder to play in}/smoke.XXXXXX")
cd "$folder"

# ends CODE COMMAND...: what the command says is in `answer`, shown when it ended otherwise.
ends() {
    local wanted=$1 code=0
    shift
    echo "\$ $*"
    "$@" >answer 2>&1 || code=$?
    [ "$code" = "$wanted" ] && return
    cat answer
    echo "smoke: '$*' ended with $code instead of $wanted"
    return 1
}

says() {
    local wanted=$1
    shift
    ends 0 "$@"
    grep -q -- "$wanted" answer && return
    cat answer
    echo "smoke: '$*' does not say '$wanted'"
    return 1
}

cat >flex.toml <<'TOML'
[[node]]
name = "n1"
addresses = ["192.0.2.1"]
ram = "1 GiB"

[[ingest.source]]
glob = "access.log"
node = "n1"
TOML
for second in 10 11 12; do
    echo "www.example.org:80 192.0.2.99 - - [20/Nov/2026:12:00:$second +0000] \"GET /$second HTTP/1.1\" 200 1234 \"-\" \"-\""
done >access.log
export FLEX_CONFIG=$folder/flex.toml

says '"version"' flex -o json version
says "good" flex config check
says "up to date" flex db upgrade
says '"counted": 3' flex -o json ingest
# Read once, counted once.
says '"new_bytes": 0' flex -o json ingest
ends 3 flex --config missing.toml config show
says "wrote" flex init "$folder/etc"
# The commands for sites that move are there, and say how they are called.
ends 78 "$folder/etc/hooks/files"
grep -q usage answer
# The loop from solving to DNS, where there is a name server to play with.
if PATH=$PATH:/usr/sbin command -v named >/dev/null; then
    says '"report"' flex -o json demo --dir "$folder/demo"
fi

#!/usr/bin/env bash
# The Ansible role in a Debian that has nothing yet: `upgrades.py` calls it there, as root, with a folder that holds
# packages and the role. A controller, then, in its place, a node; each twice, and the second time nothing changes.
# Without systemd, so whether units run is not tried.
set -euo pipefail
cd "$1"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 ANSIBLE_ROLES_PATH=$PWD/ansible/roles ANSIBLE_NOCOWS=1

held() { printf 'held: %s\n' "$*"; }
broken() {
    printf 'BROKEN: %s\n' "$*"
    exit 1
}

apt-get -q -y --no-install-recommends install ansible-core python3-apt >/dev/null
printf -- '- hosts: all\n  roles: [flex]\n' >play.yml
printf 'schema = 1\n[database]\nurl = "sqlite:////var/lib/flex/flex.db"\n[[node]]\nname = "n1"\nram = "1 GiB"\naddresses = ["192.0.2.1"]\n' >flex.toml
echo 'not a key' >send.key

# twice WHAT KEY=VALUE...
twice() {
    local what=$1 words=() one
    shift
    for one in "$@"; do words+=(-e "$one"); done
    for run in first second; do
        ansible-playbook -c local -i 'localhost,' play.yml "${words[@]}" >play.log 2>&1 || {
            tail -n 40 play.log
            broken "the $run run for $what"
        }
    done
    grep -q 'changed=0' play.log || { tail -n 40 play.log; broken "the second run for $what changed something"; }
    held "the role sets up $what, and changes nothing the second time"
}

controller=$(printf '%s\n' "$PWD"/controllers/*.deb | sort -V | tail -n 1)
node=$(printf '%s\n' "$PWD"/nodes/*.deb | tail -n 1)
twice "a controller" "flex_deb=$controller" "flex_settings=$PWD/flex.toml"
runuser -u flex -- flex -o json db status | python3 -c 'import json, sys; found = json.load(sys.stdin); sys.exit(found["revision"] != found["head"])'
runuser -u flex -- test -r /etc/flex/flex.key
[ -e /etc/flex/flex-transfer.key ] && [ ! -e /etc/flex/flex-nightly.service ] || broken "the first files: units are the package's"
held "the controller has a database, and reads its keys"
twice "a node" flex_kind=node "flex_deb=$node" flex_node=n1 flex_send_to=controller:/srv/n1/ "flex_send_key=$PWD/send.key" \
    flex_follow=http://127.0.0.1:9/x flex_token=flex_secret
[ "$(stat -c '%U %a' /etc/flex/node.token /etc/flex/send.key | sort -u)" = 'root 600' ] || broken "secrets of the node"
grep -q '^NODE=n1$' /etc/flex/count.env || broken "what is counted"
held "the node's secrets are root's alone"

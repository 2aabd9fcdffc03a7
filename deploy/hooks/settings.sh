# Where a site's things are on a node, and how a node is reached. Change this for your cluster; the
# commands beside it (files, database, vhost, cron) read it, and need no change.
#
# NODE is whatever [[move.hook]] hands over: `{from_address}` and `{to_address}`, or `{from}` and
# `{to}` where ssh knows the nodes by these names. Every function is plain bash.

# --- Reaching nodes ---------------------------------------------------------------------------------

# Who FLEX is on the nodes: an account that may change all that is named below.
ACCOUNT=root
# From this machine. One connection serves many commands: held visitors wait for each of them.
SSH=(ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3
    -o ControlMaster=auto -o 'ControlPath=~/.ssh/flex-%C' -o ControlPersist=60)
# From the new node to the old one, as one text: files are there, and not here. Held visitors wait
# for this one as well, so it is kept open, too; for that the account needs a ~/.ssh on every node.
SSH_BETWEEN_NODES='ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5'
SSH_BETWEEN_NODES+=' -o ServerAliveCountMax=3 -o ControlMaster=auto -o ControlPath=~/.ssh/flex-%C'
SSH_BETWEEN_NODES+=' -o ControlPersist=60'

# run_on NODE COMMAND...: what the command reads and writes goes through.
run_on() {
    local node=$1
    shift
    "${SSH[@]}" -- "$ACCOUNT@$node" "$(quoted "$@")"
}

# fetch FROM TO LOCK OPTION... -- SOURCE TARGET: rsync, run on the new node, that reads from the old
# one. So the new node needs a key for the old one; nothing passes through this machine.
fetch() {
    local from=$1 to=$2 lock=$3 options=()
    shift 3
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    run_on "$to" "${LOCKED[@]}" "$lock" rsync -e "$SSH_BETWEEN_NODES" --protect-args \
        "${options[@]}" -- "$ACCOUNT@$(in_brackets "$from"):$2" "$3"
}

# Where the disks of all nodes are mounted on this machine, use these two instead, and name the
# mounted folders below:
# run_on() { shift; "$@"; }
# fetch() {
#     local lock=$3
#     shift 3
#     "${LOCKED[@]}" "$lock" rsync "$@"
# }

# A file of the node that is locked while the site is changed there: what outlives a command that was
# killed keeps the lock, so two never work on one copy.
lock_of() { printf '%s' "/run/lock/flex-$2"; }
# A folder of the node for what is kept for a moment, such as a configuration that is tried.
kept_of() { printf '%s' /var/lib/flex-hooks; }

# --- Files ------------------------------------------------------------------------------------------

# The folder that goes with the site. The last part of its path has the site's whole name in it, or
# `files` refuses to remove it.
files_of() { printf '%s' "/var/www/$2"; }

# Times are compared to the nanosecond, as a file may change twice in a second and keep its size.
# Add -H where hard links, -A where ACLs and -X where extended attributes must go along.
FILES_OPTIONS=(-a --numeric-ids --modify-window=-1)

# --- Database ---------------------------------------------------------------------------------------

# The database of a site, or nothing: then there is none to bring. This reads lines such as
# `shop.example shop_db` from a file beside this one.
database_of() {
    local file=$here/databases
    if [ -e "$file" ]; then
        awk -v site="$1" '$1 == site { print $2; exit }' "$file"
    fi
}

# mariadb_on NODE PROGRAM OPTION...: as an account that may do everything.
mariadb_on() {
    local node=$1
    shift
    run_on "$node" "$@"
}

# Whether the site's database is too large to be dumped and loaded while its requests wait. Such a
# one is loaded before, and only what changed since goes over in the end: by the old node's binary
# log, which needs log_bin = ON and binlog_format = ROW there, and tables of InnoDB alone.
is_large() {
    case $1 in
        # shop.example | forum.example) true ;;
        *) false ;;
    esac
}

# --- Web server -------------------------------------------------------------------------------------

# A file or a folder each. What is a link is brought as the file that it leads to.
vhost_of() { printf '%s' "/etc/nginx/sites-enabled/$2"; }
certificate_of() { printf '%s' "/etc/ssl/sites/$2"; }

# Words for a shell on the node. For Apache: `apache2ctl configtest`, `systemctl reload apache2`.
web_test() { printf '%s' 'nginx -t -q'; }
web_reload() { printf '%s' 'systemctl reload nginx'; }

# --- Cron -------------------------------------------------------------------------------------------

# Debian's cron reads no file whose name has a dot: so shop.example is shop_example here, and what is
# switched off is called shop_example.off.
cron_of() { printf '%s' "/etc/cron.d/$(printf '%s' "$2" | tr . _)"; }

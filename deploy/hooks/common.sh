# What the commands beside this file share. Needs `here`, the folder that they are in.

# How FLEX reads an exit code; any other but 0 means that it may be tried again.
NOT_NOW=75
NEVER=78
TAKE_BACK=70

LOCKED=(flock --timeout 10 --conflict-exit-code "$NOT_NOW")

die() {
    local code=$1
    shift
    printf '%s\n' "$*" >&2
    exit "$code"
}

# Words as one line that a shell of any kind reads as the same words.
quoted() {
    local word line='' end="'\\''"
    for word in "$@"; do
        line+=" '${word//\'/$end}'"
    done
    printf '%s' "${line# }"
}

# An address of IPv6 as rsync wants it.
in_brackets() {
    case $1 in
        *:*) printf '[%s]' "$1" ;;
        *) printf '%s' "$1" ;;
    esac
}

# A name may come from a log, where anybody writes what he likes.
check_site() {
    local LC_ALL=C
    [[ ${#1} -le 253 && $1 =~ ^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$ && $1 != *..* ]] ||
        die $NEVER "'$1' is no name of a site that is safe to use in paths"
}

check_node() {
    local LC_ALL=C
    [[ $1 =~ ^[A-Za-z0-9_][A-Za-z0-9_.:-]*$|^::[A-Fa-f0-9:.]+$ ]] ||
        die $NEVER "'$1' is no name or address of a node"
}

# usage COUNT GIVEN TEXT: ends where something else than COUNT words was given.
usage() { [ "$1" = "$2" ] || die $NEVER "usage: $3"; }

# How a program ended that reaches a node: it may not have been there.
# as_told CODE WHAT
as_told() {
    case $1 in
        0) ;;
        # ssh; rsync's ways to say that it could not connect, or waited too long; a lock that is held.
        255 | 5 | 10 | 12 | 30 | 35 | "$NOT_NOW") die $NOT_NOW "$2: the node does not answer, or is busy with this site ($1)" ;;
        *) exit "$1" ;;
    esac
}

# shellcheck source=/dev/null
. "$here/settings.sh"

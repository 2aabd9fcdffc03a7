"""What LARD and LARD/R have in common: which members have a target, and which of them has least to
do.

A table remembers for each target a set of members, a bit for each (gpt 0), when that changed (gpt
1), and how often all of them were overloaded (gpc 0). Variables of a request, all of them numbers:

    set       the members that have the target; 0 where nobody asked for it yet
    least     of the set, load and bit of the one with the least to do; NOBODY where none is up
    free      of all members, the bit of the one with the least to do
    busiest   of the set, the bit of the one with the most to do; one that is down has more to do
              than any
    grow      whether the set has nobody, or only overloaded ones
    chosen    the bit of the member that gets the request

Most targets have one member, which is neither down nor overloaded: then nothing else has to be
looked at.

Load and bit are one number: requests under way, then sixteen places for who goes first among
equals, which a hash of the target says, so that equals get equally many targets; then the bit.
"""

from __future__ import annotations

from collections.abc import Iterator

from flex.routing.member_pools import Member, Pool

# More than any load, bit and place put together: HAProxy's numbers have 63 bits.
NOBODY = 1 << 50
# One bit for each of MOST_MEMBERS (flex/routing/member_pools.py).
_BITS = 1 << 16
# A load begins above the bits and the places among equals, one of 16.
_LOAD = 16 * _BITS
# More than any load of a member that is up, and less than NOBODY.
_DOWN = 1 << 49


def looked_up(pool: Pool, wider: str = "") -> list[str]:
    """`wider` is a line that adds members to what is remembered."""
    limits = pool.limits
    return [
        "balance leastconn",
        "stick-table type integer size 200k expire 30m peers flex store gpt(2),gpc(1)",
        f"http-request track-sc0 {pool.target}",
        # What a node had that is no member any more, nobody has.
        (
            "http-request set-var(txn.set) "
            f"sc_get_gpt(0,0),and({sum(member.bit for member in pool.members)})"
        ),
        "http-request set-var(txn.before) var(txn.set)",
        *([wider] if wider else []),
        *(_alone(pool, member) for member in pool.members),
        "http-request allow if { var(txn.chosen) -m found }",
        # The lowest bits of the hash say where in the table a target is.
        f"http-request set-var(txn.hash) {pool.target},div(17)",
        f"http-request set-var(txn.everyone) int({NOBODY})",
        f"http-request set-var(txn.least) int({NOBODY})",
        "http-request set-var(txn.most) int(0)",
        *(line for member in pool.members for line in _weigh(pool.name, member.slot, member.bit)),
        f"acl nobody var(txn.least) -m int eq {NOBODY}",
        f"acl overloaded var(txn.least),div({_LOAD}) gt {limits.high}",
        f"acl far_overloaded var(txn.least),div({_LOAD}) ge {2 * limits.high}",
        f"acl somebody_has_room var(txn.everyone),div({_LOAD}) lt {limits.low}",
        (
            "http-request set-var(txn.grow) bool(true) if nobody or far_overloaded or "
            "overloaded somebody_has_room"
        ),
        # How often, for people to see.
        "http-request sc-inc-gpc(0,0) if { var(txn.grow) -m bool } !{ var(txn.set) -m int eq 0 }",
        f"http-request set-var(txn.free) var(txn.everyone),and({_BITS - 1})",
        f"http-request set-var(txn.busiest) var(txn.most),and({_BITS - 1})",
        f"http-request set-var(txn.chosen) var(txn.least),and({_BITS - 1})",
        "http-request set-var(txn.chosen) var(txn.free) if { var(txn.grow) -m bool }",
    ]


def _alone(pool: Pool, member: Member) -> str:
    server = f"{pool.name}/s{member.bit}"
    return (
        f"http-request set-var(txn.chosen) int({member.bit}) if {{ var(txn.set) -m "
        f"int eq {member.bit} }} "
        f"{{ srv_is_up({server}) }} !{{ srv_conn({server}) gt {pool.limits.high} }}"
    )


def _weigh(backend: str, slot: int, bit: int) -> Iterator[str]:
    server = f"{backend}/s{bit}"
    yield f"acl is_up_{bit} srv_is_up({server})"
    yield f"acl has_it_{bit} var(txn.set),and({bit}) gt 0"
    yield f"http-request set-var(txn.place) var(txn.hash),xor({slot}),and(15)"
    yield (
        "http-request set-var(txn.load) "
        f"srv_conn({server}),mul(16),add(txn.place),mul({_BITS}),add({bit}) "
        f"if is_up_{bit}"
    )
    yield f"http-request set-var(txn.everyone,ifgt) var(txn.load) if is_up_{bit}"
    yield f"http-request set-var(txn.least,ifgt) var(txn.load) if is_up_{bit} has_it_{bit}"
    yield f"http-request set-var(txn.most,iflt) var(txn.load) if is_up_{bit} has_it_{bit}"
    yield f"http-request set-var(txn.most) int({_DOWN + bit}) if has_it_{bit} !is_up_{bit}"


def keep_lines(clock: str) -> list[str]:
    """Written only where it changed: each write goes to every other distributor."""
    return [
        "acl changed var(txn.set),xor(txn.before) gt 0",
        "http-request sc-set-gpt(0,0) var(txn.set) if changed",
        f"http-request sc-set-gpt(1,0) {clock} if changed",
    ]


def choose_lines() -> list[str]:
    """Where nobody is up there is nobody to choose, and HAProxy says so to the visitor."""
    return ["use-server s%[var(txn.chosen)] if { var(txn.chosen) -m int gt 0 }"]

"""LARD as lines of HAProxy: each target has a member, or a set of members, that keeps it in memory.

Takes a pool of members and an expression that gives the time in seconds. Returns the lines of a
backend, for LARD without and with replication (Pai and others, ASPLOS 1998, figures 2 and 3). Does
not weigh the members: that is in lard_member_sets.py.
"""

from __future__ import annotations

from flex.routing.member_pools import Pool
from flex.routing.rules.lard_member_sets import choose_lines, keep_lines, looked_up


def lard(pool: Pool, clock: str) -> list[str]:
    """A target has one member until that is overloaded; then it has the least loaded."""
    return [
        *looked_up(pool),
        "http-request set-var(txn.set) var(txn.free) if { var(txn.grow) -m bool }",
        *keep_lines(clock),
        *choose_lines(),
    ]


def lardr(pool: Pool, clock: str) -> list[str]:
    """A target has a set of members. The set grows when its least loaded is overloaded, and loses
    its most loaded when it has not changed for a while.
    """
    limits = pool.limits
    return [
        *looked_up(
            pool, "http-request set-var(txn.set) var(txn.set),or(txn.wide)" if pool.popular else ""
        ),
        "http-request set-var(txn.set) var(txn.set),or(txn.free) if { var(txn.grow) -m bool }",
        # The set without its lowest bit: more than nothing is left of a set of several.
        "http-request set-var(txn.less) var(txn.set),sub(1)",
        "acl several var(txn.set),and(txn.less) gt 0",
        "http-request set-var(txn.changed) sc_get_gpt(1,0)",
        f"acl unchanged {clock},sub(txn.changed) gt {limits.hold}",
        "acl busiest_is_other var(txn.busiest),xor(txn.chosen) gt 0",
        (
            "http-request set-var(txn.set) var(txn.set),xor(txn.busiest) if several "
            "unchanged busiest_is_other"
        ),
        *keep_lines(clock),
        *choose_lines(),
    ]

"""Requests that are computed and not read from memory or disk: they go to members of their own, as
in CAP and HACC.

Takes a pool. Returns lines of the configuration. A request that is computed goes to the member with
the least to do, so that it takes no processor time from members that answer from memory. Does not
remember targets for these requests.
"""

from __future__ import annotations

from collections.abc import Iterator

from flex.routing.member_pools import Pool
from flex.routing.rules.lard_member_sets import NOBODY

# A load begins above the bits: one for each of MOST_MEMBERS (flex/routing/member_pools.py).
_BITS = 1 << 16


def split(pool: Pool) -> Iterator[str]:
    """Lines before those of the policy, which then see no dynamic request, unless none of its
    members is up.
    """
    own = [member for member in pool.members if member.node in pool.dynamic]
    if not own:
        return
    yield "acl dynamic method POST PUT PATCH DELETE"
    if pool.endings:
        yield f"acl dynamic path_end -i {' '.join(pool.endings)}"
    yield f"http-request set-var(txn.own) int({NOBODY}) if dynamic"
    for member in own:
        server = f"{pool.name}/s{member.bit}"
        up = f"dynamic {{ srv_is_up({server}) }}"
        yield (
            "http-request set-var(txn.load) "
            f"srv_conn({server}),mul({_BITS}),add({member.bit}) if {up}"
        )
        yield f"http-request set-var(txn.own,ifgt) var(txn.load) if {up}"
    yield f"acl somebody_computes var(txn.own) -m int lt {NOBODY}"
    yield (
        f"http-request set-var(txn.computes) var(txn.own),and({_BITS - 1}) if "
        "dynamic somebody_computes"
    )
    yield "http-request allow if { var(txn.computes) -m int gt 0 }"


def send_lines(pool: Pool) -> Iterator[str]:
    """After all rules."""
    if pool.dynamic:
        yield "use-server s%[var(txn.computes)] if { var(txn.computes) -m int gt 0 }"

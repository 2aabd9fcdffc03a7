"""The rules of routing: how the requests for a site are spread over its members.

Takes a pool of members and an expression that gives the time in seconds. Returns the lines of a
HAProxy backend. Does not choose the members: the plan does. A rule is a function and one line here.
"""

from __future__ import annotations

from collections.abc import Callable

from flex.routing.member_pools import Pool
from flex.routing.rules.haproxy_builtin_rules import bounded_hash, least_connections
from flex.routing.rules.haproxy_lard import lard, lardr

Rule = Callable[[Pool, str], list[str]]

RULES: dict[str, Rule] = {
    "lard": lard,
    "lardr": lardr,
    "bounded_hash": bounded_hash,
    "least_connections": least_connections,
}

# With these rules the members share a site's working set. With others each member has all of it.
BY_CONTENT = frozenset(RULES) - {"least_connections"}

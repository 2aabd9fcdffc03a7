"""How the requests for a site are spread over its members: a rule is one file and one line here.

A rule gives the lines of a HAProxy backend, from a Pool and an expression that tells the time in
seconds.
"""

from __future__ import annotations

from collections.abc import Callable

from flex.routing.pool import Pool
from flex.routing.rules.bounded_hash import bounded_hash
from flex.routing.rules.lard import lard
from flex.routing.rules.lardr import lardr
from flex.routing.rules.least_connections import least_connections

Rule = Callable[[Pool, str], list[str]]

RULES: dict[str, Rule] = {
    "lard": lard,
    "lardr": lardr,
    "bounded_hash": bounded_hash,
    "least_connections": least_connections,
}

# Their members share a site's working set; those of others have all of it, each.
BY_CONTENT = frozenset(RULES) - {"least_connections"}

"""LARD without replication (Pai and others, ASPLOS 1998, figure 2): each target has one member,
until that is overloaded; then it has the least loaded.
"""

from __future__ import annotations

from flex.routing.pool import Pool
from flex.routing.rules.sets import choose_lines, keep_lines, looked_up


def lard(pool: Pool, clock: str) -> list[str]:
    return [
        *looked_up(pool),
        "http-request set-var(txn.set) var(txn.free) if { var(txn.grow) -m bool }",
        *keep_lines(clock),
        *choose_lines(),
    ]

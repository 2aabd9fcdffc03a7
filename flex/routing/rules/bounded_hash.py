"""Consistent hashing of targets with bounded loads: nobody gets more than half as much again as the
mean.
"""

from __future__ import annotations

from flex.routing.pool import Pool

_BOUND = 150


def bounded_hash(pool: Pool, _clock: str) -> list[str]:
    return [
        f"balance {'uri whole' if pool.by_query else 'uri'}",
        "hash-type consistent sdbm avalanche",
        f"hash-balance-factor {_BOUND}",
    ]

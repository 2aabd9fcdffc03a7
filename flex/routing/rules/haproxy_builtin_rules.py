"""The rules that HAProxy has itself: consistent hashing with bounded loads, and fewest connections.

Takes a pool of members. Returns the lines of a backend. Does not remember targets.
"""

from __future__ import annotations

from flex.routing.member_pools import Pool

# Per cent of the mean: no member gets more than half as much again as the mean. A guess.
_BOUND = 150


def bounded_hash(pool: Pool, _clock: str) -> list[str]:
    return [
        f"balance {'uri whole' if pool.by_query else 'uri'}",
        "hash-type consistent sdbm avalanche",
        f"hash-balance-factor {_BOUND}",
    ]


def least_connections(_pool: Pool, _clock: str) -> list[str]:
    """No regard for what a member has in memory. Right where everything fits."""
    return ["balance leastconn"]

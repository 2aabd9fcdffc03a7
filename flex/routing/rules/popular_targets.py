"""The more often a target is asked for, the more members have it from the start, as in CWARD/FR.
LARD/R adds to them.

Takes how often targets were asked for, and the members. Returns sets of members, and the lines of
the configuration that look them up. Does not choose the member that answers: the policy does.

The equation is the paper's, with its normalisation by logarithms. With n members, a target that was
asked for w times has log(w / least w) / log(largest w / least w) * n members, rounded up. Sets go
round the members in turn, so each member is in about as many of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from flex.routing.member_pools import Member, Pool

POPULAR = "popular.map"


def sets_by_popularity(requests: Sequence[int], least: int, members: Sequence[Member]) -> list[int]:
    """A set of members for each target, the most popular first; `least` is what the least popular
    of all has.
    """
    stay = [member.bit for member in members if not member.leaving]
    if not requests or not stay:
        return []
    scaled = np.log(np.maximum(np.array(requests, dtype=np.float64) / max(least, 1), 1.0))
    counts = np.clip(
        np.ceil(scaled / max(float(scaled.max()), 1e-9) * len(stay)), 1, len(stay)
    ).astype(np.int64)
    starts = (np.cumsum(counts) - counts) % len(stay)
    return [
        sum(stay[(start + step) % len(stay)] for step in range(count))
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True)
    ]


def looked_up(pool: Pool, directory: str) -> Iterator[str]:
    """Lines before those of the policy."""
    if pool.popular:
        yield "http-request set-var(txn.path) path"
        yield (
            "http-request set-var(txn.wide) "
            f"str({pool.name}),concat(,txn.path),map_str_int({directory}/{POPULAR},0)"
        )


def entries(pool: Pool) -> Iterator[str]:
    yield from (f"{pool.name}{path} {members}\n" for path, members in sorted(pool.popular))

"""The clusters that the solvers are measured on: balanced yesterday, placed again today.

Takes a size and a seed. Returns a Problem. Does not read files. Access rates follow Zipf's law.
Working sets are log-normal and depend a little on the rates (correlation 0.54 of the logarithms).
Large sites are split into replicas, and yesterday's placement was balanced. Since then every site
has drifted (log-normal, sigma 0.3), and a few have surged three to ten times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from flex.placing.problem import DIMENSIONS, Bools, Floats, Ints, Problem, sort_by_site

SIZES = {
    "s145x8": (145, 8),
    "s100x4": (100, 4),
    "s2000x8": (2_000, 8),
    "s20000x4": (20_000, 4),
    "s20000x8": (20_000, 8),
    "s2000x16": (2_000, 16),
    "s20000x64": (20_000, 64),
    "s200000x256": (200_000, 256),
    "s1000000x1000": (1_000_000, 1_000),
}

# The part of a site's working set that every replica holds, however many there are: what is asked
# for often. A guess.
SHARED = 0.65
# A split site has so many replicas that each takes at most this part of a node's access rate. A
# guess.
WANTED = 0.5
# A site is split further once a replica would take more than this part. A guess.
MOST = 0.6
# It gives a replica up once the others would stay under this part. A guess.
LEAST = 0.4
# The largest working set, as a part of a mean node's. A guess.
LARGEST = 0.5

Random: TypeAlias = np.random.Generator


@dataclass(frozen=True, slots=True, eq=False)
class Day:
    """What every site asks, all replicas together, and how many replicas it has."""

    access: Floats
    working: Floats
    replicas: Ints

    def load(self) -> Floats:
        """What one replica asks."""
        working = self.working * (SHARED + (1 - SHARED) / self.replicas)
        return np.stack([self.access / self.replicas, working], axis=1)


def cluster(sites: int, nodes: int, *, seed: int, tolerance: float = 0.05) -> Problem:
    """Yesterday's balanced placement under today's loads."""
    random = np.random.default_rng(seed)
    yesterday = _first_day(random, sites, nodes)
    old = _largest_first(_in_shares(yesterday, nodes), yesterday.replicas, nodes)
    today = _next_day(random, yesterday, nodes)
    load = _in_shares(today, nodes)
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n:04}" for n in range(nodes)),
        open=np.ones(nodes, dtype=np.bool_),
        share=np.full(nodes, 100.0),
        sites=tuple(f"s{s:07}.example.org" for s in range(sites)),
        replicas=today.replicas,
        load=load,
        cold=np.rint(today.load()[:, 1]).astype(np.int64),
        old=_in_force(old, today, nodes),
        pinned={},
        tolerance=tolerance,
    )


def _first_day(random: Random, sites: int, nodes: int) -> Day:
    common = random.standard_normal(sites)
    rank = np.empty(sites)
    rank[np.argsort(-common)] = np.arange(1, sites + 1)
    access = 1e12 / rank
    working = 1e7 * np.exp(1.8 * (0.6 * common + 0.8 * random.standard_normal(sites)))
    return Day(access, _clip(working, nodes), _split(access, nodes).clip(1, nodes))


def _next_day(random: Random, day: Day, nodes: int, drift: float = 0.3) -> Day:
    first = random.standard_normal(len(day.access))
    second = 0.5 * first + np.sqrt(0.75) * random.standard_normal(len(first))
    access = day.access * np.exp(drift * first - drift**2 / 2)
    working = day.working * np.exp(drift * second - drift**2 / 2)
    surging = _surging(random, day.access, nodes)
    access[surging] *= random.uniform(3, 10, len(surging))
    working[surging] *= random.uniform(1, 3, len(surging))
    return Day(access, _clip(working, nodes), _split_again(access, day.replicas, nodes))


def _surging(random: Random, access: Floats, nodes: int) -> Ints:
    """A few sites of middling size."""
    count, share = max(3, nodes // 16), access.sum() / nodes
    middling = np.flatnonzero((access > 0.02 * share) & (access < 0.1 * share))
    pool = middling if len(middling) >= count else np.argsort(-access)[: max(4 * count, 20)]
    chosen: Ints = random.choice(pool, count, replace=False)
    return chosen


def _clip(working: Floats, nodes: int) -> Floats:
    for _ in range(30):
        working = np.minimum(working, LARGEST * working.sum() / nodes)
    return working


def _split(access: Floats, nodes: int) -> Ints:
    parts: Ints = np.ceil(access * nodes / (WANTED * access.sum()) - 1e-9).astype(np.int64)
    return parts


def _split_again(access: Floats, replicas: Ints, nodes: int) -> Ints:
    """The number of replicas changes only where it must: see MOST and LEAST."""
    share = access.sum() / nodes
    grown: Bools = access / replicas > MOST * share
    shrunk = (replicas > 1) & (access / np.maximum(replicas - 1, 1) < LEAST * share)
    return np.where(grown | shrunk, _split(access, nodes), replicas).clip(1, nodes)


def _in_force(old: Ints, today: Day, nodes: int) -> Ints:
    """Without the replicas that today's count has no place for: those on the nodes asked most are
    gone already.
    """
    count = np.bincount(old[:, 0], minlength=len(today.replicas))
    asked = np.bincount(old[:, 1], (today.access / count)[old[:, 0]], nodes)
    least_first = np.lexsort((old[:, 1], asked[old[:, 1]], old[:, 0]))
    nth = np.arange(len(old)) - np.repeat(np.cumsum(count) - count, count)
    return sort_by_site(old[least_first[nth < today.replicas[old[:, 0]]]])


def _in_shares(day: Day, nodes: int) -> Floats:
    load = day.load()
    shares: Floats = load * 100 * nodes / (load * day.replicas[:, None]).sum(axis=0)
    return shares


def _largest_first(load: Floats, replicas: Ints, nodes: int) -> Ints:
    """Each site, the largest first, where it makes the fuller resource of a node the least full."""
    total = np.zeros((2, nodes))
    rows = np.empty((int(replicas.sum()), 2), dtype=np.int64)
    end = 0
    for site in np.argsort(-load.max(axis=1), kind="stable").tolist():
        after = np.maximum(total[0] + load[site, 0], total[1] + load[site, 1])
        count = int(replicas[site])
        chosen = after.argmin() if count == 1 else np.argsort(after, kind="stable")[:count]
        total[:, chosen] += load[site, :, None] if count > 1 else load[site]
        rows[end : end + count, 0], rows[end : end + count, 1] = site, chosen
        end += count
    return sort_by_site(rows)

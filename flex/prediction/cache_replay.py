"""Accesses through the nodes' caches under a partition: the loop that prediction and simulation
share.

Takes accesses in time order, each with its target, the size of the target and the node it goes to.
Returns for each node how many accesses it got, how many of them were not in memory, and the bytes
of both. Does not decide where accesses come from or which node they go to: replay_forecast.py and
sim/ do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from flex import native_or_python
from flex.caches import CACHES
from flex.prediction.target_classes import Kinds, each

if TYPE_CHECKING:
    import numpy.typing as npt

Ints: TypeAlias = "npt.NDArray[np.int64]"
Loop = Callable[[str, Ints, Ints, Ints, Ints], tuple[Ints, Ints, Ints, Ints]]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A time-ordered sample of accesses: all accesses of a share `rate` of the targets.

    `site[t]` and `size[t]` describe target t; `target` and `time` run over the accesses. `totals`,
    where they are known, are of the same sites, targets that the sample leaves out included.
    """

    sites: tuple[str, ...]
    site: Ints
    size: Ints
    target: Ints
    time: Ints
    rate: float
    totals: Kinds | None = None

    def kinds(self) -> Kinds:
        """The sample's own targets, as far as they were asked for."""
        times = np.bincount(self.target, minlength=len(self.size))
        known = times > 0
        return each(self.site[known], times[known], self.size[known])

    def drop_site(self, site: str) -> Sample:
        """The accesses to all other sites."""
        left_out = self.sites.index(site)
        kept = self.site[self.target] != left_out
        return replace(
            self,
            target=self.target[kept],
            time=self.time[kept],
            totals=self.totals and self.totals.drop_site(left_out),
        )


def no_sample() -> Sample:
    """Where nothing is to be predicted."""
    none = np.zeros(0, dtype=np.int64)
    return Sample((), none, none, none, none, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """Per node."""

    requests: Ints
    misses: Ints
    bytes: Ints
    disk_bytes: Ints


def reference_replay(
    cache: str, target: Ints, node: Ints, size: Ints, ram: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """Requests, misses, bytes and disk bytes of each node, each with a cache of that policy of
    ram[node] bytes.

    A target larger than the cache is read from disk each time and evicts nothing.
    """
    requests, misses, total, disk = (np.zeros(len(ram), dtype=np.int64) for _ in range(4))
    ask = [CACHES[cache](limit).ask for limit in ram.tolist()]
    for t, n, bytes_ in zip(target.tolist(), node.tolist(), size[target].tolist(), strict=True):
        requests[n] += 1
        total[n] += bytes_
        if not ask[n](t, bytes_):
            misses[n] += 1
            disk[n] += bytes_
    return requests, misses, total, disk


_native_replay = native_or_python.pick("replay", reference_replay)
# The cache policies that the native loop knows.
_NATIVE_CACHES = native_or_python.members("CACHES")


def replay_loop(cache: str, native: Collection[str] = _NATIVE_CACHES) -> Loop:
    """The native loop where it knows the cache policy, else the reference."""
    return _native_replay if cache in native else reference_replay


def replay(sample: Sample, node: Ints, ram: Ints, cache: str = "lru") -> Replayed:
    """Access i of the sample goes to node[i]; ram is what each node's cache holds, at the sample's
    own scale.
    """
    assert len(node) == len(sample.target), "every access goes to a node"
    assert not len(node) or 0 <= node.min() <= node.max() < len(ram), "and to one that is there"
    contiguous = (
        np.ascontiguousarray(column, dtype=np.int64)
        for column in (sample.target, node, sample.size, ram)
    )
    return Replayed(*replay_loop(cache)(cache, *contiguous))

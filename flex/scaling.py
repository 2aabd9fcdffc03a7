"""From what a sample says of each node to what all accesses would have said.

In go a sample with the totals of its sites, and how its sites are spread over the nodes; out comes a Scale of each
node. A sample is off by which targets it happens to have: the few most popular decide how many accesses it stands for,
the largest how much memory. How many accesses, targets and bytes of both each site has is known of all of them. So only
how often something is missed is left to the sample, and the memory it replays with is the share that it has of the
bytes of targets, rather than the share it was to have. Without totals everything is scaled by that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flex.replay import Ints, Replayed, Sample

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Which of `nodes` nodes serve what: node[i] serves site[i], those of `active` all that is `everywhere`."""

    nodes: int
    site: Ints
    node: Ints
    everywhere: Flags
    active: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Of each node: the share of memory that replays, what it is asked for, and what a replayed miss stands for."""

    memory: Floats
    requests: Floats
    bytes: Floats
    misses: Floats
    disk: Floats
    least_misses: Floats
    least_disk: Floats
    left_out: int


def scaled(scale: Scale | None, rate: float, counts: Replayed) -> Ints:
    """Rows of requests, misses, bytes and disk bytes of each node, of all accesses."""
    if scale is None:
        found = np.stack([counts.requests, counts.misses, counts.bytes, counts.disk_bytes]) / rate
    else:
        seen = counts.requests > 0
        misses = np.where(seen, counts.misses * scale.misses, scale.least_misses)
        disk = np.where(seen, counts.disk_bytes * scale.disk, scale.least_disk)
        found = np.stack(
            [scale.requests, np.minimum(misses, scale.requests), scale.bytes, np.minimum(disk, scale.bytes)]
        )
    return np.rint(found).astype(np.int64)


def scale_of(sample: Sample, spread: Spread) -> Scale | None:
    totals = sample.totals
    if totals is None:
        return None
    nodes = _Nodes(spread, len(sample.sites))
    times = np.bincount(sample.target, minlength=len(sample.size))
    # Of a target asked for n times, one of k nodes hears with a chance of 1 - (1 - 1/k)^n.
    heard = 1 - (1 - 1 / np.maximum(nodes.replicas, 1)[sample.site]) ** times
    known, size = (times > 0).astype(np.float64), sample.size.astype(np.float64)
    targets = _heard(sample, heard, known, totals.targets)
    bytes_ = _heard(sample, heard * size, known * size, totals.working_set)
    sampled_targets, all_targets = map(nodes.sum, targets)
    sampled_bytes, all_bytes = map(nodes.sum, bytes_)
    return Scale(
        memory=np.minimum(_ratio(sampled_bytes, all_bytes, sample.rate), 1.0),
        requests=nodes.sum(totals.requests / np.maximum(nodes.replicas, 1)),
        bytes=nodes.sum(totals.bytes / np.maximum(nodes.replicas, 1)),
        misses=_ratio(all_targets, sampled_targets, 1 / sample.rate),
        disk=_ratio(all_bytes, sampled_bytes, 1 / sample.rate),
        least_misses=all_targets,
        least_disk=all_bytes,
        left_out=int(totals.requests[nodes.replicas == 0].sum()),
    )


class _Nodes:
    """Sums over what each node serves."""

    def __init__(self, spread: Spread, sites: int) -> None:
        self._spread = spread
        self.replicas = np.bincount(spread.site, minlength=sites) + spread.everywhere * len(spread.active)

    def sum(self, of_site: Floats) -> Floats:
        spread = self._spread
        total = np.bincount(spread.node, of_site[spread.site], minlength=spread.nodes).astype(np.float64)
        total[spread.active] += of_site[spread.everywhere].sum()
        return total


def _heard(sample: Sample, of_one: Floats, of_all: Floats, every: Ints) -> tuple[Floats, Floats]:
    """By site, what one of its nodes hears of the sampled targets, and of all; of a site without any sampled, all."""
    one, whole = (_by_site(sample, each) for each in (of_one, of_all))
    return one, every * _ratio(one, whole, 1.0)


def _by_site(sample: Sample, of_target: Floats) -> Floats:
    return np.bincount(sample.site, of_target, minlength=len(sample.sites)).astype(np.float64)


def _ratio(above: Floats, below: Floats, otherwise: float) -> Floats:
    found: Floats = np.divide(above, below, out=np.full(len(below), otherwise), where=(below > 0) & (above > 0))
    return found

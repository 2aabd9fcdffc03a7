"""Scales what a sample says of each node up to what all accesses would have said.

Takes a sample with the kinds of all targets, and how its sites are spread over the nodes. Returns a
Scale for each node, and figures that are scaled by it. Does not replay the sample.

A sample is wrong by which targets it happens to have. The few most popular targets decide how many
accesses it stands for, and the largest targets decide how much memory is used and how much is read.
How often each kind of target is asked for and how large it is, is known of all targets. So only one
thing is left to the sample: the order in which targets are asked for.

Suppose that the accesses to a target come at random times. Then, of n accesses, all but the first
miss with a chance of exp(-n x). Here x is how long memory keeps a target that nobody asks for, as a
share of the whole time. Memory keeps a target until other targets fill it, so x follows from the
kinds alone. Where accesses come in bursts, memory seems to keep targets for longer. How much longer
is taken from the replayed sample, whose x follows from its own targets and its own misses. A target
that is larger than the memory is missed each time. Without kinds, everything is scaled by the rate
of the sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from flex.prediction.cache_replay import Ints, Replayed, Sample
from flex.prediction.target_classes import CLASSES, Floats, Kinds, class_of

if TYPE_CHECKING:
    import numpy.typing as npt

Flags: TypeAlias = "npt.NDArray[np.bool_]"
# Halvings of the time that memory keeps a target, from 2^-40 to 2^40 of the whole: then it keeps
# all that fits.
_STEPS = 30
# From so many times of the whole on, all was kept: half of 2^40, since halving only comes near it.
_EVER = 2.0**39
# No sample is believed that accesses in bursts make more than 2^6 times of the time that a target
# is kept, or less.
_MOST = 6.0


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Which of `nodes` nodes serve what: node[i] serves site[i], those of `active` all that is
    `everywhere`.
    """

    nodes: int
    site: Ints
    node: Ints
    everywhere: Flags
    active: Ints


@dataclass(frozen=True, slots=True, eq=False)
class AskedOfNodes:
    """What each node is asked for: a row for each node, a column for each power of two of how often
    a target is asked for. `once` counts every target once, `all` counts every access. Targets that
    are `always` read from disk are in neither.
    """

    once: Floats
    all: Floats
    always: Floats

    def misses(self, time: Floats) -> Floats:
        """By each node, if its memory keeps a target for that share of the whole time."""
        return self._misses(time, self._often())

    def least(self) -> Floats:
        """If its memory kept everything that fits."""
        least: Floats = self.always + self.once.sum(axis=1)
        return least

    def keeping(self, missed: Floats) -> Floats:
        """For which share of the whole time each node keeps a target, that so much is missed."""
        often = self._often()
        return _longest(lambda time: self._misses(time, often) > missed, len(missed))

    def amount_in_memory(self, time: Floats) -> Floats:
        """By each node's memory at any moment, if it keeps a target for that share of the whole
        time.
        """
        return self._amount_in_memory(time, self._often())

    def filling(self, memory: Floats) -> Floats:
        """For which share of the whole time each node keeps a target, that so much is held; for
        ever where all fits.
        """
        often = self._often()
        return _longest(lambda time: self._amount_in_memory(time, often) < memory, len(memory))

    def _misses(self, time: Floats, often: Floats) -> Floats:
        again = np.maximum(self.all - self.once, 0.0) * np.exp(-often * time[:, None])
        missed: Floats = self.least() + again.sum(axis=1)
        return missed

    def _amount_in_memory(self, time: Floats, often: Floats) -> Floats:
        held: Floats = (self.once * -np.expm1(-often * time[:, None])).sum(axis=1)
        return held

    def _often(self) -> Floats:
        return np.divide(self.all, self.once, out=np.zeros_like(self.all), where=self.once > 0)


def _longest(holds: Callable[[Floats], Flags], nodes: int) -> Floats:
    """For each node, the longest time for which `holds` is true, as a share of the whole time.
    Found by halving the range from 2^-40 to 2^40.
    """
    low, high = np.full(nodes, -40.0), np.full(nodes, 40.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        longer = holds(2.0**middle)
        low, high = np.where(longer, middle, low), np.where(longer, high, middle)
    longest: Floats = 2.0**low
    return longest


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """For each node: `memory`, the share of its memory that the replay gives it, and the `requests`
    and `bytes` that it is asked for.

    `time` is for which share of the whole time memory would keep a target, if accesses came at
    random times; `sample_time` is the same for the sample. `believed` is how much the sample counts
    where it says otherwise. `sampled` and `whole` are what the sample and all accesses consist of,
    in targets and in bytes. `left_out` counts requests for sites without a node.
    """

    memory: Floats
    requests: Floats
    bytes: Floats
    time: Floats
    sample_time: Floats
    believed: Floats
    sampled: tuple[AskedOfNodes, AskedOfNodes]
    whole: tuple[AskedOfNodes, AskedOfNodes]
    left_out: int


def scale_up(scale: Scale | None, rate: float, counts: Replayed) -> Ints:
    """Requests, misses, bytes and disk bytes for all accesses, one row each, with a column for each
    node.
    """
    if scale is None:
        scaled = np.stack([counts.requests, counts.misses, counts.bytes, counts.disk_bytes]) / rate
    else:
        replayed = (counts.misses.astype(np.float64), counts.disk_bytes.astype(np.float64))
        misses, disk = map(partial(_misses_of_all, scale), scale.sampled, scale.whole, replayed)
        scaled = np.stack(
            [
                scale.requests,
                np.minimum(misses, scale.requests),
                scale.bytes,
                np.minimum(disk, scale.bytes),
            ]
        )
    return np.rint(scaled).astype(np.int64)


def _misses_of_all(
    scale: Scale, sampled: AskedOfNodes, whole: AskedOfNodes, replayed: Floats
) -> Floats:
    """A sample whose memory held everything says nothing of how long targets are kept; one of few
    targets, little.
    """
    longer = (
        np.clip(np.log2(sampled.keeping(replayed) / scale.sample_time), -_MOST, _MOST)
        * scale.believed
    )
    return whole.misses(scale.time * 2.0 ** np.where(scale.sample_time < _EVER, longer, 0.0))


def scale_of(sample: Sample, spread: Spread, ram: Floats) -> Scale | None:
    totals = sample.totals
    if totals is None or sample.rate == 1:
        return None
    nodes = _Nodes(spread, len(sample.sites))
    part = nodes.requests_of(sample.kinds())
    every = nodes.requests_of(totals)
    whole = nodes.what_nodes_hear(every, ram)
    # So much memory that the sample's targets are kept as long as all targets would be.
    time = whole[1].filling(ram)
    held, of_all = (
        heard[1].amount_in_memory(time) for heard in (nodes.what_nodes_hear(part, ram), whole)
    )
    memory = np.minimum(_ratio(held, of_all, sample.rate), 1.0)
    sampled = nodes.what_nodes_hear(part, ram * memory)
    asked_again = sampled[0].once[:, 1:].sum(axis=1)
    requests = np.bincount(totals.site, totals.requests, minlength=len(sample.sites))
    return Scale(
        memory=memory,
        requests=nodes.sum(requests / np.maximum(nodes.replicas, 1)),
        bytes=nodes.sum(
            np.bincount(totals.site, totals.bytes, len(sample.sites))
            / np.maximum(nodes.replicas, 1)
        ),
        time=time,
        sample_time=sampled[1].filling(ram * memory),
        believed=asked_again / (asked_again + 1),
        sampled=sampled,
        whole=whole,
        left_out=int(requests[nodes.replicas == 0].sum()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What the nodes that serve each kind hear of it. By rows for sites that name their nodes: the
    `cell` of node and how often, and the size. By tables for sites that every active node serves.
    Columns and tables are targets and accesses, bytes of targets and of accesses.
    """

    node: Ints
    cell: Ints
    size: Floats
    columns: tuple[Floats, ...]
    tables: tuple[Floats, ...]


class _Nodes:
    """Sums over what each node serves."""

    def __init__(self, spread: Spread, sites: int) -> None:
        self._spread = spread
        self._count = np.bincount(spread.site, minlength=sites)
        self._first = np.cumsum(self._count) - self._count
        self._node = spread.node[np.argsort(spread.site, kind="stable")]
        self.replicas = self._count + spread.everywhere * len(spread.active)

    def sum(self, of_site: Floats) -> Floats:
        spread = self._spread
        total = np.bincount(spread.node, of_site[spread.site], minlength=spread.nodes).astype(
            np.float64
        )
        total[spread.active] += of_site[spread.everywhere].sum()
        return total

    def requests_of(self, kinds: Kinds) -> _Asked:
        replicas = np.maximum(self.replicas, 1)[kinds.site]
        # One of k nodes hears of a target asked for n times with a chance of 1 - (1 - 1/k)^n.
        heard = np.where(replicas > 1, 1 - (1 - 1 / replicas) ** kinds.times(), 1.0)
        columns: tuple[Floats, ...] = (
            heard * kinds.targets, kinds.requests / replicas, heard * kinds.working_set,
            kinds.bytes / replicas,
        )  # fmt: skip
        often, size = class_of(kinds.times()), kinds.sizes()
        row, node = self._rows_by_node(kinds.site)
        shared = self._spread.everywhere[kinds.site]
        cell = (class_of(size) * CLASSES + often)[shared]
        tables = (
            _sums_by_place(cell, column[shared], CLASSES**2).reshape(CLASSES, CLASSES)
            for column in columns
        )
        cells = node * CLASSES + often[row]
        return _Asked(
            node, cells, size[row], tuple(column[row] for column in columns), tuple(tables)
        )

    def _rows_by_node(self, site: Ints) -> tuple[Ints, Ints]:
        """Each row once for every node that its site names, and that node."""
        count = self._count[site]
        row = np.repeat(np.arange(len(site)), count)
        place = np.arange(len(row)) - (np.cumsum(count) - count)[row]
        return row, self._node[self._first[site[row]] + place]

    def what_nodes_hear(self, demand: _Asked, memory: Floats) -> tuple[AskedOfNodes, AskedOfNodes]:
        """In targets and in bytes, by nodes with so much memory."""
        fits = demand.size <= memory[demand.node]
        serves = np.isin(np.arange(self._spread.nodes), self._spread.active)[:, None]
        powers = 2.0 ** np.arange(CLASSES) <= memory[:, None]
        classes = powers.sum(axis=1)
        in_targets, in_bytes = (
            self._what_nodes_hear_of(demand, fits, serves, classes, kind) for kind in (0, 2)
        )
        return in_targets, in_bytes

    def _what_nodes_hear_of(
        self, demand: _Asked, fits: Flags, serves: Flags, classes: Ints, kind: int
    ) -> AskedOfNodes:
        """Each node hears of as many `classes` of sizes of what every active node serves as fit
        into its memory.
        """
        nodes = self._spread.nodes
        named = (
            _sums_by_place(demand.cell, fits * column, nodes * CLASSES).reshape(nodes, CLASSES)
            for column in demand.columns[kind : kind + 2]
        )
        up_to = [
            np.cumsum(np.pad(table, ((1, 0), (0, 0))), axis=0)
            for table in demand.tables[kind : kind + 2]
        ]
        once, all_ = (
            named_sums + serves * other[classes]
            for named_sums, other in zip(named, up_to, strict=True)
        )
        never = ~fits
        always = _sums_by_place(demand.node[never], demand.columns[kind + 1][never], nodes)
        passed = serves[:, 0] * (up_to[1][-1] - up_to[1][classes]).sum(axis=1)
        return AskedOfNodes(once, all_, always + passed)


def _sums_by_place(place: Ints, column: Floats, places: int) -> Floats:
    """As floats: NumPy's sums are whole numbers where there is nothing to add."""
    return np.bincount(place, column, places).astype(np.float64)


def _ratio(above: Floats, below: Floats, otherwise: float) -> Floats:
    ratios: Floats = np.divide(
        above, below, out=np.full(len(below), otherwise), where=(below > 0) & (above > 0)
    )
    return ratios

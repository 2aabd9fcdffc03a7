"""From what a sample says of each node to what all accesses would have said.

In go a sample with the kinds of all targets, and how its sites are spread over the nodes; out comes a Scale of each
node. A sample is off by which targets it happens to have: the few most popular decide how many accesses it stands for,
the largest how much memory and how much is read. How often each kind of target is asked for and how large it is, is
known of all of them. So only one thing is left to the sample: for how long a node's memory keeps what nobody asks for.

That is worked out from what the replayed sample missed. If a target's accesses came at any time alike, of n accesses
all but the first would miss with a chance of exp(-n x), x being that time as a share of the whole. The x that makes the
misses of the sample's targets those that were replayed, gives the misses of all targets. A target larger than the
memory is missed each time. Without kinds everything is scaled by the sample's rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flex.kinds import CLASSES, Floats, Kinds, class_of, each
from flex.replay import Ints, Replayed, Sample

Flags = npt.NDArray[np.bool_]
# Halvings of the time that memory keeps a target, from 2^-40 to 2^40 of the whole.
_STEPS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Which of `nodes` nodes serve what: node[i] serves site[i], those of `active` all that is `everywhere`."""

    nodes: int
    site: Ints
    node: Ints
    everywhere: Flags
    active: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """What each node hears of, a row a node and a column a power of two of how often: `once` counts every target that
    it is asked for once, `all` every access. What is `always` read from disk is no part of them."""

    once: Floats
    all: Floats
    always: Floats

    def missed(self, time: Floats) -> Floats:
        """By each node, if its memory keeps a target for that share of the whole time."""
        often = np.divide(self.all, self.once, out=np.zeros_like(self.all), where=self.once > 0)
        again = np.maximum(self.all - self.once, 0.0) * np.exp(-often * time[:, None])
        missed: Floats = self.least() + again.sum(axis=1)
        return missed

    def least(self) -> Floats:
        """If its memory kept everything that fits."""
        least: Floats = self.always + self.once.sum(axis=1)
        return least

    def keeping(self, missed: Floats) -> Floats:
        """For which share of the whole time each node keeps a target, that so much is missed."""
        low, high = np.full(len(missed), -40.0), np.full(len(missed), 40.0)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            longer = self.missed(2.0**middle) > missed
            low, high = np.where(longer, middle, low), np.where(longer, high, middle)
        keeping: Floats = 2.0**low
        return keeping


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Of each node: the share of memory that replays, and what it is asked for; and what the sample and all accesses
    are made of, in targets and in bytes."""

    memory: Floats
    requests: Floats
    bytes: Floats
    sampled: tuple[Heard, Heard]
    whole: tuple[Heard, Heard]
    left_out: int


def scaled(scale: Scale | None, rate: float, counts: Replayed) -> Ints:
    """Rows of requests, misses, bytes and disk bytes of each node, of all accesses."""
    if scale is None:
        found = np.stack([counts.requests, counts.misses, counts.bytes, counts.disk_bytes]) / rate
    else:
        replayed = (counts.misses.astype(np.float64), counts.disk_bytes.astype(np.float64))
        misses, disk = map(_missed, scale.sampled, scale.whole, replayed)
        found = np.stack(
            [scale.requests, np.minimum(misses, scale.requests), scale.bytes, np.minimum(disk, scale.bytes)]
        )
    return np.rint(found).astype(np.int64)


def _missed(sampled: Heard, whole: Heard, replayed: Floats) -> Floats:
    """Where nothing was replayed, each target is missed once."""
    keeping = sampled.keeping(replayed)
    said, every = sampled.missed(keeping), whole.missed(keeping)
    return np.where(said > 0, replayed * _ratio(every, said, 1.0), whole.least())


def scale_of(sample: Sample, spread: Spread, ram: Floats) -> Scale | None:
    totals = sample.totals
    if totals is None:
        return None
    nodes = _Nodes(spread, len(sample.sites))
    times = np.bincount(sample.target, minlength=len(sample.size))
    known = times > 0
    part = nodes.asked(each(sample.site[known], times[known], sample.size[known]))
    every = nodes.asked(totals)
    whole = nodes.heard(every, ram)
    # Of the bytes that fit into a node's memory file by file, those that the sample has.
    held, fitting = (heard[1].once.sum(axis=1) for heard in (nodes.heard(part, ram), whole))
    memory = np.minimum(_ratio(held, fitting, sample.rate), 1.0)
    requests = np.bincount(totals.site, totals.requests, minlength=len(sample.sites))
    return Scale(
        memory=memory,
        requests=nodes.sum(requests / np.maximum(nodes.replicas, 1)),
        bytes=nodes.sum(np.bincount(totals.site, totals.bytes, len(sample.sites)) / np.maximum(nodes.replicas, 1)),
        sampled=nodes.heard(part, ram * memory),
        whole=whole,
        left_out=int(requests[nodes.replicas == 0].sum()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What the nodes that serve each kind hear of it. By rows for sites that name their nodes: the `cell` of node and
    how often, the power of two of the size. By tables for sites that every active node serves. Columns and tables are
    targets and accesses, bytes of targets and of accesses."""

    node: Ints
    cell: Ints
    large: Ints
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
        total = np.bincount(spread.node, of_site[spread.site], minlength=spread.nodes).astype(np.float64)
        total[spread.active] += of_site[spread.everywhere].sum()
        return total

    def asked(self, kinds: Kinds) -> _Asked:
        replicas = np.maximum(self.replicas, 1)[kinds.site]
        # Of a target asked for n times, one of k nodes hears with a chance of 1 - (1 - 1/k)^n.
        heard = np.where(replicas > 1, 1 - (1 - 1 / replicas) ** kinds.times(), 1.0)
        columns: tuple[Floats, ...] = (
            heard * kinds.targets, kinds.requests / replicas, heard * kinds.working_set, kinds.bytes / replicas,
        )  # fmt: skip
        often, large = class_of(kinds.times()), class_of(kinds.sizes())
        row, node = self._served(kinds.site)
        shared = self._spread.everywhere[kinds.site]
        cell = (large * CLASSES + often)[shared]
        tables = (_summed(cell, column[shared], CLASSES**2).reshape(CLASSES, CLASSES) for column in columns)
        cells = node * CLASSES + often[row]
        return _Asked(node, cells, large[row], tuple(column[row] for column in columns), tuple(tables))

    def _served(self, site: Ints) -> tuple[Ints, Ints]:
        """Each row once for every node that its site names, and that node."""
        count = self._count[site]
        row = np.repeat(np.arange(len(site)), count)
        place = np.arange(len(row)) - (np.cumsum(count) - count)[row]
        return row, self._node[self._first[site[row]] + place]

    def heard(self, asked: _Asked, memory: Floats) -> tuple[Heard, Heard]:
        """In targets and in bytes, by nodes with so much memory."""
        fits = 2.0**asked.large <= memory[asked.node]
        powers = 2.0 ** np.arange(CLASSES) <= memory[:, None]
        one, other = (self._heard(asked, fits, powers, kind) for kind in (0, 2))
        return one, other

    def _heard(self, asked: _Asked, fits: Flags, powers: Flags, kind: int) -> Heard:
        nodes = self._spread.nodes
        serves = np.isin(np.arange(nodes), self._spread.active)[:, None]
        named = (
            _summed(asked.cell, fits * column, nodes * CLASSES).reshape(nodes, CLASSES)
            for column in asked.columns[kind : kind + 2]
        )
        shared = ((serves & powers) @ table for table in asked.tables[kind : kind + 2])
        once, all_ = (one + other for one, other in zip(named, shared, strict=True))
        never = ~fits
        always = _summed(asked.node[never], asked.columns[kind + 1][never], nodes)
        return Heard(once, all_, always + (serves & ~powers) @ asked.tables[kind + 1].sum(axis=1))


def _summed(place: Ints, column: Floats, places: int) -> Floats:
    """Of nothing, NumPy's sums are whole numbers."""
    return np.bincount(place, column, places).astype(np.float64)


def _ratio(above: Floats, below: Floats, otherwise: float) -> Floats:
    found: Floats = np.divide(above, below, out=np.full(len(below), otherwise), where=(below > 0) & (above > 0))
    return found

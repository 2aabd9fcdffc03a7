"""What a solver is asked, as plain arrays, and what it answers.

Takes profiles, nodes, pins and the partition in force. Returns a Problem whose rows are in
canonical order, so the order of the input makes no difference. Does not solve it, and does not
judge answers (score.py does).

Units are those of the FLEX paper. The cluster's total of each resource is 100 for each open node.
So a fair share is 100 where nodes are equal, and in proportion to capacity where they are not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from flex.errors import BadInput, Infeasible
from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.best_effort_shortfalls import Shortfall
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.partition import sites_in
from flex.traffic.replicas_and_demand import RESOURCES, Demand, Marks, ReplicaCounts
from flex.wishes.pins_for_solvers import Wished, fit_replicas, read_wishes

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"

DIMENSIONS = ("access rate", "working set")


@dataclass(frozen=True, slots=True)
class MoveLimits:
    """What a partition may move at most; None is no limit.

    `moves` are new rows, `cold_bytes` what all of them together must read, `inflow` what those of
    any one node must.
    """

    moves: int | None = None
    cold_bytes: int | None = None
    inflow: int | None = None

    @property
    def none(self) -> bool:
        return self == MoveLimits()


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything is known by its position: sites and nodes are sorted by name.

    `load[s, d]` is what one replica of site s asks of its node; every replica asks the same. `old`
    holds the (site, node) rows in force, sorted. `held` is what each of these rows asks of its node
    now, where that is not what a replica will ask because the number of replicas changes.
    `needs[s]` is how many replicas keep the site under the mark below which a replica is taken
    away, where that is more than one. It does not depend on wishes. A node that is not in the
    settings any more and still has rows is closed, and is in `gone`.

    A site must be on every node of `pinned[s]`, on none of `barred[s]`, and on exactly
    `replicas[s]` open nodes in all. For a site of `resting`, `pinned[s]` comes from a rule of
    movement and not from a wish. No two sites of a group of `apart` share a node. The sites of a
    group of `together` are on the same nodes, and have the same number of replicas. Node n is
    balanced in dimension d when its load lies within share[n] * (1 +- tolerance).

    A new row of site s is `weight[s]` moves (None: 1 each) and cold[s] cold bytes. Solvers are
    never asked to keep sites together: they see each group as one site that weighs as much as its
    members (bundles.py). Only some members of such a site may be in force on a node. `partly` has
    rows of (site, node, moves, cold bytes), sorted, that say how much less a new row costs there
    than elsewhere.
    """

    dimensions: tuple[str, ...]
    nodes: tuple[str, ...]
    open: Bools
    share: Floats
    sites: tuple[str, ...]
    replicas: Ints
    load: Floats
    cold: Ints
    old: Ints
    pinned: Mapping[int, frozenset[int]]
    tolerance: float
    held: Floats | None = None
    needs: Mapping[int, int] = field(default_factory=dict)
    gone: frozenset[int] = frozenset()
    barred: Mapping[int, frozenset[int]] = field(default_factory=dict)
    resting: frozenset[int] = frozenset()
    apart: tuple[frozenset[int], ...] = ()
    together: tuple[frozenset[int], ...] = ()
    limits: MoveLimits = MoveLimits()
    weight: Ints | None = None
    partly: Ints | None = None

    @property
    def rivals(self) -> dict[int, frozenset[int]]:
        """For each site of a group of `apart`, those that share no node with it."""
        rivals_of: dict[int, frozenset[int]] = {}
        for group in self.apart:
            for site in group:
                rivals_of[site] = rivals_of.get(site, frozenset()) | (group - {site})
        return rivals_of


@dataclass(frozen=True, slots=True)
class Budget:
    """Steps where the answer must repeat, seconds only as the last resort."""

    steps: int = 200_000
    seconds: float = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """`rows` are (site, node) pairs in sorted order.

    `bound` is a number of moves that no balanced partition can stay under, those of idle sites and
    of all members of a group among them; `proven` says that this one meets it, and keeps every wish
    and every limit. Where the answer is a best effort, `shortfalls` say which rules it breaks.
    `certificate` shows how many moves are needed, as far as it does: see check_proof.py.
    """

    rows: Ints
    solver: str
    bound: int
    proven: bool
    note: str = ""
    shortfalls: tuple[Shortfall, ...] = ()
    certificate: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What an operator decides besides the tolerance.

    A site on several nodes stays on as many until fewer would be within `replicate_below` of a node
    each (None: the mark above which it is split). `headroom` is by how much larger sites count than
    they are, those of a class with a promise. The requests of `routed` sites (None: of all) are
    split by content, those of others at random. `limits` are on moves of sites that are served;
    those no node serves yet come on top.
    """

    dimensions: tuple[str, ...] = DIMENSIONS
    replicate_below: float | None = None
    headroom: Mapping[str, float] = field(default_factory=dict)
    routed: Container[str] | None = frozenset()
    limits: MoveLimits = MoveLimits()


@dataclass(frozen=True, slots=True)
class Lately:
    """What the nights before mean for the number of replicas, by name: a site keeps as many of them
    as a night of late `needed`, and one that is `resting` gets no more while one of those it has is
    no larger than a node.
    """

    needed: Mapping[str, int] = field(default_factory=dict)
    resting: Container[str] = frozenset()


def build(
    profiles: pd.DataFrame,
    spreads: pd.DataFrame,
    nodes: Sequence[Node],
    pins: Sequence[Pin],
    partition: pd.DataFrame,
    *,
    tolerance: float,
    replicate_above: float,
    fixed: Set[str] = frozenset(),
    terms: Terms = Terms(),
    lately: Lately = Lately(),
) -> Problem:
    """A site in the partition but not in the profiles is silent, not gone: it stays, with no load.

    `fixed` sites stay on the open nodes where the partition has them, as if pinned there, and on no
    other.

    Raises BadInput for numbers that mean nothing, Unknown for a pin on a node or site nobody knows,
    Infeasible when no node is open or a pin asks for what no partition can give.
    """
    PROFILES.check(profiles), SPREADS.check(spreads), PLACEMENT.check(partition)
    marks = _marks(tolerance, replicate_above, terms)
    gone = gone_nodes(partition["node"].unique(), nodes)
    ordered = sorted(
        (*nodes, *(Node(name, (), 0, state="down") for name in gone)), key=lambda node: node.name
    )
    names = tuple(node.name for node in ordered)
    is_open = np.array([node.takes_sites for node in ordered], dtype=np.bool_)
    weights = _weights(ordered)
    sites = tuple(sorted(sites_in(profiles) | sites_in(partition)))
    old = _positions(partition, sites, names)
    stays = _rows_of_sites(old, sites, fixed)
    known = {
        node.name: (at, node.state) for at, node in enumerate(ordered) if node.name not in gone
    }
    wishes = read_wishes(pins, sites, known, is_open)
    dimensions = _asked_for(profiles, terms.dimensions)
    demand = Demand(profiles, spreads, sites, dimensions, terms.headroom, terms.routed)
    counts = _counts(wishes, old, stays, lately, sites)
    replicas = fit_replicas(wishes, demand.replicas(counts, int(is_open.sum()), marks), is_open)
    site_demand = demand.demand_per_replica(replicas)
    total = (site_demand * replicas[:, None]).sum(axis=0)
    load = np.divide(
        site_demand * 100.0 * is_open.sum(), total, out=np.zeros_like(site_demand), where=total > 0
    )
    return Problem(
        dimensions=dimensions,
        nodes=names,
        open=is_open,
        share=weights * 100.0,
        sites=sites,
        replicas=replicas,
        load=load,
        cold=(site_demand[:, 1] / demand.extra).astype(np.int64),
        old=old,
        pinned={**wishes.pinned, **stays},
        tolerance=tolerance,
        held=_load_in_force(old, load, replicas, demand),
        needs=demand.replicas_needed(int(is_open.sum()), marks.below),
        gone=frozenset(map(names.index, gone)),
        barred={site: nodes for site, nodes in wishes.barred.items() if site not in stays},
        apart=wishes.apart,
        together=wishes.together,
        limits=_limits(terms.limits, replicas, old),
    )


def _asked_for(profiles: pd.DataFrame, wanted: Sequence[str]) -> tuple[str, ...]:
    """Without those that nobody asks for, as times where none were counted: all nodes would be as
    far from their shares as can be. The first two always count.
    """
    return tuple(
        name for name in wanted if name in DIMENSIONS or (profiles[RESOURCES[name]] > 0).any()
    )


def _marks(tolerance: float, replicate_above: float, terms: Terms) -> Marks:
    below = replicate_above if terms.replicate_below is None else terms.replicate_below
    if not 0 < tolerance < 1:
        raise _bad_number("tolerance", tolerance, "a share between 0 and 1, such as 0.05")
    if not 0 < replicate_above <= 1:
        raise _bad_number(
            "replicate_above", replicate_above, "a share of a node between 0 and 1, such as 0.6"
        )
    if not 0 < below <= replicate_above:
        raise _bad_number(
            "replicate_below", below, f"a share of a node that is not over {replicate_above}"
        )
    for site, extra in terms.headroom.items():
        if not -1 < extra < float("inf"):
            raise _bad_number(
                f"headroom of {site}", extra, "a share of what the site asks, such as 0.2 or -0.5"
            )
    return Marks(replicate_above, below, alone=1 + tolerance)


def _counts(
    wishes: Wished, old: Ints, stays: Mapping[int, Set[int]], lately: Lately, sites: Sequence[str]
) -> ReplicaCounts:
    in_force = np.bincount(old[:, 0], minlength=len(sites)).astype(np.int64)
    return ReplicaCounts(
        least=wishes.least,
        most=wishes.most,
        in_force=np.minimum(in_force, wishes.most),
        needed=np.array([lately.needed.get(site, 0) for site in sites], dtype=np.int64),
        resting=np.array([site in lately.resting for site in sites], dtype=np.bool_),
        stays={site: len(held) for site, held in stays.items()},
        together=sorted(set(wishes.whole.values()), key=sorted),
        apart=wishes.apart,
    )


def _limits(limits: MoveLimits, replicas: Ints, old: Ints) -> MoveLimits:
    """No limit is on the first partition; later, new sites are placed beyond it."""
    if not len(old):
        return MoveLimits()
    new = np.setdiff1d(np.arange(len(replicas)), old[:, 0])
    return (
        limits
        if limits.moves is None
        else replace(limits, moves=limits.moves + int(replicas[new].sum()))
    )


def gone_nodes(names: Iterable[str], nodes: Sequence[Node]) -> tuple[str, ...]:
    """Those of the nodes that a partition is on that the settings name no more: something must move
    off them.
    """
    return tuple(sorted(set(names) - {node.name for node in nodes}))


def partition_of(problem: Problem, rows: Ints) -> pd.DataFrame:
    """The rows with names instead of positions."""
    return PLACEMENT.from_columns(
        {
            "site": np.array(problem.sites, dtype=object)[rows[:, 0]],
            "node": np.array(problem.nodes, dtype=object)[rows[:, 1]],
        }
    )


def rows_of(problem: Problem, partition: pd.DataFrame) -> Ints:
    """The partition as positions; sites and nodes the problem does not know are left out."""
    return _positions(partition, problem.sites, problem.nodes)


def _weights(nodes: Sequence[Node]) -> Floats:
    """Each open node's capacity beside the mean of the open ones; closed nodes weigh nothing."""
    capacity = np.array([node.capacity if node.takes_sites else 0.0 for node in nodes])
    if not capacity.sum() > 0:
        raise Infeasible(
            "a partition",
            "no node is active" if nodes else "there are no nodes",
            kept="the partition in force stays",
            advice="add a [[node]] to the settings, or take one back: `flex nodes "
            "undrain NODE`, `flex nodes up NODE`",
        )
    weights: Floats = capacity * np.count_nonzero(capacity) / capacity.sum()
    return weights


def _rows_of_sites(
    rows: Ints, sites: tuple[str, ...], wanted: Set[str]
) -> dict[int, frozenset[int]]:
    """The nodes of each of the wanted sites."""
    nodes: dict[int, set[int]] = {
        position: set() for position, site in enumerate(sites) if site in wanted
    }
    for site, node in rows[np.isin(rows[:, 0], list(nodes))].tolist():
        nodes[site].add(node)
    return {site: frozenset(held) for site, held in nodes.items()}


def _load_in_force(old: Ints, load: Floats, replicas: Ints, demand: Demand) -> Floats | None:
    """What the rows in force ask, each site's split over as many as it has; None when that is what
    rows ask anyway.
    """
    count = np.bincount(old[:, 0], minlength=len(replicas)).astype(np.int64)
    others = (count > 0) & (count != replicas)
    if not others.any():
        return None
    now, then = demand.demand_per_replica(count), demand.demand_per_replica(replicas)
    ratio = np.divide(now, then, out=np.ones_like(load), where=others[:, None] & (then > 0))
    held: Floats = load[old[:, 0]] * ratio[old[:, 0]]
    return held


def _positions(partition: pd.DataFrame, sites: tuple[str, ...], nodes: tuple[str, ...]) -> Ints:
    site = pd.Index(sites).get_indexer(pd.Index(partition["site"]))
    node = pd.Index(nodes).get_indexer(pd.Index(partition["node"]))
    rows: Ints = np.stack([site, node], axis=1).astype(np.int64).reshape(-1, 2)
    return sort_by_site(rows[(rows >= 0).all(axis=1)])


def sort_by_site(rows: Ints) -> Ints:
    """Rows sorted by site, then node: the one order in which partitions are compared."""
    site, node = rows.T
    up = (site[1:] > site[:-1]) | ((site[1:] == site[:-1]) & (node[1:] >= node[:-1]))
    # Most rows that are asked for come in order, and to see that takes a twentieth of the time.
    ordered: Ints = rows.copy() if up.all() else rows[np.lexsort((node, site))]
    return ordered


def _bad_number(name: str, value: float, wanted: str) -> BadInput:
    return BadInput(
        f"{name} = {value!r}",
        f"wanted {wanted}",
        kept="nothing was planned",
        advice=f"correct {name} in [solver]",
    )

"""What a solver is asked, as plain arrays, and what it answers.

In go profiles, nodes, pins and the placement in force; out comes a Problem whose rows are in canonical order,
so that the order of the input never matters. Solving is not done here, and neither is judging (score.py).

Units are the paper's: the cluster's total of each resource is 100 for each open node, so a fair share is 100
where nodes are equal and in proportion to capacity where they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from flex.domain import Node, Pin
from flex.errors import BadInput, Infeasible, Unknown
from flex.short import Shortfall
from flex.tables import PLACEMENT, PROFILES, SPREADS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

DIMENSIONS = ("access rate", "working set")


@dataclass(frozen=True, slots=True)
class MoveLimits:
    """What a placement may move at most; None is no limit.

    `moves` are new rows, `cold_bytes` what all of them together must read, `inflow` what those of any one node must.
    """

    moves: int | None = None
    cold_bytes: int | None = None
    inflow: int | None = None

    @property
    def none(self) -> bool:
        return self == MoveLimits()


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Index everything by position: sites and nodes are sorted by name.

    `load[s, d]` is what one replica of site s asks of its node; every replica asks the same.
    `old` holds the (site, node) rows in force, sorted, and `held` what each of them asks of its node now, where that is
    not what a replica will ask, as the number of replicas changes. A node that is in the settings no more and still
    has rows is closed, and among `gone`.
    A site must be on every node of `pinned[s]`, on none of `barred[s]`, and on exactly `replicas[s]` open nodes in all.
    No two sites of a group of `apart` share a node; those of a group of `together` are on the same nodes, and have the
    same number of replicas. Node n is balanced in dimension d when its load lies within share[n] * (1 +- tolerance).

    A new row of site s is `weight[s]` moves (None: 1 each) and cold[s] cold bytes. Solvers are never asked to keep
    sites together: they see each group as one site that weighs as much as its members (bundles.py). Such a site may be
    in force on a node in part: `partly` has rows of (site, node, moves, cold bytes), sorted, that say how much less
    than elsewhere a new row costs there.
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
    gone: frozenset[int] = frozenset()
    barred: Mapping[int, frozenset[int]] = field(default_factory=dict)
    apart: tuple[frozenset[int], ...] = ()
    together: tuple[frozenset[int], ...] = ()
    limits: MoveLimits = MoveLimits()
    weight: Ints | None = None
    partly: Ints | None = None

    @property
    def rivals(self) -> dict[int, frozenset[int]]:
        """For each site of a group of `apart`, those that share no node with it."""
        found: dict[int, frozenset[int]] = {}
        for group in self.apart:
            for site in group:
                found[site] = found.get(site, frozenset()) | (group - {site})
        return found


@dataclass(frozen=True, slots=True)
class Budget:
    """Steps where the answer must repeat, seconds only as the last resort."""

    steps: int = 200_000
    seconds: float = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """`rows` are (site, node) pairs in sorted order.

    `bound` is a number of moves that no balanced placement can stay under; `proven` says that this one meets it.
    Where the answer is a best effort, `shortfalls` say which rules it breaks.
    """

    rows: Ints
    solver: str
    bound: int
    proven: bool
    note: str = ""
    shortfalls: tuple[Shortfall, ...] = ()


def build(
    profiles: pd.DataFrame,
    spreads: pd.DataFrame,
    nodes: Sequence[Node],
    pins: Sequence[Pin],
    placement: pd.DataFrame,
    *,
    tolerance: float,
    replicate_above: float,
    fixed: Set[str] = frozenset(),
) -> Problem:
    """A site in the placement but not in the profiles is silent, not gone: it stays, with no load.

    `fixed` sites stay on the open nodes where the placement has them, as if pinned there, and on no other.

    Raises Unknown for a pin on a node or site nobody knows, Infeasible when no node is open
    or a pin asks for more nodes than there are.
    """
    PROFILES.check(profiles), SPREADS.check(spreads), PLACEMENT.check(placement)
    if not 0 < tolerance < 1:
        raise _bad_number("tolerance", tolerance, "a share between 0 and 1, such as 0.05")
    if not 0 < replicate_above <= 1:
        raise _bad_number("replicate_above", replicate_above, "a share of a node between 0 and 1, such as 0.6")
    gone = gone_nodes(placement, nodes)
    ordered = sorted((*nodes, *(Node(name, (), 0, state="down") for name in gone)), key=lambda node: node.name)
    names = tuple(node.name for node in ordered)
    is_open = np.array([node.state == "active" for node in ordered], dtype=np.bool_)
    sites = tuple(sorted(set(profiles["site"]) | set(placement["site"])))
    old = _positions(placement, sites, names)
    stays = _rows_of_sites(old, sites, fixed)
    pinned, least = _wishes(pins, sites, {name: n for n, name in enumerate(names) if name not in gone}, is_open)
    pinned |= stays
    demand, replicas = _demand(profiles, spreads, sites, (least, stays), _weights(ordered), replicate_above)
    share = _weights(ordered) * 100.0
    total = (demand * replicas[:, None]).sum(axis=0)
    load = np.divide(demand * 100.0 * is_open.sum(), total, out=np.zeros_like(demand), where=total > 0)
    return Problem(
        dimensions=DIMENSIONS,
        nodes=names,
        open=is_open,
        share=share,
        sites=sites,
        replicas=replicas,
        load=load,
        cold=demand[:, 1].astype(np.int64),
        old=old,
        pinned=pinned,
        tolerance=tolerance,
        held=_held(old, load, replicas, _working_sets(profiles, spreads), sites),
        gone=frozenset(map(names.index, gone)),
    )


def gone_nodes(placement: pd.DataFrame, nodes: Sequence[Node]) -> tuple[str, ...]:
    """The nodes that the placement is on and the settings name no more: something must move off them."""
    return tuple(sorted(set(placement["node"]) - {node.name for node in nodes}))


def placement_of(problem: Problem, rows: Ints) -> pd.DataFrame:
    """The rows with names instead of positions."""
    return PLACEMENT.from_columns(
        {
            "site": np.array(problem.sites, dtype=object)[rows[:, 0]],
            "node": np.array(problem.nodes, dtype=object)[rows[:, 1]],
        }
    )


def rows_of(problem: Problem, placement: pd.DataFrame) -> Ints:
    """The placement as positions; sites and nodes the problem does not know are left out."""
    return _positions(placement, problem.sites, problem.nodes)


def _weights(nodes: Sequence[Node]) -> Floats:
    """Each open node's capacity beside the mean of the open ones; closed nodes weigh nothing."""
    capacity = np.array([node.capacity if node.state == "active" else 0.0 for node in nodes])
    if not capacity.sum() > 0:
        raise Infeasible(
            "a placement",
            "no node is active" if nodes else "there are no nodes",
            kept="the placement in force stays",
            advice="add a [[node]] to the settings, or take a node back with `flex nodes undrain NODE`",
        )
    weights: Floats = capacity * np.count_nonzero(capacity) / capacity.sum()
    return weights


def _rows_of_sites(rows: Ints, sites: tuple[str, ...], wanted: Set[str]) -> dict[int, frozenset[int]]:
    """The nodes of each of the wanted sites."""
    nodes: dict[int, set[int]] = {position: set() for position, site in enumerate(sites) if site in wanted}
    for site, node in rows[np.isin(rows[:, 0], list(nodes))].tolist():
        nodes[site].add(node)
    return {site: frozenset(held) for site, held in nodes.items()}


def _wishes(
    pins: Sequence[Pin], sites: tuple[str, ...], node_at: Mapping[str, int], is_open: Bools
) -> tuple[dict[int, frozenset[int]], Ints]:
    """Where each pinned site must be, and the least number of replicas of every site."""
    site_at = {site: position for position, site in enumerate(sites)}
    pinned: dict[int, frozenset[int]] = {}
    least = np.ones(len(sites), dtype=np.int64)
    for pin in pins:
        _check_pin(pin, site_at, node_at, is_open)
        position = site_at[pin.site]
        pinned[position] = frozenset(node_at[node] for node in pin.nodes)
        least[position] = max(pin.min_replicas, len(pin.nodes), 1)
    return pinned, least


def _check_pin(pin: Pin, site_at: Mapping[str, int], node_at: Mapping[str, int], is_open: Bools) -> None:
    if pin.site not in site_at:
        raise unknown_site(pin.site, tuple(site_at))
    for node in pin.nodes:
        if node not in node_at:
            raise unknown_node(node, tuple(node_at))
        if not is_open[node_at[node]]:
            raise _blocked(pin, f"node {node} is not active", f"undrain {node}, or pin {pin.site} elsewhere")
    if pin.min_replicas > is_open.sum():
        answer = f"it asks for {pin.min_replicas} replicas and {is_open.sum()} nodes are active"
        raise _blocked(pin, answer, "ask for fewer replicas, or add nodes")


def _blocked(pin: Pin, answer: str, advice: str) -> Infeasible:
    return Infeasible(f"the pin on {pin.site}", answer, kept="the placement in force stays", advice=advice)


def unknown_site(site: str, known: Sequence[str]) -> Unknown:
    return Unknown(
        f"the site {site!r}",
        f"it is neither in the placement nor in the logs of the period ({len(known)} sites are)",
        kept="nothing was changed",
        advice="`flex sites list` shows every site by the name FLEX knows it by",
    )


def unknown_node(node: str, known: Sequence[str]) -> Unknown:
    return Unknown(
        f"the node {node!r}",
        f"the settings know {', '.join(known) or 'no node'}",
        kept="nothing was changed",
        advice="`flex nodes list` shows every node; a new one needs a [[node]] in the settings",
    )


def _demand(
    profiles: pd.DataFrame,
    spreads: pd.DataFrame,
    sites: tuple[str, ...],
    asked: tuple[Ints, Mapping[int, frozenset[int]]],
    weights: Floats,
    replicate_above: float,
) -> tuple[Floats, Ints]:
    """What one replica of each site asks, in bytes, and how many replicas that takes.

    The number is the smallest, from the least asked for, with which the site stays under `replicate_above` of a mean
    node in every dimension; a site that stays where it is has as many as it has.
    A working set that stays too large on any number of nodes does not add replicas beyond what its access rate needs.
    """
    whole = profiles.set_index("site")[["access_bytes", "working_set"]].reindex(list(sites), fill_value=0)
    demand: Floats = whole.to_numpy(dtype=np.float64, copy=True)
    least, stays = asked
    replicas = least.copy()
    open_nodes = int(np.count_nonzero(weights))
    ceiling = replicate_above * demand.sum(axis=0) / open_nodes
    by_site = dict(iter(spreads.groupby("site", sort=False)))
    for position in sorted({*np.flatnonzero((demand > ceiling).any(axis=1) | (least > 1)).tolist(), *stays}):
        options = _options(demand[position], by_site.get(sites[position]), open_nodes)
        k = len(stays.get(position, ())) or _fewest(options, ceiling, int(least[position]), open_nodes)
        replicas[position] = k
        demand[position] = options[k]
    return demand, replicas


def _held(
    old: Ints, load: Floats, replicas: Ints, working_set: Callable[[str, int], float], sites: tuple[str, ...]
) -> Floats | None:
    """What the rows in force ask, each site's split over as many as it has; None when that is what rows ask anyway."""
    count = np.bincount(old[:, 0], minlength=len(sites))
    others = np.flatnonzero((count > 0) & (count != replicas))
    if not len(others):
        return None
    held: Floats = load[old[:, 0]].copy()
    for site in others:
        now, then = (working_set(sites[site], int(k)) for k in (count[site], replicas[site]))
        rows = old[:, 0] == site
        held[rows, 0] *= replicas[site] / count[site]
        held[rows, 1] *= now / then if then else 1.0
    return held


def _working_sets(profiles: pd.DataFrame, spreads: pd.DataFrame) -> Callable[[str, int], float]:
    """W on each of k nodes; W itself where that was not measured."""
    whole = profiles.set_index("site")["working_set"].to_dict()
    measured = spreads.set_index(["site", "replicas"])["working_set"].to_dict()
    return lambda site, k: float(measured.get((site, k)) or whole.get(site) or 0)


def _options(whole: Floats, spread: pd.DataFrame | None, most: int) -> dict[int, Floats]:
    """What a replica asks for each number of replicas; W_k is W itself where no spread was measured."""
    measured = (
        {} if spread is None else dict(zip(spread["replicas"].tolist(), spread["working_set"].tolist(), strict=True))
    )
    return {k: np.array([whole[0] / k, measured.get(k, whole[1])], dtype=np.float64) for k in range(1, most + 1)}


def _fewest(options: Mapping[int, Floats], ceiling: Floats, least: int, most: int) -> int:
    candidates = range(least, most + 1)
    fits = [k for k in candidates if (options[k] <= ceiling).all()]
    by_access = [k for k in candidates if options[k][0] <= ceiling[0]]
    return next(iter(fits or by_access or [most]))


def _positions(placement: pd.DataFrame, sites: tuple[str, ...], nodes: tuple[str, ...]) -> Ints:
    known = placement[placement["node"].isin(list(nodes)) & placement["site"].isin(list(sites))]
    site = pd.Index(sites).get_indexer(pd.Index(known["site"]))
    node = pd.Index(nodes).get_indexer(pd.Index(known["node"]))
    rows: Ints = np.stack([site, node], axis=1).astype(np.int64).reshape(-1, 2)
    return in_order(rows)


def in_order(rows: Ints) -> Ints:
    """Rows sorted by site, then node: the one order in which placements are compared."""
    ordered: Ints = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return ordered


def _bad_number(name: str, value: float, wanted: str) -> BadInput:
    return BadInput(
        f"{name} = {value!r}", f"wanted {wanted}", kept="nothing was planned", advice=f"correct {name} in [solver]"
    )

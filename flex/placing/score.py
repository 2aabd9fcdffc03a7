"""The judge: how balanced a partition is, what it moves, which rules it breaks.

One judge for every solver. Nothing here looks at how an answer was found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np

from flex.model.balance import Balance, NodeLoad
from flex.placing.problem import Bools, Floats, Ints, Problem

# Loads are sums of floats: a node exactly on the edge of the band is inside it.
ROUNDING = 1e-9

WISHES = ("twice", "replicas", "closed", "pin", "barred", "apart", "together")


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule a partition breaks.

    `kind` is one of over, under (the band), moves, cold, inflow (the limits of moves), or one of
    WISHES; of these the `sites` are known, by position.
    """

    kind: str
    subject: str
    limit: float
    actual: float
    sites: tuple[int, ...] = field(default=(), compare=False)

    @property
    def is_wish(self) -> bool:
        return self.kind in WISHES


def loads(problem: Problem, rows: Ints) -> Floats:
    """What the partition asks of each node, in each dimension."""
    return _sum_loads_by_node(problem, rows, problem.load[rows[:, 0]])


def _sum_loads_by_node(problem: Problem, rows: Ints, row_loads: Floats) -> Floats:
    """What each node is asked for by rows, each of which asks for so much: added in the order of
    the rows.
    """
    node = np.ascontiguousarray(rows[:, 1])
    total = np.zeros((len(problem.nodes), len(problem.dimensions)))
    for at, column in enumerate(row_loads.T):
        total[:, at] = np.bincount(node, column, minlength=len(problem.nodes))
    return total


def deviation(problem: Problem, rows: Ints) -> Floats:
    """Distance from the fair share as a ratio of it; for a closed node, what is left on it beside a
    mean share.
    """
    return _distance(problem, loads(problem, rows))


def _distance(problem: Problem, total: Floats) -> Floats:
    share = np.where(problem.open, problem.share, 0.0)[:, None]
    scale = np.where(problem.open, problem.share, 100.0)[:, None]
    distance: Floats = (total - share) / scale
    return np.where(problem.load.any(axis=0), distance, 0.0)


def balance_in_force(problem: Problem, parts: Set[str] = frozenset()) -> Balance:
    """How balanced the nodes are now, whatever number of replicas is wanted next."""
    if problem.held is None:
        return balance(problem, problem.old, parts)
    total = _sum_loads_by_node(problem, problem.old, problem.held)
    # Shares are of what the rows in force ask together, which more replicas make more.
    whole = total.sum(axis=0)
    total *= np.divide(
        problem.share[problem.open].sum(), whole, out=np.ones_like(whole), where=whole > 0
    )
    return _balance(problem, problem.old, total, parts)


def balance(problem: Problem, rows: Ints, parts: Set[str] = frozenset()) -> Balance:
    """`parts` are loads that count as no site."""
    return _balance(problem, rows, loads(problem, rows), parts)


def _balance(problem: Problem, rows: Ints, total: Floats, parts: Set[str]) -> Balance:
    # What nobody asks for is shared evenly.
    share = np.where(problem.open, problem.share, 0.0)[:, None]
    total = np.where(problem.load.any(axis=0), total, share)
    away = _distance(problem, total)
    is_site = np.array([site not in parts for site in problem.sites], dtype=np.bool_)
    count = np.bincount(rows[is_site[rows[:, 0]], 1], minlength=len(problem.nodes))
    per_node = tuple(
        NodeLoad(
            node=name,
            access=float(total[n, 0]),
            working_set=float(total[n, 1]),
            sites=int(count[n]),
            fair=float(problem.share[n]),
            others=tuple(zip(problem.dimensions[2:], total[n, 2:].tolist(), strict=True)),
        )
        for n, name in enumerate(problem.nodes)
    )
    if not away.size:
        return Balance(per_node, 0.0)
    farthest = int(np.abs(away).argmax())
    node, dimension = divmod(farthest, len(problem.dimensions))
    return Balance(
        per_node,
        float(abs(away[node, dimension])),
        problem.nodes[node],
        problem.dimensions[dimension],
    )


def new_rows(problem: Problem, rows: Ints) -> Ints:
    """The rows that are new: what the partition moves."""
    return rows[~_mask_of_known(_keys(problem, rows), _keys(problem, problem.old))]


def rows_given_up(problem: Problem, rows: Ints) -> Ints:
    """The rows in force that the partition gives up."""
    return problem.old[~np.isin(_keys(problem, problem.old), _keys(problem, rows))]


def moves(problem: Problem, rows: Ints) -> int:
    """How many moves the new rows are."""
    return int(costs(problem, rows)[:, 0].sum())


def cold_bytes(problem: Problem, rows: Ints) -> int:
    return int(costs(problem, rows)[:, 1].sum())


def inflow(problem: Problem, rows: Ints) -> Ints:
    """The cold bytes that come to each node."""
    arriving = np.zeros(len(problem.nodes), dtype=np.int64)
    np.add.at(arriving, rows[:, 1], costs(problem, rows)[:, 1])
    return arriving


def costs(problem: Problem, rows: Ints) -> Ints:
    """The moves and the cold bytes of each row: none of those in force, less of those that are so
    in part.
    """
    weight = np.ones_like(problem.cold) if problem.weight is None else problem.weight
    keys = _keys(problem, rows)
    is_new = ~_mask_of_known(keys, _keys(problem, problem.old))
    costs: Ints = np.stack([weight, problem.cold], axis=1)[rows[:, 0]] * is_new[:, None]
    if problem.partly is not None and len(problem.partly):
        known = _keys(problem, problem.partly)
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        costs -= np.where((known[at] == keys)[:, None], problem.partly[at, 2:], 0)
    return costs


def violations(problem: Problem, rows: Ints) -> tuple[Violation, ...]:
    """Everything the partition breaks, in a fixed order; empty when it is balanced and all wishes
    hold.
    """
    broken = (_counts_broken, _nodes_broken, _groups_broken, _limits_broken, _band_broken)
    return tuple(violation for rule in broken for violation in rule(problem, rows))


def _counts_broken(problem: Problem, rows: Ints) -> list[Violation]:
    broken = []
    ordered = np.sort(_keys(problem, rows))
    again, times = np.unique(ordered[1:][np.diff(ordered) == 0], return_counts=True)
    for key, count in zip(again.tolist(), (times + 1).tolist(), strict=True):
        site = key // len(problem.nodes)
        broken.append(Violation("twice", problem.sites[site], 1, float(count), (site,)))
    replicas = np.bincount(rows[:, 0], minlength=len(problem.sites))
    for s in np.flatnonzero(replicas != problem.replicas).tolist():
        broken.append(
            Violation(
                "replicas", problem.sites[s], float(problem.replicas[s]), float(replicas[s]), (s,)
            )
        )
    return broken


def _nodes_broken(problem: Problem, rows: Ints) -> list[Violation]:
    """Rows where none may be, and none where one must."""
    wishing = np.isin(rows[:, 0], [*problem.pinned, *problem.barred])
    present = set(_keys(problem, rows[wishing]).tolist())
    wished = {("pin", 1.0): problem.pinned, ("barred", 0.0): problem.barred}
    closed = [
        Violation("closed", _site_on_node(problem, s, n), 0, 1, (s,))
        for s, n in rows[~problem.open[rows[:, 1]]].tolist()
    ]
    return closed + [
        Violation(kind, _site_on_node(problem, site, node), wanted, 1 - wanted, (site,))
        for (kind, wanted), wishes in wished.items()
        for site, nodes in sorted(wishes.items())
        for node in sorted(nodes)
        if (site * len(problem.nodes) + node in present) != bool(wanted)
    ]


def _groups_broken(problem: Problem, rows: Ints) -> list[Violation]:
    nodes = _nodes_of(rows, frozenset().union(*problem.apart, *problem.together))
    broken = []
    for group in problem.apart:
        crowds: dict[int, list[int]] = defaultdict(list)
        for site in sorted(group):
            for node in nodes[site]:
                crowds[node].append(site)
        for node, sites in sorted(crowds.items()):
            if len(sites) > 1:
                named = " and ".join(problem.sites[site] for site in sites)
                broken.append(
                    Violation(
                        "apart",
                        f"{named} on {problem.nodes[node]}",
                        1,
                        float(len(sites)),
                        tuple(sites),
                    )
                )
    for group in problem.together:
        first, *others = sorted(group)
        for other in others:
            if apart := nodes[first] ^ nodes[other]:
                named = f"{problem.sites[first]} and {problem.sites[other]}"
                broken.append(Violation("together", named, 0, float(len(apart)), (first, other)))
    return broken


def _nodes_of(rows: Ints, sites: frozenset[int]) -> dict[int, set[int]]:
    nodes_by_site: dict[int, set[int]] = {site: set() for site in sites}
    for site, node in rows[np.isin(rows[:, 0], list(sites))].tolist():
        nodes_by_site[site].add(node)
    return nodes_by_site


def _limits_broken(problem: Problem, rows: Ints) -> list[Violation]:
    limits = problem.limits
    if limits.none:
        return []
    arriving = inflow(problem, rows).tolist()
    spent = [
        ("moves", "the whole cluster", limits.moves, moves(problem, rows)),
        ("cold", "the whole cluster", limits.cold_bytes, sum(arriving)),
        *(
            ("inflow", node, limits.inflow, cold)
            for node, cold in zip(problem.nodes, arriving, strict=True)
        ),
    ]
    return [
        Violation(kind, of, most, actual)
        for kind, of, most, actual in spent
        if most is not None and actual > most
    ]


def _band_broken(problem: Problem, rows: Ints) -> list[Violation]:
    broken = []
    away = deviation(problem, rows)
    carries = problem.load.sum(axis=0) > 0
    outside = (
        (np.abs(away) > problem.tolerance + ROUNDING) & problem.open[:, None] & carries[None, :]
    )
    for n, d in np.argwhere(outside):
        kind = "over" if away[n, d] > 0 else "under"
        subject = f"{problem.nodes[n]} {problem.dimensions[d]}"
        broken.append(Violation(kind, subject, problem.tolerance, float(abs(away[n, d]))))
    return broken


def _mask_of_known(keys: Ints, known: Ints) -> Bools:
    """Which keys are among the known ones, which are in order: a table of them costs more than a
    look into it.
    """
    if not len(known):
        return np.zeros(len(keys), dtype=np.bool_)
    among: Bools = known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys
    return among


def _site_on_node(problem: Problem, site: int, node: int) -> str:
    return f"{problem.sites[site]} on {problem.nodes[node]}"


def _keys(problem: Problem, rows: Ints) -> Ints:
    """One number per row, so that sets of rows are sets of numbers."""
    keys: Ints = rows[:, 0] * len(problem.nodes) + rows[:, 1]
    return keys

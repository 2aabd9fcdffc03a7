"""What keeps a partition from being balanced: wishes for nodes, sites larger than a node, and
limits of moves.

Takes a Problem. Returns Causes. Each can be taken away: so a solver can try what is better without
it. Does not search itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from flex.placing.problem import Bools, Ints, Problem
from flex.placing.score import ROUNDING

# What a limit of moves is on, by the kind of rule that it is to the judge.
LIMITS = {"moves": "moves", "cold": "cold bytes", "inflow": "bytes into a node"}
# The names of these kinds in MoveLimits.
FIELDS = {"moves": "moves", "cold": "cold_bytes", "inflow": "inflow"}


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """`names` are for people. Because of it no partition can stay under `least`, which is 0 of a
    limit. Where `is_one_site` a single site is as much as that, whatever node it is on.
    """

    names: Callable[[], Iterable[str]]
    without: Callable[[Problem], Problem]
    least: float = 0.0
    is_one_site: bool = False


def count_causes(problem: Problem) -> list[Cause]:
    """Those that are known without any rows; what keeps a node farthest off comes first."""
    causes = [*_large_sites(problem), *_wishes(problem)]
    return sorted(causes, key=lambda cause: -cause.least)


def farthest_causes(counted: Sequence[Cause], off: float, near: float) -> list[Cause]:
    """Those that keep a node farthest off, where that is as far as `off`, or nearly."""
    most = counted[0].least if counted else 0.0
    return [cause for cause in counted if cause.least >= most - ROUNDING and most >= off - near]


def limit_causes(problem: Problem, kinds: Set[str] = LIMITS.keys()) -> list[Cause]:
    """The limits of moves that there are, of these kinds of rules."""
    limits = {kind: getattr(problem.limits, FIELDS[kind]) for kind in LIMITS}
    return [
        Cause(_one_name(f"the limit of {most} {LIMITS[kind]}"), _lift_limit(kind))
        for kind, most in limits.items()
        if most is not None and kind in kinds
    ]


def _one_name(name: str) -> Callable[[], Iterable[str]]:
    return lambda: (name,)


def _lift_limit(kind: str) -> Callable[[Problem], Problem]:
    none = {FIELDS[kind]: None}
    return lambda problem: replace(problem, limits=replace(problem.limits, **none))


def _large_sites(problem: Problem) -> Iterator[Cause]:
    """Sites of which one replica is more than a node."""
    widest = float(problem.share[problem.open].max(initial=0.0)) or 1.0
    over = problem.load.max(axis=1, initial=0.0) / widest - 1
    for site in np.flatnonzero(over > problem.tolerance + ROUNDING).tolist():
        much = float(over[site])
        name = f"{problem.sites[site]}, {much + 1:.0%} of a node"
        times = int(np.ceil(much + 1))
        yield Cause(_one_name(name), _spread_over_more_nodes(site, times), much, is_one_site=True)


def _spread_over_more_nodes(site: int, times: int) -> Callable[[Problem], Problem]:
    """As many as it needs, as far as there are nodes; what that moves does not count."""

    def spread_site(problem: Problem) -> Problem:
        count, load, cold = problem.replicas.copy(), problem.load.copy(), problem.cold.copy()
        weight = np.ones_like(cold) if problem.weight is None else problem.weight.copy()
        cold[site] = weight[site] = 0
        able = int(_open_to(problem, site).sum())
        count[site] = max(min(count[site] * times, able), count[site])
        load[site] *= problem.replicas[site] / count[site]
        partly = None if problem.partly is None else problem.partly[problem.partly[:, 0] != site]
        return replace(problem, replicas=count, load=load, cold=cold, weight=weight, partly=partly)

    return spread_site


def _wishes(problem: Problem) -> Iterator[Cause]:
    """Wishes for nodes that alone overload one, or keep from it what it should carry."""
    sites = np.array(sorted({*problem.pinned, *problem.barred}), dtype=np.int64)
    load, whole = problem.load[sites], problem.load.sum(axis=0)
    share = np.where(problem.open, problem.share, 1.0)[:, None]
    seen = problem.open[:, None] & (whole > 0)
    bound = _mark_sites_by_node(problem, sites, _must_be_on)
    kept = _mark_sites_by_node(problem, sites, _cannot_be_on)
    over = np.where(seen, bound @ load / share - 1, 0.0)
    under = np.where(seen, 1 - (whole - kept @ load) / share, 0.0)
    for nodes_of, off, held in ((bound, over, _wishes_for_it), (kept, under, _wishes_for_others)):
        least = off.max(axis=1, initial=0.0)
        for node in np.flatnonzero(least > problem.tolerance + ROUNDING).tolist():
            site_loads = np.where(nodes_of[node], load[:, off[node].argmax()], 0.0)
            largest = np.argsort(-site_loads, kind="stable")[: np.count_nonzero(site_loads)]
            if len(largest):
                wishes = partial(_all, held, problem, sites[largest].tolist(), node)
                names = partial(_names, problem, wishes)
                yield Cause(names, _drop_wishes(wishes), float(least[node]))


@dataclass(frozen=True, slots=True)
class _Wishes:
    """For one site: the nodes that it is to be on, and not to be on."""

    site: int
    pins: Set[int]
    bars: Set[int]


def _must_be_on(problem: Problem, site: int) -> Bools:
    """Nodes that it is pinned to, and all that its bars leave it, where it needs all of these."""
    left = _open_to(problem, site)
    node_mask = left if left.sum() == problem.replicas[site] else np.zeros_like(left)
    node_mask[sorted(problem.pinned.get(site, ()))] = True
    return node_mask


def _cannot_be_on(problem: Problem, site: int) -> Bools:
    """Nodes that it is barred from, and all others where its pins take all replicas."""
    pins = problem.pinned.get(site, frozenset())
    node_mask = np.full(len(problem.nodes), len(pins) >= problem.replicas[site])
    node_mask[sorted(pins)] = False
    node_mask[sorted(problem.barred.get(site, ()))] = True
    return node_mask


def _open_to(problem: Problem, site: int) -> Bools:
    node_mask = problem.open.copy()
    node_mask[sorted(problem.barred.get(site, ()))] = False
    return node_mask


def _mark_sites_by_node(
    problem: Problem, sites: Ints, nodes_of: Callable[[Problem, int], Bools]
) -> Bools:
    """For each node, which of the sites it is one of these nodes of."""
    site_mask = np.zeros((len(sites), len(problem.nodes)), dtype=np.bool_)
    for row, site in enumerate(sites.tolist()):
        site_mask[row] = nodes_of(problem, site)
    return site_mask.T


def _all(
    held: Callable[[Problem, int, int], _Wishes], problem: Problem, sites: Sequence[int], node: int
) -> list[_Wishes]:
    return [held(problem, site, node) for site in sites]


def _wishes_for_it(problem: Problem, site: int, node: int) -> _Wishes:
    bars, left = problem.barred.get(site, frozenset()), _open_to(problem, site)
    needs_all = left.sum() == problem.replicas[site]
    return _Wishes(
        site,
        problem.pinned.get(site, frozenset()) & {node},
        bars if needs_all and left[node] else frozenset(),
    )


def _wishes_for_others(problem: Problem, site: int, node: int) -> _Wishes:
    pins, bars = (of.get(site, frozenset()) for of in (problem.pinned, problem.barred))
    takes_all = len(pins) >= problem.replicas[site] and node not in pins
    return _Wishes(site, pins if takes_all else frozenset(), bars & {node})


def _names(problem: Problem, wishes: Callable[[], Sequence[_Wishes]]) -> Iterator[str]:
    for site_wishes in wishes():
        name, is_at_rest = problem.sites[site_wishes.site], site_wishes.site in problem.resting
        for node in sorted(site_wishes.pins):
            where = problem.nodes[node]
            yield (f"{name} at rest on {where}" if is_at_rest else f"the pin of {name} to {where}")
        if site_wishes.bars:
            nodes = ", ".join(problem.nodes[node] for node in sorted(site_wishes.bars))
            yield f"{name} not on {nodes}"


def _drop_wishes(wishes: Callable[[], Sequence[_Wishes]]) -> Callable[[Problem], Problem]:
    def lift_wishes(problem: Problem) -> Problem:
        pinned, barred = dict(problem.pinned), dict(problem.barred)
        for site_wishes in wishes():
            pinned[site_wishes.site] = pinned.get(site_wishes.site, frozenset()) - site_wishes.pins
            barred[site_wishes.site] = barred.get(site_wishes.site, frozenset()) - site_wishes.bars
        return replace(problem, pinned=pinned, barred=barred)

    return lift_wishes

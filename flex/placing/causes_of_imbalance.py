"""What keeps a partition from being balanced: wishes for nodes, sites larger than a node, and
limits of moves.

Takes a Problem. Returns Causes. Each can be taken away: so a solver can try what is better without
it. Does not search itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Floats, Problem
from flex.placing.score import ROUNDING

# What a limit of moves is on, by the kind of rule that it is to the judge.
LIMITS = {"moves": "moves", "cold": "cold bytes", "inflow": "bytes into a node"}
# The kind of each, by its name in MoveLimits.
FIELDS = {"moves": "moves", "cold_bytes": "cold", "inflow": "inflow"}


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """`names` is what people read. Because of it no partition can stay under `least`, which is 0 of
    a limit. Where `is_one_site` a single site is as much as that, whatever node it is on.
    """

    names: tuple[str, ...]
    without: Callable[[Problem], Problem]
    least: float = 0.0
    is_one_site: bool = False


def count_causes(problem: Problem) -> list[Cause]:
    """Those that are known without any rows; what keeps a node farthest off comes first."""
    found = [*_large_sites(problem), *_wishes(problem)]
    return sorted(found, key=lambda cause: -cause.least)


def farthest(causes: Sequence[Cause]) -> list[Cause]:
    """Those of the counted ones that alone keep a node as far off as all of them do."""
    return [cause for cause in causes if cause.least >= causes[0].least - ROUNDING]


def limits(problem: Problem, kinds: Set[str] = frozenset(LIMITS)) -> list[Cause]:
    """The limits of moves that there are, of these kinds of rules."""
    found = ((name, getattr(problem.limits, name)) for name in FIELDS)
    return [
        Cause((f"the limit of {most} {LIMITS[FIELDS[name]]}",), _without_limit(name))
        for name, most in found
        if most is not None and FIELDS[name] in kinds
    ]


def _large_sites(problem: Problem) -> Iterator[Cause]:
    """Sites of which one replica is more than a node."""
    widest = float(problem.share[problem.open].max())
    over = problem.load.max(axis=1, initial=0.0) / widest - 1
    sites = np.flatnonzero(over > problem.tolerance + ROUNDING)
    if not len(sites):
        return
    sites = sites[np.argsort(-over[sites])]
    names = tuple(f"{problem.sites[s]}, {over[s] + 1:.0%} of a node" for s in sites)
    times = np.ceil(over[sites] + 1).astype(np.int64)

    def on_more_nodes(made: Problem) -> Problem:
        """As many as each needs, as far as there are nodes; what that moves does not count."""
        count, load, cold = made.replicas.copy(), made.load.copy(), made.cold.copy()
        weight = np.ones_like(cold) if made.weight is None else made.weight.copy()
        cold[sites] = weight[sites] = 0
        barred = np.array([len(made.barred.get(s, ())) for s in sites.tolist()])
        most = np.maximum(int(made.open.sum()) - barred, count[sites])
        count[sites] = np.minimum(count[sites] * times, most)
        load[sites] *= (made.replicas[sites] / count[sites])[:, None]
        return replace(made, replicas=count, load=load, cold=cold, weight=weight)

    yield Cause(names, on_more_nodes, float(over.max()), is_one_site=True)


def _wishes(problem: Problem) -> Iterator[Cause]:
    """Wishes for nodes that alone overload one, or keep from it what it should carry."""
    must, may = _bound_to(problem), problem.load.sum(axis=0) - _kept_from(problem)
    seen = problem.open[:, None] & (problem.load.sum(axis=0) > 0)
    share = np.where(problem.open, problem.share, 1.0)[:, None]
    over, under = (
        np.where(seen, off, 0.0).max(axis=1, initial=0.0)
        for off in (must / share - 1, 1 - may / share)
    )
    for node in np.flatnonzero(over > problem.tolerance + ROUNDING).tolist():
        pinned = {s for s, nodes in problem.pinned.items() if node in nodes}
        barred = {
            site
            for site, nodes in problem.barred.items()
            if nodes and node in _only(problem, site)
        }
        names = [_pin_text(problem, site, node) for site in sorted(pinned)]
        names += [_bar_text(problem, s, problem.barred[s]) for s in sorted(barred)]
        if names:
            without = _without_wishes(
                dict.fromkeys(pinned, frozenset([node])), dict.fromkeys(barred)
            )
            yield Cause(tuple(names), without, float(over[node]))
    for node in np.flatnonzero(under > problem.tolerance + ROUNDING).tolist():
        barred = {s for s, nodes in problem.barred.items() if node in nodes}
        names = [_bar_text(problem, site, {node}) for site in sorted(barred)]
        if names:
            without = _without_wishes({}, dict.fromkeys(barred, frozenset([node])))
            yield Cause(tuple(names), without, float(under[node]))


def _without_wishes(
    pins: Mapping[int, Set[int]], bars: Mapping[int, Set[int] | None]
) -> Callable[[Problem], Problem]:
    """Pins to these nodes, and bars from them, taken back; from all nodes where that is None."""

    def without(made: Problem) -> Problem:
        pinned = {site: made.pinned[site] - nodes for site, nodes in pins.items()}
        barred = {
            site: frozenset[int]() if nodes is None else made.barred[site] - nodes
            for site, nodes in bars.items()
        }
        return replace(
            made, pinned={**made.pinned, **pinned}, barred={**made.barred, **barred}
        )

    return without


def _bound_to(problem: Problem) -> Floats:
    """What each node carries in every partition that keeps the wishes for nodes."""
    total = np.zeros_like(
        problem.load, shape=(len(problem.nodes), len(problem.dimensions))
    )
    for site in {*problem.pinned, *problem.barred}:
        total[sorted(problem.pinned.get(site, frozenset()) | _only(problem, site))] += (
            problem.load[site]
        )
    return total


def _only(problem: Problem, site: int) -> Set[int]:
    """All nodes that are not barred to the site, where it needs all of them."""
    if site not in problem.barred:
        return frozenset()
    left = set(np.flatnonzero(problem.open).tolist()) - problem.barred[site]
    return left if len(left) == problem.replicas[site] else frozenset()


def _kept_from(problem: Problem) -> Floats:
    """What of all loads cannot come to each node: of sites barred from it."""
    total = np.zeros_like(
        problem.load, shape=(len(problem.nodes), len(problem.dimensions))
    )
    for site, nodes in problem.barred.items():
        total[sorted(nodes)] += problem.load[site]
    return total


def _pin_text(problem: Problem, site: int, node: int) -> str:
    name, where = problem.sites[site], problem.nodes[node]
    return (
        f"{name} at rest on {where}"
        if site in problem.resting
        else f"the pin of {name} to {where}"
    )


def _bar_text(problem: Problem, site: int, nodes: Set[int]) -> str:
    return (
        f"{problem.sites[site]} not on "
        f"{', '.join(problem.nodes[node] for node in sorted(nodes))}"
    )


def _without_limit(name: str) -> Callable[[Problem], Problem]:
    return lambda made: replace(made, limits=replace(made.limits, **{name: None}))

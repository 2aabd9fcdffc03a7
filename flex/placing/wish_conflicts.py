"""Why sites cannot all be where people want them: wishes that no partition can keep together, and
what would help.

Takes a Problem and the sites whose wishes an answer breaks. Returns the wishes that cause it, each
of them needed for the conflict. Returns also how many more nodes, or how many wishes fewer, would
help. Does not look at loads and limits: why_best_effort.py does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flex.model.best_effort_shortfalls import Relaxation
from flex.placing.bundles import bundle_groups
from flex.placing.problem import Problem
from flex.wishes import seat_rivals_apart
from flex.wishes.seat_rivals_apart import Guest

# The most wishes among which a cause is looked for. A guess.
WISHES = 100
# The most steps of a search for a cause. A guess.
STEPS = 2_000


@dataclass(frozen=True, slots=True)
class _Wish:
    """A wish of one kind: `sites` apart, or one site on `nodes`, not on them, or on so many."""

    kind: str
    sites: tuple[int, ...]
    nodes: tuple[int, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Conflict:
    because: tuple[str, ...] = ()
    instead: tuple[Relaxation, ...] = ()


def conflict(problem: Problem, sites: Sequence[int]) -> Conflict:
    """Which wishes of these sites, and of all sites that are tied to them, cannot be kept together.
    Empty where they can be, or where that is not known.

    Each way out is the smallest of its kind where that is proven.
    """
    bundles = bundle_groups(problem)
    circle = _circle(bundles.problem, bundles.of[list(sites)].tolist())
    asked, wishes = bundles.problem, _wishes(bundles.problem, circle)
    if len(wishes) > WISHES or not _impossible(asked, circle, wishes):
        return Conflict()
    caused = _fewest(asked, circle, wishes)
    return Conflict(
        tuple(_sentence(asked, wish) for wish in caused),
        (
            *_more_nodes(asked, circle, wishes),
            *_fewer_wishes(asked, circle, wishes, caused),
        ),
    )


def _circle(problem: Problem, sites: Sequence[int]) -> list[int]:
    rivals = seat_rivals_apart.rivals_of([*problem.apart, set(sites)])
    return next(seat_rivals_apart.circles([*sites, *sorted(rivals)], rivals))


def _wishes(problem: Problem, circle: Sequence[int]) -> list[_Wish]:
    """In the order in which they are looked at: what can be left out first is no cause."""
    there, replicas = set(circle), problem.replicas
    return [
        *(
            _Wish("nodes", (site,), (node,))
            for site in circle
            for node in sorted(problem.pinned.get(site, ()))
        ),
        *(
            _Wish("count", (site,), count=int(replicas[site]))
            for site in circle
            if replicas[site] > 1
        ),
        *(
            _Wish("not on", (site,), tuple(sorted(problem.barred[site])))
            for site in circle
            if site in problem.barred
        ),
        *(
            _Wish("apart", tuple(sorted(group)))
            for group in problem.apart
            if group & there
        ),
    ]


def _impossible(
    problem: Problem, circle: Sequence[int], wishes: Sequence[_Wish], more: int = 0
) -> bool:
    guests = {}
    for site in circle:
        own = [wish for wish in wishes if site in wish.sites]
        guests[site] = _guest(problem, site, own, more)
    if any(
        len(guest.on) > guest.count or guest.missing > len(guest.free)
        for guest in guests.values()
    ):
        return True
    return seat_rivals_apart.seat(
        guests, [wish.sites for wish in wishes if wish.kind == "apart"], STEPS
    ).impossible


def _guest(
    problem: Problem, site: int, wishes: Sequence[_Wish], more: int
) -> Guest[int]:
    on = frozenset(
        node for wish in wishes if wish.kind == "nodes" for node in wish.nodes
    )
    barred = {node for wish in wishes if wish.kind == "not on" for node in wish.nodes}
    counts = [wish.count for wish in wishes if wish.kind == "count"]
    nodes = [
        *np.flatnonzero(problem.open).tolist(),
        *range(len(problem.nodes), len(problem.nodes) + more),
    ]
    count = counts[0] if counts else int(min(problem.replicas[site], 1))
    return Guest(
        count,
        on,
        tuple(node for node in nodes if node not in on and node not in barred),
    )


def _fewest(
    problem: Problem, circle: Sequence[int], wishes: Sequence[_Wish]
) -> list[_Wish]:
    """Wishes of which none can be left out without the others being possible."""
    caused = list(wishes)
    for wish in wishes:
        without = [one for one in caused if one is not wish]
        if _impossible(problem, circle, without):
            caused = without
    return caused


def _more_nodes(
    problem: Problem, circle: Sequence[int], wishes: Sequence[_Wish]
) -> tuple[Relaxation, ...]:
    wanted, there = int(problem.replicas[list(circle)].sum()), int(problem.open.sum())
    for more in range(1, wanted + 1):
        if not _impossible(problem, circle, wishes, more):
            return (Relaxation("nodes", float(there + more), least=True),)
    return ()


def _fewer_wishes(
    problem: Problem,
    circle: Sequence[int],
    wishes: Sequence[_Wish],
    caused: Sequence[_Wish],
) -> tuple[Relaxation, ...]:
    """Takes wishes back one after the other, from each cause the wish that gives way first."""
    left, count = list(wishes), 0
    while caused:
        left, count = [wish for wish in left if wish is not caused[-1]], count + 1
        caused = (
            _fewest(problem, circle, left) if _impossible(problem, circle, left) else ()
        )
    return (Relaxation("wishes taken back", float(count), least=count == 1),)


def _sentence(problem: Problem, wish: _Wish) -> str:
    sites = [problem.sites[at] for at in wish.sites]
    nodes = [problem.nodes[at] for at in wish.nodes]
    match wish.kind:
        case "nodes":
            return f"the pin of {sites[0]} to {nodes[0]}"
        case "count":
            return f"{wish.count} replicas of {sites[0]}"
        case "not on":
            return f"{sites[0]} not on {', '.join(nodes)}"
        case _:
            return f"{' and '.join(sites)} apart"

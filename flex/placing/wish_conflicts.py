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
from flex.placing.problem import Problem
from flex.wishes import seat_rivals_apart
from flex.wishes.seat_rivals_apart import Guest

# The most wishes among which a cause is looked for. A guess.
WISHES = 100
# The most steps of a search for a cause. A guess.
STEPS = 2_000


@dataclass(frozen=True, slots=True)
class _Wish:
    """A wish of one kind: `sites` apart or together, or one site on `nodes`, not on them, or on so
    many.
    """

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
    circle = _circle(problem, sites)
    wishes = _wishes(problem, circle)
    if len(wishes) > WISHES or not _impossible(problem, circle, wishes):
        return Conflict()
    caused = _fewest(problem, circle, wishes)
    return Conflict(
        tuple(_sentence(problem, wish) for wish in caused),
        (*_more_nodes(problem, circle, wishes), *_fewer_wishes(problem, circle, wishes, caused)),
    )


def _circle(problem: Problem, sites: Sequence[int]) -> list[int]:
    tied = seat_rivals_apart.rivals_of([*problem.apart, *problem.together, set(sites)])
    return next(seat_rivals_apart.circles([*sites, *sorted(tied)], tied))


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
            _Wish(kind, tuple(sorted(group)))
            for kind, groups in (("together", problem.together), ("apart", problem.apart))
            for group in groups
            if group & there
        ),
    ]


def _impossible(
    problem: Problem, circle: Sequence[int], wishes: Sequence[_Wish], more: int = 0
) -> bool:
    of = _first_of_those_together(circle, wishes)
    guests = {
        first: _guest(problem, [site for site in circle if of[site] == first], wishes, more)
        for first in dict.fromkeys(of.values())
    }
    apart = [[of[site] for site in wish.sites] for wish in wishes if wish.kind == "apart"]
    if None in guests.values() or any(len({*group}) < len(group) for group in apart):
        return True
    seated = {first: guest for first, guest in guests.items() if guest is not None}
    return seat_rivals_apart.seat(seated, apart, STEPS).impossible


def _first_of_those_together(circle: Sequence[int], wishes: Sequence[_Wish]) -> dict[int, int]:
    tied = seat_rivals_apart.rivals_of([wish.sites for wish in wishes if wish.kind == "together"])
    return {site: group[0] for group in seat_rivals_apart.circles(circle, tied) for site in group}


def _guest(
    problem: Problem, sites: Sequence[int], wishes: Sequence[_Wish], more: int
) -> Guest[int] | None:
    """These sites as one, on all nodes that the wishes name; None where they contradict each other.

    A site of which nobody says on how many nodes it is to be is on one, or on as many as others
    want, if several are asked for.
    """
    own = [wish for wish in wishes if set(sites).intersection(wish.sites)]
    on = frozenset(node for wish in own if wish.kind == "nodes" for node in wish.nodes)
    barred = {node for wish in own if wish.kind == "not on" for node in wish.nodes}
    counts = {wish.count for wish in own if wish.kind == "count"}
    counts |= {int(problem.replicas[s]) for s in sites if problem.replicas[s] <= 1}
    count = max(counts, default=max(1, len(on)))
    nodes = [
        *np.flatnonzero(problem.open).tolist(),
        *range(len(problem.nodes), len(problem.nodes) + more),
    ]
    free = tuple(node for node in nodes if node not in on and node not in barred)
    if len(counts) > 1 or on & barred or not len(on) <= count <= len(on) + len(free):
        return None
    return Guest(count, on, free)


def _fewest(problem: Problem, circle: Sequence[int], wishes: Sequence[_Wish]) -> list[_Wish]:
    """Wishes of which none can be left out without the others being possible: where the steps
    end before that is known, it may be known of fewer wishes.
    """
    caused, before = list(wishes), 0
    while len(caused) != before:
        before = len(caused)
        for wish in list(caused):
            without = [other for other in caused if other is not wish]
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
    problem: Problem, circle: Sequence[int], wishes: Sequence[_Wish], caused: Sequence[_Wish]
) -> tuple[Relaxation, ...]:
    """Takes wishes back one after the other, from each cause the wish that gives way first."""
    left, count = list(wishes), 0
    while caused:
        left, count = [wish for wish in left if wish is not caused[-1]], count + 1
        caused = _fewest(problem, circle, left) if _impossible(problem, circle, left) else ()
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
            return f"{' and '.join(sites)} {wish.kind}"

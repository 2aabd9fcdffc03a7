"""Nodes for sites that must be apart: no two rivals share a node.

Takes guests, and the groups in which no two share a node. A guest has nodes that it must be on, and
other nodes that it may be on. Returns nodes for each guest, or that there are none. Does not decide
which wish gives way where there are none: the caller does.

The search is thorough. It gives nodes to one guest after the other, beginning with the guest that
has the least choice, and tries the likeliest nodes first. A step that leads nowhere is taken back.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

S = TypeVar("S", bound=int | str)
N = TypeVar("N", bound=int | str)

# So many times nodes are given to a guest before the search gives up.
STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Guest(Generic[N]):
    """Wants `count` nodes: all of `on`, and the others from `free`, the likeliest first, which has
    none of `on`.
    """

    count: int
    on: frozenset[N]
    free: tuple[N, ...]

    @property
    def missing(self) -> int:
        return max(0, self.count - len(self.on))


@dataclass(frozen=True, slots=True)
class Seating(Generic[S, N]):
    """The nodes of each guest; None where there are none, or, unless that is `sure`, where none
    were found.
    """

    nodes: Mapping[S, tuple[N, ...]] | None
    sure: bool = True

    @property
    def impossible(self) -> bool:
        return self.nodes is None and self.sure


def seat(
    guests: Mapping[S, Guest[N]], groups: Iterable[Collection[S]], steps: int = STEPS
) -> Seating[S, N]:
    """Nodes for every guest, so that no two of a group share any; each circle of guests has so many
    steps.
    """
    rivals, seats = rivals_of(groups), dict[S, tuple[N, ...]]()
    for circle in circles(guests, rivals):
        if any(not _has_room(clique, guests) for clique in _cliques(circle, rivals)):
            return Seating(None)
        of_circle = _Search({guest: guests[guest] for guest in circle}, rivals, steps).result()
        if of_circle.nodes is None:
            return of_circle
        seats |= of_circle.nodes
    return Seating(seats)


def rivals_of(groups: Iterable[Collection[S]]) -> dict[S, set[S]]:
    rivals: dict[S, set[S]] = {}
    for group in groups:
        for guest in group:
            rivals.setdefault(guest, set()).update(group)
    for guest, others in rivals.items():
        others.discard(guest)
    return rivals


def circles(guests: Iterable[S], rivals: Mapping[S, Collection[S]]) -> Iterator[list[S]]:
    """Guests that have to do with each other, over however many others, in the order of the first
    of each.
    """
    left = dict.fromkeys(guests)
    while left:
        circle = [next(iter(left))]
        del left[circle[0]]
        for guest in circle:
            near = [other for other in sorted(rivals.get(guest, ())) if other in left]
            circle += near
            for other in near:
                del left[other]
        yield circle


def _cliques(circle: Sequence[S], rivals: Mapping[S, Collection[S]]) -> Iterator[list[S]]:
    """Guests of whom no two may meet, as many as are easily found; each guest is in one at
    least.
    """
    covered = set[S]()
    for guest in circle:
        if guest in covered:
            continue
        clique = [guest]
        for other in sorted(rivals.get(guest, ()), key=lambda near: (-len(rivals[near]), near)):
            if all(other in rivals[member] for member in clique):
                clique.append(other)
        covered.update(clique)
        yield clique


def _has_room(clique: Sequence[S], guests: Mapping[S, Guest[N]]) -> bool:
    """Whether each of them has as many nodes as it wants, were there nobody else: a matching, by
    augmenting paths.
    """
    there = [guests[member] for member in clique if member in guests]
    fixed = [node for guest in there for node in guest.on]
    wanted = [set(guest.free).difference(fixed) for guest in there for _ in range(guest.missing)]
    return len(fixed) == len(set(fixed)) and _matched(wanted)


def _matched(wanted: Sequence[Collection[N]]) -> bool:
    owner: dict[N, int] = {}
    held: dict[int, N] = {}
    for place in range(len(wanted)):
        came, reached = dict[N, int](), [place]
        for at in reached:
            free = next(
                (
                    node
                    for node in wanted[at]
                    if node not in owner and came.setdefault(node, at) == at
                ),
                None,
            )
            if free is not None:
                _hand_on(free, place, came, owner, held)
                break
            new = [node for node in wanted[at] if node not in came]
            came.update(dict.fromkeys(new, at))
            reached += [owner[node] for node in new]
        else:
            return False
    return True


def _hand_on(
    free: N, place: int, came: Mapping[N, int], owner: dict[N, int], held: dict[int, N]
) -> None:
    """Each on the way to the free node takes the next one's."""
    node, at = free, came[free]
    while True:
        before = held.get(at)
        owner[node], held[at] = at, node
        if at == place or before is None:
            return
        node, at = before, came[before]


@dataclass(slots=True)
class _Turn(Generic[S, N]):
    """One guest, the choices that are left for it, and the one that was made."""

    guest: S
    choices: Iterator[tuple[N, ...]]
    chosen: tuple[N, ...] | None = None


class _Search(Generic[S, N]):
    """Guests that wait, and for each of them how many rivals are on a node that it could have
    had.
    """

    def __init__(
        self, guests: Mapping[S, Guest[N]], rivals: Mapping[S, Collection[S]], steps: int
    ) -> None:
        self._guests, self._rivals, self._steps = guests, rivals, steps
        self._order = {guest_key: place for place, guest_key in enumerate(guests)}
        self._waiting = set(guests)
        self._taken: dict[S, dict[N, int]] = {guest_key: defaultdict(int) for guest_key in guests}
        self._room = {
            guest_key: len(guest.free) - guest.missing for guest_key, guest in guests.items()
        }
        self._free = {guest_key: frozenset(guest.free) for guest_key, guest in guests.items()}
        self._tightest = [
            (room, self._order[guest_key], guest_key) for guest_key, room in self._room.items()
        ]
        heapq.heapify(self._tightest)

    def result(self) -> Seating[S, N]:
        if not all(self._block(key, guest.on) for key, guest in self._guests.items()):
            return Seating(None)
        turns = [self._next()]
        while turns:
            turn = turns[-1]
            self._take_back(turn)
            for chosen in turn.choices:
                self._steps -= 1
                if self._steps < 0:
                    return Seating(None, sure=False)
                turn.chosen = chosen
                if self._block(turn.guest, chosen):
                    break
                self._take_back(turn)
            if turn.chosen is None:
                self._wait(turns.pop().guest)
            elif self._waiting:
                turns.append(self._next())
            else:
                return Seating(
                    {
                        step.guest: (
                            *sorted(self._guests[step.guest].on),
                            *(step.chosen or ()),
                        )
                        for step in turns
                    }
                )
        return Seating(None)

    def _next(self) -> _Turn[S, N]:
        while True:
            room, _, guest_key = heapq.heappop(self._tightest)
            if guest_key in self._waiting and room == self._room[guest_key]:
                break
        self._waiting.remove(guest_key)
        guest, taken = self._guests[guest_key], self._taken[guest_key]
        return _Turn(
            guest_key,
            combinations([node for node in guest.free if not taken.get(node)], guest.missing),
        )

    def _wait(self, guest: S) -> None:
        self._waiting.add(guest)
        heapq.heappush(self._tightest, (self._room[guest], self._order[guest], guest))

    def _block(self, guest: S, nodes: Iterable[N]) -> bool:
        """Whether all rivals that wait have enough choice left."""
        enough = True
        for rival in self._near(guest):
            for node in nodes:
                enough &= self._change(rival, node, 1)
        return enough

    def _take_back(self, turn: _Turn[S, N]) -> None:
        for rival in self._near(turn.guest) if turn.chosen is not None else ():
            for node in turn.chosen or ():
                self._change(rival, node, -1)
        turn.chosen = None

    def _near(self, guest: S) -> list[S]:
        return [rival for rival in self._rivals.get(guest, ()) if rival in self._guests]

    def _change(self, rival: S, node: N, by: int) -> bool:
        """One rival more, or less, on the node; False where a guest that waits has too little
        choice then.
        """
        taken = self._taken[rival]
        was = taken[node]
        taken[node] += by
        if node in self._guests[rival].on:
            return by < 0
        if node in self._free[rival] and bool(was) != bool(taken[node]):
            self._room[rival] -= by
            if rival in self._waiting:
                heapq.heappush(self._tightest, (self._room[rival], self._order[rival], rival))
        return rival not in self._waiting or self._room[rival] >= 0

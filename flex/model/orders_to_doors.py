"""By what all doors are to go, and by what each of them goes.

An order is a small map of who owns which host name, with a number that grows. A report is what a
node last said of itself. Does not know what is in the maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DoorOrder:
    """All doors are to go by the partition of this plan.

    `large` and `moved` are the digests of both maps, as these say themselves. Visitors of the sites
    in `waiting` are led by the partition before it, until their wave begins. Requests for the sites
    in `held` wait at doors, since `held_since`: nobody answers them.
    """

    number: int
    plan: str
    large: str
    moved: str
    time: datetime
    waiting: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    held_since: datetime | None = None

    @property
    def sites_waiting(self) -> int:
        return len(self.waiting)

    @property
    def sites_held(self) -> int:
        return len(self.held)


# The largest whole number that every program that reads JSON takes: no order has a larger one.
MOST_ORDERS = 2**53 - 1
# Orders by which a database that was put back is behind what nodes go by, at most. A guess: a
# hundred a day are 36,500 in a year. Whoever has a node's token can say that its node goes by any.
MOST_BEHIND = 1_000_000
# Of a report: the node did not say which held names it is still answering.
NOT_SAID = -1
# Names of those that a report has at most. A guess: whoever waits for all looks at their number.
MOST_BUSY = 20


@dataclass(frozen=True, slots=True)
class DoorReport:
    """A node goes by the order `number`, whose small map has the digest `moved`; 0 and "" for none.

    `since` is when it first said so. `error` is why it goes by no newer one, if it said that.
    Of the held names that this node was the last to own it is still answering requests for
    `busy_names`; `busy` has some of them with how many requests each has.
    """

    node: str
    number: int
    moved: str
    since: datetime
    error: str = ""
    busy: tuple[tuple[str, int], ...] = ()
    busy_names: int = NOT_SAID

    def goes_by(self, order: DoorOrder) -> bool:
        return (self.number, self.moved) == (order.number, order.moved)


class DoorOrders(Protocol):
    """The store of the large map, of orders and reports. Plans and people decide; these only
    follow, so they are not in the audit log.
    """

    def large_map(self) -> str:
        """Who owns which host name, as all nodes have it; "" before the first."""
        ...

    def large_map_digest(self) -> str:
        """The digest of the large map that is kept, without reading it; "" before the first."""
        ...

    def put_large_map(self, text: str, digest: str, before: str) -> bool:
        """In place of the one whose digest is `before` ("": of none); False, and nothing changed,
        where another one is there. Nobody wished for it: not in the audit log.
        """
        ...

    def door_order(self) -> DoorOrder | None:
        """The newest; None before the first. Quick: whoever waits for the next one asks often."""
        ...

    def moved_map(self) -> str:
        """The small map of the newest order, "" before the first; earlier ones are not kept."""
        ...

    def put_door_order(self, order: DoorOrder, moved: str, before: int) -> bool:
        """In place of the one whose number is `before` (0: of none); False, and nothing changed,
        where another one is there or the number does not grow.
        """
        ...

    def note_door_reports(self, reports: Sequence[DoorReport]) -> None:
        """All of them or none. Each node has one report: a new one replaces the old one."""
        ...

    def door_reports(self) -> tuple[DoorReport, ...]:
        """In order of nodes."""
        ...


def is_possible(number: int, last: DoorOrder | None) -> bool:
    """Whether a node can go by this order, also where the database was put back to an earlier
    state.
    """
    return number <= (last.number if last else 0) + MOST_BEHIND and number < MOST_ORDERS


def next_number(last: DoorOrder | None, reports: Iterable[DoorReport]) -> int:
    """The number of the order behind the last one.

    Nodes may go by later numbers than that where the database was put back to an earlier state.
    They take nothing that is not newer, so the next number is above these, too, as far as they are
    possible.
    """
    numbers = (report.number for report in reports if is_possible(report.number, last))
    return max(last.number if last else 0, *numbers, 0) + 1


def is_behind(last: DoorOrder, reports: Iterable[DoorReport]) -> bool:
    """Whether a node goes by what was ordered after `last`, and is not remembered here."""
    return any(
        is_possible(report.number, last)
        and report.number >= last.number
        and not report.goes_by(last)
        for report in reports
    )

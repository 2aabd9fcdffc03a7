"""By what all doors are to go, and by what each of them goes.

An order is a small map of who owns which host name, with a number that grows. A report is what a
node last said of itself. Does not know what is in the maps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


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

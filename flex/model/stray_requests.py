"""Strays: requests that came to the door of a node that does not have the site.

A reading is what one door says that it counted. Strays are what was counted since, over restarts of
the door and however often it is read. Does not know which node has a site now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

# As many names of one reading are kept: the most frequent. A guess of what an operator looks at.
MOST_READ = 1_000
# As many names of one node are kept in all: those that were seen last.
MOST_KEPT = 2 * MOST_READ
# What nobody asked for so long is forgotten. Longer than any resolver keeps an address. A guess.
KEPT = timedelta(days=30)
# A door's seconds are whole, and its answer takes a moment. So much later is another request.
BLURRED = timedelta(seconds=3)


@dataclass(frozen=True, slots=True)
class Counted:
    """`requests` for a host name, the last of them `quiet` seconds ago."""

    name: str
    requests: int
    quiet: float


@dataclass(frozen=True, slots=True)
class StrayReading:
    """What a door counted since it started `uptime` seconds ago. `names` and `requests` are of all
    that it counted, `counted` are the most frequent.
    """

    uptime: int
    names: int
    requests: int
    counted: tuple[Counted, ...]


@dataclass(frozen=True, slots=True)
class Stray:
    """Since `first` so many `requests` for the name came to the node; `last` is when the last one
    did. `counted` is what the door itself said when it was read at `read`.
    """

    node: str
    name: str
    requests: int
    first: datetime
    last: datetime
    counted: int
    read: datetime


@dataclass(frozen=True, slots=True)
class DoorRead:
    """When a node's door was read last, and how many names and requests it told of. So many
    of these names are `kept`, the most frequent.
    """

    node: str
    read: datetime
    names: int
    requests: int
    kept: int


@dataclass(frozen=True, slots=True)
class Visitors:
    """So many `requests` for the site came to the node since `since`, by all of its names."""

    site: str
    node: str
    requests: int
    since: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Arrival:
    """Such a share of the requests for the site comes to the door of the node, which does not have
    it.
    """

    site: str
    node: str
    share: float


def strays_after_reading(
    before: Iterable[Stray], door: DoorRead | None, node: str, reading: StrayReading, now: datetime
) -> tuple[DoorRead, tuple[Stray, ...]]:
    """What is kept of the node after a reading. `before` and `door` were kept until then."""
    # Uptimes are rounded down.
    started = now - timedelta(seconds=reading.uptime + 1)
    # What a reading that told of all names did not have came later.
    told_all = door is not None and door.kept == door.names
    begun = max(started, door.read) if door and told_all else started
    known = {stray.name: stray for stray in before}
    read = sorted(reading.counted, key=lambda counted: (-counted.requests, counted.name))[
        :MOST_READ
    ]
    for counted in read:
        last = now - timedelta(seconds=max(counted.quiet, 0))
        known[counted.name] = _update_stray(
            known.get(counted.name), node, counted, started, begun, last, now
        )
    lively = [stray for stray in known.values() if now - stray.last <= KEPT]
    lively.sort(key=lambda stray: (stray.last, stray.requests), reverse=True)
    told = DoorRead(node, now, reading.names, reading.requests, len(read))
    return told, tuple(sorted(lively[:MOST_KEPT], key=lambda stray: stray.name))


def _update_stray(
    known: Stray | None,
    node: str,
    counted: Counted,
    started: datetime,
    begun: datetime,
    last: datetime,
    now: datetime,
) -> Stray:
    if known is None:
        # A single request is as old as itself.
        first = min(last, now) if counted.requests == 1 else min(begun, last)
        return Stray(node, counted.name, counted.requests, first, last, counted.requests, now)
    more = counted.requests
    if not _is_counted_anew(known, counted, started, last):
        more -= known.counted
    requests, last = known.requests + more, max(known.last, last)
    return Stray(node, counted.name, requests, known.first, last, counted.requests, now)


def _is_counted_anew(known: Stray, counted: Counted, started: datetime, last: datetime) -> bool:
    """Whether the door forgot the name since it was read: it was started again, or had no room."""
    return (
        started > known.read
        or counted.requests < known.counted
        or (counted.requests == known.counted and last > known.last + BLURRED)
    )

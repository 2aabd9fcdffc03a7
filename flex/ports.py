"""What the loop asks of the world, in small protocols."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from flex.model.dns_update_journal import Journal
from flex.model.log_reading import Segment, Stream
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.plan import Plan
from flex.model.zone_plan import HintedSet, ZonePlan
from flex.placing.problem import Budget, Problem, Solution
from flex.zones.records_of_partition import ZoneState
from flex.zones.what_leans_on_names import Pointed


class Solver(Protocol):
    """Returns the best partition that it finds within the budget, also where none is balanced.

    Does not raise an error.
    """

    def __call__(self, problem: Problem, budget: Budget) -> Solution: ...


class Publisher(Protocol):
    """A zone that can be read, changed by compare-and-swap, and checked on every server that
    answers for it.
    """

    def read(
        self,
        zone: str,
        names: Sequence[str],
        also: Sequence[str] = (),
        *,
        pointed: Pointed | None = None,
        hints: Collection[HintedSet] = (),
    ) -> ZoneState:
        """All records of these names, or an error: a failed read never looks like an empty zone.

        `also` are names that FLEX does not place on nodes. Records that may lean on what is
        `pointed` are told, too, where the whole zone can be read; and HTTPS and SVCB sets where
        they are to change with addresses. Those of `hints` are told in any case.
        """
        ...

    def apply(self, *zone_plans: ZonePlan, journal: Journal | None = None) -> None:
        """Makes every change of the plans, one for each zone, or says exactly which are not made.

        A change whose `after` already holds is done. So it is harmless to apply a plan twice, and
        another run can go on where a killed one stopped, by the journal where it has rows. Raises
        Stale (nothing was applied) or PartlyApplied when a record is neither `before` nor `after`.
        Never overwrites what others wrote.
        """
        ...

    def refuse_hints(self, zone: str, sets: Collection[HintedSet]) -> None:
        """Raises a DnsError where FLEX may not change these HTTPS and SVCB sets, or where nobody
        can tell. Changes nothing.
        """
        ...

    def refuse_late(self, *zones: str) -> None:
        """Makes the zones refuse updates of an earlier run that arrive late.

        So what is read afterwards stays as it is.
        """
        ...

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[NameServerVerdict, ...]:
        """Asks each authoritative server for the wanted RECORDS, until it agrees or for `patience`
        seconds.

        Silence is a verdict with an error. The records may include markers, whose TTL does not
        count.
        """
        ...


@dataclass(frozen=True, slots=True)
class PublisherAround:
    """Does as the publisher within. Classes made from it say what they do otherwise."""

    publisher: Publisher

    def read(
        self,
        zone: str,
        names: Sequence[str],
        also: Sequence[str] = (),
        *,
        pointed: Pointed | None = None,
        hints: Collection[HintedSet] = (),
    ) -> ZoneState:
        return self.publisher.read(zone, names, also, pointed=pointed, hints=hints)

    def apply(self, *zone_plans: ZonePlan, journal: Journal | None = None) -> None:
        self.publisher.apply(*zone_plans, journal=journal)

    def refuse_hints(self, zone: str, sets: Collection[HintedSet]) -> None:
        self.publisher.refuse_hints(zone, sets)

    def refuse_late(self, *zones: str) -> None:
        self.publisher.refuse_late(*zones)

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[NameServerVerdict, ...]:
        return self.publisher.verify(zone, wanted, patience=patience)


class Doors(Protocol):
    """The doors of all nodes, which lead each visitor to the node that has the site."""

    def lead(self, plan: Plan) -> None:
        """Has all doors lead by the plan from now on. Where it makes before it breaks, sites that
        get nodes wait: their visitors are led there from their wave on.

        It is written down before any node hears of it. Harmless to repeat. Raises where it could
        not be written down: then no node has heard of it.
        """
        ...

    def lead_all(self, plan: Plan) -> None:
        """The same, and no site waits any more."""
        ...

    def nodes_behind(self, patience: float) -> Mapping[str, str]:
        """The nodes that do not go by it after `patience` seconds, each with the reason."""
        ...


class Segments(Protocol):
    """How far each log was read, and the counts of that reading. Both change or neither does."""

    def streams_of(self, sources: Collection[str]) -> tuple[Stream, ...]:
        """The streams of several sources."""

    def every_stream(self) -> tuple[Stream, ...]:
        """The streams of all sources."""

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        """Stores both in one transaction. Returns False, and stores nothing, when the segment is
        known already.
        """

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        """Records each of them, in this order, in one transaction where the store has transactions.

        Returns the ids of the segments that were known already.
        """

    def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
        """The segments with accesses in any of these days, in order of id."""

    def with_opening(self, opening: str, first_time: int) -> tuple[Segment, ...]:
        """The segments at the beginning of a log that opens so: reading_chains.py in
        flex/traffic.
        """

    def behind(self, places: Collection[str]) -> tuple[Segment, ...]:
        """The segments that go on at these places: reading_chains.py in
        flex/traffic.
        """

    def moved_counts(self) -> Mapping[str, str]:
        """Segments whose counts are not in files of their own, with the id of the files that have
        them; "" where they are deleted.
        """


class CentralSegments(Segments, Protocol):
    """The segments of all machines, where counts are kept. The place of counts may change; the
    counts never do.
    """

    def move_counts(self, segments: Collection[str], files: str) -> None:
        """Stores where the counts of these segments are from now on, in one transaction."""
        ...

    def adopt(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        """Records what was read on another machine. Such readings arrive in any order, so the
        stream that this one replaces may be missing.
        """

    def places_where_readings_ended(self, places: Collection[str]) -> frozenset[str]:
        """Those of these places at which a reading ended, whenever that was."""

    def known_segments(self, ids: Collection[str]) -> frozenset[str]:
        """The ids among these that the store has."""


class Plans(Protocol):
    """Plans and the partition in force, which is that of the plan that was settled last: what
    carrying out a plan needs of the store.
    """

    def together(self) -> AbstractContextManager[None]:
        """In this context, what the thread writes is stored whole or not at all, and nobody else
        writes meanwhile.
        """
        ...

    def plan(self, plan_id: str) -> Plan:
        """The plan with this id, or whose id alone begins so. Raises Unknown."""
        ...

    def placement(self) -> tuple[str, pd.DataFrame]:
        """The id of the plan in force and its PLACEMENT; "" and an empty table before the first."""
        ...

    def in_force(self) -> str:
        """The id of the plan in force; "" before the first."""
        ...

    def update(self, plan: Plan) -> None:
        """Stores the plan's new state. Raises Unknown."""
        ...

    def settle(self, plan: Plan, placement: pd.DataFrame) -> None:
        """Stores the plan's new state and makes its partition the one in force, in one transaction.

        Raises Outdated where neither the plan nor its base is in force, and LostLease where
        another run has the lease or nobody has it any more. Nothing is stored then.
        """
        ...

    def journal(self, plan_id: str) -> Journal:
        """The updates that were sent for the plan, and their results."""
        ...

    def new_journal(self, plan_id: str) -> Journal:
        """An empty journal for a new attempt; earlier ones are deleted."""
        ...

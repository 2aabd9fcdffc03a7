"""What the loop asks of the world, in small pieces. Doubles in memory implement each of them too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Protocol, Self

import pandas as pd

from flex.model.access import Token
from flex.model.audit_chain import Author, Entry, Head
from flex.model.jobs import Job, Once
from flex.model.journal import Journal
from flex.model.log_reading import Segment, Stream
from flex.model.nightly_run import Run, Stage
from flex.model.nodes import Node
from flex.model.operator_orders import Freeze, NodeOrder
from flex.model.period import Period
from flex.model.pin import Pin
from flex.model.plan import Plan, PlanState
from flex.model.plan_summary import Headline
from flex.model.retries import Attempts
from flex.model.verdict import Verdict
from flex.model.zone_plan import ZonePlan
from flex.placing.problem import Budget, Problem, Solution
from flex.zones.last_look import Check
from flex.zones.records import ZoneState


class Solver(Protocol):
    """The best placement found within the budget; a best effort where none is balanced, never an
    exception.
    """

    def __call__(self, problem: Problem, budget: Budget) -> Solution: ...


class DnsTarget(Protocol):
    """A zone that can be read, changed by compare-and-swap, and checked on every server that
    answers for it.
    """

    def read(
        self, zone: str, names: Sequence[str], also: Sequence[str] = ()
    ) -> ZoneState:
        """Complete, or an error: a failed read never looks like an empty zone. `also` are names
        nobody places here.
        """
        ...

    def apply(self, *zone_plans: ZonePlan, journal: Journal | None = None) -> None:
        """Make every change of the plans, one a zone, true, or say exactly what is not.

        A change whose `after` already holds is done, so applying twice is harmless and a killed run
        can go on: by the journal where it has rows. Raises Stale (nothing was applied) or
        PartlyApplied when a record is neither `before` nor `after`; what others wrote is never
        overwritten.
        """
        ...

    def refuse_late(self, *zones: str) -> None:
        """From now on what an earlier run sent to the zones, and they did not get to, is not made
        any more.

        So what is read then is what there is, and stays so.
        """
        ...

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[Verdict, ...]:
        """Ask each authoritative server for the wanted RECORDS, for so many seconds until it
        agrees.

        Silence is a verdict with an error. Markers may be among them; their TTL is nobody's
        concern.
        """
        ...


class Wishes(Protocol):
    """What people asked for their sites."""

    def pins(self) -> tuple[Pin, ...]: ...
    def pin(self, site: str, campaign: str = "") -> Pin | None: ...
    def put_pin(self, pin: Pin) -> None:
        """A standing one a site, and one of each campaign: a new one replaces the old."""
        ...

    def drop_pin(self, site: str, campaign: str = "") -> bool:
        """Whether there was one."""
        ...


class Orders(Protocol):
    """What people ordered of the cluster: nodes in and out of service, other nodes than the
    settings', a freeze.
    """

    def node_orders(self) -> tuple[NodeOrder, ...]:
        """In order of nodes: the last one of each that somebody gave any; all others are active."""
        ...

    def order_node(self, order: NodeOrder) -> None:
        """One order a node: a new one replaces the old."""
        ...

    def own_nodes(self) -> tuple[Node, ...]:
        """In order of name: nodes that were added, or that are to be other than the settings have
        them.
        """
        ...

    def put_node(self, node: Node) -> None:
        """By its name; its state is not kept here."""
        ...

    def drop_node(self, name: str) -> bool:
        """Whether there was one."""
        ...

    def freeze(self) -> Freeze | None:
        """The one that was ordered last, also when it has ended by itself; None once it was taken
        back.
        """
        ...

    def put_freeze(self, freeze: Freeze | None) -> None: ...

    def last_check(self) -> Check | None:
        """What the name servers said when somebody last asked them."""
        ...

    def put_check(self, check: Check) -> None:
        """Only the last one is kept; that somebody looked is no change, and not in the audit log."""
        ...

    def slots(self) -> Mapping[str, Mapping[str, int]]:
        """By site the slots of its nodes, where it is or was routed by content."""
        ...

    def put_slots(
        self, site: str, slots: Mapping[str, int], before: Mapping[str, int]
    ) -> bool:
        """All of one site, in place of those `before`; False, and nothing changed, where others are
        there. Nobody wished for them: not in the audit log.
        """
        ...


class Segments(Protocol):
    """How far each log was read and what that reading left; the two change together or not at all."""

    def streams(self, source: str) -> tuple[Stream, ...]: ...
    def streams_of(self, sources: Collection[str]) -> tuple[Stream, ...]:
        """Those of several sources, of each as `streams` has it."""

    def every_stream(self) -> tuple[Stream, ...]:
        """Those of all sources, each as `streams` has it."""

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        """Store both in one transaction; False, and nothing stored, when the segment is known
        already.
        """

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        """As `record` of each, in this order, all in one transaction where the store has these; the
        ids of those that were known already.
        """

    def adopt(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        """As `record`, of what was read elsewhere: readings arrive in any order, so what it
        replaces may be missing.
        """

    def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
        """Those with accesses in any of these days, in order of id."""

    def places_where_readings_ended(self, places: Collection[str]) -> frozenset[str]:
        """Those of these places that a reading ended at, whenever that was."""

    def known_segments(self, ids: Collection[str]) -> frozenset[str]:
        """Those of these segments that there are."""

    def with_opening(self, opening: str, first_time: int) -> tuple[Segment, ...]:
        """As continued_logs.with_opening has them, and so has `behind`."""

    def behind(self, places: Collection[str]) -> tuple[Segment, ...]: ...

    def moved_counts(self) -> Mapping[str, str]:
        """Segments whose counts are not in files of their own: the id of those they are in, ""
        where deleted.
        """


class Readings(Protocol):
    """What each reading of a log left, a page at a time."""

    def readings(
        self,
        limit: int,
        behind: tuple[int, str] | None = None,
        *,
        down: bool = True,
        source: str = "",
        node: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Segment, ...]:
        """By when they were read and then by id, behind such a pair; of one source or node where it
        is named.
        """
        ...


class Moves(Segments, Protocol):
    """Where counts are may change; what was counted never does."""

    def move_counts(self, segments: Collection[str], files: str) -> None:
        """Say where the counts of these segments are from now on, of all of them in one
        transaction.
        """
        ...


class Profiles(Protocol):
    def put_profiles(
        self, period: Period, profiles: pd.DataFrame, spreads: pd.DataFrame
    ) -> None:
        """Replaces what was stored for the same period."""
        ...

    def profiles(
        self, until: datetime | None = None
    ) -> tuple[Period, pd.DataFrame, pd.DataFrame] | None:
        """PROFILES and SPREADS of the latest period, of those that end by then."""
        ...

    def history(self, site: str) -> tuple[tuple[Period, Mapping[str, int]], ...]:
        """What one site asked in each period that is kept, by the names of PROFILES; the earliest
        first.
        """
        ...

    def bytes_sent(
        self, last: Period, most: int, *, gaps: bool = False
    ) -> pd.DataFrame:
        """Bytes sent, a row for each site and a column for each period: this one and those as long
        as it that end a day earlier each, until one is missing; with `gaps` those that there are.
        The last one is the last column.
        """
        ...

    def drop_profiles(self, before: datetime) -> int:
        """Forget the periods that ended before then, never the latest; how many those were."""
        ...


class Plans(Protocol):
    """Proposals and the placements they led to. The placement in force is that of the last settled
    plan.
    """

    def placement(self) -> tuple[str, pd.DataFrame]:
        """The id of the plan in force and its PLACEMENT; "" and an empty table before the first."""
        ...

    def in_force(self) -> str:
        """The id of the plan in force alone; "" before the first."""
        ...

    def placement_of(self, plan_id: str) -> pd.DataFrame:
        """What that plan proposes. Raises Unknown."""
        ...

    def propose(self, plan: Plan, placement: pd.DataFrame) -> None: ...
    def update(self, plan: Plan) -> None:
        """Store the plan's new state. Raises Unknown."""
        ...

    def settle(self, plan: Plan, placement: pd.DataFrame) -> None:
        """Store the plan's new state and make the placement the one in force, in one transaction.

        Raises Outdated where neither its base nor itself is in force, LostLease where the lease is
        another run's, or nobody's any more; then nothing is stored.
        """
        ...

    def plan(self, plan_id: str) -> Plan:
        """By its id, or by an unambiguous beginning of it. Raises Unknown."""
        ...

    def plans(
        self, limit: int = 50, *, state: PlanState | None = None
    ) -> tuple[Plan, ...]:
        """Newest first; those of one state, where it is given."""
        ...

    def headlines(self) -> tuple[Headline, ...]:
        """Of every plan, newest first; quick, however large they are."""
        ...

    def headline(self, plan_id: str) -> Headline | None:
        """By its whole id."""
        ...

    def journal(self, plan_id: str) -> Journal:
        """What was sent to make it true, and what became of that."""
        ...

    def new_journal(self, plan_id: str) -> Journal:
        """The same for a new attempt: those before it are forgotten."""
        ...


class Runs(Protocol):
    """One lease for the whole cluster, and a record of every run."""

    def begin(
        self, run: Run, lease: timedelta, now: datetime, *, breaks_in: bool = False
    ) -> tuple[Run, ...]:
        """Take the lease and record the run. Raises Busy while another live run holds it and does
        more than wait.

        One that waits keeps it too, but from a run that `breaks_in`. Returns the runs that were
        found unfinished and are now marked as interrupted.
        """
        ...

    def wait(self, run_id: str) -> None:
        """From now on the run only waits. Raises Busy where the lease is another's."""
        ...

    def holds(self, run_id: str) -> bool:
        """Whether the lease is still that run's."""
        ...

    def holding(self, run_id: str) -> AbstractContextManager[None]:
        """What this thread writes in here it writes as that run: all of it raises LostLease once
        the lease is lost.
        """
        ...

    def go_on(self, run_id: str) -> None:
        """The run does not wait any more. Raises Busy where another one broke in."""
        ...

    def beat(self, run_id: str, lease: timedelta, now: datetime) -> None:
        """Prolong the lease. Raises Busy when it was lost to another run."""
        ...

    def stage(self, run_id: str, stage: Stage) -> None:
        """Record the start or the end of a stage; the same name again replaces it."""
        ...

    def end(self, run: Run) -> None:
        """Record how it ended and give the lease back."""
        ...

    def runs(self, limit: int = 50) -> tuple[Run, ...]:
        """Newest first."""
        ...


class Identity(Protocol):
    def installation(self) -> str:
        """What this store is known by among its like: drawn once, when it was made."""
        ...


class Audit(Protocol):
    """Who changed what. What a store notes by itself is in flex/store/noting.py."""

    def note(self, action: str, subject: str, before: object, after: object) -> Entry:
        """Add an entry in the author's name, in the same transaction as the change where there is
        one.
        """
        ...

    def audit_head(self) -> Head:
        """The last entry's number and hash, as they are kept apart from the entries."""
        ...

    def entries(self, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """Those behind that number, in order."""
        ...

    def found_entries(
        self,
        limit: int,
        behind: int | None = None,
        *,
        down: bool = True,
        actor: str = "",
        action: str = "",
        subject: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Entry, ...]:
        """Behind that number, the newest first or last; an action also stands for all that begin
        with it and a dot.
        """
        ...

    def last_number(self, *actions: str) -> int:
        """The number of the last entry of any of these actions, of all where none is named; 0
        before the first.
        """
        ...

    def stamp(self) -> int | None:
        """Another number after each change of anything, by whomever; None where only reading tells."""
        ...


class Tokens(Protocol):
    def tokens(self) -> tuple[Token, ...]:
        """In order of their ids."""
        ...

    def token(self, token_id: str) -> Token | None: ...
    def token_of(self, digest: str) -> Token | None: ...
    def put_token(self, token: Token) -> None: ...
    def revoke_token(self, token_id: str, now: datetime) -> bool:
        """It, and what was opened with it, opens nothing any more; whether it opened something
        before.
        """
        ...

    def use_token(self, token_id: str, now: datetime) -> None: ...


class Jobs(Protocol):
    def jobs(self, limit: int = 1000) -> tuple[Job, ...]:
        """Newest first."""
        ...

    def job(self, job_id: str) -> Job | None: ...
    def put_job(self, job: Job) -> None: ...


class Answers(Protocol):
    def answer(self, once: Once) -> Once | None:
        """What was kept under its key; where nothing was, this is kept, and None."""
        ...

    def keep_answer(self, once: Once) -> None: ...
    def drop_answer(self, key: str) -> None: ...
    def drop_answers(self, before: datetime) -> None: ...


class Store(
    Wishes,
    Orders,
    Attempts,
    Moves,
    Readings,
    Profiles,
    Plans,
    Runs,
    Identity,
    Audit,
    Tokens,
    Jobs,
    Answers,
    Protocol,
):
    """All of the above in one place, as the database has it."""

    def in_the_name_of(self, author: Author) -> Self:
        """The same store; what is changed by it is noted in the author's name."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """What this thread does in here is stored whole or not at all, and nobody else writes
        meanwhile.
        """
        ...

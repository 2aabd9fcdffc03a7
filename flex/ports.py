"""What the loop asks of the world, in small protocols."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Protocol, Self

import pandas as pd

from flex.model.audit_chain import Author, Entry, Head
from flex.model.dns_update_journal import Journal
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.jobs import Job
from flex.model.log_reading import Segment, Stream
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.nightly_run import NightlyRun, Stage
from flex.model.node_answer_counts import AnswersOfSites
from flex.model.nodes import Node
from flex.model.orders_to_doors import DoorOrders
from flex.model.period import Period
from flex.model.plan import Plan, PlanState
from flex.model.plan_summary import Headline
from flex.model.retry_schedule import Attempts
from flex.model.roles_and_tokens import Token
from flex.model.site_moves import SiteMoves
from flex.model.stray_requests import Strays
from flex.model.wish import Pin
from flex.model.zone_plan import HintedSet, ZonePlan
from flex.placing.problem import Budget, Problem, Solution
from flex.placing.proof_statement import Json
from flex.zones.last_dns_check import Check
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


class Wishes(Protocol):
    """What people asked for their sites."""

    def pins(self) -> tuple[Pin, ...]: ...
    def pin(self, site: str, campaign: str = "") -> Pin | None: ...
    def put_pin(self, pin: Pin) -> None:
        """Stores the wish. A site has at most one permanent wish and one per campaign; a new one
        replaces the old.
        """
        ...

    def drop_pin(self, site: str, campaign: str = "") -> bool:
        """Returns whether there was one."""
        ...


class Orders(Protocol):
    """What people ordered for the cluster: nodes in and out of service, nodes that differ from the
    settings, a freeze.
    """

    def node_orders(self) -> tuple[NodeOrder, ...]:
        """The last order for each node, in order of nodes. A node without an order is active."""
        ...

    def order_node(self, order: NodeOrder) -> None:
        """A node has at most one order; a new one replaces the old."""
        ...

    def own_nodes(self) -> tuple[Node, ...]:
        """Nodes that were added, or that differ from the settings, in order of name."""
        ...

    def put_node(self, node: Node) -> None:
        """Stores the node by its name, without its state."""
        ...

    def drop_node(self, name: str) -> bool:
        """Returns whether there was one."""
        ...

    def freeze(self) -> Freeze | None:
        """The last freeze, even if it has ended by itself. None once somebody took it back."""
        ...

    def put_freeze(self, freeze: Freeze | None) -> None: ...

    def last_check(self) -> Check | None:
        """What the name servers said when somebody last asked them."""
        ...

    def put_check(self, check: Check) -> None:
        """Keeps only the last one. A check is not a change, and is not in the audit log."""
        ...

    def slots(self) -> Mapping[str, Mapping[str, int]]:
        """The slots of each site's nodes, by site, for sites that are or were routed by content."""
        ...

    def put_slots(self, site: str, slots: Mapping[str, int], before: Mapping[str, int]) -> bool:
        """Replaces all slots of one site. Returns False, and changes nothing, where the stored ones
        are not `before`.

        Nobody ordered slots, so they are not in the audit log.
        """
        ...


class Segments(Protocol):
    """How far each log was read, and the counts of that reading. Both change or neither does."""

    def streams(self, source: str) -> tuple[Stream, ...]: ...
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

    def adopt(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        """Records what was read on another machine. Such readings arrive in any order, so the
        stream that this one replaces may be missing.
        """

    def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
        """The segments with accesses in any of these days, in order of id."""

    def places_where_readings_ended(self, places: Collection[str]) -> frozenset[str]:
        """Those of these places at which a reading ended, whenever that was."""

    def known_segments(self, ids: Collection[str]) -> frozenset[str]:
        """The ids among these that the store has."""

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


class Readings(Protocol):
    """The readings of logs, a page at a time."""

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
        """Readings in order of time and then of id, those behind the pair `behind`. Only those of
        one source or node where it is named.
        """
        ...


class Moves(Segments, Protocol):
    """The place of counts may change; the counts never do."""

    def move_counts(self, segments: Collection[str], files: str) -> None:
        """Stores where the counts of these segments are from now on, in one transaction."""
        ...


class Profiles(Protocol):
    def put_profiles(self, period: Period, profiles: pd.DataFrame, spreads: pd.DataFrame) -> None:
        """Stores them in place of those of the same period."""
        ...

    def profiles(
        self, until: datetime | None = None
    ) -> tuple[Period, pd.DataFrame, pd.DataFrame] | None:
        """PROFILES and SPREADS of the latest period that ends by `until`."""
        ...

    def history(self, site: str) -> tuple[tuple[Period, Mapping[str, int]], ...]:
        """What one site asked for in each period that is kept, the earliest first. The names are
        those of PROFILES.
        """
        ...

    def bytes_sent(self, last: Period, most: int, *, gaps: bool = False) -> pd.DataFrame:
        """Bytes sent, with a row for each site and a column for each period; `last` is the last
        column.

        The other periods are as long, and each ends a day earlier than the next. The columns stop
        where a period is missing; with `gaps` they leave it out.
        """
        ...

    def drop_profiles(self, before: datetime) -> int:
        """Deletes the periods that ended before then, never the latest. Returns how many."""
        ...


class Plans(Protocol):
    """Proposals and their partitions. The partition in force is that of the plan that was settled
    last.
    """

    def sites_of_nodes(self, plan_id: str = "") -> dict[str, int]:
        """How many sites the partition in force has on each node, or that of a plan; nothing for
        nodes without any.
        """
        ...

    def placement(self) -> tuple[str, pd.DataFrame]:
        """The id of the plan in force and its PLACEMENT; "" and an empty table before the first."""
        ...

    def in_force(self) -> str:
        """The id of the plan in force; "" before the first."""
        ...

    def placement_of(self, plan_id: str) -> pd.DataFrame:
        """The partition that the plan proposes. Raises Unknown."""
        ...

    def propose(self, plan: Plan, placement: pd.DataFrame) -> None: ...
    def keep_proof(self, plan_id: str, proof: Json) -> None:
        """Stores the proof that so many moves are needed. Raises Unknown."""
        ...

    def proof_of(self, plan_id: str) -> Json | None:
        """None where the plan has none. Raises Unknown."""
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

    def plan(self, plan_id: str) -> Plan:
        """The plan with this id, or whose id alone begins so. Raises Unknown."""
        ...

    def plans(self, limit: int = 50, *, state: PlanState | None = None) -> tuple[Plan, ...]:
        """The newest first; only those of one state, where it is given."""
        ...

    def headlines(self) -> tuple[Headline, ...]:
        """The summary of every plan, the newest first. Quick, however large the plans are."""
        ...

    def headline(self, plan_id: str) -> Headline | None:
        """The summary of the plan with this whole id."""
        ...

    def journal(self, plan_id: str) -> Journal:
        """The updates that were sent for the plan, and their results."""
        ...

    def new_journal(self, plan_id: str) -> Journal:
        """An empty journal for a new attempt; earlier ones are deleted."""
        ...


class Runs(Protocol):
    """One lease for the whole cluster, and a record of every run."""

    def begin(
        self, run: NightlyRun, lease: timedelta, now: datetime, *, breaks_in: bool = False
    ) -> tuple[NightlyRun, ...]:
        """Takes the lease and records the run. Raises Busy while another live run holds the lease.

        With `breaks_in` it takes the lease also from a run that only waits. Returns the runs that
        were found unfinished and are now marked as interrupted.
        """
        ...

    def wait(self, run_id: str) -> None:
        """From now on the run only waits. Raises Busy where another run has the lease."""
        ...

    def holds(self, run_id: str) -> bool:
        """Whether that run still has the lease."""
        ...

    def holding(self, run_id: str) -> AbstractContextManager[None]:
        """In this context the thread writes as that run: every write raises LostLease once the
        lease is lost.
        """
        ...

    def go_on(self, run_id: str) -> None:
        """The run does not wait any more. Raises Busy where another run has broken in."""
        ...

    def beat(self, run_id: str, lease: timedelta, now: datetime) -> None:
        """Prolongs the lease. Raises Busy when another run has taken it."""
        ...

    def stage(self, run_id: str, stage: Stage) -> None:
        """Records the start or the end of a stage, in place of the one with the same name."""
        ...

    def end(self, run: NightlyRun) -> None:
        """Records how the run ended, and gives the lease back."""
        ...

    def runs(self, limit: int = 50) -> tuple[NightlyRun, ...]:
        """Newest first."""
        ...

    def run_of(self, run_id: str) -> NightlyRun:
        """However many began after it. Raises Unknown where there is none."""
        ...

    def runs_about(self, plan_id: str) -> tuple[NightlyRun, ...]:
        """Those that made the plan, applied it or finished it, newest first. The outcome of a stage
        is the plan that came out of it.
        """
        ...


class Identity(Protocol):
    def installation(self) -> str:
        """The random name of this store, chosen when it was made."""
        ...


class Audit(Protocol):
    """Who changed what. flex/store/audit_writer.py has the entries that a store adds
    by itself.
    """

    def note(self, action: str, subject: str, before: object, after: object) -> Entry:
        """Adds an entry in the author's name, in the transaction of the change, if any."""
        ...

    def audit_head(self) -> Head:
        """The number and hash of the last entry, which are stored apart from the entries."""
        ...

    def entries(self, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """The entries behind that number, in order."""
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
        """The entries behind that number, the newest first, or last where not `down`. An action
        also stands for all actions that begin with it and a dot.
        """
        ...

    def last_number(self, *actions: str) -> int:
        """The number of the last entry with one of these actions, or of all entries where none is
        named; 0 before the first.
        """
        ...

    def last_of_each(self, *actions: str, saying: Collection[str] = ()) -> Mapping[str, Entry]:
        """The last entry with one of these actions about each subject; only of those with one of
        these texts before or after the change, where any is given.
        """
        ...

    def stamp(self) -> int | None:
        """A number that differs after every change, whoever made it. None where the store cannot
        tell without being read.
        """
        ...


class Tokens(Protocol):
    def tokens(self) -> tuple[Token, ...]:
        """In order of their ids."""
        ...

    def token(self, token_id: str) -> Token | None: ...
    def token_of(self, digest: str) -> Token | None: ...
    def put_token(self, token: Token) -> None: ...
    def revoke_token(self, token_id: str, now: datetime) -> bool:
        """Revokes the token and the sessions that were opened with it. Returns whether it was valid
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


class Store(
    Wishes,
    Orders,
    Attempts,
    DoorOrders,
    Strays,
    SiteMoves,
    AnswersOfSites,
    Moves,
    Readings,
    Profiles,
    Plans,
    Runs,
    Identity,
    Audit,
    Tokens,
    Jobs,
    Protocol,
):
    """All of the above in one place, as in the database."""

    def in_the_name_of(self, author: Author) -> Self:
        """The same store, whose changes are noted in the author's name."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """In this context, what the thread writes is stored whole or not at all, and nobody else
        writes meanwhile.
        """
        ...

"""The store in memory: for tests, trials and simulations.

Takes and returns what flex.ports.Store says, by the same contract as the database. Copies frames on
the way in and on the way out: who changes a frame does not change what is stored. Does not write
files.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from datetime import datetime, timedelta

import pandas as pd

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.audit_chain import Entry, Head, entry
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.jobs import Job
from flex.model.log_reading import Segment, Stream
from flex.model.nightly_run import NightlyRun, Stage
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.plan import Plan, PlanState
from flex.model.plan_summary import Headline, headline
from flex.model.retry_schedule import Attempt
from flex.model.roles_and_tokens import Token
from flex.model.wish import Pin
from flex.placing.proof_statement import Json
from flex.store import errors_of_stores, proof_as_bytes
from flex.store.answers_at_nodes import MemoryAnswersOfSites
from flex.store.audit_writer import noting
from flex.store.dns_journal_store import MemoryJournal
from flex.store.door_orders import MemoryDoorOrders
from flex.store.lease import Lease, interrupted_run
from flex.store.moves_and_stage_runs import MemorySiteMoves
from flex.store.profiles import column, earlier, side_by_side
from flex.store.stray_counts import MemoryStrays
from flex.traffic import reading_chains
from flex.zones.last_dns_check import Check


@noting
class MemoryStore(MemoryDoorOrders, MemoryStrays, MemorySiteMoves, MemoryAnswersOfSites):
    """Implements flex.ports.Store. Safe to share between threads."""

    def __init__(self) -> None:
        super().__init__()
        self._pins: dict[tuple[str, str], Pin] = {}
        self._orders: dict[str, NodeOrder] = {}
        self._attempts: dict[str, Attempt] = {}
        self._nodes: dict[str, Node] = {}
        self._freezes: dict[str, Freeze] = {}
        self._checks: dict[str, Check] = {}
        self._slots: dict[str, dict[str, int]] = {}
        self._streams: dict[tuple[object, ...], Stream] = {}
        self._segments: dict[str, Segment] = {}
        self._moved: dict[str, str] = {}
        self._profiles: dict[Period, tuple[pd.DataFrame, pd.DataFrame]] = {}
        self._plans: dict[str, Plan] = {}
        self._placements: dict[str, pd.DataFrame] = {}
        self._proofs: dict[str, bytes] = {}
        self._journals: dict[str, MemoryJournal] = {}
        self._settled: dict[str, str] = {}
        self._runs: dict[str, NightlyRun] = {}
        self._leases: dict[str, Lease] = {}
        self._entries: dict[int, Entry] = {}
        self._tokens: dict[str, Token] = {}
        self._jobs: dict[str, Job] = {}
        self._name = secrets.token_hex(8)

    @property
    def _settled_plan_id(self) -> str:
        return self._settled.get("plan", "")

    @property
    def _lease(self) -> Lease | None:
        return self._leases.get("cluster")

    def pins(self) -> tuple[Pin, ...]:
        return tuple(self._pins[key] for key in sorted(self._pins))

    def pin(self, site: str, campaign: str = "") -> Pin | None:
        return self._pins.get((site, campaign))

    def put_pin(self, pin: Pin) -> None:
        self._pins[pin.site, pin.campaign] = pin

    def drop_pin(self, site: str, campaign: str = "") -> bool:
        return self._pins.pop((site, campaign), None) is not None

    def node_orders(self) -> tuple[NodeOrder, ...]:
        return tuple(self._orders[node] for node in sorted(self._orders))

    def order_node(self, order: NodeOrder) -> None:
        self._orders[order.node] = order

    def attempts(self) -> tuple[Attempt, ...]:
        return tuple(self._attempts[node] for node in sorted(self._attempts))

    def put_attempt(self, attempt: Attempt) -> None:
        self._refuse_lost()
        self._attempts[attempt.node] = attempt

    def drop_attempt(self, node: str) -> None:
        self._refuse_lost()
        self._attempts.pop(node, None)

    def own_nodes(self) -> tuple[Node, ...]:
        return tuple(self._nodes[name] for name in sorted(self._nodes))

    def put_node(self, node: Node) -> None:
        self._nodes[node.name] = replace(node, state="active")

    def drop_node(self, name: str) -> bool:
        return self._nodes.pop(name, None) is not None

    def freeze(self) -> Freeze | None:
        return self._freezes.get("cluster")

    def put_freeze(self, freeze: Freeze | None) -> None:
        self._freezes.clear()
        if freeze:
            self._freezes["cluster"] = freeze

    def last_check(self) -> Check | None:
        return self._checks.get("cluster")

    def put_check(self, check: Check) -> None:
        self._checks["cluster"] = check

    def slots(self) -> dict[str, dict[str, int]]:
        return {site: dict(slots) for site, slots in self._slots.items()}

    def put_slots(self, site: str, slots: Mapping[str, int], before: Mapping[str, int]) -> bool:
        with self._lock:
            self._refuse_lost()
            if self._slots.get(site, {}) != before:
                return False
            self._slots[site] = dict(slots)
            return True

    def streams(self, source: str) -> tuple[Stream, ...]:
        streams = [stream for stream in self._streams.values() if stream.source == source]
        return tuple(sorted(streams, key=lambda stream: (stream.path, _content(stream))))

    def streams_of(self, sources: Collection[str]) -> tuple[Stream, ...]:
        return tuple(stream for stream in self.every_stream() if stream.source in sources)

    def every_stream(self) -> tuple[Stream, ...]:
        return tuple(
            sorted(self._streams.values(), key=lambda stream: (stream.path, _content(stream)))
        )

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        with self._lock:
            self._refuse_lost()
            if segment.id in self._segments:
                return False
            if replaces is not None and self._streams.pop(_content(replaces), None) is None:
                raise errors_of_stores.log_read_by_another_run(segment)
            self._keep(segment, stream)
            return True

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        with self.together():
            return frozenset(reading[0].id for reading in readings if not self.record(*reading))

    def adopt(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        with self._lock:
            self._refuse_lost()
            if segment.id in self._segments:
                return False
            if replaces is not None:
                self._streams.pop(_content(replaces), None)
            self._keep(segment, stream)
            return True

    def _keep(self, segment: Segment, stream: Stream) -> None:
        self._streams[_content(stream)] = stream
        self._segments[segment.id] = segment

    def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
        ordered = (self._segments[key] for key in sorted(self._segments))
        return tuple(
            each for each in ordered if each.last_day >= first_day and each.first_day <= last_day
        )

    def places_where_readings_ended(self, places: Collection[str]) -> frozenset[str]:
        return frozenset(places) & {segment.ends for segment in self._segments.values()}

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
        every = sorted(
            self._segments.values(), key=lambda segment: (segment.read_at, segment.id), reverse=down
        )
        readings = [
            segment
            for segment in every
            if source in ("", segment.source)
            and node in ("", segment.node)
            and (since is None or segment.read_at >= since.timestamp())
            and (until is None or segment.read_at < until.timestamp())
            and (
                behind is None
                or (
                    (segment.read_at, segment.id) < behind
                    if down
                    else (segment.read_at, segment.id) > behind
                )
            )
        ]
        return tuple(readings[:limit])

    def known_segments(self, ids: Collection[str]) -> frozenset[str]:
        return frozenset(ids) & self._segments.keys()

    def with_opening(self, opening: str, first_time: int) -> tuple[Segment, ...]:
        return reading_chains.segments_with_opening(self._segments.values(), opening, first_time)

    def behind(self, places: Collection[str]) -> tuple[Segment, ...]:
        return reading_chains.segments_beginning_at(self._segments.values(), places)

    def moved_counts(self) -> Mapping[str, str]:
        return dict(self._moved)

    def move_counts(self, segments: Collection[str], files: str) -> None:
        with self._lock:
            self._moved |= dict.fromkeys(segments, files)

    def put_profiles(self, period: Period, profiles: pd.DataFrame, spreads: pd.DataFrame) -> None:
        stored = PROFILES.check(profiles).copy(), SPREADS.check(spreads).copy()
        with self._lock:
            # Taken out first, so that it comes back as the last one stored.
            self._profiles.pop(period, None)
            self._profiles[period] = stored

    def profiles(
        self, until: datetime | None = None
    ) -> tuple[Period, pd.DataFrame, pd.DataFrame] | None:
        with self._lock:
            ended = [period for period in self._profiles if until is None or period.end <= until]
            if not ended:
                return None
            latest = max(reversed(ended), key=lambda period: period.end)
            profiles, spreads = self._profiles[latest]
        return latest, profiles.copy(), spreads.copy()

    def history(self, site: str) -> tuple[tuple[Period, Mapping[str, int]], ...]:
        figures = []
        for period in sorted(self._profiles, key=lambda period: (period.end, period.start)):
            frame = self._profiles[period][0]
            for row in frame[frame["site"] == site].to_dict("records"):
                figures.append(
                    (
                        period,
                        {str(name): int(value) for name, value in row.items() if name != "site"},
                    )
                )
        return tuple(figures)

    def bytes_sent(self, last: Period, most: int, *, gaps: bool = False) -> pd.DataFrame:
        columns = {}
        for period in earlier(last, most):
            if period not in self._profiles:
                if gaps:
                    continue
                break
            frame = self._profiles[period][0]
            columns[period.end] = column(frame["site"].tolist(), frame["access_bytes"].tolist())
        return side_by_side(columns)

    def drop_profiles(self, before: datetime) -> int:
        with self._lock:
            newest = max((period.end for period in self._profiles), default=before)
            old = [period for period in self._profiles if period.end < min(before, newest)]
            for period in old:
                del self._profiles[period]
            return len(old)

    def placement(self) -> tuple[str, pd.DataFrame]:
        with self._lock:
            return self._settled_plan_id, self._placements.get(
                self._settled_plan_id, PLACEMENT.empty()
            ).copy()

    def sites_of_nodes(self, plan_id: str = "") -> dict[str, int]:
        placement = self.placement_of(plan_id) if plan_id else self.placement()[1]
        nodes = placement["node"]
        return {str(node): int(sites) for node, sites in nodes.value_counts().items()}

    def in_force(self) -> str:
        return self._settled_plan_id

    def placement_of(self, plan_id: str) -> pd.DataFrame:
        if plan_id not in self._placements:
            raise errors_of_stores.unknown_plan(plan_id)
        return self._placements[plan_id].copy()

    def propose(self, plan: Plan, placement: pd.DataFrame) -> None:
        stored = PLACEMENT.check(placement).copy()
        with self._lock:
            known = self._plans.get(plan.id)
            if known is not None and known.state != "proposed":
                raise errors_of_stores.proposed_before(plan, known.state)
            self._plans[plan.id], self._placements[plan.id] = plan, stored

    def keep_proof(self, plan_id: str, proof: Json) -> None:
        with self._lock:
            if plan_id not in self._plans:
                raise errors_of_stores.unknown_plan(plan_id)
            self._proofs[plan_id] = proof_as_bytes.pack(proof)

    def proof_of(self, plan_id: str) -> Json | None:
        if plan_id not in self._plans:
            raise errors_of_stores.unknown_plan(plan_id)
        body = self._proofs.get(plan_id)
        return None if body is None else proof_as_bytes.unpack(body)

    def update(self, plan: Plan) -> None:
        self._replace(plan)

    def _replace(self, plan: Plan) -> None:
        with self._lock:
            if plan.id not in self._plans:
                raise errors_of_stores.unknown_plan(plan.id)
            self._plans[plan.id] = plan

    def settle(self, plan: Plan, placement: pd.DataFrame) -> None:
        stored = PLACEMENT.check(placement).copy()
        with self._lock:
            if self._holder() != self._run:
                raise errors_of_stores.lost_error(self._run, self._lease)
            if self._settled_plan_id not in (plan.base, plan.id):
                raise errors_of_stores.overtaken_base(plan, self._settled_plan_id)
            self._replace(plan)
            self._placements[plan.id] = stored
            self._settled["plan"] = plan.id

    def plan(self, plan_id: str) -> Plan:
        with self._lock:
            plan_ids = sorted(key for key in self._plans if plan_id and key.startswith(plan_id))
            if plan_id not in plan_ids and len(plan_ids) != 1:
                raise errors_of_stores.unknown_plan(plan_id, plan_ids)
            return self._plans[plan_id if plan_id in plan_ids else plan_ids[0]]

    def plans(self, limit: int = 50, *, state: PlanState | None = None) -> tuple[Plan, ...]:
        with self._lock:
            plans = [plan for plan in self._plans.values() if state in (None, plan.state)]
        ordered = sorted(plans, key=lambda plan: (plan.wall_time, plan.id), reverse=True)
        return tuple(ordered[:limit])

    def headlines(self) -> tuple[Headline, ...]:
        return tuple(map(headline, self.plans(len(self._plans))))

    def headline(self, plan_id: str) -> Headline | None:
        plan = self._plans.get(plan_id)
        return headline(plan) if plan else None

    def journal(self, plan_id: str) -> MemoryJournal:
        return self._journals.setdefault(plan_id, MemoryJournal(self._refuse_lost))

    def new_journal(self, plan_id: str) -> MemoryJournal:
        self._refuse_lost()
        self._journals.pop(plan_id, None)
        return self.journal(plan_id)

    def begin(
        self, run: NightlyRun, lease: timedelta, now: datetime, *, breaks_in: bool = False
    ) -> tuple[NightlyRun, ...]:
        with self._lock:
            if self._lease is not None and not self._lease.is_free(now, breaks_in=breaks_in):
                raise errors_of_stores.held_error(run, self._lease)
            if run.id in self._runs:
                raise errors_of_stores.begun_before(run)
            ended = tuple(
                interrupted_run(each, now)
                for each in self.runs(len(self._runs))
                if each.ended is None
            )
            self._runs |= {each.id: each for each in ended}
            self._runs[run.id] = replace(run, stages=())
            self._leases["cluster"] = Lease(run.id, run.holder, now, now + lease)
            return ended

    def beat(self, run_id: str, lease: timedelta, now: datetime) -> None:
        with self._lock:
            if self._lease is None or self._lease.run != run_id:
                raise errors_of_stores.lost_error(run_id, self._lease)
            self._leases["cluster"] = replace(self._lease, expires=now + lease)

    def wait(self, run_id: str) -> None:
        self._waits(run_id, waiting=True)

    def holds(self, run_id: str) -> bool:
        with self._lock:
            return self._lease is not None and self._lease.run == run_id

    @contextmanager
    def holding(self, run_id: str) -> Iterator[None]:
        before, self._mine.run = self._run, run_id
        try:
            yield
        finally:
            self._mine.run = before

    def _holder(self) -> str:
        return self._lease.run if self._lease else ""

    def _refuse_lost(self) -> None:
        if self._run and self._holder() != self._run:
            raise errors_of_stores.lost_error(self._run, self._lease)

    def go_on(self, run_id: str) -> None:
        self._waits(run_id, waiting=False)

    def _waits(self, run_id: str, *, waiting: bool) -> None:
        with self._lock:
            if self._lease is None or self._lease.run != run_id:
                raise errors_of_stores.lost_error(run_id, self._lease)
            self._leases["cluster"] = replace(self._lease, waiting=waiting)

    def installation(self) -> str:
        return self._name

    def stage(self, run_id: str, stage: Stage) -> None:
        with self._lock:
            self._refuse_lost()
            run = self.run_of(run_id)
            stages = {each.name: each for each in run.stages} | {stage.name: stage}
            self._runs[run_id] = replace(run, stages=tuple(stages.values()))

    def end(self, run: NightlyRun) -> None:
        with self._lock:
            self._runs[run.id] = replace(run, stages=self.run_of(run.id).stages)
            if self._lease is not None and self._lease.run == run.id:
                del self._leases["cluster"]

    def runs(self, limit: int = 50) -> tuple[NightlyRun, ...]:
        with self._lock:
            ordered = sorted(
                self._runs.values(), key=lambda run: (run.wall_time, run.id), reverse=True
            )
        return tuple(ordered[:limit])

    def runs_about(self, plan_id: str) -> tuple[NightlyRun, ...]:
        return tuple(
            run
            for run in self.runs(len(self._runs))
            if plan_id in (run.plan, *(stage.outcome for stage in run.stages))
        )

    def run_of(self, run_id: str) -> NightlyRun:
        if run_id not in self._runs:
            raise errors_of_stores.unknown_run(run_id)
        return self._runs[run_id]

    def note(self, action: str, subject: str, before: object, after: object) -> Entry:
        with self._lock:
            new_entry = entry(self.audit_head(), self._author, action, subject, before, after)
            self._entries[new_entry.number] = new_entry
            return new_entry

    def audit_head(self) -> Head:
        last = self._entries.get(self.last_number())
        return Head(last.number, last.hash) if last else Head()

    def entries(self, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        return tuple(
            audit_entry for audit_entry in self._entries.values() if audit_entry.number > after
        )[:limit]

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
        matching = (
            audit_entry
            for audit_entry in sorted(
                self._entries.values(), key=lambda audit_entry: audit_entry.number, reverse=down
            )
            if (
                behind is None
                or (audit_entry.number < behind if down else audit_entry.number > behind)
            )
            and actor in ("", audit_entry.actor)
            and (not action or f"{audit_entry.action}.".startswith(f"{action}."))
            and subject in ("", audit_entry.subject)
            and (since is None or audit_entry.time >= since)
            and (until is None or audit_entry.time < until)
        )
        return tuple(audit_entry for audit_entry, _ in zip(matching, range(limit), strict=False))

    def last_number(self, *actions: str) -> int:
        numbers = (
            audit_entry.number
            for audit_entry in reversed(self._entries.values())
            if not actions or audit_entry.action in actions
        )
        return next(numbers, 0)

    def last_of_each(self, *actions: str, saying: Collection[str] = ()) -> Mapping[str, Entry]:
        return {
            audit_entry.subject: audit_entry
            for audit_entry in self._entries.values()
            if audit_entry.action in actions
            and any(
                text in state_text
                for text in saying or [""]
                for state_text in (audit_entry.before, audit_entry.after)
            )
        }

    def stamp(self) -> int | None:
        return None

    def tokens(self) -> tuple[Token, ...]:
        return tuple(self._tokens[key] for key in sorted(self._tokens))

    def token(self, token_id: str) -> Token | None:
        return self._tokens.get(token_id)

    def token_of(self, digest: str) -> Token | None:
        return next((token for token in self.tokens() if token.digest == digest), None)

    def put_token(self, token: Token) -> None:
        self._tokens[token.id] = token

    def revoke_token(self, token_id: str, now: datetime) -> bool:
        with self._lock:
            known = self._tokens.get(token_id)
            for token in self.tokens():
                if token_id in (token.id, token.parent) and token.revoked is None:
                    self._tokens[token.id] = replace(token, revoked=now)
            return known is not None and known.revoked is None

    def use_token(self, token_id: str, now: datetime) -> None:
        with self._lock:
            if token_id in self._tokens:
                self._tokens[token_id] = replace(self._tokens[token_id], last_used=now)

    def jobs(self, limit: int = 1000) -> tuple[Job, ...]:
        ordered = sorted(self._jobs.values(), key=lambda job: (job.created, job.id), reverse=True)
        return tuple(ordered[:limit])

    def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def put_job(self, job: Job) -> None:
        self._jobs[job.id] = job


def _content(stream: Stream) -> tuple[object, ...]:
    """What a stream is known by: not where its file was last seen, nor by which columns it goes
    on.
    """
    return astuple(stream)[:-2]

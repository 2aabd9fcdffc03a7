"""The words of FLEX: frozen values that come by the dozen.

What comes by the million (accesses, profiles, placement rows, records) is a table: see tables.py.
Times are aware and in UTC, sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from flex.model.accuracy import Measured, Outlook
from flex.model.best_effort import Shortfall
from flex.model.consent import Approval, Breach, Stop
from flex.model.dns_edits import Said

NodeState = Literal["active", "draining", "down"]
RecordType = Literal["A", "AAAA", "TXT"]
PlanState = Literal["proposed", "applying", "applied", "discarded", "failed"]

# Later than any day of a log: years have four digits.
LAST_DAY = 3_000_000


@dataclass(frozen=True, slots=True)
class Node:
    """A machine that serves sites. Only an active node is given new ones."""

    name: str
    addresses: tuple[str, ...]
    ram: int
    capacity: float = 1.0
    state: NodeState = "active"


@dataclass(frozen=True, slots=True)
class Pin:
    """What a person wants for one site, from `since` to `until`; `max_replicas` of 0 is as many as
    it takes.

    It shares all nodes with the sites it is `together` with, no node with those of `apart`. It
    counts `weight` times as large, as one of class `sla`; an `excluded` site is left alone. That of
    a `campaign` is on top of the standing one.
    """

    site: str
    nodes: tuple[str, ...] = ()
    min_replicas: int = 1
    until: datetime | None = None
    reason: str = ""
    author: str = ""
    not_on: tuple[str, ...] = ()
    max_replicas: int = 0
    together: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    since: datetime | None = None
    weight: float = 1.0
    sla: str = ""
    excluded: bool = False
    campaign: str = ""

    def holds(self, now: datetime) -> bool:
        return (self.since is None or self.since <= now) and (
            self.until is None or now < self.until
        )


@dataclass(frozen=True, slots=True)
class Period:
    """Half-open and in whole UTC days: an access belongs to the day its timestamp falls in."""

    start: datetime
    end: datetime

    @classmethod
    def days_before(cls, now: datetime, days: int) -> Period:
        """The last `days` complete days before `now`."""
        end = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return cls(end - timedelta(days=days), end)

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()

    @property
    def first_day(self) -> int:
        """Days since 1970-01-01, as the partials count them."""
        return int(self.start.timestamp() // 86400)

    @property
    def last_day(self) -> int:
        return int((self.end.timestamp() - 1) // 86400)

    def __str__(self) -> str:
        """As people say it: the last day is inside."""
        first, last = (
            f"{self.start:%Y-%m-%d}",
            f"{self.end - timedelta(days=1):%Y-%m-%d}",
        )
        return first if first == last else f"{first} to {last}"


@dataclass(frozen=True, slots=True)
class Move:
    """One (site, node) row that is in the new placement and not in the old, or the other way round.

    `source` is the node the row came from; None when the site had no node to give up. `target` is
    None where a site gives a node up and takes no other. `cold_bytes` are to be read from disk
    before the site is as fast there.
    """

    site: str
    source: str | None
    target: str | None
    cold_bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rrset:
    """Values are sorted and unique, so that equal sets compare equal. Names are absolute and lower
    case.
    """

    name: str
    type: RecordType
    ttl: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One RRset's before and after. At least one of them is there; both have the same name and
    type.

    `beside` a marker that is made are all address sets that its name had then: None where nobody
    noted them.
    """

    before: Rrset | None
    after: Rrset | None
    beside: tuple[Rrset, ...] | None = None

    @property
    def name(self) -> str:
        return self.either.name

    @property
    def type(self) -> RecordType:
        return self.either.type

    @property
    def either(self) -> Rrset:
        rrset = self.after or self.before
        assert rrset is not None, "a change without before and after changes nothing"
        return rrset


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """What would have to change in one zone, in canonical order.

    `foreign` are the names we were asked to place that hold somebody else's addresses: never
    touched, always shown. `owned` is how many names carried our marker when the plan was made;
    limits are shares of it. `serial` is the zone's at that time, 0 where it is not known: a zone
    that still has it is as the plan saw it.
    """

    zone: str
    changes: tuple[Change, ...]
    foreign: tuple[str, ...] = ()
    owned: int = 0
    serial: int = 0


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """What a placement asks of one node, in units where the fair share of a mean node is 100.

    `fair` is this node's own share, nothing for one that takes no sites; `others` what is balanced
    besides, by name.
    """

    node: str
    access: float
    working_set: float
    sites: int
    fair: float = 100.0
    others: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Balance:
    """How evenly a placement loads the nodes. `worst` is the largest distance from a fair share, as
    a ratio.
    """

    nodes: tuple[NodeLoad, ...]
    worst: float
    worst_node: str = ""
    worst_resource: str = ""


@dataclass(frozen=True, slots=True)
class NodeForecast:
    """What a miniature replay says about one node under a placement.

    `seconds` is how long it works on all of that, `busiest` the share of it in its busiest hour.
    """

    node: str
    requests: int
    misses: int
    bytes: int
    disk_bytes: int
    seconds: float = 0.0
    busiest: float = 0.0

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Predicted load of one placement; `sampling` is the share of targets that was replayed.

    `throughput` is how many requests a second the cluster can serve in these proportions,
    `left_out` counts the accesses to sites that had no node.
    """

    policy: str
    sampling: float
    nodes: tuple[NodeForecast, ...]
    left_out: int = 0
    throughput: float = 0.0

    @property
    def miss_ratio(self) -> float:
        requests = sum(node.requests for node in self.nodes)
        return sum(node.misses for node in self.nodes) / requests if requests else 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one name server answered for the names of a zone that were checked; `lag` is the seconds
    until it agreed.
    """

    server: str
    checked: int
    serial: int | None = None
    wrong: tuple[Change, ...] = ()
    error: str = ""
    lag: float = 0.0
    zone: str = ""

    @property
    def agrees(self) -> bool:
        return not self.error and not self.wrong


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a nightly run, as the run's record keeps it."""

    name: str
    started: datetime
    ended: datetime | None = None
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One night: who ran it, how far it came, how it ended."""

    id: str
    holder: str
    started: datetime
    ended: datetime | None = None
    exit_code: int | None = None
    plan: str = ""
    message: str = ""
    stages: tuple[Stage, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Proven:
    """How good the solver's answer is: no balanced placement moves fewer than `bound` rows, as long
    as it keeps every wish and leaves sites that rest where they are.
    """

    solver: str
    bound: int
    proven: bool
    note: str = ""
    shortfalls: tuple[Shortfall, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """One proposal, from the profiles of a period to the records of each zone, and what became of
    it.

    The id ends in the digest of plans and placement, so a yes to it is a yes to just those changes.
    `base` is the plan whose placement was in force when this one was made, and must be still.
    `scratch_moves` is what one from nothing would move; `put_off` names the `later` moves, left to
    the next nights, `stops` kept more from being made. `needs` are replicas that loads ask for;
    `grown` sites get one more. One that makes before it breaks has a `moving_ttl` (0: as its
    records), or is `taking_back`. Its `author` had it made; `wishers` wished it. From what it
    `said` in DNS the next plan tells what others changed.
    """

    id: str
    created: datetime
    period: Period
    base: str
    digest: str
    quality: Proven
    moves: tuple[Move, ...]
    scratch_moves: int
    sites: int
    before: Balance | None
    after: Balance
    forecasts: tuple[Forecast, ...]
    zone_plans: tuple[ZonePlan, ...]
    breaches: tuple[Breach, ...] = ()
    notes: tuple[str, ...] = ()
    state: PlanState = "proposed"
    message: str = ""
    settled: datetime | None = None
    verdicts: tuple[Verdict, ...] = ()
    author: str = ""
    approvals: tuple[Approval, ...] = ()
    stops: tuple[Stop, ...] = ()
    later: int = 0
    put_off: tuple[Move, ...] = ()
    measured: Measured | None = None
    outlook: Outlook | None = None
    moving_ttl: int | None = None
    taking_back: bool = False
    needs: Mapping[str, int] = field(default_factory=dict)
    grown: tuple[str, ...] = ()
    wishers: tuple[str, ...] = ()
    said: Said = field(default_factory=Said)

    @property
    def cold_bytes(self) -> int:
        return sum(move.cold_bytes for move in self.moves)

    @property
    def changes(self) -> int:
        return sum(len(zone_plan.changes) for zone_plan in self.zone_plans)

    @property
    def old_answers_until(self) -> datetime | None:
        """Until then resolvers may answer with what this plan replaced; None where it replaced
        nothing yet.
        """
        old = [
            change.before.ttl
            for zone_plan in self.zone_plans
            for change in zone_plan.changes
            if change.before
        ]
        return (
            self.settled + timedelta(seconds=max(old)) if self.settled and old else None
        )


@dataclass(frozen=True, slots=True)
class Stream:
    """How far one log has been read, known by what it contains and not by its name.

    `head` is the hash of the first `head_size` bytes (at most 4 KiB, decompressed), `tail` the hash
    of the up to 4 KiB before `offset`. The path is where it was last seen: a hint for people, never
    an identity. A log that names its columns itself goes on by those in force at the offset, and
    they are in `format`; other logs have none here.
    """

    source: str
    head: str
    head_size: int
    offset: int
    tail: str
    path: str
    format: str = ""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A malformed line: where it begins in its log (unpacked), what is wrong with it, and its first
    text.
    """

    offset: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Segment:
    """What one reading of one stream counted; its tables are in the files of the same id.

    `lines` counts by class: counted, other_status, no_request, malformed; `reasons` the malformed
    ones by what is wrong with them; `hours` the answers in each hour since 1970. Where no line says
    its time, the days are that of `read_at`.
    """

    id: str
    source: str
    node: str
    path: str
    format: str
    first_byte: int
    last_byte: int
    first_day: int
    last_day: int
    first_time: int
    last_time: int
    lines: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...] = ()
    samples: tuple[BadLine, ...] = ()
    hours: tuple[tuple[int, int], ...] = ()
    read_at: int = 0
    begins: str = ""
    ends: str = ""
    after: str = ""
    signature: str = ""
    opening: str = ""
    copy_of: str = ""

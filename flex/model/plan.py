"""A plan: one proposal, from the profiles of a period to the records of each zone, and what became
of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from flex.model.accuracy import Measured, Outlook
from flex.model.balance import Balance
from flex.model.best_effort_shortfalls import Shortfall
from flex.model.dns_edits_by_others import Said
from flex.model.limits_and_approvals import Approval, Breach, Stop
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.not_ready import NotReady
from flex.model.period import Period
from flex.model.predicted_node_loads import Benefit, Forecast
from flex.model.zone_plan import ZonePlan

PlanState = Literal["proposed", "applying", "applied", "discarded", "failed"]


@dataclass(frozen=True, slots=True)
class Move:
    """One (site, node) row that is in the new partition and not in the old, or the other way round.

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
class Proven:
    """How good the solver's answer is: no balanced partition moves fewer than `bound` rows, as long
    as it keeps every wish and leaves sites that rest where they are.
    """

    solver: str
    bound: int
    proven: bool
    note: str = ""
    shortfalls: tuple[Shortfall, ...] = ()
    certified: int = 0

    @property
    def is_certified(self) -> bool:
        """Whether the fewest moves are proven, for the checker too."""
        return self.proven and self.certified >= self.bound


@dataclass(frozen=True, slots=True)
class Plan:
    """One proposal, from the profiles of a period to the records of each zone, and what became of
    it.

    The id ends in the digest of plans and partition, so a yes to it is a yes to just those changes.
    `base` is the plan whose partition was in force when this one was made, and must be still.
    `scratch_moves` is what one from nothing would move; `put_off` names the `later` moves, left to
    the next nights, `stops` kept more from being made; without `holds` other sites would move, and
    no more. `needs` are replicas that loads ask for;
    `grown` sites get one more. One that makes before it breaks has a `moving_ttl` (0: as its
    records), or is `taking_back`. Its `author` had it made; `wishers` wished it. From what it
    `said` in DNS the next plan tells what others changed. Sites that are `not_ready` stay. One that
    is as of another time is `created` then; `made` is when it really was. There is no `benefit`
    where nothing was predicted, or sites wait on nodes that take none.
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
    verdicts: tuple[NameServerVerdict, ...] = ()
    author: str = ""
    approvals: tuple[Approval, ...] = ()
    stops: tuple[Stop, ...] = ()
    holds: tuple[Stop, ...] = ()
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
    not_ready: tuple[NotReady, ...] = ()
    made: datetime | None = None
    benefit: Benefit | None = None

    @property
    def wall_time(self) -> datetime:
        """When it was made, whatever time it is as of."""
        return self.made or self.created

    @property
    def in_force_since(self) -> datetime | None:
        """By the clock on the wall, whatever time it is as of."""
        return max(self.settled, self.wall_time) if self.settled else None

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
        longest = self.longest_old_ttl
        return self.in_force_since + longest if self.in_force_since and longest else None

    @property
    def longest_old_ttl(self) -> timedelta:
        """The TTL of what it replaces in DNS; 0 where it replaces nothing."""
        old = (
            change.before.ttl
            for zone_plan in self.zone_plans
            for change in zone_plan.changes
            if change.before
        )
        return timedelta(seconds=max(old, default=0))

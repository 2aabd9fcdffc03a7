"""Zones on a real name server, changed by signed updates (RFC 2136) as a compare-and-swap.

Takes plans. Changes the zones, or raises an error that says what is not as planned. Does not
overwrite what others wrote in the meantime: each `before` of a plan is a prerequisite, which the
server itself checks. Everything is in the journal before it is sent, and a run that follows a
killed one continues from the journal.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from flex.errors import DnsError, Refused
from flex.model.dns_update_journal import Journal, JournalRow
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.zone_plan import Change, HintedSet, RecordType, ZonePlan
from flex.zones.address_hints import HINTED
from flex.zones.records_of_partition import ZoneState
from flex.zones.what_leans_on_names import Pointed
from flex_dns.checks import servers_to_check, settling
from flex_dns.preflight import excessive_key_rights
from flex_dns.update import change_messages, fence
from flex_dns.update.change_messages import Claim
from flex_dns.update.journal_outcomes import Tally
from flex_dns.update.sending import carry
from flex_dns.update.zone_outcomes_as_error import judge
from flex_dns.wire.name_server_and_key import Address, Server
from flex_dns.wire.session import Clock, Session
from flex_dns.wire.zone_contents import AskedNames
from flex_dns.zone import sets_from_primary, where_names_lead
from flex_dns.zone.change_states import (
    Standing,
    overtaken_changes,
    pointed_by,
    questions,
    standing,
    withhold_names_below_wildcards,
    withhold_names_leant_on,
)
from flex_dns.zone.make_zone_state import state

# Records of one type at one name. BIND stores no more (max-records-per-type) and refuses the whole
# message for them.
MOST_VALUES = 100

Rows = list[tuple[JournalRow, tuple[Change, ...]]]


@dataclass(frozen=True, slots=True)
class Rfc2136Publisher:
    """`owner` is the name this controller marks its names with; `verify_servers` are all that
    answer for the zones. Where none are given that is the primary, and with `verify_ns` every
    server that a zone names, too. `patience` is how many seconds to wait for a server that went
    away in the middle of a plan. A `controller` changes only zones that it holds, or that are free
    and then its own. `refuse_lost` is asked right before the record of who holds a zone changes;
    messages are asked for by their journal.
    """

    server: Server
    owner: str
    verify_servers: tuple[Address, ...] = ()
    patience: float = 30.0
    controller: str = ""
    verify_ns: bool = False
    refuse_lost: fence.Ask = field(default=fence.always, repr=False)
    clock: Clock = field(default=time.time, repr=False)

    def read(
        self,
        zone: str,
        names: Sequence[str],
        also: Sequence[str] = (),
        *,
        pointed: Pointed | None = None,
        hints: Collection[HintedSet] = (),
    ) -> ZoneState:
        """Complete, or a DnsError: a failed read never looks like an empty zone."""
        lower_names = [name.lower() for name in names]
        with self._session() as session:
            contents = sets_from_primary.read(
                session,
                self.server,
                zone,
                AskedNames(zone, lower_names),
                also,
                pointed,
                hints=list(hints),
            )
            answers = where_names_lead.answers(session, zone, also, contents) if also else {}
        kept = self.server.hints or bool(hints)
        return state(zone, lower_names, self.owner, contents, answers, hints=kept)

    def apply(self, *zone_plans: ZonePlan, journal: Journal | None = None) -> None:
        """Make every change of the plans true, or say exactly what is not.

        What already holds is not sent. Where a record is neither `before` nor `after` when this
        begins, nothing is sent at all, unless some of the plans holds already. Raises Stale,
        PartlyApplied where some of it holds, another DnsError when the server did not do as asked.
        """
        begun, standings = journal.rows() if journal else (), dict[str, Standing]()
        rows, done = _left_of(zone_plans, begun), _changes_held(zone_plans, begun)
        if not begun:
            standings = self._looked_at(zone_plans)
            done = {zone: len(zone_standing.done) for zone, zone_standing in standings.items()}
            _refuse_outdated(zone_plans, standings)
            self._refuse_denied_hints(standings)
            rows = _rows(zone_plans, standings, self._claim)
        claim = Claim(self.owner, self.controller, self._hold(zone_plans, rows))
        if journal and rows and not begun:
            journal.intend([row for row, _ in rows])
        kept = journal or Unkept()
        sites = {
            zone_plan.zone: zone_plan.site_of_name for zone_plan in zone_plans if zone_plan.go_along
        }
        tallies = carry(
            self.server, rows, kept, self.clock, self.patience, claim, self._secondaries, sites
        )
        for zone, zone_standing in standings.items():
            tallies.setdefault(zone, Tally(zone)).conflicts += zone_standing.conflicts
        if error := judge(zone_plans, tallies, done):
            raise error

    def refuse_late(self, *zones: str) -> None:
        """Needs the record of the controller: without one, what is on its way is not refused."""
        if self.controller:
            with self._session() as session:
                fence.begin_epoch(session, self.server, zones, self.controller, self.refuse_lost)

    def look(self, *zone_plans: ZonePlan) -> None:
        """Raises what `apply` would raise before it sends anything: Stale, or what the server
        refuses.
        """
        standings = self._looked_at(zone_plans)
        _refuse_outdated(zone_plans, standings)
        self._refuse_denied(
            (zone, change.name, change.type)
            for zone, zone_standing in standings.items()
            for change in zone_standing.pending
        )

    def refuse_hints(self, zone: str, sets: Collection[HintedSet]) -> None:
        self._refuse_denied((zone, *hinted_set) for hinted_set in sets)

    def _refuse_denied_hints(self, standings: Mapping[str, Standing]) -> None:
        """A key made before this setting existed may not change hints; find that out before
        anything is sent. Other troubles of this check hinder no plan: the updates find them.
        """
        hints = [
            (zone, change.name, change.type)
            for zone, zone_standing in standings.items()
            for change in zone_standing.pending
            if change.type in HINTED
        ]
        if hints:
            try:
                self._refuse_denied(hints)
            except DnsError as error:
                if isinstance(error, Refused):
                    raise

    def _refuse_denied(self, sets: Iterable[tuple[str, str, RecordType]]) -> None:
        """Asks once in each zone for each type."""
        tries = {(zone, kind): name for zone, name, kind in sets}
        with self._session() as session:
            excessive_key_rights.refuse_denied(
                session, [(zone, name, kind) for (zone, kind), name in tries.items()]
            )

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[NameServerVerdict, ...]:
        """Ask each authoritative server for the wanted RECORDS until it agrees. Silence is a
        verdict with an error.
        """
        servers = self.verify_servers or self._answering(zone)
        return settling.verdicts(
            servers, zone, wanted, self.server.timeout, self.server.reading.key, patience
        )

    def catch_up(self, zone: str, patience: float) -> None:
        """Tell the servers that are behind the primary, and give them so many seconds to follow."""
        servers = self.verify_servers or self._answering(zone)
        key = self.server.reading.key
        others = [address for address in servers if address != self.server.address]
        settling.catch_up(self.server.address, others, zone, self.server.timeout, key, patience)

    def _answering(self, zone: str) -> tuple[Address, ...]:
        return (
            servers_to_check.servers_to_check(self.server, zone)
            if self.verify_ns
            else (self.server.address,)
        )

    @property
    def _secondaries(self) -> tuple[Address, ...]:
        """Those that are listed: who else follows is not known before somebody asks."""
        return tuple(address for address in self.verify_servers if address != self.server.address)

    @property
    def _claim(self) -> Claim:
        return Claim(self.owner, self.controller)

    def _hold(self, zone_plans: Sequence[ZonePlan], rows: Rows) -> dict[str, str]:
        """A zone in which something is to change becomes ours; one of another controller's is
        refused in any case.

        Out comes what messages require, zone by zone.
        """
        changing = {row.zone for row, _ in rows}
        still = [zone_plan.zone for zone_plan in zone_plans if zone_plan.zone not in changing]
        if not self.controller:
            return {}
        with self._session() as session:
            if still:
                fence.free(session, self.server, still, self.controller)
            return fence.hold(
                session, self.server, sorted(changing), self.controller, self.refuse_lost
            )

    def _session(self) -> Session:
        return Session(self.server, self.clock)

    def _looked_at(self, zone_plans: Sequence[ZonePlan]) -> dict[str, Standing]:
        """Where each plan stands. A zone that still has the serial it was planned with need not be
        read again.
        """
        with self._session() as session:
            return {
                zone_plan.zone: self._standing(session, zone_plan)
                for zone_plan in zone_plans
                if zone_plan.changes
            }

    def _standing(self, session: Session, zone_plan: ZonePlan) -> Standing:
        _refuse_too_many(self.server, zone_plan)
        if (
            zone_plan.serial
            and sets_from_primary.soa_serial(session, self.server, zone_plan.zone)
            == zone_plan.serial
        ):
            return Standing((), zone_plan.changes, ())
        contents = sets_from_primary.read(
            session,
            self.server,
            zone_plan.zone,
            questions(zone_plan.zone, zone_plan.changes),
            pointed=pointed_by(zone_plan),
        )
        zone_standing = standing(
            zone_plan.zone, zone_plan.changes, contents, self.owner, zone_plan.site_of_name
        )
        zone_standing = withhold_names_below_wildcards(
            zone_plan, zone_standing, contents.below_wildcards
        )
        return withhold_names_leant_on(zone_plan, zone_standing, contents.pointing or ())


class Unkept:
    """The journal of a run that nobody will ask about."""

    def rows(self) -> tuple[JournalRow, ...]:
        return ()

    def intend(self, rows: Sequence[JournalRow]) -> None:
        """Not written down."""

    def became(self, numbers: Sequence[int], state: str, note: str = "") -> None:
        """Nor is this."""


def _refuse_outdated(zone_plans: Sequence[ZonePlan], standings: Mapping[str, Standing]) -> None:
    """A plan of which nothing holds yet is refused whole; one that was begun is finished as far as
    it can be.
    """
    if any(zone_standing.done for zone_standing in standings.values()):
        return
    for zone_plan in zone_plans:
        if zone_plan.changes and standings[zone_plan.zone].conflicts:
            raise overtaken_changes(zone_plan, 0, standings[zone_plan.zone].conflicts)


def _rows(zone_plans: Sequence[ZonePlan], standings: Mapping[str, Standing], claim: Claim) -> Rows:
    """A row for each message that is to be sent."""
    rows: Rows = []
    for zone_plan in zone_plans:
        places = {
            (change.name, change.type): place for place, change in enumerate(zone_plan.changes)
        }
        for message in change_messages.messages(
            zone_plan.zone,
            standings[zone_plan.zone].pending if zone_plan.changes else (),
            claim=claim,
            sites=zone_plan.site_of_name,
        ):
            changes = tuple(places[change.name, change.type] for change in message.changes)
            rows.append((JournalRow(len(rows), zone_plan.zone, changes), message.changes))
    return rows


def _left_of(zone_plans: Sequence[ZonePlan], begun: Sequence[JournalRow]) -> Rows:
    """What an earlier run did not bring to its end."""
    of_zone = {zone_plan.zone: zone_plan for zone_plan in zone_plans}
    left: Rows = []
    for row in begun:
        if row.state != "done":
            changes = of_zone[row.zone].changes
            left.append((row, tuple(changes[place] for place in row.changes)))
    return left


def _changes_held(zone_plans: Sequence[ZonePlan], begun: Sequence[JournalRow]) -> dict[str, int]:
    """How many changes an earlier run made."""
    left: Counter[str] = Counter()
    for row in begun:
        left[row.zone] += 0 if row.state == "done" else len(row.changes)
    return {
        zone_plan.zone: len(zone_plan.changes) - left[zone_plan.zone] for zone_plan in zone_plans
    }


def _refuse_too_many(server: Server, zone_plan: ZonePlan) -> None:
    for change in zone_plan.changes:
        if change.after and len(change.after.values) > MOST_VALUES:
            raise Refused(
                f"asking {server}: update of {change.name}",
                f"{len(change.after.values)} records of type {change.type}; a name "
                f"server stores at most {MOST_VALUES}",
                advice="give the nodes fewer addresses, or the site fewer replicas",
            )

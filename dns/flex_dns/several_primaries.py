"""Zones on several primaries, each with its own key, behind one publisher.

Takes publishers by zone. Passes each question on to the publisher of its zone. A plan for several
zones is checked on all primaries before anything is sent to any, and returns one result. Does not
send anything itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from flex.errors import DnsError, PartlyApplied
from flex.model.dns_update_journal import Journal, JournalRow, RowState
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.zone_plan import HintedSet, ZonePlan
from flex.zones.records_of_partition import ZoneState
from flex.zones.what_leans_on_names import Pointed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.update.zone_outcomes_as_error import kind
from flex_dns.wire.explain_dns_errors import UNCHANGED, not_authoritative

# The journal numbers of each primary begin this far apart. No plan has as many messages for one
# primary.
ROOM = 10**9


@dataclass(frozen=True, slots=True)
class SeveralPublishers:
    """`of_zone` has the publisher of every zone; zones of one primary share one."""

    of_zone: Mapping[str, Rfc2136Publisher]

    def read(
        self,
        zone: str,
        names: Sequence[str],
        also: Sequence[str] = (),
        *,
        pointed: Pointed | None = None,
        hints: Collection[HintedSet] = (),
    ) -> ZoneState:
        return self._publisher(zone).read(zone, names, also, pointed=pointed, hints=hints)

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[NameServerVerdict, ...]:
        return self._publisher(zone).verify(zone, wanted, patience=patience)

    def catch_up(self, zone: str, patience: float) -> None:
        self._publisher(zone).catch_up(zone, patience)

    def refuse_hints(self, zone: str, sets: Collection[HintedSet]) -> None:
        self._publisher(zone).refuse_hints(zone, sets)

    def refuse_late(self, *zones: str) -> None:
        for zone in zones:
            self._publisher(zone).refuse_late(zone)

    def apply(self, *zone_plans: ZonePlan, journal: Journal | None = None) -> None:
        """One primary after the other. Raises what the only one that failed raised where nothing
        was changed.
        """
        shares = self._shares(zone_plans)
        for publisher, share in shares if not (journal and journal.rows()) else ():
            publisher.look(*share)
        changed, failed = False, list[DnsError | PartlyApplied]()
        for number, (publisher, share) in enumerate(shares):
            try:
                publisher.apply(
                    *share,
                    journal=journal
                    and _Share(journal, [zone_plan.zone for zone_plan in share], number),
                )
                changed = changed or any(zone_plan.changes for zone_plan in share)
            except (DnsError, PartlyApplied) as error:
                failed.append(error)
        if failed:
            raise _one_of(failed, changed) from failed[0]

    def _publisher(self, zone: str) -> Rfc2136Publisher:
        if zone not in self.of_zone:
            raise not_authoritative("the settings", zone, f"the primary of {zone}")
        return self.of_zone[zone]

    def _shares(
        self, zone_plans: Sequence[ZonePlan]
    ) -> list[tuple[Rfc2136Publisher, list[ZonePlan]]]:
        shares: dict[int, tuple[Rfc2136Publisher, list[ZonePlan]]] = {}
        for zone_plan in zone_plans:
            publisher = self._publisher(zone_plan.zone)
            shares.setdefault(id(publisher), (publisher, []))[1].append(zone_plan)
        return list(shares.values())


class _Share:
    """One primary's part of a journal: its zones, and numbers that no other has."""

    def __init__(self, journal: Journal, zones: Sequence[str], place: int) -> None:
        self._journal = journal
        self._zones = frozenset(zones)
        self._from = place * ROOM

    def rows(self) -> tuple[JournalRow, ...]:
        return tuple(row for row in self._journal.rows() if row.zone in self._zones)

    def intend(self, rows: Sequence[JournalRow]) -> None:
        self._journal.intend([replace(row, number=self._from + row.number) for row in rows])

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        self._journal.became([self._from + number % ROOM for number in numbers], state, note)


def _one_of(failed: Sequence[DnsError | PartlyApplied], changed: bool) -> DnsError | PartlyApplied:
    first = failed[0]
    if not changed and all(isinstance(error, DnsError) for error in failed):
        return first
    kept = dict.fromkeys(
        "nothing was changed there" if error.kept == UNCHANGED else error.kept for error in failed
    )
    return kind(*failed)(
        first.asked,
        "; ".join(error.answer for error in failed),
        kept=f"{'; '.join(kept)}; what other primaries answer for is as planned",
        advice=f"{first.advice.partition('; then `flex apply')[0]}; then `flex apply "
        "--resume` finishes it",
    )

"""Zones that live in this process: the double of a name server, with the same promises and no
network.

Takes plans. Changes its zones, or raises the errors that a real server's publisher raises. Does not
keep anything after the process ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from struct import pack

import pandas as pd
from dns.rdatatype import RdataType

from flex.model.dns_update_journal import Journal
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.zone_plan import HintedSet, ZonePlan
from flex.zones.address_hints import HINTED
from flex.zones.marker import marker_name
from flex.zones.records_of_partition import BelowWildcard, NameAnswer, ZoneState, zone_of
from flex.zones.what_leans_on_names import Pointed, PointingRecord
from flex_dns.checks.verify import ExpectedAnswers, differences
from flex_dns.wire.explain_dns_errors import not_authoritative
from flex_dns.wire.https_and_svcb import data_of_text, text_of_data
from flex_dns.wire.transferred_sets import CAA, HTTPS, MX, NS, SRV, SVCB, TXT, Noted
from flex_dns.wire.zone_contents import (
    AskedNames,
    Contents,
    Question,
    canonical,
    names_at_or_below,
    names_below,
    unfit,
)
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
from flex_dns.zone.pointing_records import pointing_records
from flex_dns.zone.where_names_lead import ADDRESSES, LONGEST_CHAIN
from flex_dns.zone.wildcard_answered_names import TYPES

HERE = "memory"

Set = tuple[int, tuple[str, ...]]


def _make_numbers_reader(kind: int, size: int) -> Callable[[str], tuple[int, bytes, str]]:
    """Numbers of 16 bits and a name, as in MX, SRV and NS."""

    def parts(value: str) -> tuple[int, bytes, str]:
        *numbers, target = value.split()
        return kind, pack(f"!{size}H", *map(int, numbers)), target.lower()

    return parts


def _text(value: str) -> tuple[int, bytes, str]:
    strings = [part.encode() for part in value.split('" "')]
    return TXT, b"".join(bytes((len(part),)) + part for part in strings), ""


def _rule(value: str) -> tuple[int, bytes, str]:
    flags, tag, property_value = value.split(maxsplit=2)
    name = tag.encode()
    return CAA, bytes((int(flags), len(name))) + name + property_value.strip('"').encode(), ""


def _make_hints_reader(kind: int) -> Callable[[str], tuple[int, bytes, str]]:
    def parts(value: str) -> tuple[int, bytes, str]:
        data = data_of_text(RdataType(kind).name, value)
        return kind, data, value.split()[1].lower()

    return parts


# A value as it is edited, and as a transfer brings it.
NOTED_AS = {
    "MX": _make_numbers_reader(MX, 1),
    "SRV": _make_numbers_reader(SRV, 3),
    "NS": _make_numbers_reader(NS, 0),
    "TXT": _text,
    "CAA": _rule,
    "SVCB": _make_hints_reader(SVCB),
    "HTTPS": _make_hints_reader(HTTPS),
}


class MemoryPublisher:
    """One primary and no secondaries. Plans that are applied together are one message: all of it or
    nothing.
    """

    def __init__(self, zones: Iterable[str], owner: str) -> None:
        self._owner = owner
        self._zones: dict[str, dict[Question, Set]] = {zone: {} for zone in zones}
        self._serials = dict.fromkeys(self._zones, 1)
        self._lock = threading.Lock()

    def read(
        self,
        zone: str,
        names: Sequence[str],
        also: Sequence[str] = (),
        *,
        pointed: Pointed | None = None,
        hints: Collection[HintedSet] = (),  # noqa: ARG002  all are told
    ) -> ZoneState:
        lower_names = [name.lower() for name in names]
        with self._lock:
            contents = replace(
                self._contents(
                    zone, [*AskedNames(zone, lower_names), *product(lower_names, HINTED)]
                ),
                pointing=None if pointed is None else self._pointing(zone, pointed),
            )
            return state(
                zone,
                lower_names,
                self._owner,
                contents,
                {name: self._answer(name) for name in also},
                hints=True,
            )

    # As above, the journal is not used.
    def apply(self, *zone_plans: ZonePlan, journal: Journal | None = None) -> None:  # noqa: ARG002
        """As on a real server, but for messages: there are none, and so no half of them."""
        with self._lock:
            standings = [(zone_plan, self._standing(zone_plan)) for zone_plan in zone_plans]
            done = sum(len(zone_standing.done) for _, zone_standing in standings)
            wrong = [
                (zone_plan, zone_standing.conflicts)
                for zone_plan, zone_standing in standings
                if zone_standing.conflicts
            ]
            for zone_plan, zone_standing in standings if done or not wrong else ():
                for change in zone_standing.pending:
                    after = change.after
                    self._put(
                        zone_plan.zone,
                        change.name,
                        change.type,
                        (after.ttl, after.values) if after else None,
                    )
                self._serials[zone_plan.zone] += bool(zone_standing.pending)
                done += len(zone_standing.pending)
            for zone_plan, conflicts in wrong:
                raise overtaken_changes(zone_plan, done, conflicts)

    def refuse_hints(self, zone: str, sets: Collection[HintedSet]) -> None:
        """FLEX may change all that is here."""

    def refuse_late(self, *zones: str) -> None:
        """Nothing is ever on its way here."""

    def verify(
        self,
        zone: str,
        wanted: pd.DataFrame,
        *,
        patience: float = 0.0,  # noqa: ARG002  there is nobody to wait for
    ) -> tuple[NameServerVerdict, ...]:
        with self._lock:
            sets = self._zone(zone, "verification")
            every = ExpectedAnswers.from_records(wanted)
            wrong = differences(every, lambda name, kind: sets.get((name, kind)))
            return (NameServerVerdict(HERE, every.size, self._serials[zone], wrong),)

    def edit(
        self, zone: str, name: str, kind: str, ttl: int = 60, values: Sequence[str] = ()
    ) -> None:
        """What somebody else does to the zone: make one set hold these values, or be gone."""
        with self._lock:
            self._put(zone, name.lower(), kind, (ttl, tuple(values)) if values else None)
            self._serials[zone] += 1

    def serial(self, zone: str) -> int:
        """Rises by one with each plan that changes anything, and with each edit."""
        return self._serials[zone]

    def _standing(self, zone_plan: ZonePlan) -> Standing:
        contents = self._contents(zone_plan.zone, questions(zone_plan.zone, zone_plan.changes))
        zone_standing = standing(
            zone_plan.zone, zone_plan.changes, contents, self._owner, zone_plan.site_of_name
        )
        pointed = pointed_by(zone_plan)
        noted = self._pointing(zone_plan.zone, pointed) if pointed else ()
        zone_standing = withhold_names_below_wildcards(
            zone_plan, zone_standing, contents.below_wildcards
        )
        return withhold_names_leant_on(zone_plan, zone_standing, noted)

    def _zone(self, zone: str, subject: str) -> dict[Question, Set]:
        if zone not in self._zones:
            raise not_authoritative(HERE, zone, subject)
        return self._zones[zone]

    def _contents(self, zone: str, wanted: Iterable[Question]) -> Contents:
        sets = self._zone(zone, f"records of {zone}")
        held = {question: sets[question] for question in wanted if question in sets}
        closed = {
            name: f"has a CNAME to {target[0]}"
            for (name, kind), (_, target) in sets.items()
            if kind == "CNAME"
        }
        cuts = _owners_of(sets, "NS") - {zone}
        names = [name for name, _ in wanted]
        for name, cut in names_at_or_below(names, cuts):
            closed[name] = f"is delegated at {cut}"
        for name, dname in names_below(names, _owners_of(sets, "DNAME")):
            closed[name] = f"lies below the DNAME at {dname}"
        has_wildcards = any(owner.startswith("*.") for owner, _ in sets)
        covered = {
            name: below_wildcard
            for name in (dict.fromkeys(names) if has_wildcards else ())
            if not unfit(zone, name)
            and name not in closed
            and (marker_name(name, zone), "TXT") not in held
            and (below_wildcard := self._answer_below_wildcard(zone, name))
        }
        return Contents(self._serials[zone], held, closed, whole=True, below_wildcards=covered)

    def _answer_below_wildcard(self, zone: str, name: str) -> BelowWildcard | None:
        sets = self._zones[zone]
        owner = _owner(name, zone, sets)
        held = {kind for set_owner, kind in sets if set_owner == owner}
        if owner == name or not held:
            return None
        types = tuple(kind for kind in TYPES if kind in held)
        above = owner.removeprefix("*")
        label = name.removesuffix(above).rpartition(".")[2]
        return BelowWildcard(owner, types, self._answer(name).addresses, f"{label}{above}")

    def _pointing(self, zone: str, pointed: Pointed) -> tuple[PointingRecord, ...]:
        noted: list[Noted] = []
        aliases: dict[str, str] = {}
        for (owner, kind), (_, values) in self._zones[zone].items():
            if kind == "CNAME":
                aliases[owner] = values[0]
            elif kind in NOTED_AS:
                noted += [(owner, *NOTED_AS[kind](value)) for value in values]
        return pointing_records(zone, noted, aliases, pointed)

    def _answer(self, name: str) -> NameAnswer:
        """As a name server of all these zones answers."""
        chain: list[str] = []
        while len(chain) <= LONGEST_CHAIN:
            zone = zone_of(name, self._zones.keys())
            if zone is None:
                return NameAnswer(chain=tuple(chain))
            sets = self._zones[zone]
            if any(names_at_or_below([name], _owners_of(sets, "NS") - {zone})):
                unknown = "" if chain else "is delegated to other name servers"
                return NameAnswer(chain=tuple(chain), unknown=unknown)
            owner = _owner(name, zone, sets)
            target = _target(name, owner, sets)
            if not target:
                values = (sets.get((owner, kind), (0, ()))[1] for kind in ADDRESSES)
                return NameAnswer(
                    tuple(value for of_kind in values for value in of_kind), tuple(chain)
                )
            name = target
            chain.append(name)
        return NameAnswer(chain=tuple(chain))

    def _put(self, zone: str, name: str, kind: str, value: Set | None) -> None:
        if value is None:
            self._zone(zone, "update").pop((name, kind), None)
        else:
            ttl, values = value
            spelled = _text_as_transferred if kind in HINTED else canonical
            self._zone(zone, "update")[name, kind] = (
                ttl,
                tuple(sorted({spelled(kind, text) for text in values})),
            )


def _text_as_transferred(kind: str, value: str) -> str:
    """As a transfer brings it."""
    return text_of_data(RdataType.from_text(kind), data_of_text(kind, value))


def _owners_of(sets: Iterable[Question], kind: str) -> set[str]:
    return {owner for owner, set_kind in sets if set_kind == kind}


def _target(name: str, owner: str, sets: Mapping[Question, Set]) -> str:
    """Where a DNAME above the name leads, or a CNAME at its owner; "" where nothing does."""
    for _, up in names_below([name], _owners_of(sets, "DNAME")):
        return name.removesuffix(up) + sets[up, "DNAME"][1][0]
    return sets[owner, "CNAME"][1][0] if (owner, "CNAME") in sets else ""


def _owner(name: str, zone: str, sets: Mapping[Question, Set]) -> str:
    """The name itself where there is such a one, or one below it; else the wildcard of the closest
    that there is.
    """
    there = {owner for owner, _ in sets} | {zone}
    below = tuple(there)
    closest = name
    while closest not in there and not any(owner.endswith(f".{closest}") for owner in below):
        closest = closest.partition(".")[2]
    return name if closest == name else f"*.{closest}"

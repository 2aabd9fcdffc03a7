"""Zones that live in this process: the double of a name server, with the same promises and no network."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import pandas as pd

from flex.domain import Plan, Verdict
from flex.ports import Journal
from flex.records import ZoneState
from flex_dns.contents import Asked, Contents, Question, at_or_below, canonical
from flex_dns.standing import Standing, overtaken, questions, standing
from flex_dns.trouble import not_authoritative
from flex_dns.verify import Wanted, differences
from flex_dns.zone_state import state

HERE = "memory"

Set = tuple[int, tuple[str, ...]]


class MemoryTarget:
    """One primary and no secondaries. Plans that are applied together are one message: all of it or nothing."""

    def __init__(self, zones: Iterable[str], owner: str) -> None:
        self._owner = owner
        self._zones: dict[str, dict[Question, Set]] = {zone: {} for zone in zones}
        self._serials = dict.fromkeys(self._zones, 1)
        self._lock = threading.Lock()

    def read(self, zone: str, names: Sequence[str]) -> ZoneState:
        asked = [name.lower() for name in names]
        with self._lock:
            return state(zone, asked, self._owner, self._contents(zone, Asked(zone, asked)))

    def apply(self, *plans: Plan, journal: Journal | None = None) -> None:  # noqa: ARG002  as above
        """As on a real server, but for messages: there are none, and so no half of them."""
        with self._lock:
            found = [(plan, self._standing(plan)) for plan in plans]
            done = sum(len(one.done) for _, one in found)
            wrong = [(plan, one.conflicts) for plan, one in found if one.conflicts]
            for plan, one in found if done or not wrong else ():
                for change in one.pending:
                    after = change.after
                    self._put(plan.zone, change.name, change.type, (after.ttl, after.values) if after else None)
                self._serials[plan.zone] += bool(one.pending)
                done += len(one.pending)
            for plan, conflicts in wrong:
                raise overtaken(plan, done, conflicts)

    def refuse_late(self, *zones: str) -> None:
        """Nothing is ever on its way here."""

    def verify(
        self,
        zone: str,
        wanted: pd.DataFrame,
        *,
        patience: float = 0.0,  # noqa: ARG002  there is nobody to wait for
    ) -> tuple[Verdict, ...]:
        with self._lock:
            sets = self._zone(zone, "verification")
            every = Wanted.of(wanted)
            wrong = differences(every, lambda name, kind: sets.get((name, kind)))
            return (Verdict(HERE, every.size, self._serials[zone], wrong),)

    def edit(self, zone: str, name: str, kind: str, ttl: int = 60, values: Sequence[str] = ()) -> None:
        """What somebody else does to the zone: make one set hold these values, or be gone."""
        with self._lock:
            self._put(zone, name.lower(), kind, (ttl, tuple(values)) if values else None)
            self._serials[zone] += 1

    def serial(self, zone: str) -> int:
        """Rises by one with each plan that changes anything, and with each edit."""
        return self._serials[zone]

    def _standing(self, plan: Plan) -> Standing:
        found = self._contents(plan.zone, questions(plan.zone, plan.changes))
        return standing(plan.zone, plan.changes, found, self._owner)

    def _zone(self, zone: str, asked: str) -> dict[Question, Set]:
        if zone not in self._zones:
            raise not_authoritative(HERE, zone, asked)
        return self._zones[zone]

    def _contents(self, zone: str, asked: Iterable[Question]) -> Contents:
        sets = self._zone(zone, f"records of {zone}")
        held = {question: sets[question] for question in asked if question in sets}
        closed = {name: f"has a CNAME to {target[0]}" for (name, kind), (_, target) in sets.items() if kind == "CNAME"}
        cuts = {name for name, kind in sets if kind == "NS" and name != zone}
        closed |= {name: f"is delegated at {cut}" for name, cut in at_or_below([name for name, _ in asked], cuts)}
        return Contents(self._serials[zone], held, closed)

    def _put(self, zone: str, name: str, kind: str, value: Set | None) -> None:
        if value is None:
            self._zone(zone, "update").pop((name, kind), None)
        else:
            ttl, values = value
            self._zone(zone, "update")[name, kind] = (ttl, tuple(sorted({canonical(kind, one) for one in values})))

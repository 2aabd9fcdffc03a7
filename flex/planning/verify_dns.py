"""What the name servers say of a placement, compared with what they should say.

Takes a proposal and its placement. Returns the wanted RECORDS of each zone, and a Verdict of each
server. Does not change anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import pandas as pd

from flex.model.name_server_verdict import Verdict
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.zone_plan import ZonePlan
from flex.ports import Publisher
from flex.zones import records

# Zones that are checked at a time.
SIDE_BY_SIDE = 8


def check(
    plan: Plan,
    placement: pd.DataFrame,
    nodes: Sequence[Node],
    ttl: int,
    publisher: Publisher,
    *,
    patience: float = 0.0,
    owner: str = "",
) -> tuple[Verdict, ...]:
    """What every name server says of the placement, zone by zone; and of the markers of an `owner`,
    where one is named.

    What a site on a node that is in the settings no more should have for addresses is not known,
    and not asked for.
    """
    said = wanted_records(plan, placement, nodes, ttl)
    if owner:
        said = {
            zone: records.with_markers(rows, zone, owner, ttl)
            for zone, rows in said.items()
        }

    def asked(one: ZonePlan) -> tuple[Verdict, ...]:
        found = publisher.verify(one.zone, said[one.zone], patience=patience)
        return tuple(replace(verdict, zone=one.zone) for verdict in found)

    # Side by side: a cluster of many zones waits for the slowest of them, not for all.
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        return tuple(
            verdict
            for found in threads.map(asked, plan.zone_plans)
            for verdict in found
        )


def wanted_records(
    plan: Plan, placement: pd.DataFrame, nodes: Sequence[Node], ttl: int
) -> dict[str, pd.DataFrame]:
    """The RECORDS that the placement asks for, zone by zone."""
    every = records.records(records.on_known_nodes(placement, nodes), nodes, ttl)
    in_zones = records.in_zones(every, [one.zone for one in plan.zone_plans])
    return {one.zone: _ours(one, in_zones[one.zone]) for one in plan.zone_plans}


def _ours(one: ZonePlan, in_zone: pd.DataFrame) -> pd.DataFrame:
    """The records of one zone that FLEX answers for: those of others in it are left out."""
    foreign = {entry.split(" ", 1)[0] for entry in one.foreign}
    return (
        in_zone[~in_zone["name"].isin(list(foreign))].reset_index(drop=True)
        if foreign
        else in_zone
    )


class Heard(Protocol):
    """A verdict, or the row of one."""

    @property
    def server(self) -> str: ...
    @property
    def zone(self) -> str: ...
    @property
    def serial(self) -> int | None: ...
    @property
    def checked(self) -> int: ...
    @property
    def agrees(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Servers:
    """Name servers, each counted once, however many zones it was asked about.

    A server agrees that does so in all of its zones.
    """

    agreeing: int
    asked: int
    zones: int


def servers(verdicts: Iterable[Heard]) -> Servers:
    """Where a server had nothing to check in a zone, it said nothing of that zone."""
    telling = [one for one in verdicts if one.checked or not one.agrees]
    asked = {one.server for one in telling}
    wrong = {one.server for one in telling if not one.agrees}
    return Servers(len(asked - wrong), len(asked), len({one.zone for one in telling}))


@dataclass(frozen=True, slots=True)
class Behind:
    """A server that has an older serial of a zone than another one."""

    server: str
    zone: str
    serial: int
    latest: int

    @property
    def advice(self) -> str:
        refresh = f"run `rndc refresh {self.zone.rstrip('.')}` on {self.server}"
        return f"it is behind, as another server has serial {self.latest}: {refresh}"


def behind(verdicts: Sequence[Heard]) -> dict[tuple[str, str], Behind]:
    """By server and zone, those that do not agree and have an old serial."""
    latest: dict[str, int] = {}
    for one in verdicts:
        if one.serial is not None and is_since(
            one.serial, latest.get(one.zone, one.serial)
        ):
            latest[one.zone] = one.serial
    return {
        (one.server, one.zone): Behind(
            one.server, one.zone, one.serial, latest[one.zone]
        )
        for one in verdicts
        if not one.agrees and one.serial is not None and one.serial != latest[one.zone]
    }


def is_since(serial: int, earlier: int) -> bool:
    """Serials run in a circle (RFC 1982): half of them are later than any given one."""
    return (serial - earlier) % 2**32 < 2**31


def said_wrong(verdict: Verdict) -> str:
    """What a person is told of one server that does not agree."""
    where = f"{verdict.server}, {verdict.zone}" if verdict.zone else verdict.server
    return (
        f"{where}: "
        f"{verdict.error or f'{len(verdict.wrong)} of {verdict.checked} record sets differ'}"
    )

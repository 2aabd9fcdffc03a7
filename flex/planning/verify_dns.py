"""What the name servers say of a partition, compared with what they should say.

Takes a proposal and its partition. Returns the wanted RECORDS of each zone, and the verdict on each
server. Does not change anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd

from flex.model.name_server_verdict import NameServerVerdict
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.zone_plan import ZonePlan
from flex.ports import Publisher
from flex.zones import names_going_along, records_of_partition, single_family_names

# Zones that are checked at a time.
SIDE_BY_SIDE = 8


def check(
    plan: Plan,
    partition: pd.DataFrame,
    nodes: Sequence[Node],
    ttl: int,
    publisher: Publisher,
    *,
    patience: float = 0.0,
    owner: str = "",
) -> tuple[NameServerVerdict, ...]:
    """What every name server says of the partition, zone by zone; of the hints that follow it; and
    of the markers of an `owner`, where one is named.

    What a site on a node that is in the settings no more should have for addresses is not known,
    and not asked for.
    """
    zone_records = wanted_records(plan, partition, nodes, ttl)
    for zone_plan in plan.zone_plans:
        if zone_plan.hints:
            rows = zone_records[zone_plan.zone]
            zone_records[zone_plan.zone] = records_of_partition.add_hints(rows, zone_plan.hints)
    if owner:
        zone_records = {
            zone: records_of_partition.add_markers(rows, zone, owner, ttl)
            for zone, rows in zone_records.items()
        }

    def ask(zone_plan: ZonePlan) -> tuple[NameServerVerdict, ...]:
        verdicts = publisher.verify(zone_plan.zone, zone_records[zone_plan.zone], patience=patience)
        return tuple(replace(verdict, zone=zone_plan.zone) for verdict in verdicts)

    # Side by side: a cluster of many zones waits for the slowest of them, not for all.
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        return tuple(
            verdict for verdicts in threads.map(ask, plan.zone_plans) for verdict in verdicts
        )


def wanted_records(
    plan: Plan, partition: pd.DataFrame, nodes: Sequence[Node], ttl: int
) -> dict[str, pd.DataFrame]:
    """The RECORDS that the partition asks for, zone by zone."""
    every = records_of_partition.records(
        records_of_partition.rows_on_known_nodes(_place_other_names(plan, partition), nodes),
        nodes,
        ttl,
    )
    in_zones = records_of_partition.split_by_zone(
        single_family_names.drop_other_family(every, dict(plan.said.one_family)),
        [zone_plan.zone for zone_plan in plan.zone_plans],
    )
    return {
        zone_plan.zone: _ours(zone_plan, in_zones[zone_plan.zone]) for zone_plan in plan.zone_plans
    }


def _place_other_names(plan: Plan, partition: pd.DataFrame) -> pd.DataFrame:
    """Other names that go along are checked as the sites are."""
    return names_going_along.place_names_along(
        partition, names_going_along.pairs_of(plan.zone_plans)
    )


def _ours(zone_plan: ZonePlan, in_zone: pd.DataFrame) -> pd.DataFrame:
    """The records of one zone that FLEX answers for: those of others in it are left out."""
    foreign = zone_plan.why_foreign
    return (
        in_zone[~in_zone["name"].isin(list(foreign))].reset_index(drop=True) if foreign else in_zone
    )


def said_wrong(verdict: NameServerVerdict) -> str:
    """What a person is told of one server that does not agree."""
    where = f"{verdict.server}, {verdict.zone}" if verdict.zone else verdict.server
    return (
        f"{where}: "
        f"{verdict.error or f'{len(verdict.wrong)} of {verdict.checked} record sets differ'}"
    )

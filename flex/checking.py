"""What the name servers say of a placement, compared with what they should.

In go a proposal and its placement; out come the wanted RECORDS zone by zone, and a Verdict of each server. Nothing is
changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd

from flex import records
from flex.domain import Cycle, Node, Plan, Verdict
from flex.ports import DnsTarget

# Zones that are checked at a time.
SIDE_BY_SIDE = 8


def check(
    cycle: Cycle,
    placement: pd.DataFrame,
    nodes: Sequence[Node],
    ttl: int,
    target: DnsTarget,
    *,
    patience: float = 0.0,
    owner: str = "",
) -> tuple[Verdict, ...]:
    """What every name server says of the placement, zone by zone; and of the markers of an `owner`, where one is named.

    What a site on a node that is in the settings no more should have for addresses is not known, and not asked for.
    """
    said = wanted(cycle, placement, nodes, ttl)
    if owner:
        said = {zone: records.with_markers(rows, zone, owner, ttl) for zone, rows in said.items()}

    def asked(one: Plan) -> tuple[Verdict, ...]:
        found = target.verify(one.zone, said[one.zone], patience=patience)
        return tuple(replace(verdict, zone=one.zone) for verdict in found)

    # Side by side: a cluster of many zones waits for the slowest of them, not for all.
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        return tuple(verdict for found in threads.map(asked, cycle.plans) for verdict in found)


def wanted(cycle: Cycle, placement: pd.DataFrame, nodes: Sequence[Node], ttl: int) -> dict[str, pd.DataFrame]:
    """The RECORDS that the placement asks for, zone by zone."""
    every = records.records(records.on_known_nodes(placement, nodes), nodes, ttl)
    in_zones = records.in_zones(every, [one.zone for one in cycle.plans])
    return {one.zone: _ours(one, in_zones[one.zone]) for one in cycle.plans}


def _ours(one: Plan, in_zone: pd.DataFrame) -> pd.DataFrame:
    """The records of one zone that FLEX answers for: those of others in it are left out."""
    foreign = {entry.split(" ", 1)[0] for entry in one.foreign}
    return in_zone[~in_zone["name"].isin(list(foreign))].reset_index(drop=True) if foreign else in_zone


def said_wrong(verdict: Verdict) -> str:
    """What a person is told of one server that does not agree."""
    where = f"{verdict.server}, {verdict.zone}" if verdict.zone else verdict.server
    return f"{where}: {verdict.error or f'{len(verdict.wrong)} of {verdict.checked} record sets differ'}"

"""What the core is told about a zone: its tables, made from what was read.

Takes Contents, however they were read. Returns a ZoneState. Does not read anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from flex.frame_schemas import RECORDS
from flex.zones.address_hints import HINTED
from flex.zones.decisions_in_markers import MarkedDecision
from flex.zones.marker import marker_owner
from flex.zones.records_of_partition import NameAnswer, ZoneState
from flex_dns.wire.zone_contents import (
    Contents,
    exclusion_in,
    texts_of_marker,
    unfit,
    why_not_ours,
)

ADDRESSES = ("A", "AAAA")


def state(
    zone: str,
    names: Sequence[str],
    owner: str,
    contents: Contents,
    answers: Mapping[str, NameAnswer] | None = None,
    *,
    hints: bool = False,
) -> ZoneState:
    """A name is ours when its marker says so and nothing else stands beside it."""
    owned: set[str] = set()
    blocked: dict[str, str] = {}
    left_alone: dict[str, MarkedDecision] = {}
    rows: list[tuple[str, str, int, str]] = []
    for name in names:
        reason = unfit(zone, name)
        if not reason and name not in contents.below_wildcards:
            reason = contents.closed.get(name, "")
            reason = reason or why_not_ours(zone, name, owner, contents)
        if reason:
            blocked[name] = reason
        elif texts := texts_of_marker(zone, name, contents):
            if decision := exclusion_in(texts):
                left_alone[name] = decision
            if not decision or any(marker_owner(text) == owner for text in texts):
                owned.add(name)
        for kind in ADDRESSES:
            ttl, values = contents.sets.get((name, kind), (0, ()))
            rows += [(name, kind, ttl, value) for value in values]
    records = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
    return ZoneState(
        zone,
        contents.serial,
        records,
        frozenset(owned),
        blocked,
        answers or {},
        contents.pointing,
        contents.whole,
        contents.below_wildcards,
        left_alone,
        {
            (name, kind): contents.sets[name, kind]
            for name in (names if hints else ())
            for kind in HINTED
            if (name, kind) in contents.sets
        },
    )

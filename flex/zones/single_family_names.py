"""Names that have IPv4 alone or IPv6 alone, and keep it so when FLEX takes them over.

Takes what the zones say and what the plan in force said. Returns the record type that each such
name keeps, and RECORDS without the other one; what a plan adds and takes away all the same. A name
that FLEX made has every address of its node. Does not decide for which sites this is so: the
operator does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import get_args

import pandas as pd

from flex.frame_schemas import texts
from flex.model.nodes import Node
from flex.model.zone_plan import AddressType, ZonePlan
from flex.site_names_in_words import first_few
from flex.zones.marker import site_name
from flex.zones.records_of_partition import ZoneState, record_type

IN_WORDS: Mapping[AddressType, str] = {"A": "IPv4 (A)", "AAAA": "IPv6 (AAAA)"}


def families_of(nodes: Iterable[Node]) -> frozenset[AddressType]:
    """The types of the records that lead to these nodes."""
    return frozenset(record_type(address) for node in nodes for address in node.addresses)


def families_of_every(nodes: Iterable[Node]) -> frozenset[AddressType]:
    """Those of which each node has an address, of the nodes that are not down and have any."""
    each = [families_of([node]) for node in nodes if node.addresses and node.is_serving]
    return frozenset.intersection(*each) if each else frozenset()


def one_family(
    state: ZoneState, names: Set[str], families: Mapping[str, AddressType], known: Set[str]
) -> Iterator[tuple[str, AddressType]]:
    """Yield the names in a zone that keep one family, with its type: by `families` where a name is
    `known`, else by what DNS says.
    """
    types = types_of_names(state)
    for name in sorted((types.keys() | known) & names):
        if name in known:
            if name in families:
                yield name, families[name]
        elif len(types[name]) == 1:
            yield name, min(types[name])


def types_of_names(state: ZoneState) -> dict[str, set[AddressType]]:
    """The types of the addresses that visitors of each name get."""
    name_types: dict[str, set[AddressType]] = {}
    columns = (texts(state.records[column]) for column in ("name", "type"))
    for name, kind in zip(*columns, strict=True):
        name_types.setdefault(name, set()).add(_ADDRESS[kind])
    for name, below in state.below_wildcards.items():
        if below.addresses:
            name_types[name] = set(map(record_type, below.addresses))
    return name_types


def drop_other_family(wanted: pd.DataFrame, kept: Mapping[str, AddressType]) -> pd.DataFrame:
    """The RECORDS of names that keep one family without the other. Where a node has the other
    alone, visitors get that.
    """
    if not kept:
        return wanted
    stays = wanted["name"].map(kept)
    right = stays.isna() | (stays == wanted["type"])
    names = frozenset(wanted["name"][right])
    return wanted[right | ~wanted["name"].isin(names)].reset_index(drop=True)


def names_with_more(
    zone_plans: Iterable[ZonePlan], states: Mapping[str, ZoneState]
) -> dict[AddressType, list[str]]:
    """Names that have addresses and get their first one of another family, by its type."""
    more_names: dict[AddressType, list[str]] = {}
    for zone_plan in zone_plans:
        types = types_of_names(states[zone_plan.zone])
        for change in zone_plan.changes:
            kind = _ADDRESS.get(change.type)
            if kind and kind not in types.get(change.name, {kind}):
                more_names.setdefault(kind, []).append(change.name)
    return more_names


def names_taken_over(zone_plan: ZonePlan) -> list[str]:
    """The names that had addresses before they get our marker."""
    return [
        site_name(zone_plan.zone, change.name)
        for change in zone_plan.changes
        if change.type == "TXT" and change.after and change.beside
    ]


def notes(
    zone_plans: Sequence[ZonePlan],
    states: Mapping[str, ZoneState],
    kept: Mapping[str, AddressType],
    nodes: Iterable[Node],
) -> Iterator[str]:
    """What a plan adds, takes away, and leaves out at names that it takes over."""
    for kind, names in names_with_more(zone_plans, states).items():
        yield f"{IN_WORDS[kind]} is new at {_names(names)}"
    offered = families_of(nodes)
    for kind, what in IN_WORDS.items():
        if lost := [
            change.name
            for zone_plan in zone_plans
            for change in zone_plan.changes
            if change.type == kind and change.before and not change.after
        ]:
            yield f"{what} goes from {_names(lost)}"
        if alone := [
            name
            for zone_plan in zone_plans
            for name in names_taken_over(zone_plan)
            if kept.get(name) == kind and offered != {kind}
        ]:
            yield (
                f"{what} alone stays at {_names(alone)}, as DNS has them; "
                'dns.families = "all" adds the other'
            )


def _names(names: Sequence[str]) -> str:
    count = "1 name" if len(names) == 1 else f"{len(names):,} names"
    return f"{count}: {first_few([name.rstrip('.') for name in names])}"


_ADDRESS: Mapping[str, AddressType] = {one: one for one in get_args(AddressType)}

"""Other names of sites that FLEX gives the addresses of their sites, as it is told to by
`dns.other_names = "follow"`.

Takes other names of sites, what DNS says of them, and a partition. Returns the names that may go
along, and the partition with them. Sites stay the unit of every decision: a name goes where its
site goes. Does not look at sites: dns_survey.py does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import pandas as pd

from flex.frame_schemas import PLACEMENT, texts
from flex.model.nodes import Node
from flex.model.zone_plan import ZonePlan
from flex.partition import join_partitions, site_node_pairs
from flex.zones.names_not_following import OtherName
from flex.zones.records_of_partition import ZoneState, name_of, zone_of

# Another name and its site, both host names.
Pairs = Sequence[tuple[str, str]]


def pairs_of(zone_plans: Iterable[ZonePlan]) -> tuple[tuple[str, str], ...]:
    """Those of a plan, in all its zones."""
    return tuple(pair for zone_plan in zone_plans for pair in zone_plan.go_along)


def place_names_along(partition: pd.DataFrame, pairs: Pairs) -> pd.DataFrame:
    """PLACEMENT in which each of these names is where its site is."""
    if not pairs:
        return partition
    of_site: dict[str, list[str]] = {}
    for site, node in site_node_pairs(partition):
        of_site.setdefault(name_of(site), []).append(node)
    rows = [(name, node) for name, site in pairs for node in of_site.get(name_of(site), ())]
    also = pd.DataFrame(rows, columns=list(PLACEMENT.columns)).astype("str")
    return join_partitions(partition, also)


def names_going_along(
    others: Sequence[OtherName],
    states: Mapping[str, ZoneState],
    nodes: Sequence[Node],
    left_alone: Set[str],
    *,
    adopt: bool,
    known: Set[str] = frozenset(),
    below_wildcards: bool = False,
) -> tuple[OtherName, ...]:
    """Those of the names that FLEX may give addresses: what carries our marker; with `adopt`, what
    leads to addresses of nodes alone; what is not there and that somebody wrote down.

    The names of `left_alone` are sites that are not ours to change: their other names follow only
    where these carry our marker. `known` are names that the plan in force gave addresses.
    Names for which a wildcard answers follow with `below_wildcards` alone.
    """
    ours = {address for node in nodes for address in node.addresses}
    values = _values(states)
    going: list[OtherName] = []
    for other in sorted(others, key=lambda other_name: (other_name.site, other_name.name)):
        name = name_of(other.name)
        zone = zone_of(name, states.keys())
        if zone is None or name in states[zone].blocked:
            continue
        if name in states[zone].excluded:
            # The name server refuses whoever changes it.
            continue
        if name in states[zone].below_wildcards and not below_wildcards:
            continue
        is_marked = name in states[zone].owned
        if not is_marked and name_of(other.site) in left_alone:
            continue
        state = states[zone]
        there = values.get(name) or _answered_for(name, state)
        if is_marked or (
            there is not None
            and ((adopt and there <= ours) if there else other.written or name in known)
        ):
            going.append(other)
    return tuple(going)


def _answered_for(name: str, state: ZoneState) -> set[str] | None:
    """The addresses that a wildcard answers with; None where the name leads elsewhere, or nobody
    knows where.
    """
    answer = state.answers.get(name)
    if answer is None:
        return set()
    return None if answer.chain or answer.unknown else set(answer.addresses)


def _values(states: Mapping[str, ZoneState]) -> dict[str, set[str]]:
    name_values: dict[str, set[str]] = {}
    for state in states.values():
        names, values = texts(state.records["name"]), texts(state.records["value"])
        for name, value in zip(names, values, strict=True):
            name_values.setdefault(name, set()).add(value)
    return name_values

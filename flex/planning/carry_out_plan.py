"""Carries out a plan, takes it for carried out, or gives it up.

Takes a plan, its partition, a name server to write to, and the doors of the nodes. Returns the plan
as it ended. It does exactly what the plan says, or refuses: it never does something similar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import pandas as pd

from flex.errors import DnsError, FlexError, OnTheWay, PartlyApplied, StoreError, Unverified
from flex.frame_schemas import PLACEMENT
from flex.model.led_by_doors_or_dns import Publishing
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.zone_plan import ZonePlan
from flex.partition import join_partitions, nodes_by_site, rows_of_other_sites, sites_in
from flex.planning import outdated_plans, verify_dns
from flex.ports import Doors, Plans, Publisher
from flex.zones import names_going_along, records_of_partition

# How many answers that differ are named, each with its server and zone; and how many nodes.
NAMED = 5
_SEE_NODES = "`flex route show` tells which nodes go by it since when"


def unheard(_: str) -> None:
    """Where nobody follows the stages."""


def carry_out(
    plan: Plan,
    partition: pd.DataFrame,
    *,
    nodes: Sequence[Node],
    ttl: int,
    publisher: Publisher,
    store: Plans,
    now: datetime,
    patience: float = 0.0,
    enters: Callable[[str], None] = unheard,
    doors: Doors | None = None,
) -> Plan:
    """Have the doors lead visitors by the proposal, make it true in DNS, check what nodes and name
    servers go by, and put the partition in force.

    Servers that follow the primary, and nodes, have `patience` seconds to agree; `enters` hears of
    each stage as it begins. Safe to repeat: a run that was killed in the middle is finished by
    calling this again. Raises Outdated when another partition came into force since the proposal
    was made, Ended when somebody put it aside, a DnsError when nothing was changed, PartlyApplied
    when some of it was, Unverified when servers or nodes do not agree with what was applied.
    """
    enters("apply")
    plan, begun = outdated_plans.begin(plan, store)
    if doors:
        # Visitors find the site's new node before any resolver hears of it.
        doors.lead(plan)
    try:
        _apply(plan, publisher, store, begun=begun)
    except PartlyApplied as error:
        raise _naming_nodes_behind(error, doors) from error
    if doors:
        doors.lead_all(plan)
    enters("verify")
    verdicts = verify_dns.check(plan, partition, nodes, ttl, publisher, patience=patience)
    plan = replace(plan, state="applied", settled=now, verdicts=verdicts)
    enters("settle")
    _settle(plan, partition, store)
    wrong = [verdict for verdict in verdicts if not verdict.agrees]
    behind = doors.nodes_behind(patience) if doors else {}
    if wrong or behind:
        raise _unverified_error(wrong, behind)
    return plan


def _apply(plan: Plan, publisher: Publisher, store: Plans, *, begun: bool) -> None:
    """What an earlier attempt began stays "applying" when this one fails: some of it may be in
    DNS.
    """
    journal = store.journal(plan.id) if begun else store.new_journal(plan.id)
    try:
        publisher.apply(*plan.zone_plans, journal=journal)
    except (DnsError, PartlyApplied) as error:
        half = begun or isinstance(error, PartlyApplied)
        store.update(replace(plan, state="applying" if half else "failed", message=str(error)))
        raise


def _naming_nodes_behind(error: PartlyApplied, doors: Doors | None) -> PartlyApplied:
    """The same, with the nodes whose doors do not go by the plan, as far as that can be found."""
    behind: Mapping[str, str] = {}
    if doors:
        with suppress(FlexError):
            behind = doors.nodes_behind(0)
    if not behind:
        return error
    return type(error)(
        error.asked,
        f"{error.answer}; and doors do not go by it: {_some(_reasons(behind))}",
        kept=error.kept,
        advice=f"{error.advice}; {_SEE_NODES}",
        stops=error.stops,
    )


def _reasons(behind: Mapping[str, str]) -> list[str]:
    return [f"{node}: {why}" for node, why in sorted(behind.items())]


def _settle(plan: Plan, partition: pd.DataFrame, store: Plans) -> None:
    try:
        store.settle(plan, partition)
    except StoreError as error:
        raise OnTheWay(
            error.asked,
            error.answer,
            kept="DNS says what the plan says; only the record of it is missing",
            advice=f"{error.advice}; then `flex apply --resume` writes it",
        ) from error


def _unverified_error(wrong: Sequence[NameServerVerdict], behind: Mapping[str, str]) -> Unverified:
    checks, advice = [], []
    if wrong:
        checks.append("what the name servers answer")
        advice.append("`flex verify` tells a secondary that is late, and shows every difference")
    if behind:
        checks.append("what the nodes' doors go by")
        advice.append(_SEE_NODES)
    faults = (_some(list(map(verify_dns.said_wrong, wrong))), _some(_reasons(behind)))
    return Unverified(
        f"checking {' and '.join(checks)}",
        "; ".join(filter(None, faults)),
        kept="the changes are applied and the partition is in force"
        + ("; such a node leads visitors as before until it hears of it" if behind else ""),
        advice="; ".join(advice),
    )


def _some(sentences: Sequence[str]) -> str:
    more = f"; and {len(sentences) - NAMED} more" if len(sentences) > NAMED else ""
    return "; ".join(sentences[:NAMED]) + more


def accept(
    plan: Plan,
    partition: pd.DataFrame,
    *,
    nodes: Sequence[Node],
    ttl: int,
    publisher: Publisher,
    store: Plans,
    now: datetime,
    owner: str,
) -> Plan:
    """Put a proposal in force that somebody else made true in DNS; nothing is sent.

    Raises Outdated when another partition came into force since it was made, a DnsError unless
    every name server says it all, markers too.
    """
    outdated_plans.refuse_outdated(plan, store, "applying")
    verdicts = verify_dns.check(plan, partition, nodes, ttl, publisher, owner=owner)
    if wrong := [verdict for verdict in verdicts if not verdict.agrees]:
        raise DnsError(
            f"taking {plan.id} for applied",
            verify_dns.said_wrong(wrong[0]),
            kept="nothing was changed, and the partition in force stays",
            advice="`flex export nsupdate` prints what is to be sent; or let `flex apply` send it",
        )
    plan = replace(
        plan, state="applied", settled=now, verdicts=verdicts, message="put into DNS by hand"
    )
    _settle(plan, partition, store)
    return plan


def abandon(
    plan: Plan,
    partition: pd.DataFrame,
    *,
    nodes: Sequence[Node],
    zones: Sequence[str],
    publisher: Publisher,
    store: Plans,
    publishing: Publishing | None = None,
    as_led: Callable[[pd.DataFrame], pd.DataFrame] = lambda dns_partition: dns_partition,
) -> Plan:
    """Give up a half-applied proposal: what DNS says now becomes the partition in force, site by
    site, with the nodes that doors alone may say.

    Where DNS says nothing of ours, the partition that was in force stays. So it does for sites that
    doors alone lead to, as DNS never followed them.
    """
    _, in_force = store.placement()
    sites = sorted(set(partition["site"]))
    led = publishing.sites_led_by_doors(sites) if publishing else frozenset[str]()
    left = {name for zone_plan in plan.zone_plans for name in zone_plan.why_foreign}
    followed = [
        site for site in sites if site not in led or records_of_partition.name_of(site) not in left
    ]
    of_zone, _ = records_of_partition.split(followed, zones)
    partitions = []
    for zone, sites in of_zone.items():
        if sites:
            state = publisher.read(zone, [records_of_partition.name_of(site) for site in sites])
            partitions.append(records_of_partition.partition_from(state.records, sites, nodes))
    dns_partition = pd.concat(partitions, ignore_index=True) if partitions else PLACEMENT.empty()
    kept = rows_of_other_sites(in_force, sites_in(dns_partition))
    becomes = as_led(join_partitions(dns_partition, kept))
    ended = replace(
        plan,
        state="failed",
        message="given up half-way; what DNS says is in force",
        said=replace(plan.said, ttl=0, zones=()),
        zone_plans=tuple(
            _as_in_dns(zone_plan, becomes, nodes, publisher) for zone_plan in plan.zone_plans
        ),
    )
    store.settle(ended, becomes)
    return ended


def _as_in_dns(
    zone_plan: ZonePlan, partition: pd.DataFrame, nodes: Sequence[Node], publisher: Publisher
) -> ZonePlan:
    """The zone plan with those of its other names that are where their sites are."""
    if not zone_plan.go_along:
        return zone_plan
    names = [pair[0] for pair in zone_plan.go_along]
    state = publisher.read(zone_plan.zone, list(map(records_of_partition.name_of, names)))
    there = records_of_partition.partition_from(state.records, names, nodes)
    wanted = _nodes_of(names_going_along.place_names_along(partition, zone_plan.go_along))
    dns_nodes = _nodes_of(there)
    along = tuple(
        pair for pair in zone_plan.go_along if dns_nodes.get(pair[0]) == wanted.get(pair[0])
    )
    return replace(zone_plan, go_along=along)


def _nodes_of(partition: pd.DataFrame) -> dict[str, set[str]]:
    return {site: set(nodes) for site, nodes in nodes_by_site(partition).items()}

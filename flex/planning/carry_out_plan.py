"""Carries out a plan, takes it for carried out, or gives it up.

Takes a plan, its partition and a name server to write to. Returns the plan as it ended. It does
exactly what the plan says, or refuses: it never does something similar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import pandas as pd

from flex.errors import DnsError, OnTheWay, PartlyApplied, StoreError, Unverified
from flex.model.name_server_verdict import Verdict
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.planning import refuse_ended_or_outdated, verify_dns
from flex.ports import Plans, Publisher, Store
from flex.table_schemas import PLACEMENT
from flex.zones import records

# How many answers that differ are named, each with its server and zone.
NAMED = 5


def unheard(_: str) -> None:
    """Where nobody follows the stages."""


def carry_out(
    plan: Plan,
    placement: pd.DataFrame,
    *,
    nodes: Sequence[Node],
    ttl: int,
    publisher: Publisher,
    store: Store,
    now: datetime,
    patience: float = 0.0,
    enters: Callable[[str], None] = unheard,
) -> Plan:
    """Make the proposal true in DNS, check what the name servers answer, and put the placement in
    force.

    Servers that follow the primary have `patience` seconds to agree; `enters` hears of each stage
    as it begins. Safe to repeat: a run that was killed in the middle is finished by calling this
    again. Raises Outdated when another placement came into force since the proposal was made, Ended
    when somebody put it aside, a DnsError when nothing was changed, PartlyApplied when some of it
    was, Unverified when the servers do not agree with what was applied.
    """
    enters("apply")
    plan, begun = refuse_ended_or_outdated.begin(plan, store)
    _apply(plan, publisher, store, begun=begun)
    enters("verify")
    verdicts = verify_dns.check(
        plan, placement, nodes, ttl, publisher, patience=patience
    )
    plan = replace(plan, state="applied", settled=now, verdicts=verdicts)
    enters("settle")
    _settle(plan, placement, store)
    if wrong := [verdict for verdict in verdicts if not verdict.agrees]:
        raise _unverified_error(wrong)
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
        store.update(
            replace(plan, state="applying" if half else "failed", message=str(error))
        )
        raise


def _settle(plan: Plan, placement: pd.DataFrame, store: Plans) -> None:
    try:
        store.settle(plan, placement)
    except StoreError as error:
        raise OnTheWay(
            error.asked,
            error.answer,
            kept="DNS says what the plan says; only the record of it is missing",
            advice=f"{error.advice}; then `flex apply --resume` writes it",
        ) from error


def _unverified_error(wrong: Sequence[Verdict]) -> Unverified:
    more = f"; and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
    return Unverified(
        "checking what the name servers answer",
        "; ".join(map(verify_dns.said_wrong, wrong[:NAMED])) + more,
        kept="the changes are applied and the partition is in force",
        advice="`flex verify` tells a secondary that is late, and shows every difference",
    )


def accept(
    plan: Plan,
    placement: pd.DataFrame,
    *,
    nodes: Sequence[Node],
    ttl: int,
    publisher: Publisher,
    store: Plans,
    now: datetime,
    owner: str,
) -> Plan:
    """Put a proposal in force that somebody else made true in DNS; nothing is sent.

    Raises Outdated when another placement came into force since it was made, a DnsError unless
    every name server says it all, markers too.
    """
    refuse_ended_or_outdated.refuse_outdated(plan, store, "applying")
    verdicts = verify_dns.check(plan, placement, nodes, ttl, publisher, owner=owner)
    if wrong := [verdict for verdict in verdicts if not verdict.agrees]:
        raise DnsError(
            f"taking {plan.id} for applied",
            verify_dns.said_wrong(wrong[0]),
            kept="nothing was changed, and the partition in force stays",
            advice="`flex export nsupdate` prints what is to be sent; or let `flex apply` send it",
        )
    plan = replace(
        plan,
        state="applied",
        settled=now,
        verdicts=verdicts,
        message="put into DNS by hand",
    )
    _settle(plan, placement, store)
    return plan


def abandon(
    plan: Plan,
    placement: pd.DataFrame,
    *,
    nodes: Sequence[Node],
    zones: Sequence[str],
    publisher: Publisher,
    store: Plans,
) -> Plan:
    """Give up a half-applied proposal: what DNS says now becomes the placement in force, site by
    site.

    Where DNS says nothing of ours, the placement that was in force stays.
    """
    _, in_force = store.placement()
    of_zone, _ = records.split(sorted(set(placement["site"])), zones)
    found = []
    for zone, sites in of_zone.items():
        if sites:
            state = publisher.read(zone, [records.name_of(site) for site in sites])
            found.append(records.placement_from(state.records, sites, nodes))
    said = pd.concat(found, ignore_index=True) if found else PLACEMENT.empty()
    kept = in_force[~in_force["site"].isin(list(said["site"]))]
    ended = replace(
        plan, state="failed", message="given up half-way; what DNS says is in force"
    )
    store.settle(ended, PLACEMENT.make(pd.concat([said, kept], ignore_index=True)))
    return ended

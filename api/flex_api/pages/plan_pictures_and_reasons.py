"""What the page of a plan shows besides the plan: its pictures, and why busy sites stay where they
are.

Takes a desk and a plan. Returns geometries and sentences. Does not search a second time: why a site
does not move is taken from the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flex.model.dns_edits_by_others import REASON
from flex.model.limits_and_approvals import Stop
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.zones.records_of_partition import name_of
from flex_api.report.content import Content, ReportData, content
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.web.request_context import Desk

# Sites that are drawn beside those that move. A guess.
BUSIEST = 50
EDITED = f"{REASON}, so left alone"
UNREADY = "its new node is not ready for it"


@dataclass(frozen=True, slots=True)
class StayingSite:
    """A site that stays: where, what share of all bytes it has, and why."""

    site: str
    nodes: tuple[str, ...]
    share: float
    why: str


def figures(desk: Desk, plan: PlanOutput) -> Content:
    """The figures that the nightly report has of it, too."""
    return content(
        ReportData(
            cluster=desk.settings.cluster.name,
            made=desk.now,
            tolerance=desk.settings.solver.tolerance,
            plan=plan,
            earlier=(),
            sites=None,
            lines={},
        )
    )


def kept_apart(desk: Desk, plan: Plan) -> tuple[StayingSite, ...]:
    """The busiest sites that the plan leaves alone."""
    found, pins = desk.views.catalogue(), desk.views.pins()
    moving = {move.site for move in plan.moves}
    sent = found.columns["access_bytes"]
    total = max(int(np.sum(sent)), 1)
    busiest = [
        row
        for row in found.order("-access_bytes")[: BUSIEST + len(moving)]
        if found.sites[row] not in moving
    ]
    rules = (*plan.holds, *reversed(plan.stops))
    stopped = {site: stop for stop in rules for site in stop.sites}
    put_off = {move.site: move.reason for move in reversed(plan.put_off)}
    edited = {edit.name for edit in plan.said.edits}
    unready = {one.site for one in plan.not_ready}
    kept = []
    for row in busiest[:BUSIEST]:
        site = str(found.sites[row])
        why = (
            EDITED
            if name_of(site) in edited
            else UNREADY
            if site in unready
            else _why(site, pins.get(site), stopped, put_off, plan)
        )
        kept.append(StayingSite(site, tuple(found.nodes_of(row)), int(sent[row]) / total, why))
    return tuple(kept)


def _why(
    site: str, pin: Pin | None, stopped: Mapping[str, Stop], put_off: Mapping[str, str], plan: Plan
) -> str:
    """What was found when the plan was made: of a rule that is named, that the site would move
    without it.
    """
    if pin and pin.excluded:
        return f"somebody excluded it{_because(pin)}"
    if site in put_off:
        return put_off[site]
    if site in stopped:
        return f"it would move without {stopped[site].rule}"
    if pin and pin.nodes:
        return f"pinned to {', '.join(pin.nodes[:4])}{_because(pin)}"
    if plan.stops:
        return "the rules that stop other sites make no difference to it"
    if plan.before and plan.before.worst <= plan.after.worst:
        return "moving it would not bring the worst node nearer to its fair share"
    if plan.quality.proven:
        return "the fewest moves that reach the balance do not need it"
    return "the best balance found does not need it"


def _because(pin: Pin) -> str:
    return f": {pin.reason}" if pin.reason else ""

"""Plans: what would move and why, what DNS would say, what stands in the way, and a person's yes or
no.

The page of a plan has its pictures, too, and says why busy sites stay where they are. It takes the
reasons from the plan and searches nothing anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from flex.model.dns_edits_by_others import REASON
from flex.model.limits_and_approvals import Stop
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.planning import plan_notes_on_sites
from flex.planning.outdated_plans import WAITING
from flex.zones.records_of_partition import name_of
from flex_api.facts.changed_since_plan import BASE
from flex_api.in_words import results_in_terminal, site_moves_text
from flex_api.night import plan_approvals, rules_that_stop_plans
from flex_api.night.rules_that_stop_plans import EXPIRY
from flex_api.pages.forms import TheForm, from_form, from_query, redirect_after
from flex_api.pages.frame import as_model, show
from flex_api.pages.overview import plan_to_look_at
from flex_api.pictures.time_and_forecast_charts import Lines, Value, lines
from flex_api.report.content import Content, ReportData, content
from flex_api.routes import make_and_apply_plans, plans
from flex_api.routes.plans import MovesQuery, PlansQuery
from flex_api.schemas.rest_bodies import (
    ApplyGiven,
    ApprovalGiven,
    JobShown,
    MovesPage,
    PlanGiven,
    PlansPage,
    RollbackGiven,
)
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.schemas.what_if_output import FrontierOutput, PointRow
from flex_api.web.moves_by_page import few_moves
from flex_api.web.request_context import Approver, Desk, Operator, Viewer
from flex_api.wishes import what_if_frontier_compare

router = APIRouter(include_in_schema=False)

Tab = Literal["moves", "dns", "kept", "frontier"]
# DNS changes of a plan that its page shows. A guess.
CHANGES = 300
# So many moves that are left to later nights are shown.
PUT_OFF = 300


@router.get("/plans", response_class=HTMLResponse)
def latest(desk: Viewer, request: Request) -> Response:
    """The one that waits, or the one in force: nobody comes here for a list. What was chosen to see
    of it is kept.
    """
    heads = desk.views.headlines()
    if heads:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/plans/{plan_to_look_at(desk, heads).id}{query}", 303)
    return show(desk, "plan_none.html", "/plans")


@router.get("/plans/all", response_class=HTMLResponse)
def every(desk: Viewer, request: Request) -> Response:
    query = from_query(PlansQuery, request)
    plans_page = as_model(PlansPage, plans.plans(desk, query))
    return show(
        desk,
        "plans.html",
        "/plans",
        found=plans_page,
        query=query,
        following=following(request, plans_page.next),
    )


@router.get("/plans/{plan}", response_class=HTMLResponse)
def plan(
    desk: Viewer, request: Request, plan: str, tab: Annotated[Tab, Query()] = "moves"
) -> Response:
    chosen = plans.the_plan(desk, plan)
    output = desk.views.plan_output(chosen.id)
    values: dict[str, object] = {}
    if tab == "moves":
        query = from_query(MovesQuery, request, "tab")
        moves_page = as_model(MovesPage, plans.moves(desk, chosen.id, query))
        values = {
            "found": moves_page,
            "query": query,
            "following": following(request, moves_page.next),
            "site_moves": few_moves(desk, plan=chosen.id),
            "words": site_moves_text,
        }
    if tab == "frontier":
        values = _frontier(desk, chosen)
    if tab == "kept":
        values = {"kept": kept_apart(desk, chosen)}
    open_ = chosen.state in WAITING
    stops = rules_that_stop_plans.stops_of_waiting_plan(desk.world(), chosen)
    outdated = BASE in {stop.rule for stop in stops}
    expired = next((stop for stop in stops if stop.rule == EXPIRY), None)
    return show(
        desk,
        "plan.html",
        "/plans",
        plan=output,
        tab=tab,
        open=open_,
        stops=stops,
        outdated=outdated,
        expired=expired,
        lacking=plan_approvals.lacks(desk.world(), chosen)
        if open_ and not outdated and not expired
        else "",
        shadow=desk.settings.cluster.mode == "shadow",
        in_force=desk.views.base()[0] == chosen.id,
        changes=CHANGES,
        put_off_most=PUT_OFF,
        summary=results_in_terminal.summary(output),
        given_up=sum(not move.target for move in output.moves),
        page=figures(desk, output) if tab == "moves" else None,
        tolerance=desk.settings.solver.tolerance,
        **values,
    )


def _frontier(desk: Desk, chosen: Plan) -> dict[str, object]:
    """The frontier of a plan that could be applied, or from the partition in force on; nothing for
    another base.
    """
    base, world = desk.views.base()[0], desk.world()
    onward = chosen.id == base
    if not onward and chosen.base != base:
        return {"frontier": None, "curve": None, "onward": onward}
    frontier = desk.house.later.ask("frontier", lambda: what_if_frontier_compare.frontier_of(world))
    if frontier is None:
        return {"frontier": None, "curve": None, "onward": onward, "pending": True}
    named = {0: "as it is" if frontier.in_force_keeps_wishes else "what wishes alone need"}
    if not onward:
        named |= {chosen.scratch_moves: "from scratch", len(chosen.moves): "this plan"}
    return {
        "frontier": frontier,
        "curve": curve(frontier, None if onward else chosen),
        "named": named,
        "onward": onward,
    }


def curve(frontier: FrontierOutput, plan: Plan | None) -> Lines:
    """What each further move buys, with the plan on it where it starts from there."""
    marked: list[tuple[str, str, list[Value]]] = []
    if plan is not None:
        text = f"{len(plan.moves):,} moves, {plan.after.worst:.1%}"
        marked = [
            ("this plan", "two", [Value(len(plan.moves), plan.after.worst, text, strong=True)])
        ]
    return points_of(
        frontier.items, frontier.tolerance_ratio, marked, ((frontier.trigger_ratio, "trigger"),)
    )


def points_of(
    points: Sequence[PointRow],
    aim: float,
    marked: Sequence[tuple[str, str, list[Value]]] = (),
    levels: Sequence[tuple[float, str]] = (),
) -> Lines:
    """Imbalance over moves."""
    drawn = [
        Value(
            point.moves,
            point.worst_ratio,
            f"{point.moves:,} moves leave the worst node {point.worst_ratio:.1%} off",
        )
        for point in points
    ]
    step = max(len(drawn) // 6, 1)
    return lines(
        "What more moves would buy",
        f"From {drawn[0].text} to {drawn[-1].text}." if drawn else "Nothing can be moved.",
        [("best with this many moves", "one", drawn), *marked],
        _apart([(point.at, f"{point.at:,.0f}") for point in drawn[::step]]),
        aim=aim,
        levels=levels,
        unit="worst node off its fair share, over number of moves",
    )


def _apart(labels: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Those that do not run into the one before."""
    kept: list[tuple[float, str]] = []
    width = (labels[-1][0] - labels[0][0]) / 12 if labels else 0.0
    for at, label in labels:
        if not kept or at - kept[-1][0] >= width:
            kept.append((at, label))
    return kept


def following(request: Request, cursor: str | None) -> str:
    """The address of the page behind this one."""
    if not cursor:
        return ""
    url = request.url.include_query_params(cursor=cursor).remove_query_params("done")
    return f"{url.path}?{url.query}"


@router.post("/plans")
def make(desk: Operator, form: TheForm) -> Response:
    return follow(as_model(JobShown, make_and_apply_plans.make(desk, from_form(PlanGiven, form))))


@router.post("/plans/{plan}/approval")
def approval(desk: Approver, plan: str, form: TheForm) -> Response:
    given = from_form(ApprovalGiven, form)
    make_and_apply_plans.approval(desk, plan, given)
    return redirect_after(
        "approved" if given.decision == "approve" else "rejected", f"/plans/{plan}"
    )


@router.post("/plans/{plan}/apply")
def apply(desk: Approver, plan: str, form: TheForm) -> Response:
    """The form carries the digest of what was looked at: another plan is not applied by it."""
    answer = make_and_apply_plans.apply(
        desk, plan, from_form(ApplyGiven, form), if_match=f'"{form.text("digest")}"'
    )
    return follow(as_model(JobShown, answer))


@router.post("/plans/{plan}/discard")
def discard(desk: Operator, plan: str, form: TheForm) -> Response:
    why = from_form(RollbackGiven, form).reason
    plan_approvals.discard(desk.because(why).world(), plan, why)
    return redirect_after("discarded", f"/plans/{plan}")


@router.post("/rollbacks")
def rollback(desk: Operator, form: TheForm) -> Response:
    return follow(
        as_model(JobShown, make_and_apply_plans.rollback(desk, from_form(RollbackGiven, form)))
    )


def follow(job: JobShown) -> Response:
    return RedirectResponse(f"/jobs/{job.id}", 303)


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
    catalogue, pins = desk.views.catalogue(), desk.views.pins()
    moving = {move.site for move in plan.moves}
    sent = catalogue.columns["access_bytes"]
    total = max(int(np.sum(sent)), 1)
    busiest = [
        row
        for row in catalogue.order("-access_bytes")[: BUSIEST + len(moving)]
        if catalogue.sites[row] not in moving
    ]
    rules = (*plan.holds, *reversed(plan.stops))
    stopped = {site: stop for stop in rules for site in stop.sites}
    put_off = {move.site: move.reason for move in reversed(plan.put_off)}
    edited = {edit.name for edit in plan.said.edits}
    unready = {unready_site.site for unready_site in plan.not_ready}
    held = plan_notes_on_sites.held_in(plan.notes)
    kept = []
    for row in busiest[:BUSIEST]:
        site = str(catalogue.sites[row])
        why = (
            EDITED
            if name_of(site) in edited
            else UNREADY
            if site in unready
            else held[site]
            if site in held and not _is_pinned_to(pins.get(site), catalogue.nodes_of(row))
            else _why(site, pins.get(site), stopped, put_off, plan)
        )
        kept.append(StayingSite(site, tuple(catalogue.nodes_of(row)), int(sent[row]) / total, why))
    return tuple(kept)


def _is_pinned_to(pin: Pin | None, nodes: Sequence[str]) -> bool:
    """Then it would stay without its rest, too."""
    return pin is not None and bool(nodes) and set(nodes) <= set(pin.nodes)


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

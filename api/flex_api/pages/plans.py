"""Plans: what would move and why, what DNS would say, what stands in the way, and a person's yes or
no.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from flex.model.plan import Plan
from flex.planning.refuse_ended_or_outdated import WAITING
from flex_api.facts.changed_since_plan import BASE
from flex_api.in_words import results_in_terminal, site_moves_text
from flex_api.night import person_says_yes_or_no_to_plan, rules_that_stop_plans
from flex_api.night.rules_that_stop_plans import EXPIRY
from flex_api.pages.frame import as_model, show
from flex_api.pages.overview import plan_to_look_at
from flex_api.pages.plan_pictures_and_reasons import figures, kept_apart
from flex_api.pages.read_forms_and_redirect import TheForm, from_form, from_query, redirect_after
from flex_api.pictures.time_and_forecast_charts import Lines, Value, lines
from flex_api.routes import make_and_apply_plans, plans
from flex_api.routes.plans import MovesQuery, PlansQuery
from flex_api.schemas.rest_bodies_and_answers import (
    ApplyGiven,
    ApprovalGiven,
    JobShown,
    MovesPage,
    PlanGiven,
    PlansPage,
    RollbackGiven,
)
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
    found = as_model(PlansPage, plans.plans(desk, query))
    return show(
        desk,
        "plans.html",
        "/plans",
        found=found,
        query=query,
        following=following(request, found.next),
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
        found = as_model(MovesPage, plans.moves(desk, chosen.id, query))
        values = {
            "found": found,
            "query": query,
            "following": following(request, found.next),
            "site_moves": few_moves(desk, plan=chosen.id),
            "words": site_moves_text,
        }
    if tab == "frontier":
        values = _frontier(desk, chosen)
    if tab == "kept":
        values = {"kept": kept_apart(desk, chosen)}
    open_ = chosen.state in WAITING
    stops = rules_that_stop_plans.in_the_way(desk.world(), chosen)
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
        lacking=person_says_yes_or_no_to_plan.lacks(desk.world(), chosen)
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
    found = desk.house.later.ask("frontier", lambda: what_if_frontier_compare.frontier_of(world))
    if found is None:
        return {"frontier": None, "curve": None, "onward": onward, "pending": True}
    named = {0: "as it is" if found.in_force_keeps_wishes else "what wishes alone ask for"}
    if not onward:
        named |= {chosen.scratch_moves: "from scratch", len(chosen.moves): "this plan"}
    return {
        "frontier": found,
        "curve": curve(found, None if onward else chosen),
        "named": named,
        "onward": onward,
    }


def curve(found: FrontierOutput, plan: Plan | None) -> Lines:
    """What each further move buys, with the plan on it where it starts from there."""
    marked: list[tuple[str, str, list[Value]]] = []
    if plan is not None:
        said = f"{len(plan.moves):,} moves, {plan.after.worst:.1%}"
        marked = [
            ("this plan", "two", [Value(len(plan.moves), plan.after.worst, said, strong=True)])
        ]
    return points_of(
        found.items, found.tolerance_ratio, marked, ((found.trigger_ratio, "trigger"),)
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
            one.moves,
            one.worst_ratio,
            f"{one.moves:,} moves leave the worst node {one.worst_ratio:.1%} off",
        )
        for one in points
    ]
    step = max(len(drawn) // 6, 1)
    return lines(
        "What more moves would buy",
        f"From {drawn[0].text} to {drawn[-1].text}." if drawn else "Nothing can be moved.",
        [("best with so many moves", "one", drawn), *marked],
        _apart([(one.at, f"{one.at:,.0f}") for one in drawn[::step]]),
        aim=aim,
        levels=levels,
        unit="worst node off its fair share, over number of moves",
        places="number",
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
    said = from_form(ApprovalGiven, form)
    make_and_apply_plans.approval(desk, plan, said)
    return redirect_after(
        "approved" if said.decision == "approve" else "rejected", f"/plans/{plan}"
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
    person_says_yes_or_no_to_plan.discard(desk.because(why).world(), plan, why)
    return redirect_after("discarded", f"/plans/{plan}")


@router.post("/rollbacks")
def rollback(desk: Operator, form: TheForm) -> Response:
    return follow(
        as_model(JobShown, make_and_apply_plans.rollback(desk, from_form(RollbackGiven, form)))
    )


def follow(job: JobShown) -> Response:
    return RedirectResponse(f"/jobs/{job.id}", 303)

"""Plans: what would move and why, what DNS would say, and who said yes to it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.model.plan import Move, Plan
from flex_api.facts import core_to_output_models, dns_changes_by_name
from flex_api.facts.dns_changes_by_name import Named
from flex_api.in_words import amounts
from flex_api.night import plan_approvals
from flex_api.night.plan_with_stops import plan_with_stops
from flex_api.report.json_and_markdown import table
from flex_api.schemas.diff_and_route_lists import DnsDiffPage
from flex_api.schemas.plan_parts import MoveRow
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery, TimedQuery
from flex_api.schemas.rest_bodies import MovesPage, PlansPage
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.web.etag_responses import (
    JSON,
    NEGOTIATED,
    TheCondition,
    accepted_form,
    nothing,
    page_response,
    reply,
    text_response,
)
from flex_api.web.paging import Fields, Order, page, page_in_order, page_of_ordered, sort_rows
from flex_api.web.request_context import Desk, OnlyTry, Operator, Viewer

router = APIRouter(prefix="/api/v1/plans", tags=["plans"])

MARKDOWN = "text/markdown"
MEDIA = {"json": JSON, "md": MARKDOWN}
Sort = Literal[
    "-created",
    "created",
    "-moves",
    "moves",
    "-worst_ratio",
    "worst_ratio",
    "-sites",
    "sites",
    "author",
    "-author",
]


class PlansQuery(TimedQuery):
    sort: Sort = "-created"
    state: Annotated[
        Literal["proposed", "applying", "applied", "discarded", "failed"] | None, Query()
    ] = None
    min_moves: Annotated[int, Query(ge=0, le=2**62)] = 0
    base: Annotated[
        str | None,
        Query(
            max_length=100, pattern=CLEAN, description="made from this partition; empty: from none"
        ),
    ] = None
    author: Annotated[
        str | None,
        Query(max_length=255, pattern=CLEAN, description="who asked for it; empty: no person"),
    ] = None


@router.get("", response_model=PlansPage)
def plans(desk: Viewer, query: Annotated[PlansQuery, Query()]) -> Response:
    """Every plan, newest first; `since` and `until` go by when it was made."""
    rows = [
        headline
        for headline in desk.views.headlines()
        if query.state in (None, headline.state)
        and headline.moves >= query.min_moves
        and query.base in (None, headline.base)
        and query.author in (None, headline.author)
        and query.holds(headline.created)
    ]
    rows_page = page(
        rows,
        {
            "created": lambda headline: headline.created.isoformat(timespec="microseconds"),
            "moves": lambda headline: headline.moves,
            "worst_ratio": lambda headline: headline.worst,
            "sites": lambda headline: headline.sites,
            "author": lambda headline: headline.author,
        },
        lambda headline: headline.id,
        query,
    )
    in_force = desk.views.base()[0]
    too_old = desk.now - desk.settings.safety.plan_expiry
    items = [
        core_to_output_models.plan_row(headline, in_force, too_old) for headline in rows_page.items
    ]
    return page_response(desk.request, PlansPage(items=items, next=rows_page.next))


@router.get(
    "/{plan}",
    response_model=PlanOutput,
    responses={200: {"content": {MARKDOWN: {"schema": {"type": "string"}}}}},
)
def plan(desk: Viewer, plan: str) -> Response:
    """One plan whole, by its id or an unambiguous beginning of it; as Markdown for a ticket, where
    that is accepted.
    """
    output = _output(desk, the_plan(desk, plan))
    if accepted_form(desk.request, MEDIA, "json") == "md":
        return text_response(desk.request, _markdown(output), MARKDOWN)
    return reply(desk.request, output, Vary=NEGOTIATED["Vary"])


def _output(desk: Desk, plan: Plan) -> PlanOutput:
    """With what stands in its way now."""
    return plan_with_stops(desk.world(), plan)


def the_plan(desk: Desk, plan: str) -> Plan:
    """Plans can be large, and what is read of one is often read again. Raises Unknown."""
    return desk.views.plan(the_id(desk, plan))


def the_id(desk: Desk, plan: str) -> str:
    """The id of the plan of this id, or of the only one whose id begins so. Raises Unknown."""
    every = [headline.id for headline in desk.views.headlines()]
    matches = (
        [plan]
        if plan in every
        else [plan_id for plan_id in every if plan and plan_id.startswith(plan)]
    )
    return matches[0] if len(matches) == 1 else desk.store.plan(plan).id


MOVED: Fields[Move] = {
    "site": lambda move: move.site,
    "cold_bytes": lambda move: move.cold_bytes,
    "source": lambda move: move.source,
    "target": lambda move: move.target,
    "reason": lambda move: move.reason,
}


class MovesQuery(ListQuery):
    sort: Literal[
        "site",
        "-site",
        "-cold_bytes",
        "cold_bytes",
        "source",
        "-source",
        "target",
        "-target",
        "reason",
        "-reason",
    ] = "site"
    node: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="only those from or to this node")
    ] = ""


@router.get("/{plan}/moves", response_model=MovesPage)
def moves(desk: Viewer, plan: str, query: Annotated[MovesQuery, Query()]) -> Response:
    """What moves where, each with its reason."""
    plan = the_id(desk, plan)
    rows_page = page_of_ordered(
        desk.views.few(f"moves {plan} {query.sort}", lambda: _moves(desk, plan, query.sort), len),
        MOVED,
        _told_apart,
        query,
        wanted=lambda move: not query.node or query.node in (move.source, move.target),
    )
    items = [MoveRow.like(move) for move in rows_page.items]
    return page_response(desk.request, MovesPage(plan=plan, items=items, next=rows_page.next))


def _moves(desk: Desk, plan: str, sort: str) -> tuple[Move, ...]:
    return sort_rows(desk.views.plan(plan).moves, MOVED, _told_apart, sort=sort)


def _told_apart(move: Move) -> str:
    return f"{move.site} {move.source} {move.target}"


class DnsDiffQuery(ListQuery):
    sort: Literal["name", "-name", "zone", "-zone"] = "name"
    zone: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="only those of this zone")
    ] = ""
    name: Annotated[str, Query(max_length=255, pattern=CLEAN, description="part of the name")] = ""
    foreign: Annotated[bool | None, Query(description="somebody else's, or not")] = None


@router.get("/{plan}/dns-diff", response_model=DnsDiffPage)
def dns_diff(desk: Viewer, plan: str, query: Annotated[DnsDiffQuery, Query()]) -> Response:
    """What the zones would say otherwise, name by name, and which names are left alone."""
    plan, by = the_id(desk, plan), Order.parse(query.sort).field
    rows_page = page_in_order(
        desk.views.few(
            f"records {plan} {by}",
            lambda: dns_changes_by_name.list_names(desk.views.plan(plan), by),
            len,
        ),
        lambda named: named.key(by),
        query,
        wanted=partial(_asked_for, query),
    )
    items = list(map(dns_changes_by_name.row, rows_page.items))
    return page_response(desk.request, DnsDiffPage(plan=plan, items=items, next=rows_page.next))


def _asked_for(query: DnsDiffQuery, named: Named) -> bool:
    return (
        query.name in named.name
        and query.zone in ("", named.zone, named.zone.rstrip("."))
        and query.foreign in (None, named.change is None)
    )


@router.delete(
    "/{plan}",
    status_code=204,
    responses={200: {"model": PlanOutput, "description": "of a dry run"}},
)
def discard(
    desk: Operator,
    plan: str,
    condition: TheCondition,
    reason: Annotated[str, Query(max_length=1000, pattern=CLEAN)] = "",
    dry_run: OnlyTry = False,
) -> Response:
    """Put a plan aside; it can not be applied any more."""
    desk = desk.because(reason)
    with desk.store.together():
        condition.refuse_unmet(f"the plan {plan}", _output(desk, desk.store.plan(plan)))
        put_aside = plan_approvals.discard(desk.world(), plan, reason, dry_run=dry_run)
    if dry_run:
        return reply(desk.request, _output(desk, put_aside))
    return nothing()


def _markdown(plan: PlanOutput) -> str:
    """For a ticket: what, why, and how much."""
    rows = [
        (
            move.site,
            move.source or "",
            move.target or "",
            amounts.size(move.cold_bytes),
            move.reason,
        )
        for move in plan.moves
    ]
    worst = f"{plan.after.worst_node} off by {plan.after.worst_ratio:.1%}"
    return (
        f"# Plan {plan.id}\n\n{plan.state}; {len(plan.moves)} moves of {plan.sites} sites, "
        f"{amounts.size(plan.cold_bytes)} to read anew; worst node {worst}. Digest "
        f"`{plan.digest}`.\n\n"
        f"{table(('site', 'from', 'to', 'cold', 'reason'), rows)}"
    )

"""The first page: is the cluster balanced, what needs attention, how did the last nights go?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from flex.model.plan import Plan
from flex.model.plan_summary import Headline
from flex.site_names_in_words import first_few
from flex_api.facts import core_to_output_models
from flex_api.facts.days_until_full import NO_GROWTH, room
from flex_api.facts.traffic_by_hour import hours_in_logs
from flex_api.in_words import amounts
from flex_api.in_words.text_safe_for_html import plain
from flex_api.pages.cached_nights import sent_lately
from flex_api.pages.forms import address
from flex_api.pages.frame import show
from flex_api.report import partition_pictures
from flex_api.report.content import NIGHTS, Content, Notice, ReportData, Tile, content
from flex_api.report.gather import spread_of
from flex_api.report.partition_pictures import PartitionPart
from flex_api.schemas.plan_parts import ForecastRow
from flex_api.status import has_expired, last_check, said_of_check, undecided_plan, waits
from flex_api.web.request_context import Desk, Viewer
from flex_api.web.sight import sight

router = APIRouter(include_in_schema=False)

# A wish that ends so soon is said beforehand.
SOON = timedelta(days=2)


@router.get("/", response_class=HTMLResponse)
def overview(desk: Viewer, light: Annotated[str, Query(max_length=255)] = "") -> Response:
    """The plan that waits, or the partition in force; before the first plan, what to do to get
    there. Sites whose names have `light` in them light up in the picture of the partition.
    """
    heads = desk.views.headlines()
    if not heads:
        return show(desk, "welcome.html", "/", nodes=len(desk.world().nodes))
    shown = plan_to_look_at(desk, heads)
    # A plan expires without any change of the store: the plan is in the name.
    data, page = desk.views.few(
        f"overview {shown.id}",
        lambda: _content(desk, desk.views.plan(shown.id), heads),
        lambda view: len(view[0].plan.moves),
    )
    partition = _partition(desk, shown.id)
    lit = light_up(desk, partition, shown.id, light.strip())
    here = sight(desk)
    check = last_check(here)
    # That all agreed once says little where a name server says something else by now.
    is_so_no_more = (
        check is not None
        and bool(check.wrong)
        and check.partition == shown.id
        and all(verdict.agrees for verdict in data.plan.verdicts)
    )
    return show(
        desk,
        "overview.html",
        "/",
        page=page,
        state="Applied" if is_so_no_more else page.state,
        plan=data.plan,
        first=data.first,
        tolerance=data.tolerance,
        waiting=waits(here) == shown,
        expired=shown == undecided_plan(here) and has_expired(here, shown),
        cards=tuple(_cards(desk)),
        large=desk.views.get_or_make("large-sites", lambda: _large(desk)),
        partition=partition,
        light=light.strip(),
        lit=lit,
        # What is wrong stands at the top of every page.
        dns=said_of_check(check, desk.now) if check and not check.wrong else "",
        ending=tuple(_ending(desk)),
        nights=[headline for headline in heads if headline.state != "discarded"][:NIGHTS],
    )


def plan_to_look_at(desk: Desk, heads: tuple[Headline, ...]) -> Headline:
    """What somebody should look at: what waits, else what is in force, else the newest there is."""
    base = desk.views.base()[0]
    in_force = next((headline for headline in heads if headline.id == base), None)
    return waits(sight(desk)) or in_force or heads[0]


def _partition(desk: Desk, plan: str) -> PartitionPart | None:
    """The picture of the plan's partition, with what sites ask for by the newest profiles."""
    return desk.views.few(f"pictured {plan}", lambda: _draw(desk, plan), lambda _: 1)


def _draw(desk: Desk, plan: str) -> PartitionPart | None:
    placement = desk.views.placement(plan)
    columns = (placement["site"].to_numpy(dtype=object), placement["node"].to_numpy(dtype=object))
    return partition_pictures.part(
        partition_pictures.plan_to_draw(
            desk.views.plan_output(plan), {node.name: node.ram for node in desk.world().nodes}
        ),
        partition_pictures.asked_by_columns(desk.views.catalogue(), spread_of(desk.store, plan)),
        columns,
        {site for site, pin in desk.views.pins().items() if pin.nodes},
        hours_in_logs(desk.store, desk.views.plan(plan).period).means_by_hour_of_day(),
    )


@dataclass(frozen=True, slots=True)
class Lit:
    """The segments that light up, in words: how many sites have the name, and where they are."""

    segments: frozenset[str]
    said: str


def light_up(desk: Desk, part: PartitionPart | None, plan: str, name: str) -> Lit:
    if part is None or not name:
        return Lit(frozenset(), "")
    placement = desk.views.placement(plan)
    has = placement["site"].str.contains(name, case=False, regex=False)
    rows = placement[has]
    sites, nodes = set(rows["site"]), sorted(set(rows["node"]))
    segments = frozenset().union(
        *(shown.lit(sites, nodes) for picture in part.pictures for shown in picture.and_opened())
    )
    if not sites:
        return Lit(segments, f"No site of this partition has {plain(name, 40)} in it.")
    return Lit(segments, f"{amounts.count(len(sites), 'site')} on {first_few(nodes)}")


def _content(desk: Desk, plan: Plan, heads: tuple[Headline, ...]) -> tuple[ReportData, Content]:
    earlier = [
        core_to_output_models.plan_row(headline)
        for headline in heads
        if headline.created < plan.created and headline.state != "discarded"
    ]
    data = ReportData(
        cluster=desk.settings.cluster.name,
        made=desk.now,
        tolerance=desk.settings.solver.tolerance,
        plan=desk.views.plan_output(plan.id),
        earlier=tuple(earlier[: NIGHTS - 1]),
        first=frozenset(headline.id for headline in heads if not headline.base),
        sites=None,
        lines={},
    )
    return data, content(data)


def _cards(desk: Desk) -> Iterator[Tile]:
    """How long the cluster can go on as it is."""
    _, plan = desk.views.base()
    busy = [forecast.busiest_utilisation_ratio for forecast in _forecasts(desk, plan)]
    sent = sent_lately(desk)
    if not busy or sent is None or sent.empty:
        return
    headroom = room(sent.sum(axis=0).tolist(), busy[0])
    if headroom is None:
        return
    note = (
        f"the busiest node works {amounts.share(headroom.busy)} of its busiest hour; "
        f"visitors {_grow(headroom.growth)}"
    )
    if headroom.days is None:
        yield Tile("Room", "for a long time at the present growth", note)
    else:
        yield Tile(
            amounts.count(headroom.days, "day"),
            "until a node is busy all the time, at the present growth",
            note,
        )


def _grow(growth: float) -> str:
    return f"grow by {amounts.share(growth)} a period" if growth > NO_GROWTH else "do not grow"


def _forecasts(desk: Desk, plan: Plan | None) -> list[ForecastRow]:
    return (
        [
            forecast
            for forecast in desk.views.plan_output(plan.id).forecasts
            if forecast.policy == "after"
        ]
        if plan
        else []
    )


def _large(desk: Desk) -> list[str]:
    """Sites that ask for more than a mean node's whole share of either resource, the busiest
    first.
    """
    catalogue = desk.views.rows_as_planned()
    nodes = max(len([node for node in desk.world().nodes if node.takes_sites]), 1)
    columns = [catalogue.columns[name] for name in ("access_bytes", "working_set")]
    over = np.logical_or.reduce([each * nodes > each.sum() for each in columns])
    return (
        [str(catalogue.sites[row]) for row in catalogue.order("-access_bytes") if over[row]]
        if over.any()
        else []
    )


def _ending(desk: Desk) -> Iterator[tuple[Notice, str]]:
    """Wishes that end soon, each with the page of its site."""
    for pin in desk.views.pins().values():
        if pin.until and desk.now < pin.until <= desk.now + SOON:
            text = f"the wish for {pin.site} ends {amounts.ago(pin.until, desk.now)}"
            yield Notice("Ends soon", text), address("/site", name=pin.site)

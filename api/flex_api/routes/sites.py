"""Sites: what they ask of a node, which nodes serve them, how that was before, and why it is so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.frame_schemas import PROFILES
from flex.model.period import Period
from flex.wishes.pins_for_solvers import unknown_site
from flex.wishes.wishes_in_force_now import NIGHT, pins_in_force
from flex_api import which_names_are_sites
from flex_api.facts import core_to_output_models
from flex_api.facts.site_table import Catalogue, SiteFilter
from flex_api.schemas import times_of_sites
from flex_api.schemas.explain_output import ExplainOutput
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery, Moment
from flex_api.schemas.rest_bodies import ProfilePage, ProfileRow, SitesPage
from flex_api.schemas.sites_and_wishes import SiteRow
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.paging import Order, decode, encode, page
from flex_api.web.request_context import Desk, Reader, Viewer
from flex_api.wishes import explain_site

router = APIRouter(prefix="/api/v1/sites", tags=["sites"])

Sort = Literal[
    "-access_bytes",
    "access_bytes",
    "-working_set_bytes",
    "working_set_bytes",
    "-working_set",
    "working_set",
    "-requests",
    "requests",
    "-targets",
    "targets",
    "-one_timers",
    "one_timers",
    "-busy_hour_bytes",
    "busy_hour_bytes",
    "-service_seconds",
    "service_seconds",
    "-cpu_seconds",
    "cpu_seconds",
    "-replicas",
    "replicas",
    "site",
    "-site",
]


class SitesQuery(ListQuery):
    sort: Sort = "-access_bytes"
    name: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="part of the site's name")
    ] = ""
    node: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="only those on this node")
    ] = ""
    replicated: Annotated[bool | None, Query(description="on more than one node")] = None
    pinned: Annotated[bool | None, Query(description="somebody wished something of it")] = None
    min_access_bytes: Annotated[int, Query(ge=0, le=2**62)] = 0


@router.get("", response_model=SitesPage)
def sites(desk: Viewer, query: Annotated[SitesQuery, Query()]) -> Response:
    """Every site of the profiles and of the partition in force, busiest first."""
    catalogue = desk.views.catalogue()
    after = None
    if query.cursor:
        value, name = decode(query.cursor, Order.parse(query.sort), (int, str))
        after = value, name
    rows, more = catalogue.page(sites_wanted(desk, query), query.sort, query.limit, after)
    following = None
    if more:
        last = rows[-1]
        following = encode(
            Order.parse(query.sort), [catalogue.value(last, query.sort), str(catalogue.sites[last])]
        )
    items = [_row(desk, catalogue, row) for row in rows]
    start, end = (
        (catalogue.period.start, catalogue.period.end) if catalogue.period else (None, None)
    )
    return page_response(
        desk.request, SitesPage(period_start=start, period_end=end, items=items, next=following)
    )


def sites_wanted(desk: Desk, query: SitesQuery) -> SiteFilter:
    """What a query asks for, as the catalogue knows it."""
    pinned = frozenset(desk.views.wishes()) if query.pinned is not None else frozenset()
    return SiteFilter(
        name=query.name,
        node=query.node,
        replicated=query.replicated,
        at_least=query.min_access_bytes,
        among=pinned if query.pinned else None,
        not_among=pinned if query.pinned is False else frozenset(),
    )


def _row(desk: Desk, catalogue: Catalogue, row: int) -> SiteRow:
    site = str(catalogue.sites[row])
    wishes = desk.views.wishes().get(site, ())
    pins = pins_in_force(wishes, desk.now, NIGHT)
    return core_to_output_models.site_row(
        site,
        catalogue.measures(row),
        catalogue.nodes_of(row),
        pins[0] if pins else None,
        desk.views.stays_for().get(site, ()),
        desk.views.names(desk.settings),
    )


@router.get("/{site}", response_model=SiteRow)
def site(desk: Viewer, site: str) -> Response:
    """One site: what it asks, and where it is."""
    catalogue = desk.views.catalogue()
    return reply(desk.request, _row(desk, catalogue, find_row(catalogue, site)))


def find_row(catalogue: Catalogue, site: str) -> int:
    """Where the site stands. Raises Unknown, naming those that are nearly called so."""
    row = catalogue.row_of(which_names_are_sites.site_name(site))
    if row is None:
        near = bisect_left(catalogue.sites, site)
        raise unknown_site(
            site,
            [str(name) for name in catalogue.sites[max(near - 50, 0) : near + 50]],
            len(catalogue.sites),
        )
    return row


class ProfileQuery(ListQuery):
    sort: Literal["start", "-start"] = "start"
    after: Annotated[
        Moment | None, Query(description="only periods that end after this moment")
    ] = None
    before: Annotated[
        Moment | None, Query(description="only periods that begin before this moment")
    ] = None


@router.get("/{site}/profile", response_model=ProfilePage)
def profile(desk: Viewer, site: str, query: Annotated[ProfileQuery, Query()]) -> Response:
    """What it asked in each period that profiles were made of; a period is one or more whole
    days.
    """
    name = which_names_are_sites.site_name(site)
    find_row(desk.views.catalogue(), site)
    rows = [
        _period(period, values)
        for period, values in desk.views.few(
            f"history {name}", lambda: desk.store.history(name), len
        )
        if (query.after is None or period.end > query.after)
        and (query.before is None or period.start < query.before)
    ]
    rows_page = page(
        rows,
        {"start": lambda row: row.start.isoformat()},
        lambda row: row.end.isoformat(),
        query,
    )
    return page_response(
        desk.request, ProfilePage(site=name, items=list(rows_page.items), next=rows_page.next)
    )


def _period(period: Period, measured: Mapping[str, int]) -> ProfileRow:
    others = {name: measured[name] for name in PROFILES.earlier[1:] if name != "working_set"}
    return ProfileRow(
        start=period.start,
        end=period.end,
        working_set_bytes=measured["working_set"],
        **others,
        **times_of_sites.measured_times(measured),
    )


@router.get("/{site}/explanation", response_model=ExplainOutput)
def explanation(desk: Reader, site: str) -> Response:
    """Why it moves or stays, in numbers, and where else it could be."""
    return reply(
        desk.request,
        explain_site.explain_site(desk.world(), which_names_are_sites.site_name(site)),
    )

"""Sites: what they ask of a node, which nodes serve them, how that was before, and why it is so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.model.period import Period
from flex.table_schemas import PROFILES
from flex.wishes.pins_for_solvers import unknown_site
from flex.wishes.wishes_in_force_now import NIGHT, in_force
from flex_api import which_names_are_sites
from flex_api.facts import core_to_output_models
from flex_api.facts.site_table import Catalogue, SiteFilter
from flex_api.schemas import times_of_sites
from flex_api.schemas.explain_output import ExplainOutput
from flex_api.schemas.request_and_page_base import CLEAN, ListQuery, Moment
from flex_api.schemas.rest_bodies_and_answers import ProfilePage, ProfileRow, SitesPage
from flex_api.schemas.sites_and_wishes import SiteRow
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.paging import Order, decode, encode, page
from flex_api.web.request_context import Desk, Reader, Viewer
from flex_api.wishes import why_site_is_there

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
    found = desk.views.catalogue()
    after = None
    if query.cursor:
        value, name = decode(query.cursor, Order.parse(query.sort), (int, str))
        after = value, name
    rows, more = found.page(sites_wanted(desk, query), query.sort, query.limit, after)
    following = None
    if more:
        last = rows[-1]
        following = encode(
            Order.parse(query.sort), [found.value(last, query.sort), str(found.sites[last])]
        )
    items = [_row(desk, found, row) for row in rows]
    start, end = (found.period.start, found.period.end) if found.period else (None, None)
    return page_response(
        desk.request,
        SitesPage(period_start=start, period_end=end, items=items, next=following),
        following,
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


def _row(desk: Desk, found: Catalogue, row: int) -> SiteRow:
    site = str(found.sites[row])
    wishes = desk.views.wishes().get(site, ())
    pins = in_force(wishes, desk.now, NIGHT)
    return core_to_output_models.site_row(
        site,
        found.measures(row),
        found.nodes_of(row),
        pins[0] if pins else None,
        desk.views.stays_for().get(site, ()),
        desk.views.names(desk.settings),
    )


@router.get("/{site}", response_model=SiteRow)
def site(desk: Viewer, site: str) -> Response:
    """One site: what it asks, and where it is."""
    found = desk.views.catalogue()
    return reply(desk.request, _row(desk, found, find_row(found, site)))


def find_row(found: Catalogue, site: str) -> int:
    """Where the site stands. Raises Unknown, naming those that are nearly called so."""
    row = found.row_of(which_names_are_sites.site_name(site))
    if row is None:
        near = bisect_left(found.sites, site)
        raise unknown_site(
            site, [str(one) for one in found.sites[max(near - 50, 0) : near + 50]], len(found.sites)
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
        _period(one, values)
        for one, values in desk.views.few(f"history {name}", lambda: desk.store.history(name), len)
        if (query.after is None or one.end > query.after)
        and (query.before is None or one.start < query.before)
    ]
    found = page(
        rows,
        {"start": lambda row: row.start.isoformat()},
        lambda row: row.end.isoformat(),
        sort=query.sort,
        limit=query.limit,
        cursor=query.cursor,
    )
    return page_response(
        desk.request, ProfilePage(site=name, items=list(found.items), next=found.next), found.next
    )


def _period(period: Period, measured: Mapping[str, int]) -> ProfileRow:
    others = {name: measured[name] for name in PROFILES.earlier[1:] if name != "working_set"}
    return ProfileRow(
        start=period.start,
        end=period.end,
        working_set_bytes=measured["working_set"],
        **others,
        **times_of_sites.of_measured(measured),
    )


@router.get("/{site}/explanation", response_model=ExplainOutput)
def explanation(desk: Reader, site: str) -> Response:
    """Why it moves or stays, in numbers, and where else it could be."""
    return reply(
        desk.request,
        why_site_is_there.explain_site(desk.world(), which_names_are_sites.site_name(site)),
    )

"""Sites: what each asks for, and where each is. The address of the page has everything that was
chosen.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from flex_api.facts.site_table import Catalogue
from flex_api.in_words import amounts
from flex_api.pages.cached_nights import past, sent_lately
from flex_api.pages.forms import from_query
from flex_api.pages.frame import as_model, show
from flex_api.pages.plans import following
from flex_api.pictures import sites_scatter
from flex_api.pictures.sites_scatter import Scatter
from flex_api.pictures.time_and_forecast_charts import Spark, course
from flex_api.routes import sites
from flex_api.routes.sites import SitesQuery
from flex_api.schemas.rest_bodies import SitesPage
from flex_api.web.request_context import Desk, Viewer

router = APIRouter(include_in_schema=False)

COLUMNS = (
    "site", "nodes", "access_bytes", "working_set", "requests", "targets", "one_timers",
    "busy_hour_bytes", "pinned",
)  # fmt: skip
# What of the picture is drawn, in the address.
ZOOMS = (
    ("held_from", "Working set from, bytes"), ("held_to", "to"), ("sent_from", "Sent from, bytes"),
    ("sent_to", "up to"),
)  # fmt: skip
# Rows of the file that are made at a time. A guess.
PIECE = 1000
# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@router.get("/sites", response_class=HTMLResponse)
def every(desk: Viewer, request: Request) -> Response:
    zoom = _zoom(request)
    query = from_query(SitesQuery, request, *(name for name, _ in ZOOMS))
    sites_page = as_model(SitesPage, sites.sites(desk, query))
    seconds = (
        (sites_page.period_end - sites_page.period_start).total_seconds()
        if sites_page.period_start and sites_page.period_end
        else 0
    )
    known = desk.views.catalogue()
    picture = (
        _cloud(desk, known, zoom)
        if zoom
        else desk.views.get_or_make("cloud", lambda: _cloud(desk, known, {}))
    )
    return show(
        desk,
        "sites.html",
        "/sites",
        found=sites_page,
        query=query,
        seconds=seconds,
        total=max(int(known.columns["access_bytes"].sum()), 1),
        count=len(known.sites),
        matching=int(known.mask(sites.sites_wanted(desk, query)).sum()),
        picture=picture,
        zoom=zoom,
        zooms=ZOOMS,
        nodes=[node.name for node in desk.world().nodes],
        moved=_last_moves(desk),
        courses=_courses(desk, [row.site for row in sites_page.items]),
        address=_address_builder(request),
        following=following(request, sites_page.next),
    )


def _zoom(request: Request) -> dict[str, int]:
    """Between which working sets and bytes sent sites are drawn; what is no number draws all."""
    stated = {name: request.query_params.get(name, "") for name, _ in ZOOMS}
    return {name: int(text) for name, text in stated.items() if re.fullmatch("[0-9]{1,18}", text)}


def _cloud(desk: Desk, catalogue: Catalogue, zoom: Mapping[str, int]) -> Scatter | None:
    held, sent = catalogue.columns["working_set"], catalogue.columns["access_bytes"]
    if not len(catalogue.sites):
        return None
    active = [node for node in desk.world().nodes if node.takes_sites]
    nodes = max(len(active), 1)
    rows_with_pins = map(catalogue.row_of, desk.views.pins())
    rows = [row for row in rows_with_pins if row is not None]
    share = int(held.sum()) / nodes, int(sent.sum()) / nodes
    marked = np.array(sorted(rows), dtype=np.int64)
    drawn = _mask_in_zoom(held, zoom, "held") & _mask_in_zoom(sent, zoom, "sent")
    rings = np.searchsorted(np.flatnonzero(drawn), marked[drawn[marked]])
    held, sent = held[drawn], sent[drawn]
    return sites_scatter.cloud(
        "Sites by working set and bytes sent",
        catalogue.sites[drawn],
        held,
        sent,
        share,
        rings,
        near=bool(zoom),
    )


def _last_moves(desk: Desk) -> dict[str, datetime]:
    """By site when it last left a node for another, in the nights that are kept."""
    last_moves: dict[str, datetime] = {}
    for night in past(desk):
        for site, source, target in night.moves:
            if source and target:
                last_moves.setdefault(site, night.settled)
    return last_moves


def _courses(desk: Desk, shown: Sequence[str]) -> dict[str, Spark] | None:
    """What each sent in the last periods; None while it is being read."""
    sent = sent_lately(desk)
    if sent is None:
        return None
    rows = sent.reindex(list(shown), fill_value=0)
    return {
        site: course(
            f"Sent in the last {amounts.count(len(values), 'period')}, "
            f"{amounts.size(values[-1])} in the last",
            values,
        )
        for site, values in zip(rows.index.tolist(), rows.to_numpy().tolist(), strict=True)
        if len(values) > 1
    }


def _mask_in_zoom(values: np.ndarray, zoom: Mapping[str, int], name: str) -> np.ndarray:
    most = np.iinfo(np.int64).max
    drawn: np.ndarray = (values >= zoom.get(f"{name}_from", 0)) & (
        values <= zoom.get(f"{name}_to", most)
    )
    return drawn


def _address_builder(request: Request) -> Callable[[str, str], str]:
    """The address of this page with one thing chosen otherwise; from its beginning."""
    plain = request.url.remove_query_params(["cursor", "done"])

    def address(name: str, value: str) -> str:
        url = (
            plain.include_query_params(**{name: value})
            if value
            else plain.remove_query_params(name)
        )
        return f"{url.path}?{url.query}" if url.query else url.path

    return address


@router.get("/sites.csv")
def table(desk: Viewer, request: Request) -> StreamingResponse:
    """All that are asked for, as the page sorts and filters them."""
    query = from_query(SitesQuery, request, *(name for name, _ in ZOOMS))
    catalogue = desk.views.catalogue()
    rows, _ = catalogue.page(
        sites.sites_wanted(desk, query), query.sort, len(catalogue.sites), None
    )
    pinned = frozenset(desk.views.pins())
    headers = {"Content-Disposition": 'attachment; filename="sites.csv"'}
    return StreamingResponse(
        _lines(catalogue, rows, pinned), media_type="text/csv; charset=utf-8", headers=headers
    )


def _lines(catalogue: Catalogue, rows: list[int], pinned: frozenset[str]) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\r\n"
    for first in range(0, len(rows), PIECE):
        text = io.StringIO()
        csv.writer(text).writerows(
            _line(catalogue, row, pinned) for row in rows[first : first + PIECE]
        )
        yield text.getvalue()


def _line(catalogue: Catalogue, row: int, pinned: frozenset[str]) -> list[object]:
    site, values = str(catalogue.sites[row]), catalogue.measures(row)
    numbers = [values[name] for name in COLUMNS[2:-1]]
    return [
        _plain(site),
        _plain(" ".join(catalogue.nodes_of(row))),
        *numbers,
        "yes" if site in pinned else "no",
    ]


def _plain(text: str) -> str:
    """No formula: names come from whoever sends requests."""
    return f"'{text}" if text.startswith(FORMULA) else text

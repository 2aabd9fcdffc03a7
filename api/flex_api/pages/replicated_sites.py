"""Routing: sites on several nodes, and how requests are shared among these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from flex.routing.member_pools import Pool
from flex_api.facts.site_table import Catalogue
from flex_api.night import ask_every_haproxy, orders_at_doors
from flex_api.pages.frame import show
from flex_api.schemas.request_and_list_base import CLEAN
from flex_api.web import stray_views
from flex_api.web.cached_haproxy_state import GOOD, distributors
from flex_api.web.cached_routing import routing_of, wrong_names
from flex_api.web.request_context import Viewer

router = APIRouter(include_in_schema=False)

# Replicated sites that the page shows. A guess.
MOST = 100


@dataclass(frozen=True, slots=True)
class Shared:
    """A site on several nodes: what all of it asks, and what each of its nodes is asked on the
    mean.
    """

    site: str
    nodes: tuple[str, ...]
    sent: int
    held: int
    pool: Pool | None


@router.get("/routing", response_class=HTMLResponse)
def page(desk: Viewer, name: Annotated[str, Query(max_length=255, pattern=CLEAN)] = "") -> Response:
    catalogue = desk.views.catalogue()
    pools = (
        {pool.site: pool for pool in routing_of(desk).routed.pools}
        if desk.settings.routing.on
        else {}
    )
    replicated = [
        row
        for row in catalogue.order("-access_bytes").tolist()
        if catalogue.first[row + 1] - catalogue.first[row] > 1
    ]
    chosen = [row for row in replicated if name in str(catalogue.sites[row])]
    # One that is away keeps whoever asks it waiting.
    heard = desk.house.later.ask("distributors", lambda: distributors(desk), lasting=GOOD)
    states = orders_at_doors.door_states(desk.settings, desk.store)
    return show(
        desk,
        "routing.html",
        "/routing",
        rows=[_shares(catalogue, row, pools) for row in chosen[:MOST]],
        left=max(len(chosen) - MOST, 0),
        count=len(replicated),
        share=_share(catalogue, replicated),
        routing=desk.settings.routing,
        misnamed=wrong_names(desk),
        heard=heard,
        live=ask_every_haproxy.as_live(heard or ()),
        pending=heard is None,
        order=ask_every_haproxy.as_order(desk.settings, desk.store),
        states=states,
        unheard=sum(bool(state.unheard) for state in states),
        name=name,
        at=stray_views.visitors_at_doors(desk),
        outside=stray_views.outside_dns(desk),
        most=MOST,
    )


def _shares(catalogue: Catalogue, row: int, pools: dict[str, Pool]) -> Shared:
    site, values = str(catalogue.sites[row]), catalogue.measures(row)
    nodes = tuple(catalogue.nodes_of(row))
    return Shared(site, nodes, values["access_bytes"], values["working_set"], pools.get(site))


def _share(catalogue: Catalogue, rows: list[int]) -> float:
    sent = catalogue.columns["access_bytes"]
    return float(np.sum(sent[rows])) / max(int(np.sum(sent)), 1) if rows else 0.0

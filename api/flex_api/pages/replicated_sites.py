"""Routing: sites on several nodes, and how requests are shared among these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from flex.routing.pool import Pool
from flex_api.facts.site_table import Catalogue
from flex_api.night import ask_every_haproxy, which_order_doors_go_by
from flex_api.pages.frame import show
from flex_api.schemas.request_and_page_base import CLEAN
from flex_api.web import strays_and_sites_outside_dns
from flex_api.web.cached_haproxy_state import GOOD, distributors
from flex_api.web.request_context import Viewer
from flex_api.web.routing_view import routing_of, wrong_names

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
    found = desk.views.catalogue()
    pools = (
        {pool.site: pool for pool in routing_of(desk).routed.pools}
        if desk.settings.routing.on
        else {}
    )
    replicated = [
        row
        for row in found.order("-access_bytes").tolist()
        if found.first[row + 1] - found.first[row] > 1
    ]
    chosen = [row for row in replicated if name in str(found.sites[row])]
    # One that is away keeps whoever asks it waiting.
    heard = desk.house.later.ask("distributors", lambda: distributors(desk), lasting=GOOD)
    states = which_order_doors_go_by.door_states(desk.settings, desk.store)
    return show(
        desk,
        "routing.html",
        "/routing",
        rows=[_shares(found, row, pools) for row in chosen[:MOST]],
        left=max(len(chosen) - MOST, 0),
        count=len(replicated),
        share=_share(found, replicated),
        routing=desk.settings.routing,
        misnamed=wrong_names(desk),
        heard=heard,
        live=ask_every_haproxy.as_live(heard or ()),
        pending=heard is None,
        order=ask_every_haproxy.as_order(desk.settings, desk.store),
        states=states,
        unheard=sum(bool(one.unheard) for one in states),
        name=name,
        at=strays_and_sites_outside_dns.at_doors(desk),
        outside=strays_and_sites_outside_dns.outside_dns(desk),
        most=MOST,
    )


def _shares(found: Catalogue, row: int, pools: dict[str, Pool]) -> Shared:
    site, values = str(found.sites[row]), found.measures(row)
    nodes = tuple(found.nodes_of(row))
    return Shared(site, nodes, values["access_bytes"], values["working_set"], pools.get(site))


def _share(found: Catalogue, rows: list[int]) -> float:
    sent = found.columns["access_bytes"]
    return float(np.sum(sent[rows])) / max(int(np.sum(sent)), 1) if rows else 0.0

"""Fetches the most wanted files of a site from its new node, so that they are in its memory before
DNS sends visitors there.

Takes a world and a plan, or the sites that come to each node. Returns what the web servers
answered. A failure here does not stop a site from moving: then its first visitors wait longer.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from flex.errors import FlexError
from flex.model.plan import Plan
from flex.routing.warming import Target, Warmed, WarmingBudget, hottest, warm
from flex.store import Store
from flex_api.in_words import amounts
from flex_api.night import haproxy_pools_and_files
from flex_api.settings.file import Settings
from flex_api.wiring import World
from flex_logs_ingest.counts.file_table import FileTable, file_table

# Nodes that are asked side by side.
_SIDE_BY_SIDE = 32
# The port of HTTP where no setting names one (RFC 9110, section 4.2.1).
_WEB = 80


def ahead(world: World, plan: Plan) -> str:
    """Warm up for all that the plan moves or adds; what came of it, in words."""
    return warm_up_nodes(world, coming(world.store, plan.id))


def coming(store: Store, plan: str) -> dict[str, list[str]]:
    """By node the sites that the plan brings there, of those that are served now: a new one has
    nothing hot.
    """
    _, now = store.placement()
    wanted = store.placement_of(plan)
    rows = wanted[wanted["site"].isin(now["site"])].merge(now, how="left", indicator=True)
    new = rows[rows["_merge"] == "left_only"]
    return {str(node): sorted(map(str, group["site"])) for node, group in new.groupby("node")}


def warm_up_nodes(world: World, coming: Mapping[str, Collection[str]]) -> str:
    """Warm up the nodes side by side for these sites; what came of it, in words."""
    at = haproxy_pools_and_files.addresses(world.nodes)
    busy: dict[str, list[str]] = {}
    for node, sites in coming.items():
        # A directory of another site is no host, and cannot be asked for.
        hosts = [site for site in sites if not site.startswith("/")]
        if hosts and node in at:
            busy[node] = hosts
    if not busy or not world.settings.warming.bytes:
        return "nothing to fetch"
    try:
        warmed = _fetch(world, busy, at)
    except FlexError as error:
        return f"nothing was fetched: {error.asked}: {error.answer}"
    return _sentence(warmed)


def _fetch(
    world: World, busy: Mapping[str, Collection[str]], at: Mapping[str, str]
) -> dict[str, Warmed]:
    known = world.store.profiles(until=world.clock())
    if known is None:
        return {}
    files = file_table(world.store, world.settings.ingest.directory, known[0])
    chosen = {node: _hottest(world.settings, files, sites) for node, sites in busy.items()}
    with ThreadPoolExecutor(min(_SIDE_BY_SIDE, len(chosen))) as pool:
        done = pool.map(
            partial(_warm, world.settings), chosen.values(), (at[node] for node in chosen)
        )
        return dict(zip(chosen, done, strict=True))


def _hottest(settings: Settings, files: FileTable, sites: Collection[str]) -> list[Target]:
    return hottest(files.pieces_of_sites(sites), settings.warming.bytes, settings.routing.endings)


def _warm(settings: Settings, targets: list[Target], address: str) -> Warmed:
    own, routing = settings.warming, settings.routing
    port = own.port or (routing.origin_port if routing.on else _WEB)
    budget = WarmingBudget(own.bytes, own.per_second, own.time.total_seconds())
    proxied = routing.on and routing.proxy_protocol and not own.port
    return warm(
        targets, (address, port), budget, clock=time.monotonic, wait=time.sleep, proxied=proxied
    )


def _sentence(warmed: Mapping[str, Warmed]) -> str:
    fetched = sum(outcome.fetched for outcome in warmed.values())
    size = sum(outcome.bytes for outcome in warmed.values())
    sentence = (
        f"{amounts.count(fetched, 'path')} of {amounts.size(size)} fetched on "
        f"{amounts.count(len(warmed), 'node')}"
    )
    silent = sorted(
        node for node, outcome in warmed.items() if outcome.failed and not outcome.fetched
    )
    return f"{sentence}; {', '.join(silent)} did not answer" if silent else sentence

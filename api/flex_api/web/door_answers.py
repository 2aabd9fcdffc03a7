"""The answer to a node that waits for the next order for doors.

Takes the desk and what the node says of itself. Returns the newest order with its small map, or
nothing where the node has all of it. Waiting takes no thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from flex.model.orders_to_doors import DoorReport
from flex_api.night import haproxy_pools_and_files
from flex_api.schemas.routing import DoorsQuery, DoorsTold, OrderTold
from flex_api.web.cached_routing import others_digest
from flex_api.web.caller_identity import unauthenticated_error
from flex_api.web.door_watch import Has, Newest, Others, report_of
from flex_api.web.etag_responses import JSON, nothing
from flex_api.web.request_context import Desk
from flex_api.wiring import nodes

# Seconds for which it is believed which nodes serve. A guess: no order waits for it.
SERVING = 1.0
# Seconds that each question waits at least: who does not want to wait hears of an order that is
# there. A guess.
SHORTEST = 0.5
# Bytes that are given to a connection at a time. A guess.
PART = 2**16


async def wait_for_doors(desk: Desk, node: str, query: DoorsQuery) -> Response:
    """Raises Unknown for a node that does not serve, and Unauthenticated where its token was
    revoked while it waited.
    """
    answer = await _answer(desk, node, query)
    token = await run_in_threadpool(desk.house.store.token, desk.caller.token)
    if token is None or not token.holds(desk.now):
        raise unauthenticated_error("the token has expired or was revoked meanwhile")
    return answer


async def _answer(desk: Desk, node: str, query: DoorsQuery) -> Response:
    watch = desk.house.doors
    await _refuse_away(desk, node)
    goes = query.have if query.goes is None else query.goes
    has = Has(node, query.cluster, query.have)
    watch.note(has, _report(node, goes, query))
    # Taken before the other files are looked at: what changes from here on is told.
    loop, changes = asyncio.get_running_loop(), watch.changes
    others = loop.run_in_executor(watch.aside, partial(_others, desk, node))
    # What goes wrong there is not lost where nobody asks for it: the node asks again.
    others.add_done_callback(lambda done: done.cancelled() or done.exception())
    wait = max(query.wait, SHORTEST)
    order = asyncio.ensure_future(watch.next_after(has, wait, changes))
    either: set[asyncio.Future[Any]] = {others, order}
    began = time.monotonic()
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not order.done() and await others != query.files:
            # The other files may be those of an order that the next look finds. A node that hears
            # of both at once can make the large map of what it has, and is not sent it.
            await asyncio.wait({order}, timeout=2 * watch.every)
            newest = order.result() if order.done() else None
            return _newest_order(watch.cluster, node, newest or watch.newest, await others)
        newest = await order
        if newest is None:
            # What has changed may be what the look at the other files is about to find.
            left = wait - (time.monotonic() - began)
            await asyncio.wait({others}, timeout=max(left, 0))
    finally:
        order.cancel()
        desk.request.state.waited = time.monotonic() - began
    # An order does not wait for how long it takes to look at everything else.
    files = await others if others.done() else query.files
    if newest is None and files == query.files:
        return nothing()
    return _newest_order(watch.cluster, node, newest or watch.newest, files)


def _report(node: str, goes: int, query: DoorsQuery) -> DoorReport:
    report = report_of(node, goes, query.moved, query.error)
    if query.busy_names is None:
        return report
    pairs = (pair.split(":") for pair in query.busy.split(",") if pair)
    busy = tuple((name, int(count)) for name, count in pairs)
    return replace(report, busy=busy, busy_names=query.busy_names)


async def _refuse_away(desk: Desk, node: str) -> None:
    """The store is asked once a second at most, however many come."""
    held = desk.house.doors.serving
    now = time.monotonic()
    if node not in held or now - held[node] > SERVING:
        await run_in_threadpool(_look_for, desk, node)
        held.clear()
        known = await run_in_threadpool(nodes, desk.settings, desk.house.store)
        held |= dict.fromkeys(haproxy_pools_and_files.addresses(known), now)


def _look_for(desk: Desk, node: str) -> None:
    haproxy_pools_and_files.refuse_away(desk.settings, desk.house.store, node)


def _others(desk: Desk, node: str) -> str:
    watch, began = desk.house.doors, time.monotonic()
    changes, known = watch.changes, watch.others_of(node)
    if known is None:
        known = others_digest(desk, node)
        watch.note_others(node, Others(known, began, changes))
    return known


def _newest_order(cluster: str, node: str, newest: Newest | None, files: str) -> Response:
    order = newest and OrderTold.like(newest.order)
    told = DoorsTold(node=node, cluster=cluster, order=order, files=files, moved="")
    if newest is None:
        return Response(told.model_dump_json(), 200, None, JSON)
    head = told.model_dump_json().encode().removesuffix(b'""}')
    if len(newest.moved) <= PART:
        # Eight nodes hear of a small change within 50 ms, of which this saves some.
        return Response(head + newest.moved + b"}", 200, None, JSON)
    # The map is the last of it, and is not copied for each node.
    return StreamingResponse(_parts(head, newest.moved), 200, None, JSON)


async def _parts(head: bytes, moved: bytes) -> AsyncIterator[bytes | memoryview]:
    yield head
    whole = memoryview(moved)
    for begin in range(0, len(whole), PART):
        yield whole[begin : begin + PART]
    yield b"}"

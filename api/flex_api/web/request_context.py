"""What a route gets: the caller, the store in the caller's name, and the world that the verbs of
the command line work in.

The signature of a route says which role it needs: `desk: Operator` lets in operators and every role
above.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from flex.errors import Denied
from flex.model.audit_chain import Author
from flex.model.roles_and_tokens import Role
from flex.ports import Publisher
from flex.store import Store
from flex_api import wiring
from flex_api.manage_tokens import NODE, Caller, refuse_below
from flex_api.night.keep_watch_running import Watched
from flex_api.settings.file import Settings
from flex_api.web import check_query_parameters
from flex_api.web.background_answers import Later
from flex_api.web.cached_views import Views
from flex_api.web.caller_identity import Gate, unauthenticated_error
from flex_api.web.door_watch import DoorWatch
from flex_api.web.latency_histogram import Timing
from flex_api.web.limit_slow_reads import Turns
from flex_api.web.paging import refuse_other_filters
from flex_api.wiring import Clock, World
from flex_api.work_in_background import Workers

Connect = Callable[[], Publisher]


@dataclass(frozen=True, slots=True)
class House:
    """What the application was made with; one for all requests."""

    settings: Settings
    store: Store
    connect: Connect
    clock: Clock
    gate: Gate
    views: Views
    later: Later
    workers: Workers
    timing: Timing
    turns: Turns
    doors: DoorWatch
    watched: Callable[[], Watched] | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    request: Request
    caller: Caller
    house: House
    store: Store

    @property
    def settings(self) -> Settings:
        return self.house.settings

    @property
    def views(self) -> Views:
        return self.house.views

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)

    def because(self, reason: str) -> Desk:
        """The same, with a reason for the record."""
        author = Author(self.caller.name, reason, self.request.state.request_id)
        return replace(self, store=self.house.store.in_the_name_of(author))

    def world(self) -> World:
        return world(self.house, self.store)


def world(house: House, store: Store) -> World:
    return World(
        settings=house.settings,
        store=store,
        connect=house.connect,
        clock=house.clock,
        time_of_day=lambda: datetime.now(UTC),
        say=wiring.silent,
        progress=wiring.silent,
    )


# Not coroutines for what they wait for, which is nothing: the framework would give each plain
# function a thread.
def _desk(role: Role) -> Callable[[Request], Awaitable[Desk]]:
    async def desk(request: Request) -> Desk:
        caller: Caller | None = request.state.caller
        if caller is None:
            raise unauthenticated_error("no token came with the request")
        refuse_below(caller, role, f"{request.method} {request.url.path}")
        check_query_parameters.refuse_unknown(request)
        if request.url.path.startswith("/api/"):
            refuse_other_filters(request.query_params)
        house: House = request.app.state.house
        author = Author(caller.name, "", request.state.request_id)
        return Desk(request, caller, house, house.store.in_the_name_of(author))

    desk.role = role  # type: ignore[attr-defined]  # for the tests, which hold every route to it
    return desk


async def _reader(request: Request) -> AsyncIterator[Desk]:
    """Whoever may read, for what takes long: one such answer at a time."""
    desk = await _desk("viewer")(request)
    async with desk.house.turns.take_turn(desk.caller.token or desk.caller.name):
        yield desk


_reader.role = "viewer"  # type: ignore[attr-defined]  # as above
# Over before the answer is sent: a caller who asks for the next page at once does not have to wait
# for the end of this one.
Reader = Annotated[Desk, Depends(_reader, scope="function")]
Viewer = Annotated[Desk, Depends(_desk("viewer"))]
Operator = Annotated[Desk, Depends(_desk("operator"))]
Approver = Annotated[Desk, Depends(_desk("approver"))]
Admin = Annotated[Desk, Depends(_desk("admin"))]


# For what is tried out at once. What the next plan would do takes longer, and says so where it is
# asked.
OnlyTry = Annotated[bool, Query(description="check it, change nothing")]


def require_turn(takes_long: Callable[[Request], bool]) -> Any:
    """One such answer at a time, of a route that has quick ones, too. Any: what the framework calls
    a dependency.
    """

    async def turn(request: Request) -> AsyncIterator[None]:
        caller: Caller | None = request.state.caller
        if caller is None or not takes_long(request):
            yield
            return
        house: House = request.app.state.house
        async with house.turns.take_turn(caller.token or caller.name):
            yield

    return Depends(turn, scope="function")


# What a dry run would come to takes long; what is only written down does not.
DRY_IN_TURN = require_turn(
    lambda request: request.query_params.get("dry_run", "") not in ("", "false")
)


async def _node_or_viewer(request: Request, node: str) -> Desk:
    caller: Caller | None = request.state.caller
    if caller is None or caller.node != node:
        return await _desk("viewer")(request)
    house: House = request.app.state.house
    return Desk(request, caller, house, house.store)


_node_or_viewer.role = "viewer"  # type: ignore[attr-defined]  # as above
NodeOrViewer = Annotated[Desk, Depends(_node_or_viewer)]


async def _node_itself(request: Request, node: str) -> Desk:
    """A node alone says what it goes by."""
    caller: Caller | None = request.state.caller
    if caller is None:
        raise unauthenticated_error("no token came with the request")
    check_query_parameters.refuse_unknown(request)
    if caller.node != node:
        raise Denied(
            f"the orders for doors of {node[:100]!r}",
            f"{caller.name} is not this node",
            advice=f"show the token that `flex token create {NODE}{node[:100]}` makes",
        )
    house: House = request.app.state.house
    return Desk(request, caller, house, house.store)


_node_itself.role = "viewer"  # type: ignore[attr-defined]  # as above
_node_itself.node_alone = True  # type: ignore[attr-defined]  # as above
NodeItself = Annotated[Desk, Depends(_node_itself)]


async def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


TheHouse = Annotated[House, Depends(_house)]

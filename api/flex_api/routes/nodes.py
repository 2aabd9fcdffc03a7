"""Nodes: what each of them carries under the partition in force, and what people change about
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ValidationError

from flex.errors import BadInput, FlexError, Unverified
from flex.model.drains_and_freezes import NodeOrder
from flex.model.nodes import Node
from flex_api.facts import core_to_output_models
from flex_api.facts import dead_nodes_in_dns as dead
from flex_api.night import change_nodes as noding
from flex_api.night import failover
from flex_api.night.failover import Taken
from flex_api.night.failover_attempts import left_in_words
from flex_api.night.leases import lease
from flex_api.routes.jobs import job_model
from flex_api.schemas.nodes_and_jobs import NodeRow, NodeTurn
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery
from flex_api.schemas.rest_bodies import (
    DownGiven,
    DrainGiven,
    JobShown,
    NodeChange,
    NodeChanged,
    NodeGiven,
    NodesPage,
)
from flex_api.schemas.what_if_output import PreviewRow
from flex_api.web.cached_views import Carried
from flex_api.web.etag_responses import Condition, TheCondition, nothing, page_response, reply
from flex_api.web.paging import page
from flex_api.web.request_context import (
    DRY_IN_TURN,
    Admin,
    Approver,
    Desk,
    Operator,
    Reader,
    Viewer,
)
from flex_api.web.sight import published_dead_nodes
from flex_api.wiring import World
from flex_api.wishes import effect_of_draining, previewing
from flex_api.wishes.effect_of_draining import Effect
from flex_api.work_in_background import Follow

router = APIRouter(prefix="/api/v1/nodes", tags=["nodes"])

Sort = Literal[
    "node", "-node", "sites", "-sites", "ram_bytes", "-ram_bytes",
    "capacity_ratio", "-capacity_ratio",
    "access_units", "-access_units", "working_set_units", "-working_set_units",
]  # fmt: skip
FIELDS = ("node", "sites", "ram_bytes", "capacity_ratio", "access_units", "working_set_units")
DryRun = Annotated[
    bool, Query(description="check it and say what the next plan would do; change nothing")
]
Why = Annotated[str, Query(max_length=1000, pattern=CLEAN)]
# Seconds that who turns sites to a node or away from it waits to hear how many. A guess: longer
# looks like a failure.
PATIENCE = 2.0


class NodesQuery(ListQuery):
    sort: Sort = "node"
    state: Annotated[Literal["active", "draining", "down"] | None, Query()] = None


@router.get("", response_model=NodesPage)
def nodes(desk: Viewer, query: Annotated[NodesQuery, Query()]) -> Response:
    """Every node, in the state that somebody put it into, with its load under the partition in
    force.
    """
    rows = [row for row in _every(desk) if query.state in (None, row.state)]
    fields = {name: attrgetter(name) for name in FIELDS}
    rows_page = page(rows, fields, lambda row: row.node, query)
    still = [dead.row(dead_node) for dead_node in published_dead_nodes(desk)]
    return page_response(
        desk.request, NodesPage(items=list(rows_page.items), next=rows_page.next, dead=still)
    )


@router.post(
    "",
    status_code=201,
    response_model=NodeChanged,
    responses={200: {"model": NodeChanged, "description": "of a dry run"}},
    dependencies=[DRY_IN_TURN],
)
def add(desk: Admin, given: NodeGiven, dry_run: DryRun = False) -> Response:
    """A further node, which gets sites from the next plan on. It must be able to serve every
    site.
    """
    desk = desk.because(given.reason)
    node = _check(given.node, given.addresses, given.ram_bytes, given.capacity_ratio)
    if dry_run:
        notes = noding.add(desk.world(), node, dry_run=True)
        return _try(
            desk,
            core_to_output_models.node_row(node, None, 0, None, None),
            notes,
            _look_at(desk, node),
        )
    carried = desk.views.nodes_view()
    with desk.store.together():
        notes = noding.add(desk.world(), node)
        changed = NodeChanged(node=_row(desk, carried, node.name), notes=notes)
    return reply(desk.request, changed, 201, Location=f"/api/v1/nodes/{node.name}")


@router.get("/{node}", response_model=NodeRow)
def node(desk: Viewer, node: str) -> Response:
    """One node; its ETag is what a change of it needs."""
    node_row = next((row for row in _every(desk) if row.node == node), None)
    if node_row is None:
        noding.find(desk.world(), node)
        node_row = _row(desk, desk.views.nodes_view(), node)
    return reply(desk.request, node_row)


@router.get("/{node}/turn", response_model=NodeTurn)
def turn(desk: Reader, node: str) -> Response:
    """How many sites come to it, or leave it where it is drained, with the next plan and later, and
    by which rules.
    """
    here = desk.world()
    state = noding.find(here, node).state
    effect = effect_of_draining.effect(here, node)
    node_turn = NodeTurn(node=node, turn=list(effect.sentences))
    if effect.turn:
        numbers = {
            "way": "comes" if state == "active" else "leaves",
            "next_plan": effect.turn.now,
            "later": effect.turn.later,
        }
        node_turn = node_turn.model_copy(update=numbers)
    return reply(desk.request, node_turn)


@router.patch("/{node}", response_model=NodeChanged, dependencies=[DRY_IN_TURN])
def change(
    desk: Admin, node: str, given: NodeChange, condition: TheCondition, dry_run: DryRun = False
) -> Response:
    """Other memory, capacity or addresses, from the next plan on."""
    desk = desk.because(given.reason)
    carried = desk.views.nodes_view()
    if dry_run:
        wanted = _change(desk, carried, node, given, condition)
        notes = noding.put(desk.world(), wanted, dry_run=True)
        return _try(desk, _row(desk, carried, node), notes, _look_at(desk, wanted))
    with desk.store.together():
        notes = noding.put(desk.world(), _change(desk, carried, node, given, condition))
        return reply(desk.request, NodeChanged(node=_row(desk, carried, node), notes=notes))


def _change(
    desk: Desk, carried: Carried, node: str, given: NodeChange, condition: Condition
) -> Node:
    """As it is to be. Raises Overtaken where it is not as who asks saw it."""
    old = noding.find(desk.world(), node)
    condition.refuse_unmet(f"the node {node}", _row(desk, carried, node))
    wanted = _check(
        node,
        given.addresses or old.addresses,
        given.ram_bytes or old.ram,
        given.capacity_ratio or old.capacity,
    )
    return replace(wanted, state=old.state)


@router.delete(
    "/{node}",
    status_code=204,
    responses={200: {"model": NodeChanged, "description": "of a dry run"}},
    dependencies=[DRY_IN_TURN],
)
def remove(
    desk: Admin, node: str, condition: TheCondition, reason: Why = "", dry_run: DryRun = False
) -> Response:
    """Forget a node that serves nothing any more."""
    desk = desk.because(reason)
    carried = desk.views.nodes_view()
    wanted = NodeOrder(node, "removed", desk.now, None, reason, desk.caller.name)
    with desk.store.together():
        old, row = noding.find(desk.world(), node), _row(desk, carried, node)
        condition.refuse_unmet(f"the node {node}", row)
        notes = noding.remove(desk.world(), wanted, dry_run=dry_run)
    if dry_run:
        return _try(desk, row, notes, _look_at(desk, noding.node_in_state(old, "removed")))
    return nothing()


@router.put("/{node}/drain", response_model=NodeChanged, dependencies=[DRY_IN_TURN])
def drain(
    desk: Operator, node: str, given: DrainGiven, condition: TheCondition, dry_run: DryRun = False
) -> Response:
    """Take its sites off it with the next plans, until the deadline where there is one."""
    desk = desk.because(given.reason)
    wanted = NodeOrder(node, "draining", desk.now, given.deadline, given.reason, desk.caller.name)
    return _order(desk, wanted, condition, dry_run=dry_run)


@router.delete("/{node}/drain", response_model=NodeChanged, dependencies=[DRY_IN_TURN])
def undrain(
    desk: Operator, node: str, condition: TheCondition, reason: Why = "", dry_run: DryRun = False
) -> Response:
    """Give it sites again from the next plan on."""
    return _active(desk.because(reason), node, condition, reason, dry_run=dry_run)


@router.put(
    "/{node}/down",
    status_code=202,
    response_model=JobShown,
    responses={200: {"model": NodeChanged, "description": "of a dry run"}},
    dependencies=[DRY_IN_TURN],
)
def down(
    desk: Approver, node: str, given: DownGiven, condition: TheCondition, dry_run: DryRun = False
) -> Response:
    """Take a dead node out of DNS now: its sites go on elsewhere. The job's result is the plan, or
    the node.

    A node that does not answer is not read first: `If-Match` may be left out.
    """
    desk = desk.because(given.reason)
    here = desk.world()
    dead = noding.find(here, node)
    if condition.is_given:
        condition.refuse_overtaken(f"the node {node}", _row(desk, desk.views.nodes_view(), node))
    noding.refuse_last(here, node)
    if dry_run:
        notes, row = (
            noding.stopped_by(here, node, "down"),
            _row(desk, desk.views.nodes_view(), node),
        )
        look = partial(
            previewing.preview_failure, here, dead, without_content=given.without_content
        )
        return _try(desk, row, notes, look)
    wanted = NodeOrder(
        node, "down", desk.now, None, given.reason, desk.caller.name, given.without_content
    )

    def work(world: World, follow: Follow) -> str:
        known: list[Taken] = []
        try:
            with lease(world, f"node {node} down", breaks_in=True) as held:
                follow.past_return()
                taken = failover.take_down_as(held, world, wanted, known.append)
        except FlexError as error:
            raise _error_with_what_is_known(error, node, known) from error
        if not taken.is_whole:
            raise _left_error(node, taken)
        return f"/api/v1/plans/{taken.plan.id}" if taken.plan else f"/api/v1/nodes/{node}"

    job = desk.house.workers.start(
        here, "down", desk.caller.name, work, desk.request.state.request_id
    )
    return reply(desk.request, job_model(job), 202, Location=f"/api/v1/jobs/{job.id}")


@router.delete("/{node}/down", response_model=NodeChanged, dependencies=[DRY_IN_TURN])
def up(
    desk: Operator, node: str, condition: TheCondition, reason: Why = "", dry_run: DryRun = False
) -> Response:
    """Give a node that was down sites again from the next plan on."""
    return _active(desk.because(reason), node, condition, reason, dry_run=dry_run)


def _left_error(node: str, taken: Taken) -> Unverified:
    return Unverified(
        f"taking {node} out of DNS",
        left_in_words(node, taken.left, taken.staying),
        kept="the node is marked as down, and every other site is off it",
        advice="; ".join(_advice(taken)),
    )


def _error_with_what_is_known(error: FlexError, node: str, known: Sequence[Taken]) -> FlexError:
    """Return the error, with where the sites of the node went and what leads to it still."""
    answer, advice = [error.answer], [error.advice]
    for taken in known:
        if taken.plan:
            answer.append(f"sites of {node} went by plan {taken.plan.id}")
        answer.append(left_in_words(node, taken.left, taken.staying))
        advice += _advice(taken)
    return type(error)(
        error.asked,
        "; ".join(filter(None, answer)),
        kept=error.kept,
        advice="; ".join(advice),
        stops=error.stops,
    )


def _advice(taken: Taken) -> list[str]:
    """What to do about what is left."""
    advice = []
    if taken.left:
        advice.append("change these names where they are kept")
    if taken.staying:
        advice.append("bring the node back, or order without_content")
    return advice


def _active(desk: Desk, node: str, condition: Condition, reason: str, *, dry_run: bool) -> Response:
    wanted = NodeOrder(node, "active", desk.now, None, reason, desk.caller.name)
    return _order(desk, wanted, condition, dry_run=dry_run)


def _order(desk: Desk, wanted: NodeOrder, condition: TheCondition, *, dry_run: bool) -> Response:
    carried = desk.views.nodes_view()
    with desk.store.together():
        old, row = (noding.find(desk.world(), wanted.node), _row(desk, carried, wanted.node))
        condition.refuse_unmet(f"the node {wanted.node}", row)
        notes = noding.order(desk.world(), wanted, dry_run=dry_run)
        changed = NodeChanged(node=_row(desk, carried, wanted.node), notes=notes)
    if dry_run:
        return _try(desk, row, notes, _look_at(desk, noding.node_in_state(old, wanted.state)))
    turned = changed.node.state != old.state
    return reply(
        desk.request,
        changed.model_copy(update={"turn": _turn(desk, wanted.node) if turned else []}),
    )


def _turn(desk: Desk, node: str) -> list[str] | None:
    """None while it is being worked out: nobody waits long for what was ordered already."""
    effect = effect_of(desk, node, patience=PATIENCE)
    return None if effect is None else list(effect.sentences)


def effect_of(desk: Desk, node: str, *, patience: float | None = None) -> Effect | None:
    """What the next plan does with the node as it is; None while that is being worked out."""
    here = desk.world()
    return desk.house.later.ask(
        f"turn of {node}", lambda: effect_of_draining.effect(here, node), patience=patience
    )


def _try(desk: Desk, row: NodeRow, notes: list[str], look: Callable[[], PreviewRow]) -> Response:
    """The node as it is, and what would be done were it otherwise."""
    preview, why = previewing.look_if_possible(look)
    return reply(desk.request, NodeChanged(node=row, notes=[*notes, *why], preview=preview))


def _look_at(desk: Desk, changed: Node) -> Callable[[], PreviewRow]:
    here = desk.world()
    return lambda: previewing.preview_node(here, changed)


def _every(desk: Desk) -> list[NodeRow]:
    """To be read; a change makes its row anew, from what it changed itself."""
    return desk.views.get_or_make("nodes", lambda: _rows(desk, desk.views.nodes_view()))


def _rows(desk: Desk, carried: Carried) -> list[NodeRow]:
    orders = {order.node: order for order in desk.store.node_orders()}
    plain = {node.name: node for node in desk.settings.nodes()}
    return [
        core_to_output_models.node_row(
            node,
            orders.get(node.name),
            carried.sites.get(node.name, 0),
            carried.loads.get(node.name),
            plain.get(node.name),
        )
        for node in desk.world().nodes
    ]


def _row(desk: Desk, carried: Carried, name: str) -> NodeRow:
    noding.find(desk.world(), name)
    return next(row for row in _rows(desk, carried) if row.node == name)


def _faults_text(error: ValueError) -> str:
    """What each field has against its value; the framework's own account of itself says nothing to
    who asked.
    """
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{fault['loc'][0]}: {fault['msg'].removeprefix('Value error, ')}"
        if fault["loc"]
        else fault["msg"]
        for fault in error.errors()
    )


def _check(name: str, addresses: tuple[str, ...], ram: int, capacity: float) -> Node:
    try:
        return noding.check_node(name, addresses, ram, capacity)
    except ValueError as error:
        raise BadInput(
            f"the node {name!r}",
            _faults_text(error),
            advice="give addresses as visitors can reach them, and memory in bytes",
        ) from error

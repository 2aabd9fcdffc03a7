"""Moves the sites of a plan that have one writer, before any other is led to its new node, and
before DNS changes.

Takes a world whose lease is held, and a plan that may be carried out, or that a killed run began.
Returns the plan that is to be carried out: the same one, or a narrower one where such a site had to
stay. Where doors lead to no such site elsewhere, nothing is done.

By the doors' last order it is known how far a killed run came: a site that they lead to its new
node is there, and any other is at its old one, or waits.

`hold_copy_and_switch` goes through the last stages of one such site: its requests wait at doors,
what changed since the first copy is brought, and doors lead to the new node. The site has one
writer all the time: the old node until its requests wait, then nobody, then the new node. What
fails leaves the site at its old node, where its requests go on at once. What was brought is taken
back later, by whoever takes the site out of the plan.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from flex.errors import FlexError, Held, LostLease, NoneMoved
from flex.model.plan import Move, Plan
from flex.model.site_moves import NOT_NOW, WITHIN_HOLD, RunState, SiteMove, Stage, StageRun
from flex.partition import new_nodes
from flex.placing import failover
from flex.planning import outdated_plans
from flex_api.in_words import amounts
from flex_api.moving.check_sites_on_new_nodes import not_ready
from flex_api.moving.hook_commands import hooks_now, hooks_of_stage
from flex_api.moving.run_hook import Ran
from flex_api.moving.run_side_by_side import Pause, Question, Step, Steps
from flex_api.moving.stages_of_one_site import (
    STILL_AT_WORK,
    OnItsWay,
    failure,
    lock_of,
    said_by,
    tries,
)
from flex_api.night import (
    go_on_with_moves,
    hold_at_doors,
    make_before_break_plans,
    narrow_plan,
    plan_undo,
    store_order_for_doors,
    writer_nodes,
)
from flex_api.night.writer_nodes import Elsewhere
from flex_api.wiring import World

# What FLEX does itself is called so where commands have names.
_DOORS = "doors"
# Between two looks while requests of a site wait, in seconds.
_LOOK_WITHIN_HOLD = 0.01
# For a new node to be asked, where the hold has taken all of its time. A guess.
_LEAST_SECONDS_TO_ASK = 1.0
# Between two looks whether new nodes have heard, in seconds.
_LOOK_BEFORE_HOLD = 0.05
NOT_BROUGHT = "what it needs was not brought to its new node"


def to_be_led_on(world: World, plan: Plan) -> Mapping[str, Elsewhere]:
    """The sites with one writer that the plan has at another node than doors lead to. Those of a
    dead node are not among them: nobody can hold them there.
    """
    is_failover = plan.quality.solver == failover.SOLVER
    if is_failover or not world.settings.routing.has_stateful:
        return {}
    coming = world.store.placement_of(plan.id)
    ways = writer_nodes.elsewhere_now(world, coming, plan.id)
    serving = writer_nodes.serving_now(world)
    return {site: way for site, way in ways.items() if way.now in serving}


def move(world: World, plan: Plan) -> Plan:
    """Raises NoneMoved where nothing of the plan is left: then nothing of it was done. Raises
    LostLease where a dead node cannot wait.
    """
    coming = to_be_led_on(world, plan)
    if not coming:
        return plan
    plan = make_before_break_plans.begin(world, plan)
    plan, _ = outdated_plans.begin(plan, world.store)
    _order_doors(world, plan)
    wanted, staying = _to_run(world, plan, coming)
    wanted = _leave_out_deaf(world, plan, wanted)
    if wanted:
        sites = amounts.count(len(wanted), "site")
        world.say(f"Moving {sites} with one writer: requests wait meanwhile.")
        go_on_with_moves.run(world, wanted, partial(hold_copy_and_switch, plan=plan))
    staying |= {
        move.site: move.reason
        for move in world.store.site_moves(plan=plan.id, only_open=True)
        if move.state == "taking back" and move.site in coming
    }
    if not staying:
        return plan
    # Also those that a killed run had wait.
    hold_at_doors.release(world, plan, staying, 0)
    for site, why in sorted(staying.items()):
        world.say(f"{site} stays where it is: {why}.")
    return _leave_out_staying(world, plan, staying)


def _order_doors(world: World, plan: Plan) -> None:
    """At first all that get new nodes wait; such a plan may become narrower."""
    last = world.store.door_order()
    if last and last.plan == plan.id:
        return
    _, in_force = world.store.placement()
    coming = world.store.placement_of(plan.id)
    waiting = new_nodes(in_force, coming)
    store_order_for_doors.order(world.settings, world.store, plan.id, waiting)


def _to_run(
    world: World, plan: Plan, coming: Mapping[str, Elsewhere]
) -> tuple[list[OnItsWay], dict[str, str]]:
    """What is run for each of the sites, and the sites that have to stay."""
    known = {
        (move.site, move.source, move.target): move
        for move in world.store.site_moves(plan=plan.id, only_open=True)
        if move.state == "ready"
    }
    hooks, now = hooks_now(world), world.time_of_day()
    moves: list[SiteMove] = []
    staying: dict[str, str] = {}
    for site, way in coming.items():
        brought = known.get((site, way.now, way.wanted))
        if brought:
            moves.append(brought)
        elif hooks.hooks_of_site(site):
            staying[site] = NOT_BROUGHT
        else:
            id_ = secrets.token_hex(go_on_with_moves.NUMBER)
            move = SiteMove(id_, site, way.now, way.wanted, plan.id, now, "ready")
            moves.append(move)
    world.store.put_site_moves(moves)
    return go_on_with_moves.attach_commands(world, moves, hooks), staying


def _leave_out_deaf(world: World, plan: Plan, wanted: list[OnItsWay]) -> list[OnItsWay]:
    """Return those whose new nodes go by the plan's order within the time that requests may wait.
    The others stay: nobody would answer for them at a node that hears of no order. No request waits
    for that.
    """
    nodes, last = {moving_site.move.target for moving_site in wanted}, world.store.door_order()
    until = time.monotonic() + world.settings.routing.hold_time.total_seconds()
    while deaf := _unheard(world, plan, nodes, last.number if last else 0):
        if time.monotonic() > until:
            break
        time.sleep(_LOOK_BEFORE_HOLD)
    for moving_site in wanted:
        if why := deaf.get(moving_site.move.target):
            reason = hold_at_doors.unheard_at(moving_site.move.target, why)
            moving_site.store(failure(moving_site, reason, NOT_NOW))
    return [moving_site for moving_site in wanted if moving_site.move.target not in deaf]


def _unheard(world: World, plan: Plan, nodes: Iterable[str], number: int) -> dict[str, str]:
    reasons = {node: hold_at_doors.why_unheard(world, plan, node, number) for node in sorted(nodes)}
    return {node: why for node, why in reasons.items() if why}


def _leave_out_staying(world: World, plan: Plan, staying: Mapping[str, str]) -> Plan:
    """What was brought for those that stay is taken back once the rest is in force."""
    try:
        return narrow_plan.leave_out_sites(world, plan, staying)
    except Held as error:
        plan_undo.undo(world, plan)
        go_on_with_moves.go_on(world)
        raise NoneMoved(error.asked, error.answer, advice=error.advice) from error


def hold_copy_and_switch(moving_site: OnItsWay, plan: Plan) -> Steps:
    """Yield commands and pauses, for a move whose new node has the first copy. The move is `ready`
    afterwards as it was, with the site at its new node; or it has the state `taking back`, with the
    site at its old one.
    """
    with lock_of(moving_site) as lock:
        if lock is None:
            hold_at_doors.release(moving_site.world, plan, {moving_site.move.site}, 0)
            moving_site.store(failure(moving_site, STILL_AT_WORK, NOT_NOW))
            return
        held = _begin(moving_site, "hold")
        try:
            failed = yield from _copy_and_switch(moving_site, plan, lock, held)
        except LostLease:
            # Whoever has it now releases the site.
            raise
        except BaseException:
            with suppress(FlexError):
                hold_at_doors.release(moving_site.world, plan, {moving_site.move.site}, 0)
            raise
        if failed:
            reason, code = failed
            hold_at_doors.release(moving_site.world, plan, {moving_site.move.site}, 0)
            _end(moving_site, held, "undone", reason)
            moving_site.store(failure(moving_site, reason, code))


# Why the site stays, with the exit code of what said so.
Failed = tuple[str, int] | None


def _copy_and_switch(
    moving_site: OnItsWay, plan: Plan, lock: int, held: StageRun
) -> Generator[Step, Ran, Failed]:
    world, site = moving_site.world, moving_site.move.site
    until = time.monotonic() + world.settings.routing.hold_time.total_seconds()
    why, since = yield from _quiet(moving_site, plan)
    if why:
        return why, NOT_NOW
    _end(moving_site, held, "done")
    for stage in WITHIN_HOLD:
        for hook in hooks_of_stage(moving_site.hooks, stage):
            ran = yield from tries(moving_site, stage, hook, lock)
            if ran.code:
                return said_by(stage, hook, ran), ran.code
    # Only of a site that something was brought for within the hold; others were asked before.
    if any(hook.stage in WITHIN_HOLD for hook in moving_site.hooks):
        ran = yield Question(lambda: _why_not_ready(moving_site, until))
        if ran.said:
            return ran.said, NOT_NOW
    switch = _begin(moving_site, "switch")
    led = hold_at_doors.switch(world, plan, {site}, 0, since)
    if site not in led.sites:
        _end(moving_site, switch, "failed", led.others[site])
        return led.others[site], NOT_NOW
    _end(moving_site, switch, "done")
    return None


def _quiet(moving_site: OnItsWay, plan: Plan) -> Generator[Step, Ran, tuple[str, int]]:
    """Why it is not known that nobody answers for the site and that its new node has heard of the
    hold, empty once both are; and since which order it is held. Nobody waits longer for that than a
    request waits at the doors.
    """
    world, site = moving_site.world, moving_site.move.site
    longest = world.settings.routing.hold_time.total_seconds()
    until = time.monotonic() + longest
    held = hold_at_doors.hold(world, plan, {site}, 0)
    since = held.since
    while site not in held.quiet:
        why = held.others[site]
        if why in hold_at_doors.NEVER_HELD:
            return why, since
        if time.monotonic() > until:
            return f"its old node was not quiet within {longest:g} s: {why}", since
        yield Pause(_LOOK_WITHIN_HOLD)
        held = hold_at_doors.still_held(world, plan, {site}, since)
    new = moving_site.move.target
    while why := hold_at_doors.why_unheard(world, plan, new, since):
        if why == hold_at_doors.ENDED:
            return why, since
        if time.monotonic() > until:
            return hold_at_doors.unheard_at(new, why), since
        yield Pause(_LOOK_WITHIN_HOLD)
    return "", since


def _why_not_ready(moving_site: OnItsWay, until: float) -> str:
    """Requests wait meanwhile: a node that has not answered by then is not ready."""
    move, ready = moving_site.move, moving_site.world.settings.move.ready
    left = max(until - time.monotonic(), _LEAST_SECONDS_TO_ASK)
    unready = not_ready(
        moving_site.world,
        [Move(move.site, move.source, move.target, 0, "")],
        min(ready.budget.total_seconds(), left),
    )
    return unready.get(move.site, "")


def _begin(moving_site: OnItsWay, stage: Stage) -> StageRun:
    row = StageRun(moving_site.move.id, stage, _DOORS, "begun", 1, moving_site.now)
    moving_site.world.store.put_stage_run(row)
    return row


def _end(moving_site: OnItsWay, row: StageRun, state: RunState, reason: str = "") -> None:
    ended = replace(row, state=state, ended=moving_site.now, said=reason)
    moving_site.world.store.put_stage_run(ended)

"""The last stages of a site with one writer: its requests wait at doors, what changed since the
first copy is brought, and doors lead to the new node.

Takes a world whose lease is held, a plan that doors are ordered to go by, and a move of it whose
new node has the first copy. Yields commands and pauses. The site has one writer all the time: the
old node until its requests wait, then nobody, then the new node.

What fails leaves the site at its old node, where its requests go on at once. What was brought is
taken back later, by whoever takes the site out of the plan.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace

from flex.errors import FlexError, LostLease
from flex.model.plan import Move, Plan
from flex.model.site_moves import NOT_NOW, WITHIN_HOLD, RunState, Stage, StageRun
from flex_api.moving.check_sites_on_new_nodes import not_ready
from flex_api.moving.commands_of_site import of_stage
from flex_api.moving.run_hook import Ran
from flex_api.moving.run_side_by_side import Command, Pause, Steps
from flex_api.moving.stages_of_one_site import (
    STILL_AT_WORK,
    OnItsWay,
    failure,
    lock_of,
    said_by,
    tries,
)
from flex_api.night import hold_at_doors

# What FLEX does itself is called so where commands have names.
_DOORS = "doors"
# Between two looks whether a node still answers, in seconds.
_LOOK = 0.01


def hold_copy_and_switch(one: OnItsWay, plan: Plan) -> Steps:
    """The move is `ready` afterwards as it was, with the site at its new node; or it has the state
    `taking back`, with the site at its old one.
    """
    with lock_of(one) as lock:
        if lock is None:
            hold_at_doors.release(one.world, plan, {one.move.site}, 0)
            one.store(failure(one, STILL_AT_WORK, NOT_NOW))
            return
        held = _begin(one, "hold")
        try:
            failed = yield from _until_switched(one, plan, lock, held)
        except LostLease:
            # Whoever has it now releases the site.
            raise
        except BaseException:
            with suppress(FlexError):
                hold_at_doors.release(one.world, plan, {one.move.site}, 0)
            raise
        if failed:
            reason, code = failed
            hold_at_doors.release(one.world, plan, {one.move.site}, 0)
            _end(one, held, "undone", reason)
            one.store(failure(one, reason, code))


# Why the site stays, with the exit code of what said so.
Failed = tuple[str, int] | None


def _until_switched(
    one: OnItsWay, plan: Plan, lock: int, held: StageRun
) -> Generator[Command | Pause, Ran, Failed]:
    world, site = one.world, one.move.site
    why, since = yield from _quiet(one, plan)
    if why:
        return why, NOT_NOW
    _end(one, held, "done")
    for stage in WITHIN_HOLD:
        for hook in of_stage(one.hooks, stage):
            ran = yield from tries(one, stage, hook, lock)
            if ran.code:
                return said_by(stage, hook, ran), ran.code
    if why := _why_not_ready(one):
        return why, NOT_NOW
    switch = _begin(one, "switch")
    led = hold_at_doors.switch(world, plan, {site}, 0, since)
    if site not in led.sites:
        _end(one, switch, "failed", led.others[site])
        return led.others[site], NOT_NOW
    _end(one, switch, "done")
    return None


def _quiet(one: OnItsWay, plan: Plan) -> Generator[Pause, Ran, tuple[str, int]]:
    """Why it is not known that nobody answers for the site and that its new node has heard of the
    hold, empty once both are; and since which order it is held. Nobody waits longer for that than a
    request waits at the doors.
    """
    world, site = one.world, one.move.site
    longest = world.settings.routing.hold_time.total_seconds()
    until = time.monotonic() + longest
    said = hold_at_doors.hold(world, plan, {site}, 0)
    since = said.since
    while site not in said.quiet:
        why = said.others[site]
        if why in hold_at_doors.NEVER_HELD:
            return why, since
        if time.monotonic() > until:
            return f"its old node was not quiet within {longest:g} s: {why}", since
        yield Pause(_LOOK)
        said = hold_at_doors.still_held(world, plan, {site}, since)
    new = one.move.target
    while why := hold_at_doors.why_unheard(world, plan, new, since):
        if why == hold_at_doors.ENDED:
            return why, since
        if time.monotonic() > until:
            return hold_at_doors.unheard_at(new, why), since
        yield Pause(_LOOK)
    return "", since


def _why_not_ready(one: OnItsWay) -> str:
    """Only of a site that something was brought for within the hold; others were asked before."""
    if not any(hook.stage in WITHIN_HOLD for hook in one.hooks):
        return ""
    move = one.move
    found = not_ready(one.world, [Move(move.site, move.source, move.target, 0, "")])
    return found.get(move.site, "")


def _begin(one: OnItsWay, stage: Stage) -> StageRun:
    row = StageRun(one.move.id, stage, _DOORS, "begun", 1, one.now)
    one.world.store.put_stage_run(row)
    return row


def _end(one: OnItsWay, row: StageRun, state: RunState, said: str = "") -> None:
    ended = replace(row, state=state, ended=one.now, said=said)
    one.world.store.put_stage_run(ended)

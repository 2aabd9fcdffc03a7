"""A person's order to end what an interrupted run began: finish it, take it back, or give it up.

Takes the way. Returns the plans that were half applied, as they ended. The command line and the
REST API both call this. It holds the lease itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from flex.model.plan import Plan
from flex_api.night import (
    finish_plans_of_killed_runs,
    give_up_half_applied_plan,
    take_back_half_applied_plan,
)
from flex_api.night.leases import lease
from flex_api.night.record_stages import Steps
from flex_api.wiring import World

Way = Literal["resume", "undo", "abandon"]


def look_at_none(_: Sequence[Plan]) -> None:
    """Whatever was begun is ended."""


def end(
    world: World, way: Way, refuse: Callable[[Sequence[Plan]], None] = look_at_none
) -> list[Plan]:
    """What was begun is read under the lease, and `refuse` may raise for it: nothing is changed
    then.
    """
    with lease(world, way) as held:
        begun = world.store.plans(state="applying")
        refuse(begun)
        for plan in begun:
            held.concerns(plan)
        step = Steps(world, held.run)
        if way == "resume":
            step.through(
                partial(finish_plans_of_killed_runs.finish, world, step.enter), lambda _: "done"
            )
        elif way == "undo":
            step(way, partial(take_back_half_applied_plan.take_back, world), ", ".join)
            # What sites with one writer did cannot be taken back.
            finish_plans_of_killed_runs.finish(world)
        else:
            step(way, partial(give_up_half_applied_plan.give_up, world), ", ".join)
        return [world.store.plan(plan.id) for plan in begun]

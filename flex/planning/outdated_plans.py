"""Whether a plan that waits may be carried out: only once, and only from the partition that it was
made from.

Takes a plan and the store. Returns the plan in state applying, or refuses it. Does not ask whether
people, limits or a freeze stand in its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flex.errors import Ended, Outdated
from flex.model.plan import Plan, PlanState
from flex.ports import Plans

# The states of a plan of which nothing has become yet.
WAITING: tuple[PlanState, ...] = ("proposed", "failed")


def begin(plan: Plan, store: Plans) -> tuple[Plan, bool]:
    """As it is in the store, from now on being applied, and as gently as it was given; and whether
    it was before. What people said of it since it was read counts: nobody else writes between the
    look and the mark.
    """
    with store.together():
        now = store.plan(plan.id)
        refuse_ended(now, "applying", still=(*WAITING, "applying"))
        refuse_outdated(now, store, "applying")
        begun = replace(now, state="applying", message="", moving_ttl=plan.moving_ttl)
        store.update(begun)
    return begun, now.state == "applying"


def refuse_ended(plan: Plan, doing: str, *, still: Sequence[PlanState] = WAITING) -> None:
    """Raises Ended for a plan that was carried out or put aside."""
    if plan.state not in still:
        raise Ended(
            f"{doing} {plan.id}",
            f"it is {plan.state} already",
            advice="make a new one with `flex plan`",
        )


def refuse_outdated(plan: Plan, store: Plans, doing: str) -> None:
    """Raises Outdated for a plan from another partition than the one in force."""
    in_force = store.in_force()
    if in_force != plan.base:
        raise Outdated(
            f"{doing} {plan.id}",
            f"it was made when {plan.base or 'nothing'} was in force; now "
            f"{in_force or 'nothing'} is",
            advice="make a new plan with `flex plan`",
        )

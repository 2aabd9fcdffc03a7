"""A plan that waits may be carried out: once, and only from the placement that it was made from.

In go a plan and the store; out comes the plan as being applied, or a refusal. Whether people, limits or a freeze stand
in its way is not asked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flex.errors import Ended, Outdated
from flex.model.domain import Cycle, CycleState
from flex.ports import Cycles, Store

# The states of a plan of which nothing has become yet.
WAITING: tuple[CycleState, ...] = ("proposed", "failed")


def begin(cycle: Cycle, store: Store) -> tuple[Cycle, bool]:
    """As it is in the store, from now on being applied, and as gently as it was given; and whether it was before. What
    people said of it since it was read counts: nobody else writes between the look and the mark.
    """
    with store.together():
        now = store.cycle(cycle.id)
        refuse_ended(now, "applying", still=(*WAITING, "applying"))
        refuse_outdated(now, store, "applying")
        begun = replace(now, state="applying", message="", moving_ttl=cycle.moving_ttl)
        store.update(begun)
    return begun, now.state == "applying"


def refuse_ended(cycle: Cycle, doing: str, *, still: Sequence[CycleState] = WAITING) -> None:
    """Raises Ended for a plan that was carried out or put aside."""
    if cycle.state not in still:
        raise Ended(
            f"{doing} {cycle.id}",
            f"it is {cycle.state} already",
            kept="nothing was changed",
            advice="make a new one with `flex plan`",
        )


def refuse_outdated(cycle: Cycle, store: Cycles, doing: str) -> None:
    """Raises Outdated for a plan from another placement than the one in force."""
    in_force = store.in_force()
    if in_force != cycle.base:
        raise Outdated(
            f"{doing} {cycle.id}",
            f"it was made when {cycle.base or 'nothing'} was in force; now {in_force or 'nothing'} is",
            kept="nothing was changed",
            advice="make a new plan with `flex plan`",
        )

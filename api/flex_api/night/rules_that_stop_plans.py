"""The rules that stop a plan, and which of them stop one now.

Takes a plan that waits, or the names of rules that somebody wants to override. Returns the rules
that stop the plan now. Does not refuse the plan: may_plan_be_applied.py does. Each rule has a file
of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from flex.errors import BadInput
from flex.model.limits_and_approvals import FREEZE, Stop
from flex.model.plan import Plan
from flex.planning import outdated_plans
from flex.zones import zone_changes
from flex_api.facts import changed_since_plan
from flex_api.in_words import amounts
from flex_api.night import freezes
from flex_api.wiring import World

# No rule that somebody may go over: a plan that is too old is made anew.
EXPIRY = "safety.plan_expiry"

RULES = (FREEZE, freezes.WINDOWS, *changed_since_plan.RULES, *zone_changes.RULES)


def refuse_unknown(force: Collection[str], doing: str) -> None:
    """Raises BadInput for a name that is no rule: nobody may believe to be past a rule by a
    typo.
    """
    if EXPIRY in force:
        raise BadInput(
            f"{doing} in spite of {EXPIRY}",
            "nobody can go past it: too much has changed since such a plan was made",
            advice="make a new plan with `flex plan`",
        )
    if strange := sorted(set(force) - set(RULES)):
        raise BadInput(
            f"{doing} in spite of {strange[0]!r:.100}",
            f"there is no such rule; those that stop a plan are {', '.join(RULES)}",
            advice="name one of them, or leave it out",
        )


def stops(world: World, plan: Plan) -> tuple[Stop, ...]:
    """The rules that stop this plan now, unless somebody goes over them by name."""
    return (
        *freezes.current_stops(world),
        *changed_since_plan.stops(world, plan),
        *(
            Stop(
                breach.rule,
                f"{breach.limit:g}",
                f"{breach.actual:g}",
                f"it is over a limit ({zone_changes.RULES[breach.rule]})",
                zone_changes.past(plan),
            )
            for breach in plan.breaches
        ),
    )


def stop_if_expired(world: World, plan: Plan) -> Stop | None:
    """The rule that a plan is too old for, which nobody can go over; None where it is not."""
    limit, age = world.settings.safety.plan_expiry, world.clock() - made_at(world, plan)
    if plan.state not in outdated_plans.WAITING or age <= limit:
        return None
    return Stop(
        EXPIRY,
        amounts.span(limit),
        amounts.span(age),
        "the plan is too old",
        "a new plan: flex plan",
    )


def made_at(world: World, plan: Plan) -> datetime:
    """When a plan was made, by the clock of what is done with it."""
    return plan.created if world.is_as_of else plan.wall_time


def stops_of_waiting_plan(world: World, plan: Plan) -> tuple[Stop, ...]:
    """The rules that stop a plan that waits. A plan that is outdated or has expired has only that
    one, because nobody can go over it.
    """
    if plan.state not in outdated_plans.WAITING:
        return ()
    return tuple(changed_since_plan.stop_if_overtaken(plan, world.store.in_force())) or (
        (old,) if (old := stop_if_expired(world, plan)) else stops(world, plan)
    )

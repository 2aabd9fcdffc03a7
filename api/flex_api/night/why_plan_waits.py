"""Why a night does not apply the plan that it made.

Takes a world and the plan. Returns the exit code and a sentence. Does not change anything. Under
four eyes, a night that somebody runs by hand is no way past the yes of somebody else, which
`flex apply` asks for. A night that a timer runs has no author, and needs none.
"""

from __future__ import annotations

from flex.errors import Frozen, Held
from flex.model import limits_and_approvals
from flex.model.limits_and_approvals import FREEZE
from flex.model.plan import Plan
from flex_api.night import person_says_yes_or_no_to_plan, rules_that_stop_plans
from flex_api.wiring import World


def why(world: World, plan: Plan) -> tuple[int, str]:
    """Why this plan is not applied by itself, and the exit code for it; nothing when it may be."""
    begun = world.store.plans(state="applying")
    if not begun and not plan.changes and not plan.moves:
        return 0, ""
    mode = world.settings.cluster.mode
    if mode == "shadow":
        return 0, f"Shadow mode: plan {plan.id} was made and nothing was written."
    stops = rules_that_stop_plans.stops(world, plan)
    told = limits_and_approvals.in_one_line(stops)
    made = f"Plan {plan.id} was made and nothing was applied: "
    if FREEZE in {stop.rule for stop in stops}:
        return Frozen.exit_code, f"{made}{told}."
    if begun:
        return Held.exit_code, f"{made}plan {begun[0].id} is half applied."
    waits = f"Plan {plan.id} waits for approval: "
    lacking = person_says_yes_or_no_to_plan.lacks(world, plan)
    if lacking and (plan.author or mode == "review"):
        more = f"; {told}" if stops else ""
        do = f"`flex approve {plan.id}`, by somebody else; then `flex apply {plan.id}`."
        return Held.exit_code, f"{waits}{lacking}{more}. {do}"
    if mode == "review":
        return Held.exit_code, f"{waits}`flex apply {plan.id}`."
    return (Held.exit_code, f"{waits}{told}.") if stops else (0, "")

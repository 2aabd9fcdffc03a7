"""A plan as it is printed, with what it would be refused for now.

Takes a world and a plan. Returns the output model. The command line and the REST API both answer
with it.
"""

from __future__ import annotations

from flex.model.plan import Plan
from flex_api.facts import core_to_output_models
from flex_api.night import rules_that_stop_plans
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.wiring import World


def plan_with_stops(world: World, plan: Plan) -> PlanOutput:
    stops = [
        core_to_output_models.stop_row(stop)
        for stop in rules_that_stop_plans.stops_of_waiting_plan(world, plan)
    ]
    output = core_to_output_models.plan_output(plan)
    return output.model_copy(update={"in_the_way": stops})

"""What-if, the frontier, and two partitions side by side: what the command line and the REST API
both show.

Takes a world and a question. Returns output models. Does not store anything or ask a name server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flex.model.period import Period
from flex.model.wish import Pin
from flex.placing import problem, score
from flex.placing.frontier import Point, keeps_wishes
from flex.planning import decide_moves_of_tonight, propose_plan
from flex.planning import what_if as suppose
from flex.planning.facts_and_rules import Facts
from flex.planning.forwarding_load import count_forwarding
from flex.planning.unmovable_sites import add_traffic_parts, as_in
from flex.planning.what_if import Supposition, WhatIf
from flex.wishes import suspended_wishes
from flex_api.facts import (
    core_to_output_models,
    earlier_nights,
    forecast_rows,
    names_that_stay,
    partition_differences,
    sites_of_failed_moves,
)
from flex_api.facts.forecast_loads import expect
from flex_api.night import gather_facts
from flex_api.schemas.plan_parts import MoveRow
from flex_api.schemas.what_if_output import DiffOutput, FrontierOutput, PointRow, WhatIfOutput
from flex_api.wiring import World
from flex_api.wishes import make_and_drop_wishes, previewing
from flex_api.wishes.previewing import Preview
from flex_api.wishes.quick_solver import quick, short
from flex_solver import frontier


def what_if(world: World, wanted: Supposition, *, with_frontier: bool = False) -> WhatIfOutput:
    """Raises Unknown, BadInput or Infeasible."""
    facts = gather_facts.facts(world)
    outcome = suppose.suppose(
        facts,
        world.rules,
        wanted,
        solver=quick(world.solver),
        scratch=world.scratch,
        seen=names_that_stay.newest_plan(world),
    )
    points = (
        frontier.points(outcome.problem, short(world.rules.budget), [outcome.rows])
        if with_frontier
        else ()
    )
    remarks = names_that_stay.remarks(world, wanted.lost)
    outcome = replace(outcome, notes=(*outcome.notes, *remarks))
    return _output(outcome, facts.period, points)


def _output(outcome: WhatIf, period: Period, points: Sequence[Point]) -> WhatIfOutput:
    assert outcome.scratch_moves is not None, "it was asked for"
    return WhatIfOutput(
        before=core_to_output_models.balance_output(outcome.before),
        after=core_to_output_models.balance_output(outcome.after),
        moves=[MoveRow.like(move) for move in outcome.moves],
        moves_from_scratch=outcome.scratch_moves,
        cold_bytes=sum(move.cold_bytes for move in outcome.moves),
        solver=outcome.quality.solver,
        moves_at_least=outcome.quality.bound,
        proven_least=outcome.quality.proven,
        certified_at_least=outcome.quality.certified,
        forecasts=forecast_rows.rows(outcome.forecasts, period),
        requests_per_second=outcome.asked,
        frontier=[PointRow(moves=point.moves, worst_ratio=point.worst) for point in points],
        notes=list(outcome.notes),
    )


def preview_wish(world: World, wanted: Pin) -> Preview:
    """What would be done next without a wish and with it. Raises what keeping the wish would
    raise.
    """
    make_and_drop_wishes.pin(world, wanted, dry_run=True)
    return previewing.compare_with_pin(world, wanted)


def suppose_node_lost(world: World, node: str) -> WhatIf:
    """What would be done next if a node took no sites any more. Raises Unknown or Infeasible."""
    outcome = suppose.suppose(
        gather_facts.facts(world),
        world.rules,
        Supposition(lost=(node,)),
        solver=quick(world.solver),
        seen=names_that_stay.newest_plan(world),
    )
    remarks = names_that_stay.remarks(world, [node])
    return replace(outcome, notes=(*outcome.notes, *remarks))


def frontier_of(world: World) -> FrontierOutput:
    """What more moves would buy tonight, from none to a partition from scratch, asked as the next
    plan will ask.

    The plan that waits is one of the partitions compared; no name server is asked for names that
    are not ours.
    """
    held = sites_of_failed_moves.resting_sites(world)
    known, _ = expect(world, replace(gather_facts.facts(world, replayed=False), held=held))
    guard = earlier_nights.guard(world, known.period)
    seen = names_that_stay.newest_plan(world)
    counted = as_in(seen, known, world.rules) if seen else count_forwarding(known)
    facts = replace(_possible(counted), guard=guard)
    tonight_problem = decide_moves_of_tonight.resting(
        propose_plan.build(facts, world.rules), facts.guard
    )
    waiting = [plan for plan in world.store.plans(1, state="proposed") if plan.base == facts.base]
    planned = [
        problem.rows_of(
            tonight_problem, add_traffic_parts(world.store.placement_of(plan.id), facts)
        )
        for plan in waiting
    ]
    points = frontier.points(tonight_problem, short(world.rules.budget), planned)
    return FrontierOutput(
        base=facts.base,
        tolerance_ratio=world.settings.solver.tolerance,
        trigger_ratio=world.settings.safety.trigger_imbalance,
        in_force_worst_ratio=score.balance_in_force(tonight_problem).worst,
        in_force_keeps_wishes=keeps_wishes(tonight_problem, tonight_problem.old),
        items=[PointRow(moves=point.moves, worst_ratio=point.worst) for point in points],
        plan=waiting[0].id if waiting else "",
        plan_moves=len(waiting[0].moves) if waiting else None,
        plan_worst_ratio=waiting[0].after.worst if waiting else None,
        notes=names_that_stay.remarks(world),
    )


def _possible(facts: Facts) -> Facts:
    return replace(
        facts,
        pins=suspended_wishes.possible(
            facts.pins, set(facts.sites) - facts.fixed, facts.nodes
        ).pins,
    )


def difference(world: World, plan: str, other: str) -> DiffOutput:
    """What differs between the partitions of two plans; "current" is the one in force. Raises
    Unknown.
    """
    store = world.store
    ids = [store.in_force() if name == "current" else name for name in (plan, other)]
    first, second = (partition_differences.head(store, name) for name in ids)
    comparison = partition_differences.difference(
        first, second, (store.placement_of(first.id), store.placement_of(second.id))
    )
    return DiffOutput(**comparison.fields(), items=comparison.rows_of(comparison.names))

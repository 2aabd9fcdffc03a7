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
from flex.planning.leave_out_the_immovable import as_in, with_parts
from flex.planning.load_from_forwarding_at_doors import count_forwarding
from flex.planning.what_if import Supposition, WhatIf
from flex.wishes import suspended_wishes
from flex_api.facts import (
    core_to_output_models,
    forecast_and_measured_rows,
    partition_differences,
    remarks_on_names_that_stay,
    what_earlier_nights_allow,
)
from flex_api.facts.put_forecast_loads_into_facts import expect
from flex_api.night import gather_facts
from flex_api.schemas.what_if_output import DiffOutput, FrontierOutput, PointRow, WhatIfOutput
from flex_api.wiring import World
from flex_api.wishes import make_and_drop_wishes, previewing
from flex_api.wishes.preview_solver import quick, short
from flex_api.wishes.previewing import Preview
from flex_solver import frontier


def what_if(world: World, wanted: Supposition, *, with_frontier: bool = False) -> WhatIfOutput:
    """Raises Unknown, BadInput or Infeasible."""
    facts = gather_facts.facts(world)
    found = suppose.suppose(
        facts,
        world.rules,
        wanted,
        solver=quick(world.solver),
        scratch=world.scratch,
        seen=remarks_on_names_that_stay.newest_plan(world),
    )
    points = (
        frontier.points(found.problem, short(world.rules.budget), [found.rows])
        if with_frontier
        else ()
    )
    said = remarks_on_names_that_stay.remarks(world, wanted.lost)
    found = replace(found, notes=(*found.notes, *said))
    return _output(found, facts.period, points)


def _output(found: WhatIf, period: Period, points: Sequence[Point]) -> WhatIfOutput:
    assert found.scratch_moves is not None, "it was asked for"
    return WhatIfOutput(
        before=core_to_output_models.balance_output(found.before),
        after=core_to_output_models.balance_output(found.after),
        moves=[core_to_output_models.move_row(move) for move in found.moves],
        moves_from_scratch=found.scratch_moves,
        cold_bytes=sum(move.cold_bytes for move in found.moves),
        solver=found.quality.solver,
        moves_at_least=found.quality.bound,
        proven_least=found.quality.proven,
        certified_at_least=found.quality.certified,
        forecasts=forecast_and_measured_rows.rows(found.forecasts, period),
        requests_per_second=found.asked,
        frontier=[PointRow(moves=point.moves, worst_ratio=point.worst) for point in points],
        notes=list(found.notes),
    )


def with_pin(world: World, wanted: Pin) -> Preview:
    """What would be done next without a wish and with it. Raises what keeping the wish would
    raise.
    """
    make_and_drop_wishes.pin(world, wanted, dry_run=True)
    return previewing.with_pin(world, wanted)


def without_node(world: World, node: str) -> WhatIf:
    """What would be done next if a node took no sites any more. Raises Unknown or Infeasible."""
    found = suppose.suppose(
        gather_facts.facts(world),
        world.rules,
        Supposition(lost=(node,)),
        solver=quick(world.solver),
        seen=remarks_on_names_that_stay.newest_plan(world),
    )
    said = remarks_on_names_that_stay.remarks(world, [node])
    return replace(found, notes=(*found.notes, *said))


def frontier_of(world: World) -> FrontierOutput:
    """What more moves would buy tonight, from none to a partition from scratch, asked as the next
    plan will ask.

    The plan that waits is one of the partitions compared; no name server is asked for names that
    are not ours.
    """
    known, _ = expect(world, gather_facts.facts(world, replayed=False))
    guard = what_earlier_nights_allow.guard(world, known.period)
    seen = remarks_on_names_that_stay.newest_plan(world)
    counted = as_in(seen, known, world.rules) if seen else count_forwarding(known)
    facts = replace(_possible(counted), guard=guard)
    asked = decide_moves_of_tonight.resting(propose_plan.build(facts, world.rules), facts.guard)
    waiting = [one for one in world.store.plans(1, state="proposed") if one.base == facts.base]
    planned = [
        problem.rows_of(asked, with_parts(world.store.placement_of(one.id), facts))
        for one in waiting
    ]
    points = frontier.points(asked, short(world.rules.budget), planned)
    return FrontierOutput(
        base=facts.base,
        tolerance_ratio=world.settings.solver.tolerance,
        trigger_ratio=world.settings.safety.trigger_imbalance,
        in_force_worst_ratio=score.balance_in_force(asked).worst,
        in_force_keeps_wishes=keeps_wishes(asked, asked.old),
        items=[PointRow(moves=point.moves, worst_ratio=point.worst) for point in points],
        plan=waiting[0].id if waiting else "",
        plan_moves=len(waiting[0].moves) if waiting else None,
        plan_worst_ratio=waiting[0].after.worst if waiting else None,
        notes=remarks_on_names_that_stay.remarks(world),
    )


def _possible(facts: Facts) -> Facts:
    return replace(
        facts,
        pins=suspended_wishes.possible(
            facts.pins, set(facts.sites) - facts.fixed, facts.nodes
        ).pins,
    )


def difference(world: World, one: str, other: str) -> DiffOutput:
    """What differs between the partitions of two plans; "current" is the one in force. Raises
    Unknown.
    """
    store = world.store
    ids = [store.in_force() if name == "current" else name for name in (one, other)]
    first, second = (partition_differences.head(store, name) for name in ids)
    found = partition_differences.difference(
        first, second, (store.placement_of(first.id), store.placement_of(second.id))
    )
    return DiffOutput(**found.fields(), items=found.rows_of(found.names))

"""What-if, the frontier, and two partitions side by side: what the command line and the REST API both show.

In go a world and a question; out come output models. Nothing is stored, and no name server is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flex import cycle as cycles
from flex import suppose, wishes
from flex.domain import Period, Pin
from flex.frontier import Point
from flex.given import Facts
from flex.suppose import Supposed, Supposition
from flex_api.known import present
from flex_api.known.foretold import forecast_row
from flex_api.night import nightly
from flex_api.schemas.supposed import DiffOutput, DiffRow, FrontierOutput, PointRow, WhatIfOutput
from flex_api.wiring import World
from flex_api.wishes import pinning
from flex_solver import frontier


def what_if(world: World, wanted: Supposition, *, with_frontier: bool = False) -> WhatIfOutput:
    """Raises Unknown, BadInput or Infeasible."""
    facts = nightly.facts(world)
    found = suppose.suppose(facts, world.rules, wanted, solver=world.solver, scratch=world.scratch)
    points = frontier.points(found.problem, world.rules.budget) if with_frontier else ()
    return _output(found, facts.period, points)


def _output(found: Supposed, period: Period, points: Sequence[Point] = ()) -> WhatIfOutput:
    return WhatIfOutput(
        before=present.balance_output(found.before),
        after=present.balance_output(found.after),
        moves=[present.move_row(move) for move in found.moves],
        moves_from_scratch=found.scratch_moves,
        cold_bytes=sum(move.cold_bytes for move in found.moves),
        solver=found.quality.solver,
        moves_at_least=found.quality.bound,
        proven_least=found.quality.proven,
        forecasts=[forecast_row(forecast, period) for forecast in found.forecasts],
        requests_per_second=found.asked,
        frontier=[PointRow(moves=point.moves, worst_ratio=point.worst) for point in points],
        notes=list(found.notes),
    )


def with_pin(world: World, wanted: Pin) -> tuple[WhatIfOutput, WhatIfOutput]:
    """What would be done next without a wish and with it. Raises what keeping the wish would raise."""
    pinning.pin(world, wanted, dry_run=True)
    plain = nightly.facts(world, replayed=False)
    others = tuple(pin for pin in plain.pins if pin.site != wanted.site)
    pinned = replace(plain, pins=others if wanted.excluded else (*others, wanted))
    without, found = (
        suppose.suppose(facts, world.rules, Supposition(), solver=world.solver, scratch=world.scratch)
        for facts in (plain, pinned)
    )
    return _output(without, plain.period), _output(found, plain.period)


def frontier_of(world: World) -> FrontierOutput:
    """What more moves would buy tonight, from none to a partition from scratch."""
    facts = _possible(nightly.facts(world))
    points = frontier.points(cycles.build(facts, world.rules), world.rules.budget)
    waiting = [one for one in world.store.cycles(1, state="proposed") if one.base == facts.base]
    return FrontierOutput(
        base=facts.base,
        tolerance_ratio=world.settings.solver.tolerance,
        trigger_ratio=world.settings.safety.trigger_imbalance,
        items=[PointRow(moves=point.moves, worst_ratio=point.worst) for point in points],
        plan=waiting[0].id if waiting else "",
        plan_moves=len(waiting[0].moves) if waiting else None,
        plan_worst_ratio=waiting[0].after.worst if waiting else None,
    )


def _possible(facts: Facts) -> Facts:
    return replace(facts, pins=wishes.possible(facts.pins, set(facts.sites) - facts.fixed, facts.nodes).pins)


def difference(world: World, one: str, other: str) -> DiffOutput:
    """What differs between the partitions of two plans; "current" is the one in force. Raises Unknown."""
    ids = [world.store.in_force() if name == "current" else name for name in (one, other)]
    first, second = (world.store.cycle(each) for each in ids)
    nodes = [_nodes(world, cycle.id) for cycle in (first, second)]
    sites = sorted(site for site in {*nodes[0], *nodes[1]} if nodes[0].get(site) != nodes[1].get(site))
    return DiffOutput(
        one=first.id,
        other=second.id,
        sites=len({*nodes[0], *nodes[1]}),
        items=[DiffRow(site=site, one=nodes[0].get(site, []), other=nodes[1].get(site, [])) for site in sites],
        one_worst_ratio=first.after.worst,
        other_worst_ratio=second.after.worst,
    )


def _nodes(world: World, cycle_id: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    placement = world.store.placement_of(cycle_id)
    for site, node in zip(placement["site"].tolist(), placement["node"].tolist(), strict=True):
        found.setdefault(site, []).append(node)
    return found

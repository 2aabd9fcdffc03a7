"""What FLEX would do with other nodes, other memory or more visitors.

Takes the facts of the next plan, and what is supposed instead. Returns what FLEX would do then,
with the load that it predicts. Does not store anything or ask DNS. Rules of movement do not count:
the question is what would be best, not what a night may do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from flex.errors import BadInput
from flex.frame_schemas import PROFILES, SPREADS
from flex.model.balance import Balance
from flex.model.nodes import Node
from flex.model.plan import Move, Plan, Proven
from flex.model.predicted_node_loads import Forecast
from flex.placing import problem, score
from flex.placing.problem import Ints, Problem
from flex.planning import propose_plan
from flex.planning.ask_checker_of_proofs import ask_checker
from flex.planning.decide_moves_of_tonight import decide
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.forwarding_load import count_forwarding
from flex.planning.plan_notes_on_sites import remark_on_held, remark_on_wishes
from flex.planning.unmovable_sites import as_in
from flex.ports import Solver
from flex.prediction import replay_forecast
from flex.wishes import suspended_wishes
from flex.wishes.pins_for_solvers import unknown_node, unknown_site

# What grows with the number of visitors of a site; its files stay the same.
VISITS = ("access_bytes", "requests", "busy_hour_bytes", "timed", "service_us", "cpu_us")


@dataclass(frozen=True, slots=True)
class Supposition:
    """`more` nodes like the others, without those `lost`; memory times `ram`; everything grown by
    `growth`; of single sites, visitors `times` as many; and another aim.
    """

    more: int = 0
    lost: tuple[str, ...] = ()
    ram: float = 1.0
    growth: float = 0.0
    times: Mapping[str, float] = field(default_factory=dict)
    tolerance: float | None = None
    max_moves: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf:
    """`asked` is how many requests a second there would be on the mean; forecasts say how many
    could be served.

    What a partition from scratch would move is None where nobody asked for one.
    """

    problem: Problem
    rows: Ints
    before: Balance
    after: Balance
    moves: tuple[Move, ...]
    scratch_moves: int | None
    quality: Proven
    forecasts: tuple[Forecast, ...]
    asked: float
    notes: tuple[str, ...]


def suppose(
    facts: Facts,
    rules: Rules,
    wanted: Supposition,
    *,
    solver: Solver,
    scratch: Solver | None = None,
    seen: Plan | None = None,
) -> WhatIf:
    """Names that are not FLEX's to move count where they did in the plan that has `seen` DNS last.

    Raises Unknown for a node or site nobody knows, BadInput for what cannot be supposed,
    Infeasible.
    """
    changed = _changed_facts(facts, wanted)
    changed = as_in(seen, changed, rules) if seen else count_forwarding(changed)
    kept = suspended_wishes.possible(
        changed.pins, set(changed.sites) - changed.fixed, changed.nodes, wanted.lost
    )
    changed, terms = replace(changed, pins=kept.pins), supposed_rules(rules, wanted)
    placing_problem = propose_plan.build(changed, terms)
    done = decide(placing_problem, solver, rules.budget, trigger=0.0, margin=0.0)
    rows, (quality, _) = done.rows, ask_checker(done)
    fresh = scratch(placing_problem, rules.budget).rows if scratch else None
    partition = problem.partition_of(placing_problem, rows)
    return WhatIf(
        problem=placing_problem,
        rows=rows,
        before=score.balance_in_force(placing_problem, changed.parts),
        after=score.balance(placing_problem, rows, changed.parts),
        moves=propose_plan.moves(
            placing_problem, rows, replace(propose_plan.because(changed), left_out=wanted.lost)
        ),
        scratch_moves=None if fresh is None else len(score.new_rows(placing_problem, fresh)),
        quality=quality,
        forecasts=_forecasts(changed, partition, placing_problem.sites),
        asked=float(changed.profiles["requests"].sum()) / facts.period.seconds,
        notes=(
            *filter(None, [quality.note]),
            *remark_on_held(changed.held),
            *remark_on_wishes(kept.suspended),
        ),
    )


def _forecasts(facts: Facts, partition: pd.DataFrame, sites: Sequence[str]) -> tuple[Forecast, ...]:
    """Empty where there are no accesses to replay."""
    if not len(facts.sample.target):
        return ()
    return (
        propose_plan.forecast_with_doors(facts, partition, policy="after"),
        replay_forecast.round_robin(facts.sample, facts.nodes, sites=sites),
    )


def _changed_facts(facts: Facts, wanted: Supposition) -> Facts:
    _refuse_unknown(facts, wanted)
    profiles, spreads = facts.profiles, facts.spreads
    factor = profiles["site"].map(dict(wanted.times)).astype(float).fillna(1.0).to_numpy() * (
        1 + wanted.growth
    )
    grown = {name: np.rint(profiles[name] * factor).astype("int64") for name in VISITS}
    held = np.rint(profiles["working_set"] * (1 + wanted.growth)).astype("int64")
    wider = np.rint(spreads["working_set"] * (1 + wanted.growth)).astype("int64")
    return replace(
        facts,
        profiles=PROFILES.make(profiles.assign(**grown, working_set=held)),
        spreads=SPREADS.make(spreads.assign(working_set=wider)),
        nodes=_nodes(facts.nodes, wanted),
    )


def _nodes(nodes: Sequence[Node], wanted: Supposition) -> tuple[Node, ...]:
    """Files that have grown leave room for so many fewer of them: as if the memory had shrunk."""
    shrunk = wanted.ram / (1 + wanted.growth)
    kept = [
        replace(
            node,
            ram=int(node.ram * shrunk),
            state="down" if node.name in wanted.lost else node.state,
        )
        for node in nodes
    ]
    ram = sorted(node.ram for node in kept)[len(kept) // 2]
    capacity = sorted(node.capacity for node in kept)[len(kept) // 2]
    taken = {node.name for node in kept}
    names = [
        name
        for number in range(1, wanted.more + len(kept) + 1)
        if (name := f"new{number}") not in taken
    ]
    return (*kept, *(Node(name, (), ram, capacity) for name in names[: wanted.more]))


def supposed_rules(rules: Rules, wanted: Supposition) -> Rules:
    """With the aim and the most moves that are supposed."""
    limits = (
        replace(rules.terms.limits, moves=wanted.max_moves)
        if wanted.max_moves is not None
        else rules.terms.limits
    )
    return replace(
        rules,
        tolerance=rules.tolerance if wanted.tolerance is None else wanted.tolerance,
        terms=replace(rules.terms, limits=limits),
    )


def _refuse_unknown(facts: Facts, wanted: Supposition) -> None:
    nodes = [node.name for node in facts.nodes]
    for name in wanted.lost:
        if name not in nodes:
            raise unknown_node(name, nodes)
    for site in wanted.times:
        if site not in facts.sites:
            raise unknown_site(site, facts.sites)
    least = min(wanted.times.values(), default=0.0)
    numbers = {"more": wanted.more, "times": least, "max_moves": wanted.max_moves or 0}
    for name, value in {
        **numbers,
        "growth": wanted.growth + 0.99,
        "ram": wanted.ram - 0.01,
    }.items():
        if not 0 <= value < 10**6:
            raise BadInput(
                f"supposing {name} = {getattr(wanted, name)}",
                "that is no number to suppose",
                kept="nothing is stored by a supposition",
                advice="such as growth 0.2 for a fifth more, ram 2 for twice the "
                "memory, times 3 for a site",
            )

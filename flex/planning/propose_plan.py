"""The program on one page: how a plan is made.

Takes the facts of a night, the operator's rules, solvers, and a name server to read. Returns a
proposal: the plan with its partition. Looks at everything and changes nothing: carry_out_plan.py
does. A dry run is not a flag: it is this first half.

Where a plan goes by times, its notes say of which sites none were counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime

import pandas as pd

from flex.frame_schemas import texts
from flex.model.not_ready import NotReady
from flex.model.plan import Move, Plan, Proven
from flex.model.predicted_node_loads import Benefit, Forecast
from flex.model.wish import Pin
from flex.model.zone_plan import AddressType, ZonePlan
from flex.partition import join_partitions, rows_of_other_sites, sites_in
from flex.placing import explain, failover, problem, score
from flex.placing.explain import Because
from flex.placing.problem import Ints, Problem
from flex.placing.proof_statement import Json
from flex.planning import (
    dependents_of_sites,
    forwarding_load,
    names_edited_by_others,
    names_left_behind,
    remarks_on_forecasts,
    traffic_by_other_names,
)
from flex.planning.ask_checker_of_proofs import ask_checker
from flex.planning.dns_survey import Reach, leading_to
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.hold_sites_not_ready import add_waiting_rows
from flex.planning.movement_rules import Reins
from flex.planning.names_edited_by_others import WithoutEdited
from flex.planning.unmovable_sites import (
    limit_to_reach,
    look_and_start,
    look_around_dead_node,
)
from flex.planning.which_rules_stop_moves import decide_with_stops, put_off
from flex.ports import Publisher, Solver
from flex.prediction import benefit, replay_forecast
from flex.site_names_in_words import first_few
from flex.wishes import suspended_wishes
from flex.zones import names_going_along, records_of_partition, single_family_names, zone_changes
from flex.zones.decisions_in_markers import MarkedDecision


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """`left` are names that lead to a dead node and are not ours to change, with the reason.
    `proof` shows how many moves are needed, where the checker accepted it. `excluded` are sites
    left alone for their markers, and `told_otherwise` those with such a marker that people took in
    again, or whose exclusion has ended.
    """

    plan: Plan
    placement: pd.DataFrame
    left: Mapping[str, str] = field(default_factory=dict)
    proof: Json | None = None
    excluded: Mapping[str, MarkedDecision] = field(default_factory=dict)
    told_otherwise: frozenset[str] = frozenset()


def propose(
    facts: Facts,
    rules: Rules,
    *,
    solver: Solver,
    scratch: Solver,
    publisher: Publisher,
    now: datetime,
) -> Proposal:
    """The best next partition, its moves and why, and the records that would say it. Raises
    Infeasible, naming them, when wishes cannot all be met.
    """
    reach, facts = look_and_start(facts, rules, publisher)
    apart = names_edited_by_others.apart(reach, facts, rules, now)
    return dependents_of_sites.make_what_may_move(
        apart,
        lambda apart: _best_next(apart, rules, solver, scratch, now),
        lambda proposal: proposal.plan.zone_plans,
        rules.dependents,
        publisher,
    )


def _best_next(
    apart: WithoutEdited, rules: Rules, solver: Solver, scratch: Solver, now: datetime
) -> Proposal:
    facts = limit_to_reach(apart.reach, apart.facts)
    reins = Reins(rules.trigger, rules.margin, facts.guard)
    placing_problem, done, stops = decide_with_stops(
        lambda guard: build(replace(facts, guard=guard), rules), solver, rules.budget, reins
    )
    fresh = scratch(placing_problem, rules.budget).rows
    quality, proof = ask_checker(done)
    proposal = draft(placing_problem, done.rows, quality, fresh, facts, rules, apart, now)
    why = because(facts, now)
    later = put_off(
        moves(placing_problem, done.whole, why) if done.later else (),
        proposal.plan.moves,
        stops.of_plan,
        why.pins,
    )
    return replace(
        proposal,
        proof=proof,
        plan=replace(
            proposal.plan,
            stops=stops.of_plan,
            holds=stops.of_sites,
            later=done.later,
            put_off=later,
        ),
    )


def build(facts: Facts, rules: Rules) -> Problem:
    return problem.build(
        facts.profiles,
        facts.spreads,
        facts.nodes,
        facts.pins,
        facts.placement,
        tolerance=rules.tolerance,
        replicate_above=rules.replicate_above,
        fixed=facts.fixed,
        terms=rules.terms,
        lately=facts.guard.lately,
    )


def refuse_impossible(facts: Facts, rules: Rules, pin: Pin) -> None:
    """Raises Unknown or Infeasible where a wish cannot be kept from the start; what others wished
    is no obstacle.
    """
    others = [other for other in facts.pins if other.site != pin.site]
    build(
        replace(
            facts,
            pins=(*suspended_wishes.possible(others, set(facts.sites), facts.nodes).pins, pin),
        ),
        rules,
    )


def fail_over(
    facts: Facts, rules: Rules, dead: str, *, publisher: Publisher, now: datetime
) -> Proposal:
    """Off a dead node: sites with other nodes only lose it, and go first; those without get one.
    Nothing else moves.

    What somebody changed, and what is not at the dead node any more, is left to them.
    """
    reach, facts = look_around_dead_node(facts, rules, dead, publisher)
    there = names_edited_by_others.edits_at_dead_node(reach, facts, rules, dead, now)
    apart = there.apart
    left = leading_to(apart.reach, there.gone, hints=rules.address_hints_follow)
    facts = limit_to_reach(reach, apart.facts)
    placing_problem = build(facts, rules)
    node = placing_problem.nodes.index(dead)
    kept = failover.survivors(placing_problem, node, facts.content.elsewhere)
    rows = failover.rehome(placing_problem, kept, node)
    quality = Proven(
        failover.SOLVER,
        bound=0,
        proven=False,
        note=f"{dead} was taken for dead: what it served goes on elsewhere",
    )
    proposal = draft(placing_problem, rows, quality, rows, facts, rules, apart, now)
    zone_plans = []
    for zone_plan in proposal.plan.zone_plans:
        names = [edit.name for edit in there.edits.get(zone_plan.zone, ())]
        if names:
            zone_plan = zone_changes.drop_overwriting_changes(
                zone_plan,
                apart.reach.states[zone_plan.zone],
                there.records[zone_plan.zone],
                there.gone,
                names,
            )
        # Whatever leans on a name at a dead node is as dead.
        zone_plans.append(replace(zone_changes.losses_first(zone_plan), nothing_leans=()))
    plan = replace(proposal.plan, zone_plans=tuple(zone_plans))
    return replace(proposal, plan=plan, left=left)


def draft(
    placing_problem: Problem,
    rows: Ints,
    quality: Proven,
    fresh: Ints,
    facts: Facts,
    rules: Rules,
    apart: WithoutEdited,
    now: datetime,
) -> Proposal:
    """Everything that follows from the rows: moves, loads, forecasts, records, limits, digest."""
    whole = problem.partition_of(placing_problem, rows)
    ours = rows_of_other_sites(whole, facts.parts)
    partition = add_waiting_rows(ours, facts)
    kept = dict(apart.said.one_family)
    zone_plans = _plans(partition, facts, rules, apart.reach, kept)
    along = names_going_along.pairs_of(zone_plans)
    changed = moves(placing_problem, rows, because(facts, now))
    forecasts = _forecasts(placing_problem, whole, fresh, facts)
    sites = len({*placing_problem.sites, *sites_in(facts.waiting)}) - len(facts.parts)
    digest = zone_changes.digest(zone_plans, partition)
    plan = Plan(
        id=f"{now:%Y%m%dT%H%M%S}-{digest[:12]}",
        created=now,
        period=facts.period,
        base=facts.base,
        digest=digest,
        quality=quality,
        moves=changed,
        scratch_moves=len(score.new_rows(placing_problem, fresh)),
        sites=sites,
        before=score.balance_in_force(placing_problem, facts.parts)
        if _placed_sites(facts)
        else None,
        after=score.balance(placing_problem, rows, facts.parts),
        forecasts=forecasts,
        zone_plans=zone_plans,
        needs={
            name: count
            for site, count in placing_problem.needs.items()
            if (name := placing_problem.sites[site]) not in facts.parts
        },
        grown=tuple(
            sorted({move.site for move in changed if not move.source} & _placed_sites(facts))
        ),
        breaches=zone_changes.breaches(
            changed,
            sites,
            rules.limits,
            new=_new(changed, facts),
            drifted=len(apart.unsure),
            rewritten=zone_changes.count_rewritten_names(
                zone_plans,
                _names_of({move.site for move in changed}, along) | apart.back,
                single_family_names.names_with_more(zone_plans, apart.reach.states),
            ),
        ),
        notes=(
            *filter(None, [quality.note]),
            *facts.remarks,
            *apart.remarks,
            *dependents_of_sites.notes_on_moves(zone_plans, apart.reach, facts, rules.dependents),
            *single_family_names.notes(zone_plans, apart.reach.states, kept, facts.nodes),
            *names_left_behind.warning(changed, zone_plans),
            *remark_on_times(facts.profiles, rules.terms.dimensions),
            *remarks_on_forecasts.remark_on_sample(facts.sample),
            *remarks_on_forecasts.remark_on_forecasts(
                forecasts,
                [placing_problem.nodes[node] for node in sorted(placing_problem.gone)],
                traffic_by_other_names.names_of(set(facts.sample.sites) - sites_in(whole)),
            ),
        ),
        said=apart.said,
        not_ready=tuple(NotReady(site, why) for site, why in sorted(facts.unready.items()) if why),
        benefit=_benefit(forecasts, whole, facts),
    )
    return Proposal(
        plan, partition, excluded=apart.reach.excluded, told_otherwise=apart.reach.told_otherwise
    )


def _plans(
    partition: pd.DataFrame,
    facts: Facts,
    rules: Rules,
    reach: Reach,
    kept: Mapping[str, AddressType],
) -> tuple[ZonePlan, ...]:
    """The names that are `kept` have one family of addresses."""
    along = _names_along(reach)
    every = records_of_partition.records(
        names_going_along.place_names_along(partition, along), facts.nodes, rules.ttl
    )
    wanted = single_family_names.drop_other_family(every, kept)
    of_zone = records_of_partition.split([name for name, _ in along], rules.zones)[0]
    zone_plans = []
    for zone, in_zone in records_of_partition.split_by_zone(wanted, rules.zones).items():
        zone_plan = zone_changes.diff(
            zone,
            in_zone,
            reach.states[zone],
            owner=rules.owner,
            ttl=rules.ttl,
            left_alone=reach.foreign[zone],
            hints=reach.hints,
            dead_hints=reach.dead_hints,
        )
        below = zone_changes.made_below_wildcards(zone_plan, reach.states[zone])
        behind = reach.others.staying_behind_in(zone)
        leaning = dependents_of_sites.leaning_in(zone, reach, facts, rules.dependents)
        alone = dependents_of_sites.names_that_move_alone(zone_plan, reach, facts, rules.dependents)
        names = frozenset(of_zone[zone])
        zone_plan = replace(
            zone_plan,
            stay_behind=behind,
            leaning=leaning,
            nothing_leans=alone,
            go_along=tuple(pair for pair in along if pair[0] in names),
            below_wildcards=below,
        )
        zone_plans.append(zone_plan)
    return tuple(zone_plans)


def _names_along(reach: Reach) -> list[tuple[str, str]]:
    """Each with its site. Where a site is not ours to change by now, and does not carry our marker,
    only names that carry it follow.
    """
    foreign = {name for names in reach.foreign.values() for name in names}
    marked = {name for state in reach.states.values() for name in state.owned}
    return [
        (other.name, other.site)
        for other in reach.others.along
        if records_of_partition.name_of(other.site) not in foreign
        or not marked.isdisjoint(map(records_of_partition.name_of, (other.name, other.site)))
    ]


def _names_of(sites: Set[str], along: Sequence[tuple[str, str]]) -> set[str]:
    """The names in DNS of sites, with those that go along."""
    names = {*sites, *(name for name, site in along if site in sites)}
    return set(map(records_of_partition.name_of, names))


def _placed_sites(facts: Facts) -> frozenset[str]:
    """The sites that have a node and may be given another: none before the first partition."""
    held = facts.fixed - facts.unready.keys()
    placed = (*texts(facts.placement["site"]), *texts(facts.waiting["site"]))
    return frozenset(placed) - held


def because(facts: Facts, now: datetime | None = None) -> Because:
    return Because(
        {pin.site: pin for pin in facts.pins}, {node.name: node.state for node in facts.nodes}, now
    )


def moves(placing_problem: Problem, rows: Ints, why: Because) -> tuple[Move, ...]:
    return tuple(
        Move(
            site=placing_problem.sites[move_reason.site],
            source=None
            if move_reason.source is None
            else placing_problem.nodes[move_reason.source],
            target=None
            if move_reason.target is None
            else placing_problem.nodes[move_reason.target],
            cold_bytes=0
            if move_reason.target is None
            else int(placing_problem.cold[move_reason.site]),
            reason=move_reason.text,
        )
        for move_reason in explain.reasons(placing_problem, rows, why)
    )


def _forecasts(
    placing_problem: Problem, partition: pd.DataFrame, fresh: Ints, facts: Facts
) -> tuple[Forecast, ...]:
    """What a miniature replay says of the partition, and of the four it should be compared with.

    All replay the same accesses: a site that is new is taken to have been before where the
    partition puts it. What was on a node that is in the settings no more cannot be replayed.
    Without accesses nothing can be said.
    """
    sample, nodes = facts.sample, facts.nodes
    if not len(sample.target):
        return ()
    compared = {
        benefit.AFTER: partition,
        benefit.FROM_SCRATCH: problem.partition_of(placing_problem, fresh),
    }
    if _placed_sites(facts) and not placing_problem.gone:
        new = rows_of_other_sites(partition, sites_in(facts.placement))
        compared["before"] = join_partitions(facts.placement, new)
    of_partitions = [
        forecast_with_doors(facts, add_waiting_rows(rows, facts), policy=name)
        for name, rows in sorted(compared.items())
    ]
    return (
        *of_partitions,
        replay_forecast.round_robin(sample, nodes, sites=placing_problem.sites),
        benefit.best(sample, placing_problem.sites, nodes, of_partitions[0]),
    )


def _benefit(
    forecasts: tuple[Forecast, ...], partition: pd.DataFrame, facts: Facts
) -> Benefit | None:
    """Sites that wait have the memory of nodes that round robin goes without: then the forecasts
    are no match.
    """
    if not facts.waiting.empty:
        return None
    return benefit.judge(
        forecasts,
        facts.sample,
        partition,
        facts.nodes,
        lambda sample, rows: forecast_with_doors(
            replace(facts, sample=sample), rows, policy=benefit.AFTER
        ),
        parts=facts.parts,
        enough=remarks_on_forecasts.is_enough(facts.sample),
    )


def forecast_with_doors(facts: Facts, partition: pd.DataFrame, policy: str) -> Forecast:
    """What each node has to do: its sites' answers, and the requests that its door passes on."""
    forecast = replay_forecast.forecast(facts.sample, partition, facts.nodes, policy=policy)
    away = forwarding_load.forwarding(facts, partition)
    return replay_forecast.add_forwarding(forecast, facts.nodes, away.requests, away.bytes)


def _new(moves: Sequence[Move], facts: Facts) -> int:
    """How many sites were never placed before; none of them is new before the first partition."""
    return len({move.site for move in moves} - _placed_sites(facts)) if _placed_sites(facts) else 0


# Sites without times that get fewer of the requests than this make no difference to a plan.
FEW = 0.01
# The column that says whether any was counted, and what to do where none was.
COUNTED = {
    "service time": (
        "timed",
        "log $upstream_response_time, %D or another time (docs/reference/formats.md)",
    ),
    "cpu": (
        "cpu_us",
        "name the cgroups of sites on the nodes that send counts ([[ingest.cpu]] there)",
    ),
}


def remark_on_times(profiles: pd.DataFrame, dimensions: Collection[str]) -> Iterator[str]:
    """That a plan cannot go by what was not counted: such a site seems to ask for nothing."""
    for name in dimensions:
        if name in COUNTED:
            yield from _remark_on_dimension(profiles, name, *COUNTED[name])


def _remark_on_dimension(
    profiles: pd.DataFrame, name: str, column: str, advice: str
) -> Iterator[str]:
    visited = profiles[profiles["requests"] > 0]
    if not len(visited):
        return
    without = visited[visited[column] == 0]
    if len(without) == len(visited):
        yield (
            f"{name}: none was counted in these days, so the plan does not go by it: "
            f"{advice}, or take it out of solver.dimensions"
        )
        return
    share = without["requests"].sum() / visited["requests"].sum()
    if share > FEW:
        busiest = without.sort_values(["requests", "site"], ascending=[False, True])
        yield (
            f"{name}: none was counted of {first_few(texts(busiest['site']))}, which "
            f"get {share:.0%} of the requests and seem to take none: {advice}"
        )
    elif name == "service time":
        timed = visited["timed"].sum() / visited["requests"].sum()
        if timed < 1 - FEW:
            yield (
                f"{name}: {1 - timed:.0%} of the answers do not say how long they took, "
                f"and count as if they took no time: {advice}"
            )

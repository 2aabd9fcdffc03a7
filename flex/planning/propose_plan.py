"""The program on one page: how a plan is made.

Takes the facts of a night, the operator's rules, solvers, and a name server to read. Returns a
proposal: the plan with its partition. Looks at everything and changes nothing: carry_out_plan.py
does. A dry run is not a flag: it is this first half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime

import pandas as pd

from flex.model.not_ready import NotReady
from flex.model.plan import Move, Plan, Proven
from flex.model.predicted_node_loads import Benefit, Forecast
from flex.model.wish import Pin
from flex.model.zone_plan import AddressType, ZonePlan
from flex.placing import explain, failover, problem, score
from flex.placing.explain import Because
from flex.placing.problem import Ints, Problem
from flex.placing.proof_statement import Json
from flex.planning import (
    load_from_forwarding_at_doors,
    names_edited_by_others,
    names_left_behind,
    remarks_on_forecasts,
    remarks_on_times,
    sites_that_stay_for_dependents,
)
from flex.planning.ask_checker_of_proofs import ask_checker
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.hold_sites_not_ready import with_waiting
from flex.planning.leave_out_the_immovable import look_and_start, look_around_dead_node, within
from flex.planning.names_edited_by_others import WithoutEdited
from flex.planning.rules_of_movement import Reins
from flex.planning.which_rules_stop_moves import decide_with_stops, put_off
from flex.planning.which_sites_dns_lets_flex_move import Reach, leading_to
from flex.ports import Publisher, Solver
from flex.prediction import benefit, predict
from flex.table_schemas import PLACEMENT, texts
from flex.wishes import suspended_wishes
from flex.zones import address_families, names_going_along, records_of_partition, zone_changes
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
    found, facts = look_and_start(facts, rules, publisher)
    apart = names_edited_by_others.apart(found, facts, rules, now)
    return sites_that_stay_for_dependents.without_them(
        apart,
        lambda apart: _best_next(apart, rules, solver, scratch, now),
        lambda made: made.plan.zone_plans,
        rules.dependents,
        publisher,
    )


def _best_next(
    apart: WithoutEdited, rules: Rules, solver: Solver, scratch: Solver, now: datetime
) -> Proposal:
    facts = within(apart.found, apart.facts)
    reins = Reins(rules.trigger, rules.margin, facts.guard)
    asked, done, stops = decide_with_stops(
        lambda guard: build(replace(facts, guard=guard), rules), solver, rules.budget, reins
    )
    fresh = scratch(asked, rules.budget).rows
    quality, proof = ask_checker(done)
    made = draft(asked, done.rows, quality, fresh, facts, rules, apart, now)
    why = because(facts, now)
    later = put_off(
        moves(asked, done.whole, why) if done.later else (),
        made.plan.moves,
        stops.of_plan,
        why.pins,
    )
    return replace(
        made,
        proof=proof,
        plan=replace(
            made.plan, stops=stops.of_plan, holds=stops.of_sites, later=done.later, put_off=later
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
    found, facts = look_around_dead_node(facts, rules, dead, publisher)
    there = names_edited_by_others.at_dead_node(found, facts, rules, dead, now)
    apart = there.apart
    left = leading_to(apart.found, there.gone, hints=rules.address_hints_follow)
    facts = within(found, apart.facts)
    asked = build(facts, rules)
    node = asked.nodes.index(dead)
    kept = failover.survivors(asked, node, facts.content.elsewhere)
    rows = failover.rehome(asked, kept, node)
    quality = Proven(
        failover.SOLVER,
        bound=0,
        proven=False,
        note=f"{dead} was taken for dead: what it served goes on elsewhere",
    )
    made = draft(asked, rows, quality, rows, facts, rules, apart, now)
    zone_plans = []
    for one in made.plan.zone_plans:
        names = [edit.name for edit in there.edits.get(one.zone, ())]
        if names:
            one = zone_changes.without_overwriting(
                one, apart.found.states[one.zone], there.records[one.zone], there.gone, names
            )
        # Whatever leans on a name at a dead node is as dead.
        zone_plans.append(replace(zone_changes.losses_first(one), nothing_leans=()))
    plan = replace(made.plan, zone_plans=tuple(zone_plans))
    return replace(made, plan=plan, left=left)


def draft(
    asked: Problem,
    rows: Ints,
    quality: Proven,
    fresh: Ints,
    facts: Facts,
    rules: Rules,
    apart: WithoutEdited,
    now: datetime,
) -> Proposal:
    """Everything that follows from the rows: moves, loads, forecasts, records, limits, digest."""
    whole = problem.partition_of(asked, rows)
    ours = whole[~whole["site"].isin(list(facts.parts))].reset_index(drop=True)
    partition = with_waiting(ours, facts)
    kept = dict(apart.said.one_family)
    zone_plans = _plans(partition, facts, rules, apart.found, kept)
    along = names_going_along.pairs_of(zone_plans)
    changed = moves(asked, rows, because(facts, now))
    forecasts = _forecasts(asked, whole, fresh, facts)
    sites = len({*asked.sites, *texts(facts.waiting["site"])}) - len(facts.parts)
    digest = zone_changes.digest(zone_plans, partition)
    plan = Plan(
        id=f"{now:%Y%m%dT%H%M%S}-{digest[:12]}",
        created=now,
        period=facts.period,
        base=facts.base,
        digest=digest,
        quality=quality,
        moves=changed,
        scratch_moves=len(score.new_rows(asked, fresh)),
        sites=sites,
        before=score.balance_in_force(asked, facts.parts) if _placed_sites(facts) else None,
        after=score.balance(asked, rows, facts.parts),
        forecasts=forecasts,
        zone_plans=zone_plans,
        needs={
            name: count
            for site, count in asked.needs.items()
            if (name := asked.sites[site]) not in facts.parts
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
                address_families.names_with_more(zone_plans, apart.found.states),
            ),
        ),
        notes=(
            *filter(None, [quality.note]),
            *facts.remarks,
            *apart.remarks,
            *sites_that_stay_for_dependents.notes_on_moves(
                zone_plans, apart.found, facts, rules.dependents
            ),
            *address_families.notes(zone_plans, apart.found.states, kept, facts.nodes),
            *names_left_behind.warning(changed, zone_plans),
            *remarks_on_times.of_times(facts.profiles, rules.terms.dimensions),
            *remarks_on_forecasts.of_sample(facts.sample),
            *remarks_on_forecasts.of_forecasts(
                forecasts,
                [asked.nodes[node] for node in sorted(asked.gone)],
                sorted(set(facts.sample.sites) - set(texts(whole["site"]))),
            ),
        ),
        said=apart.said,
        not_ready=tuple(NotReady(site, why) for site, why in sorted(facts.unready.items()) if why),
        benefit=_benefit(forecasts, whole, facts),
    )
    return Proposal(
        plan, partition, excluded=apart.found.excluded, told_otherwise=apart.found.told_otherwise
    )


def _plans(
    partition: pd.DataFrame,
    facts: Facts,
    rules: Rules,
    found: Reach,
    kept: Mapping[str, AddressType],
) -> tuple[ZonePlan, ...]:
    """The names that are `kept` have one family of addresses."""
    along = _names_along(found)
    every = records_of_partition.records(
        names_going_along.with_names(partition, along), facts.nodes, rules.ttl
    )
    wanted = address_families.without_the_other(every, kept)
    of_zone = records_of_partition.split([name for name, _ in along], rules.zones)[0]
    made = []
    for zone, in_zone in records_of_partition.in_zones(wanted, rules.zones).items():
        one = zone_changes.diff(
            zone,
            in_zone,
            found.states[zone],
            owner=rules.owner,
            ttl=rules.ttl,
            left_alone=found.foreign[zone],
            hints=found.hints,
            dead_hints=found.dead_hints,
        )
        below = zone_changes.made_below_wildcards(one, found.states[zone])
        behind = found.others.staying_behind_in(zone)
        leaning = sites_that_stay_for_dependents.leaning_in(zone, found, facts, rules.dependents)
        alone = sites_that_stay_for_dependents.names_that_move_alone(
            one, found, facts, rules.dependents
        )
        names = frozenset(of_zone[zone])
        one = replace(
            one,
            stay_behind=behind,
            leaning=leaning,
            nothing_leans=alone,
            go_along=tuple(pair for pair in along if pair[0] in names),
            below_wildcards=below,
        )
        made.append(one)
    return tuple(made)


def _names_along(found: Reach) -> list[tuple[str, str]]:
    """Each with its site. Where a site is not ours to change by now, and does not carry our marker,
    only names that carry it follow.
    """
    foreign = {name for names in found.foreign.values() for name in names}
    marked = {name for state in found.states.values() for name in state.owned}
    return [
        (other.name, other.site)
        for other in found.others.along
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


def moves(asked: Problem, rows: Ints, why: Because) -> tuple[Move, ...]:
    return tuple(
        Move(
            site=asked.sites[one.site],
            source=None if one.source is None else asked.nodes[one.source],
            target=None if one.target is None else asked.nodes[one.target],
            cold_bytes=0 if one.target is None else int(asked.cold[one.site]),
            reason=one.text,
        )
        for one in explain.reasons(asked, rows, why)
    )


def _forecasts(
    asked: Problem, partition: pd.DataFrame, fresh: Ints, facts: Facts
) -> tuple[Forecast, ...]:
    """What a miniature replay says of the partition, and of the four it should be compared with.

    All replay the same accesses: a site that is new is taken to have been before where the
    partition puts it. What was on a node that is in the settings no more cannot be replayed.
    Without accesses nothing can be said.
    """
    sample, nodes = facts.sample, facts.nodes
    if not len(sample.target):
        return ()
    compared = {benefit.AFTER: partition, benefit.FROM_SCRATCH: problem.partition_of(asked, fresh)}
    if _placed_sites(facts) and not asked.gone:
        new = partition[~partition["site"].isin(facts.placement["site"])]
        compared["before"] = PLACEMENT.make(pd.concat([facts.placement, new], ignore_index=True))
    of_partitions = [
        forecast_with_doors(facts, with_waiting(rows, facts), policy=name)
        for name, rows in sorted(compared.items())
    ]
    return (
        *of_partitions,
        predict.round_robin(sample, nodes, sites=asked.sites),
        benefit.best(sample, asked.sites, nodes, of_partitions[0]),
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
    made = predict.forecast(facts.sample, partition, facts.nodes, policy=policy)
    away = load_from_forwarding_at_doors.forwarding(facts, partition)
    return predict.with_forwarding(made, facts.nodes, away.requests, away.bytes)


def _new(moves: Sequence[Move], facts: Facts) -> int:
    """How many sites were never placed before; none of them is new before the first partition."""
    return len({move.site for move in moves} - _placed_sites(facts)) if _placed_sites(facts) else 0

"""The program on one page: propose() and carry_out().

propose() looks at everything and changes nothing: a dry run is not a flag, it is the first half.
carry_out() does exactly what a proposal says, or refuses; never something like it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pandas as pd

from flex import explain, plan, predict, problem, records, score
from flex.decide import decide
from flex.domain import Cycle, Forecast, Limits, Move, Node, Period, Pin, Plan, Proven, Verdict
from flex.errors import DnsError, Held, Infeasible, PartlyApplied, StoreError, Unverified
from flex.ports import Cycles, DnsTarget, Solver
from flex.problem import Budget, Ints, Problem
from flex.replay import Sample
from flex.tables import PLACEMENT


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What a proposal is made from. `base` is the cycle in force and `placement` where it put every site."""

    period: Period
    profiles: pd.DataFrame
    spreads: pd.DataFrame
    sample: Sample
    nodes: tuple[Node, ...]
    pins: tuple[Pin, ...]
    base: str
    placement: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator decided: how balanced, how much movement, which zones, in whose name.

    Nothing moves while the worst node stays within `trigger`; then the aim is `tolerance`, which is narrower,
    so that the next day's drift does not call for the next move. A plan that betters the worst node by less than
    `margin` is not worth its cold caches.
    """

    tolerance: float
    trigger: float
    margin: float
    replicate_above: float
    limits: Limits
    zones: tuple[str, ...]
    owner: str
    ttl: int
    adopt: bool
    budget: Budget


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    cycle: Cycle
    placement: pd.DataFrame


def propose(
    facts: Facts, rules: Rules, *, solver: Solver, scratch: Solver, target: DnsTarget, now: datetime
) -> Proposal:
    """The best next placement, what it moves and why, and the records that would say it.

    Raises Infeasible, naming them, when wishes cannot all be met.
    """
    states = _read(facts, rules, target)
    facts = replace(facts, placement=_adopted(facts, rules, states))
    asked = build(facts, rules)
    rows, quality = decide(asked, solver, rules.budget, trigger=rules.trigger, margin=rules.margin)
    fresh = scratch(asked, rules.budget).rows
    return draft(asked, rows, quality, fresh, facts, rules, states, now)


def build(facts: Facts, rules: Rules) -> Problem:
    return problem.build(
        facts.profiles,
        facts.spreads,
        facts.nodes,
        facts.pins,
        facts.placement,
        tolerance=rules.tolerance,
        replicate_above=rules.replicate_above,
    )


def with_pins(facts: Facts, pins: tuple[Pin, ...]) -> Facts:
    """The same facts with other pins: to see what a wish would do before it is made."""
    return replace(facts, pins=pins)


def go_back(
    facts: Facts, rules: Rules, earlier: pd.DataFrame, *, scratch: Solver, target: DnsTarget, now: datetime
) -> Proposal:
    """An ordinary proposal whose placement is an earlier one. Sites that are newer than it stay where they are."""
    asked = build(facts, rules)
    newer = facts.placement[~facts.placement["site"].isin(list(earlier["site"]))]
    rows = problem.rows_of(asked, PLACEMENT.make(pd.concat([earlier, newer], ignore_index=True)))
    closed = sorted({asked.nodes[n] for n in rows[:, 1] if not asked.open[n]})
    if closed:
        raise Infeasible(
            "going back to the earlier placement",
            f"it uses {', '.join(closed)}, which takes no sites now",
            kept="the placement in force stays",
            advice=f"undrain {closed[0]} first, or go back to another one (`flex plan list`)",
        )
    quality = Proven("rollback", bound=0, proven=False, note="an earlier placement, as it was")
    return draft(
        asked, rows, quality, scratch(asked, rules.budget).rows, facts, rules, _read(facts, rules, target), now
    )


def draft(
    asked: Problem,
    rows: Ints,
    quality: Proven,
    fresh: Ints,
    facts: Facts,
    rules: Rules,
    states: Mapping[str, records.ZoneState],
    now: datetime,
) -> Proposal:
    """Everything that follows from the rows: moves, loads, forecasts, records, limits, digest."""
    placement = problem.placement_of(asked, rows)
    plans, outside = _plans(placement, facts, rules, states)
    moves = _moves(asked, rows)
    drifted = _drifted(facts, rules, states)
    digest = plan.digest(plans, placement)
    cycle = Cycle(
        id=f"{now:%Y%m%dT%H%M%S}-{digest[:12]}",
        created=now,
        period=facts.period,
        base=facts.base,
        digest=digest,
        quality=quality,
        moves=moves,
        scratch_moves=len(score.moved(asked, fresh)),
        sites=len(asked.sites),
        before=score.balance(asked, asked.old) if len(asked.old) else None,
        after=score.balance(asked, rows),
        forecasts=_forecasts(asked, placement, fresh, facts),
        plans=plans,
        breaches=plan.breaches(moves, len(asked.sites), rules.limits, new=_new(moves, facts), drifted=len(drifted)),
        notes=_notes(quality, outside, plans, drifted),
    )
    return Proposal(cycle, placement)


def carry_out(
    cycle: Cycle,
    placement: pd.DataFrame,
    *,
    nodes: Sequence[Node],
    ttl: int,
    target: DnsTarget,
    store: Cycles,
    now: datetime,
) -> Cycle:
    """Make the proposal true in DNS, check what the name servers answer, and put the placement in force.

    Safe to repeat: a run that was killed in the middle is finished by calling this again.
    Raises Held when another placement came into force since the proposal was made, a DnsError when nothing was
    changed, PartlyApplied when some of it was, Unverified when the servers do not agree with what was applied.
    """
    in_force, _ = store.placement()
    if in_force != cycle.base:
        raise _outdated(cycle, in_force)
    begun = cycle.state == "applying"
    cycle = replace(cycle, state="applying", message="")
    store.update(cycle)
    _apply(cycle, target, store, begun=begun)
    verdicts = check(cycle, placement, nodes, ttl, target)
    cycle = replace(cycle, state="applied", settled=now, verdicts=verdicts)
    _settle(cycle, placement, store)
    if wrong := [verdict for verdict in verdicts if not verdict.agrees]:
        raise _unverified(wrong)
    return cycle


def _settle(cycle: Cycle, placement: pd.DataFrame, store: Cycles) -> None:
    try:
        store.settle(cycle, placement)
    except StoreError as error:
        raise PartlyApplied(
            error.asked,
            error.answer,
            kept="DNS says what the plan says; only the record of it is missing",
            advice=f"{error.advice}; then `flex apply --resume` writes it",
        ) from error


def check(
    cycle: Cycle, placement: pd.DataFrame, nodes: Sequence[Node], ttl: int, target: DnsTarget
) -> tuple[Verdict, ...]:
    """What every name server says of the placement, zone by zone."""
    wanted = records.records(placement, nodes, ttl)
    zones = [one.zone for one in cycle.plans]
    return tuple(verdict for one in cycle.plans for verdict in target.verify(one.zone, _wanted_in(one, wanted, zones)))


def abandon(
    cycle: Cycle,
    placement: pd.DataFrame,
    *,
    nodes: Sequence[Node],
    zones: Sequence[str],
    target: DnsTarget,
    store: Cycles,
) -> Cycle:
    """Give up a half-applied proposal: what DNS says now becomes the placement in force, site by site.

    Where DNS says nothing of ours, the placement that was in force stays.
    """
    _, in_force = store.placement()
    of_zone, _ = records.split(sorted(set(placement["site"])), zones)
    found = [
        records.placement_from(target.read(zone, [records.name_of(site) for site in sites]).records, sites, nodes)
        for zone, sites in of_zone.items()
        if sites
    ]
    said = pd.concat(found, ignore_index=True) if found else PLACEMENT.empty()
    kept = in_force[~in_force["site"].isin(list(said["site"]))]
    ended = replace(cycle, state="failed", message="given up half-way; what DNS says is in force")
    store.settle(ended, PLACEMENT.make(pd.concat([said, kept], ignore_index=True)))
    return ended


def _read(facts: Facts, rules: Rules, target: DnsTarget) -> dict[str, records.ZoneState]:
    sites = sorted(set(facts.profiles["site"]) | set(facts.placement["site"]))
    of_zone, _ = records.split(sites, rules.zones)
    return {zone: target.read(zone, [records.name_of(site) for site in of_zone[zone]]) for zone in rules.zones}


def _adopted(facts: Facts, rules: Rules, states: Mapping[str, records.ZoneState]) -> pd.DataFrame:
    """Before the first cycle, what DNS says is the placement to start from, if the operator lets us take it over."""
    if facts.base or not rules.adopt or not states:
        return facts.placement
    found = pd.concat([state.records for state in states.values()], ignore_index=True)
    return records.placement_from(found, list(facts.profiles["site"]), facts.nodes)


def _plans(
    placement: pd.DataFrame, facts: Facts, rules: Rules, states: Mapping[str, records.ZoneState]
) -> tuple[tuple[Plan, ...], list[str]]:
    wanted = records.records(placement, facts.nodes, rules.ttl)
    of_zone, outside = records.split(sorted(set(placement["site"])), rules.zones)
    plans = []
    for zone, sites in of_zone.items():
        names = [records.name_of(site) for site in sites]
        in_zone = wanted[wanted["name"].isin(names)]
        ours = _ours(states[zone], sites, facts.nodes) if rules.adopt else frozenset()
        plans.append(plan.diff(zone, in_zone, states[zone], owner=rules.owner, ttl=rules.ttl, ours=ours))
    return tuple(plans), outside


def _ours(state: records.ZoneState, sites: Sequence[str], nodes: Sequence[Node]) -> frozenset[str]:
    """The names that an operator lets us take over: those whose every address is a node's."""
    found = records.placement_from(state.records, sites, nodes)
    return frozenset(records.name_of(site) for site in found["site"])


def _moves(asked: Problem, rows: Ints) -> tuple[Move, ...]:
    return tuple(
        Move(
            site=asked.sites[why.site],
            source=None if why.source is None else asked.nodes[why.source],
            target=asked.nodes[why.target],
            cold_bytes=int(asked.cold[why.site]),
            reason=why.text,
        )
        for why in explain.reasons(asked, rows)
    )


def _forecasts(asked: Problem, placement: pd.DataFrame, fresh: Ints, facts: Facts) -> tuple[Forecast, ...]:
    """What a miniature replay says of the placement, and of the three it should be compared with."""
    sample, nodes = facts.sample, facts.nodes
    compared = {"after": placement, "from scratch": problem.placement_of(asked, fresh)}
    if len(asked.old):
        compared["before"] = problem.placement_of(asked, asked.old)
    of_placements = (predict.forecast(sample, rows, nodes, policy=name) for name, rows in sorted(compared.items()))
    return (*of_placements, predict.round_robin(sample, nodes))


def _new(moves: Sequence[Move], facts: Facts) -> int:
    """How many sites were never placed before; none of them is new before the first partition."""
    known = set(facts.placement["site"])
    return len({move.site for move in moves} - known) if known else 0


def _drifted(facts: Facts, rules: Rules, states: Mapping[str, records.ZoneState]) -> list[str]:
    """The names that somebody else changed since the placement in force was applied."""
    if not facts.base:
        return []
    in_force = records.records(facts.placement, facts.nodes, rules.ttl)
    return [name for _, state in sorted(states.items()) for name in plan.drifted(state, in_force)]


def _notes(quality: Proven, outside: Sequence[str], plans: Sequence[Plan], drifted: Sequence[str]) -> tuple[str, ...]:
    notes = [quality.note] if quality.note else []
    if outside:
        notes.append(f"in no zone of the settings, so DNS does not follow: {_some(outside)}")
    if drifted:
        notes.append(f"changed in DNS by somebody else, or a node has other addresses now: {_some(drifted)}")
    foreign = [name for one in plans for name in one.foreign]
    if foreign:
        notes.append(f"not ours, so left alone: {_some(foreign)}")
    return tuple(notes)


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _apply(cycle: Cycle, target: DnsTarget, store: Cycles, *, begun: bool) -> None:
    """Zone by zone. What an earlier attempt began stays "applying" when this one fails: some of it may be in DNS."""
    applied: list[str] = []
    for one in cycle.plans:
        try:
            target.apply(one)
        except (DnsError, PartlyApplied) as error:
            half = begun or bool(applied) or isinstance(error, PartlyApplied)
            store.update(replace(cycle, state="applying" if half else "failed", message=str(error)))
            if applied and isinstance(error, DnsError):
                raise _partly(error, applied) from error
            raise
        applied.append(one.zone)


def _partly(error: DnsError, applied: Sequence[str]) -> PartlyApplied:
    return PartlyApplied(
        error.asked,
        error.answer,
        kept=f"{', '.join(applied)} changed already; {error.kept}",
        advice=f"{error.advice}; then `flex apply --resume` finishes it",
    )


def _wanted_in(one: Plan, wanted: pd.DataFrame, zones: Sequence[str]) -> pd.DataFrame:
    """The records of one zone that FLEX answers for: those of others in it are left out."""
    foreign = {entry.split(" ", 1)[0] for entry in one.foreign}
    names = wanted["name"].unique()
    ours = [name for name in names if records.zone_of(name, zones) == one.zone and name not in foreign]
    return wanted[wanted["name"].isin(ours)].reset_index(drop=True)


def _outdated(cycle: Cycle, in_force: str) -> Held:
    return Held(
        f"applying {cycle.id}",
        f"it was made when {cycle.base or 'nothing'} was in force; now {in_force or 'nothing'} is",
        kept="nothing was changed",
        advice="make a new plan with `flex plan`",
    )


def _unverified(wrong: Sequence[Verdict]) -> Unverified:
    first = wrong[0]
    return Unverified(
        "checking what the name servers answer",
        f"{first.server}: {first.error or f'{len(first.wrong)} of {first.checked} record sets differ'}",
        kept="the changes are applied and the placement is in force",
        advice="`flex verify` shows every difference; a secondary may only be late",
    )

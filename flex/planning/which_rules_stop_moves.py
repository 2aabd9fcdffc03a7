"""Which rules of movement keep moves from being made: each rule is taken away in turn, and the
decision is made again.

Takes a Problem and the rules. Returns the decision under these rules, and Stops. A rule is named if
without it more sites would move, or the nodes would be nearer to balance. Where the plan would be
no better, and other sites would move in place of these, the rule holds those sites: that is told of
them, and not of the plan. Where no single rule is enough, the rules are named that are enough
together, and none that is not needed; `override` then names all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from flex.model.limits_and_approvals import Stop
from flex.model.plan import Move
from flex.placing import score
from flex.placing import tonights_part_of_plan as waves
from flex.placing.problem import Budget, Ints, Lately, Problem, Solution
from flex.planning.decide_moves_of_tonight import (
    Decision,
    decide,
    due_nodes,
    repairs_first,
    resting,
    urgent_sites,
)
from flex.planning.movement_rules import (
    HOLD,
    LIFTED,
    MARGIN,
    RULES,
    TRIGGER,
    Guard,
    Reins,
    limits_without,
)
from flex.ports import Solver
from flex.zones import zone_changes

# The part of the time for the first question where others follow, and the least part that each has
# when the others took all of it. Guesses.
FOR_FIRST = 0.6
LEAST = 0.05
# So many sites that would move are named in a sentence.
NAMED = 5
# The rules that decide where to go in the end; those of LIFTED decide how much of the way is gone
# tonight.
AIMS = tuple(rule for rule in RULES if rule not in LIFTED)

# The Problem as it is under a guard: who needed replicas lately keeps them.
Build = Callable[[Guard], Problem]


@dataclass(frozen=True, slots=True, eq=False)
class _Night:
    """What is asked about: the rules in force, and how to decide under others."""

    build: Build
    solver: Solver
    budget: Budget
    reins: Reins

    def decide_without_rules(
        self, rules: Collection[str], *, in_one_night: bool = False
    ) -> tuple[Problem, Decision]:
        """What is to be done without the rules, and as much of it as there is `in_one_night` where
        nobody asks what comes later.
        """
        reins = self.reins.lift_rules(rules)
        problem, guard = self.build(reins.guard), reins.guard
        if in_one_night:
            guard = replace(guard, limits=None)
        return problem, decide(
            problem,
            self.solver,
            self.budget,
            trigger=reins.trigger,
            margin=reins.margin,
            guard=guard,
        )


@dataclass(frozen=True, slots=True)
class Stops:
    """`of_plan` kept a better plan from being made, rules on where to go in the end first, then the
    limits of a night. Without those `of_sites` the plan would be no better, and other sites would
    move: those that each of them names.
    """

    of_plan: tuple[Stop, ...] = ()
    of_sites: tuple[Stop, ...] = ()


def decide_with_stops(
    build: Build, solver: Solver, budget: Budget, reins: Reins
) -> tuple[Problem, Decision, Stops]:
    """What was asked, what is to be done, and what keeps more from being done. Raises
    Infeasible.
    """
    building = _building_once(build)
    asking = _sharing_time(solver, _questions(building, reins))
    night = _Night(building, asking, budget, reins)
    problem, done = night.decide_without_rules(())
    aims = _Aims(problem, done, night)
    stopping, moving = (aims.rules_for(aims.is_better_without), aims.rules_for(aims.moved_without))
    named = {rule for rule, _ in stopping}
    limits = tuple(_stops_by_limits(problem, done, reins.guard))
    return (
        problem,
        done,
        Stops(
            (*(aims.stop(*each) for each in stopping), *limits),
            tuple(aims.stop(*each) for each in moving if each[0] not in named),
        ),
    )


def _building_once(build: Build) -> Build:
    """The same Problem, made once for what the nights before mean for replicas: of a guard nothing
    else is in it.
    """
    known: list[tuple[Lately, Problem]] = []

    def built_once(guard: Guard) -> Problem:
        lately = guard.lately
        for earlier, problem in known:
            if earlier == lately:
                return problem
        problem = build(guard)
        known.append((lately, problem))
        return problem

    return built_once


def _questions(build: Build, reins: Reins) -> int:
    """How many questions there are: most rules, taken away alone, leave the question as it is."""
    guards = [reins.guard, *(reins.lift_rules([rule]).guard for rule in AIMS)]
    every = {_key(resting(build(guard), guard)) for guard in guards}
    return len(every) + repairs_first(build(reins.guard), reins.trigger, reins.guard)


def _sharing_time(solver: Solver, questions: int) -> Solver:
    """The same solver, which is asked each question once. All questions share the time of one: the
    first has the most of it, and each at least a little.
    """
    known: dict[object, Solution] = {}
    spent = 0.0

    def ask(problem: Problem, budget: Budget) -> Solution:
        nonlocal spent
        key = _key(problem)
        if key not in known:
            part = 1.0
            if questions > 1:
                part = (1 - FOR_FIRST) / (questions - 1) if known else FOR_FIRST
            left = max(LEAST * budget.seconds, budget.seconds - spent)
            started = time.monotonic()
            known[key] = solver(problem, replace(budget, seconds=min(part * budget.seconds, left)))
            spent += time.monotonic() - started
        return known[key]

    return ask


def _key(problem: Problem) -> object:
    """All in which questions of one night differ."""
    return (
        problem.replicas.tobytes(),
        problem.load.tobytes(),
        frozenset(problem.pinned.items()),
        problem.resting,
        problem.tolerance,
        problem.apart,
        problem.together,
    )


def put_off(
    whole: Iterable[Move], tonight: Iterable[Move], stops: Iterable[Stop], wished: Collection[str]
) -> tuple[Move, ...]:
    """The moves that are left to the next nights, each with its reason and the limits that leave
    it: of sites that somebody `wished` something for first. A site that moves tonight leaves
    nothing, as sites switch whole.
    """
    moving_sites = {move.site for move in tonight}
    limits = ", ".join(f"{stop.rule} is {stop.limit}" for stop in stops if stop.rule in LIFTED)
    left = sorted(
        (move for move in whole if move.site not in moving_sites),
        key=lambda move: move.site not in wished,
    )
    return tuple(
        replace(move, reason=f"{move.reason}; put off to a later night: {limits}") for move in left
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Aims:
    """What would be planned without rules on where to go in the end, each answer found once."""

    asked: Problem
    done: Decision
    night: _Night
    known: dict[frozenset[str], tuple[Problem, Ints]] = field(default_factory=dict)

    def rules_for(
        self, enough: Callable[[Collection[str]], object]
    ) -> list[tuple[str, tuple[str, ...]]]:
        """Each rule that is enough alone; else those that are enough together. With the rules that
        must go with it.
        """
        if alone := [rule for rule in AIMS if enough([rule])]:
            return [(rule, (rule,)) for rule in alone]
        if not enough(AIMS):
            return []
        together = tuple(_least(AIMS, enough))
        return [(rule, together) for rule in together]

    def is_better_without(self, rules: Collection[str]) -> bool:
        """More sites move, or the nodes are nearer to balance, or more wishes are kept."""
        if not self.moved_without(rules):
            return False
        now, then = self._plan(()), self._plan(rules)
        return (
            len(_sites(*then)) > len(_sites(*now))
            or _outside(*then) < _outside(*now) - score.ROUNDING
            or _broken_wishes(*then) < _broken_wishes(*now)
        )

    def moved_without(self, rules: Collection[str]) -> frozenset[str]:
        """The sites with changes that are not planned with the rules."""
        changes = _changes(*self._plan(rules)) - _changes(*self._plan(()))
        return frozenset(site for site, *_ in changes)

    def stop(self, rule: str, together: Sequence[str]) -> Stop:
        sites = self.moved_without(together)
        return _stop(rule, together, sites, self.asked, self.done, self.night)

    def _plan(self, rules: Collection[str]) -> tuple[Problem, Ints]:
        key = frozenset(rules)
        if not key:
            return self.asked, self.done.whole
        if key not in self.known:
            without, then = self.night.decide_without_rules(key, in_one_night=True)
            self.known[key] = without, then.whole
        return self.known[key]


def _stops_by_limits(problem: Problem, done: Decision, guard: Guard) -> Iterator[Stop]:
    limits = guard.limits
    if not done.later or limits is None:
        return
    over = {
        rule: (limit, actual)
        for rule, limit, actual in waves.exceeded_limits(problem, done.whole, limits)
    }
    due, urgent = due_nodes(problem, guard), urgent_sites(problem, guard)

    def lets_all(rules: Collection[str]) -> bool:
        return not waves.first(problem, done.whole, limits_without(limits, rules), due, urgent)[1]

    needed = _least(tuple(over), lets_all)
    tonight = _changes(problem, done.rows)
    sites = tuple(sorted({site for site, *_ in _changes(problem, done.whole) - tonight}))
    more = f"{done.later:,} more move{'' if done.later == 1 else 's'}"
    for rule in needed:
        counted = zone_changes.RULES[rule]
        sentence = f"the limits of a night leave {more} to the next ones (in all, {counted})"
        yield Stop(rule, *over[rule], sentence, override=_override(needed), sites=sites)


def _least(rules: Sequence[str], enough: Callable[[Collection[str]], object]) -> list[str]:
    """Rules that are enough together, none of which can be left out."""
    needed = list(rules)
    for rule in rules:
        others = [other for other in needed if other != rule]
        if enough(others):
            needed = others
    return needed


def _stop(
    rule: str,
    together: Sequence[str],
    sites: frozenset[str],
    problem: Problem,
    done: Decision,
    night: _Night,
) -> Stop:
    guard, past, named = night.reins.guard, _override(together), tuple(sorted(sites))
    match rule:
        case rule if rule == TRIGGER:
            within = "while the worst node is within the trigger"
            sentence = (
                f"only what is wished or has to leave its node moves {within}"
                if _changes(problem, done.whole)
                else f"nothing moves {within}"
            )
            return Stop(
                rule, f"{night.reins.trigger:.1%}", f"{done.worst:.1%}", sentence, past, named
            )
        case rule if rule == HOLD:
            sentence = "the imbalance has not lasted for long enough"
            return Stop(rule, f"{guard.hold} runs", f"{guard.over}", sentence, past, named)
        case rule if rule == MARGIN:
            _, then = night.decide_without_rules(
                [other_rule for other_rule in together if other_rule != rule]
            )
            gain = done.worst - (done.worst if then.reached is None else then.reached)
            sentence = "the best plan found betters the worst node by less"
            return Stop(rule, f"{night.reins.margin:.1%}", f"{gain:.1%}", sentence, past, named)
        case _:
            return _stop_by_rest(rule, sites, problem, guard, past)


def _stop_by_rest(
    rule: str, sites: frozenset[str], problem: Problem, guard: Guard, past: str
) -> Stop:
    """The sites that it keeps from moving, or from giving nodes up. Where none of those that would
    move rests itself, others make room for them: then all that rest are named.
    """
    each = next(rest for rest in guard.resting if rest.rule == rule)
    keeping = {
        site: f"{count} nodes"
        for site, count in sites_with_spare_nodes(problem).items()
        if count <= each.needed.get(site, 0)
    }
    keep = _those(keeping, sites)
    stay = {site: why for site, why in _those(each.sites, sites).items() if site not in keep}
    if not stay and not keep:
        stay, keep = dict(each.sites), keeping
    ends = [each.until[site] for site in (*stay, *keep) if site in each.until]
    told = {
        "sites that moved lately stay": stay,
        "sites keep as many nodes as they needed lately": keep,
    }
    sentence = "; ".join(
        f"{what}: {_site_names(reasons)}" for what, reasons in told.items() if reasons
    )
    count = len(stay.keys() | keep.keys())
    actual = f"{count:,} site{'' if count == 1 else 's'}"
    return Stop(
        rule, each.limit, actual, sentence, past, tuple(sorted(sites)), min(ends, default=None)
    )


def _those(reasons: Mapping[str, str], sites: frozenset[str]) -> dict[str, str]:
    return {site: why for site, why in reasons.items() if site in sites}


def _site_names(reasons: Mapping[str, str]) -> str:
    more = f"; and {len(reasons) - NAMED:,} more" if len(reasons) > NAMED else ""
    return "; ".join(f"{site} ({why})" for site, why in sorted(reasons.items())[:NAMED]) + more


def _override(rules: Sequence[str]) -> str:
    """These are gone over when a plan is made."""
    return "flex plan " + " ".join(f"--force {rule}" for rule in rules)


def _changes(problem: Problem, rows: Ints) -> frozenset[tuple[str, str, bool]]:
    """What differs from what is in force: site, node, and whether the site comes to it."""
    comes = [(*_names(problem, row), True) for row in score.new_rows(problem, rows).tolist()]
    goes = [(*_names(problem, row), False) for row in score.rows_given_up(problem, rows).tolist()]
    return frozenset([*comes, *goes])


def _sites(problem: Problem, rows: Ints) -> frozenset[str]:
    """The sites of which anything differs from what is in force."""
    return frozenset(site for site, *_ in _changes(problem, rows))


def _outside(problem: Problem, rows: Ints) -> float:
    """How far the worst node is outside the band. Within it no balance is better than another."""
    return max(score.balance(problem, rows).worst - problem.tolerance, 0.0)


def _broken_wishes(problem: Problem, rows: Ints) -> int:
    return sum(violation.is_wish for violation in score.violations(problem, rows))


def _names(problem: Problem, row: Sequence[int]) -> tuple[str, str]:
    site, node = row
    return problem.sites[site], problem.nodes[node]


def sites_with_spare_nodes(problem: Problem) -> dict[str, int]:
    """The sites that keep more nodes than they need tonight, and how many."""
    count = np.bincount(problem.old[:, 0], minlength=len(problem.sites))
    several = np.flatnonzero((count > 1) & (count >= problem.replicas)).tolist()
    return {
        problem.sites[s]: int(problem.replicas[s])
        for s in several
        if problem.replicas[s] > problem.needs.get(s, 1)
    }

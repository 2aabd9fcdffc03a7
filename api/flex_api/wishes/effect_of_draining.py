"""What the next plan does with a node that was drained or taken back, and what is left to later
nights.

Takes a world in which the node has its new state already, and the name of the node. Returns
sentences, and the numbers in them. Does not store anything or ask a name server: what is not FLEX's
to move is what the newest plan found so. The search is the short one of previews
(quick_solver.py), under the rules and limits of a night.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from flex.errors import FlexError, Infeasible, NoData
from flex.model.limits_and_approvals import Stop
from flex.model.nodes import NodeState
from flex.placing import score
from flex.placing.problem import Ints, Problem
from flex.planning import propose_plan
from flex.planning.decide_moves_of_tonight import decide
from flex.planning.forwarding_load import count_forwarding
from flex.planning.movement_rules import LIFTED, Guard, Reins
from flex.planning.unmovable_sites import as_in
from flex.planning.which_rules_stop_moves import Stops, decide_with_stops
from flex.wishes import suspended_wishes
from flex_api.facts import earlier_nights, names_that_stay
from flex_api.in_words import amounts
from flex_api.night import gather_facts
from flex_api.wiring import World
from flex_api.wishes.quick_solver import NOTE, quick


@dataclass(frozen=True, slots=True)
class SitesInAndOut:
    """How many sites come to a node, or leave it: with the next plan, and later; and the rules that
    have a part. Where none comes, these are the rules without which some would. A short search may
    move more than a night does.
    """

    now: int
    later: int
    stops: tuple[Stop, ...]
    by_short_search: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """What a person is told, and the numbers in it: None where they are not known. Sites leave a
    node that takes none.
    """

    sentences: tuple[str, ...] = ()
    turn: SitesInAndOut | None = None


def sentences(world: World, node: str) -> list[str]:
    return list(effect(world, node).sentences)


def effect(world: World, node: str) -> Effect:
    """Nothing where no partition is in force, or no plan could be made yet: then there is nothing
    to say.
    """
    state = next((known_node.state for known_node in world.nodes if known_node.name == node), None)
    if not world.store.in_force():
        return Effect()
    try:
        turn = _turn(world, node, comes=state == "active")
    except (NoData, Infeasible):
        return Effect()
    except FlexError as error:
        # What was ordered is stored by now.
        return Effect((f"how many sites that is with the next plan is not known: {error}",))
    if state == "active":
        remarks = (_coming(turn, node), *names_that_stay.remarks(world))
    elif turn.now or turn.later:
        remarks = (_going(turn, node, state), *names_that_stay.remarks(world, [node]))
    else:
        remarks = (f"no site is on {node}",)
    return Effect(remarks, turn)


def _coming(turn: SitesInAndOut, node: str) -> str:
    if turn.now or turn.later:
        return f"{_sites(turn, f'comes to {node}', f'come to {node}')}{_because(turn)}"
    if turn.stops:
        return (
            f"no site comes to {node} with the next plan: "
            f"{'; '.join(stop.sentence for stop in turn.stops)}"
        )
    return f"no site comes to {node} with the next plan, and no rule keeps one away"


def _going(turn: SitesInAndOut, node: str, state: NodeState | None) -> str:
    sentence = f"{_sites(turn, f'leaves {node}', f'leave {node}')}{_because(turn)}"
    if not turn.later:
        return sentence
    if state == "down":
        return f"{sentence}; `flex nodes down {node}` takes it out of DNS at once"
    return f"{sentence}; `flex nodes drain {node} --deadline TIME` to hurry"


def _sites(turn: SitesInAndOut, singular: str, plural: str) -> str:
    later = f", {turn.later:,} later" if turn.later else ""
    return (
        f"{amounts.count(turn.now, 'site')} {singular if turn.now == 1 else plural} with "
        f"the next plan{later}"
    )


def _because(turn: SitesInAndOut) -> str:
    limits = [f"{stop.rule} is {stop.limit}" for stop in turn.stops if stop.rule in LIFTED]
    why = f" ({'; '.join(limits)})" if turn.later and limits else ""
    return f"{why}{'; ' + NOTE if turn.by_short_search else ''}"


def _turn(world: World, node: str, *, comes: bool) -> SitesInAndOut:
    facts, rules = gather_facts.facts(world, replayed=False), world.rules
    guard = earlier_nights.guard(world, facts.period)
    seen = names_that_stay.newest_plan(world)
    facts = as_in(seen, facts, rules) if seen else count_forwarding(facts)
    movable = set(facts.sites) - facts.fixed
    kept = suspended_wishes.possible(facts.pins, movable, facts.nodes)
    facts = replace(facts, pins=kept.pins, guard=guard)
    reins = Reins(rules.trigger, rules.margin, facts.guard)

    def build(guard: Guard) -> Problem:
        return propose_plan.build(replace(facts, guard=guard), rules)

    solver = quick(world.solver)
    problem, done, stops = decide_with_stops(build, solver, rules.budget, reins)
    now, whole = (
        _count_changed_rows(problem, rows, node, comes=comes) for rows in (done.rows, done.whole)
    )
    if not comes or now or whole:
        is_short = NOTE in done.quality.note
        return SitesInAndOut(now, whole - now, stops.of_plan, is_short)

    def comes_without(past: Sequence[str]) -> bool:
        freed = reins.lift_rules(past)
        without = build(freed.guard)
        then = decide(
            without,
            solver,
            rules.budget,
            trigger=freed.trigger,
            margin=freed.margin,
            guard=freed.guard,
        )
        return _count_changed_rows(without, then.whole, node, comes=True) > 0

    return SitesInAndOut(0, 0, those_without_which(comes_without, stops))


def those_without_which(comes: Callable[[Sequence[str]], bool], stops: Stops) -> tuple[Stop, ...]:
    """The rules that keep sites from this very node; others stop moves between other nodes."""
    groups = groupby((*stops.of_plan, *stops.of_sites), key=lambda stop: stop.way_past)
    decisive_stops: list[Stop] = []
    for _, group in groups:
        together = tuple(group)
        if comes([stop.rule for stop in together]):
            decisive_stops += together
    return tuple(decisive_stops)


def _count_changed_rows(problem: Problem, rows: Ints, node: str, *, comes: bool) -> int:
    """How many rows of the node are new, or are given up."""
    changed = score.new_rows(problem, rows) if comes else score.rows_given_up(problem, rows)
    return int((changed[:, 1] == problem.nodes.index(node)).sum()) if node in problem.nodes else 0

"""Why nothing moves, or less than could: each rule that says so is named with its limit and what
was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from flex.model.limits_and_approvals import Limits, Stop
from flex.model.plan import Proven
from flex.model.wish import Pin
from flex.placing import score
from flex.placing.problem import Budget, Ints, Problem, Solution
from flex.planning import which_rules_stop_moves
from flex.planning.movement_rules import COOLDOWN, HOLD, MARGIN, TRIGGER, Guard, Reins, Resting
from flex_solver import SOLVERS
from tests.unhurried import unhurried

LOADS = {"a": (50, 50), "b": (30, 30), "c": (10, 10), "d": (10, 10)}
UNEVEN = {"a": "n1", "b": "n1", "c": "n2", "d": "n2"}

Make = Callable[..., Problem]


NO_GUARD = Guard()
YESTERDAY = datetime(2026, 3, 2, 2, 17, tzinfo=UTC)
RESTING = (
    Resting(COOLDOWN, "3 d", {"b": "moved 1 d ago"}),
    Resting("safety.max_moves_per_site", "2 in 30 days", {}),
)


@dataclass(frozen=True)
class Found:
    rows: Ints
    quality: Proven
    later: int
    stops: tuple[Stop, ...]
    holds: tuple[Stop, ...]


def decided(
    asked: Problem, guard: Guard = NO_GUARD, trigger: float = 0.1, margin: float = 0.01
) -> Found:
    reins = Reins(trigger, margin, guard)
    _, done, stops = which_rules_stop_moves.decide_with_stops(
        lambda _: asked, SOLVERS["exact"], unhurried(), reins
    )
    return Found(done.rows, done.quality, done.later, stops.of_plan, stops.of_sites)


def rules(found: Found) -> list[str]:
    return [stop.rule for stop in found.stops]


def test_all_questions_share_the_time_of_one(problem: Make) -> None:
    asked, given = problem(LOADS, UNEVEN), list[float]()

    def solver(problem: Problem, budget: Budget) -> Solution:
        given.append(budget.seconds)
        time.sleep(budget.seconds)
        return SOLVERS["exact"](problem, unhurried())

    reins = Reins(0.1, 0.01, Guard(resting=RESTING))
    which_rules_stop_moves.decide_with_stops(lambda _: asked, solver, Budget(seconds=1.0), reins)
    assert (given[0], len(given)) == (0.6, 2)
    assert given[1] <= 0.4

    given.clear()
    alone = replace(reins, guard=NO_GUARD)
    which_rules_stop_moves.decide_with_stops(lambda _: asked, solver, Budget(seconds=0.1), alone)
    assert given == [0.1]


def test_within_the_trigger_nothing_moves(problem: Make) -> None:
    found = decided(problem(LOADS, UNEVEN), trigger=0.7)
    assert (rules(found), found.stops[0].limit, found.stops[0].actual) == (
        [TRIGGER],
        "70.0%",
        "60.0%",
    )
    assert found.rows.tolist() == problem(LOADS, UNEVEN).old.tolist()


def test_an_imbalance_must_have_lasted(problem: Make) -> None:
    asked = problem(LOADS, UNEVEN)
    assert rules(decided(asked, Guard(hold=3, over=2))) == [HOLD]
    assert rules(decided(asked, Guard(hold=3, over=3))) == []


def test_a_wish_is_no_reason_to_balance_what_has_not_lasted(problem: Make) -> None:
    asked = problem(LOADS, UNEVEN, pins=[Pin("c", nodes=("n1",)), Pin("a", nodes=("n2",))])
    found = decided(asked, Guard(hold=3, over=2))
    moved = {asked.sites[site] for site in score.new_rows(asked, found.rows)[:, 0].tolist()}
    assert (rules(found), moved) == ([HOLD], {"a", "c"})
    everything = decided(asked, Guard(hold=3, over=3))
    assert rules(everything) == []


def test_a_gain_below_the_margin_moves_nothing(problem: Make) -> None:
    assert rules(decided(problem(LOADS, UNEVEN), margin=0.9)) == [MARGIN]


def test_a_site_that_moved_lately_stays_and_is_named_as_held(problem: Make) -> None:
    """Another one goes in its place, which does as well: the rule stopped nothing."""
    asked = problem(LOADS, UNEVEN)
    found = decided(asked, Guard(resting=RESTING))
    assert found.stops == ()
    assert [(stop.rule, stop.limit, stop.actual) for stop in found.holds] == [
        (COOLDOWN, "3 d", "1 site")
    ]
    assert found.holds[0].way_past == "flex plan --force safety.site_cooldown"
    assert "b (moved 1 d ago)" in found.holds[0].said
    assert asked.sites.index("b") not in score.new_rows(asked, found.rows)[:, 0]


def test_a_site_on_fewer_nodes_stays_on_those_it_had_before(problem: Make) -> None:
    asked = problem(
        {"a": (40, 40), "b": (40, 40), "c": (10, 10)}, {"a": "n1 n2", "b": "n1", "c": "n2"}
    )
    assert (int(asked.replicas[0]), asked.needs) == (1, {})
    # Balance alone would leave it on n2.
    for last, first in (("n1", 1), ("n2", 0)):
        found = decided(asked, Guard(came={"a": {last: YESTERDAY}}))
        assert found.rows[found.rows[:, 0] == 0].tolist() == [[0, first]]


def test_wishes_that_no_placement_keeps_together_stop_no_plan_and_as_few_as_do_give_way(
    problem: Make,
) -> None:
    pins = [Pin("a", apart=("b",)), Pin("c", apart=("d",))]
    asked = problem(
        dict.fromkeys("abcd", (25, 25)), {"a": "n1", "b": "n1", "c": "n1", "d": "n1"}, pins=pins
    )
    crowded = replace(
        asked, apart=(frozenset({0, 1}), frozenset({0, 2}), frozenset({1, 2}), frozenset({2, 3}))
    )
    found = decided(crowded)
    broken = [one.subject for one in score.violations(crowded, found.rows) if one.is_wish]
    assert broken == ["b and c on n1"] or broken == ["b and c on n2"]
    assert found.quality.note.startswith(
        f"wishes that give way, as no partition was found that keeps all: {broken[0]}, to be apart"
    )
    assert not found.quality.proven


def test_a_wish_moves_also_what_moved_lately(problem: Make) -> None:
    asked = problem(LOADS, UNEVEN, pins=[Pin("b", ("n2",))])
    found = decided(asked, Guard(hold=9, resting=RESTING))
    assert [asked.sites.index("b"), 1] in found.rows.tolist()


def test_what_is_spread_over_nights_names_the_limits_that_spread_it(problem: Make) -> None:
    asked = problem(dict.fromkeys("abcdefgh", (10, 10)), dict.fromkeys("abcdefgh", "n1"))
    found = decided(asked, Guard(limits=Limits(moved_sites=2, moved_share=1.0, inflow=3)))
    assert found.later == 2
    assert [(stop.rule, stop.limit, stop.actual) for stop in found.stops] == [
        ("safety.max_moved_sites", "2", "4"),
        ("safety.max_inflow_per_node", "3", "4 to n2"),
    ]
    both = "flex plan --force safety.max_moved_sites --force safety.max_inflow_per_node"
    assert {stop.way_past for stop in found.stops} == {both}
    assert found.stops[0].sentence == (
        "the limits of a night leave 2 more moves to the next ones (in all, sites that move): 4; "
        f"safety.max_moved_sites is 2 (past it: {both})"
    )

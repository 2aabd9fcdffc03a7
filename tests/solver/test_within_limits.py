"""Limits of moves are kept by giving moves up, the least harmful first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from flex.placing import score
from flex.placing.problem import Budget, MoveLimits, Problem, sort_by_site
from flex_solver import auto, large
from flex_solver.rows_to_solution import total_off
from flex_solver.search import local_solver
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.partition_in_integers import to_integers

Drifted = Callable[[int, int, int], Problem]
SHORT = Budget(steps=2_000, seconds=200)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_no_more_is_moved_than_may_be(drifted: Drifted, limit: int) -> None:
    problem = replace(drifted(120, 5, 1), limits=MoveLimits(moves=limit))
    for solver in (local_solver.place, large.place):
        assert score.moves(problem, solver(problem, SHORT).rows) <= limit


def test_who_is_kept_from_balance_by_a_limit_learns_which_and_what_would_do(
    drifted: Drifted,
) -> None:
    problem = replace(drifted(120, 5, 1), limits=MoveLimits(moves=1))
    found = large.place(problem, replace(SHORT, steps=500))
    short = found.shortfalls[-1]
    assert short.because[0] == "the limit of 1 moves"
    assert [one.enough for one in short.instead if one.rule == "moves"] == [found.bound]
    assert f"{found.bound} moves would do, and none smaller" in found.note


@pytest.mark.slow
def test_wishes_go_over_a_limit_and_nothing_else_does(drifted: Drifted) -> None:
    skewed = drifted(520, 4, 1)
    old = sort_by_site(
        np.stack([np.arange(520), np.where(np.arange(520) % 5 < 2, 0, skewed.old[:, 1])], axis=1)
    )
    forced = [site for site in range(520) if old[site, 1] != 3][:5]
    pins = {site: frozenset({3}) for site in forced}
    problem = replace(skewed, old=old, pinned=pins, limits=MoveLimits(moves=3))
    assert score.moves(problem, auto.place(problem, Budget(steps=100, seconds=200)).rows) == len(
        forced
    )


def test_nor_do_more_cold_bytes_arrive_in_all_or_at_one_node(drifted: Drifted) -> None:
    free = drifted(120, 5, 1)
    arriving = score.inflow(free, local_solver.place(free, SHORT).rows)
    for limits in (
        MoveLimits(cold_bytes=int(arriving.sum() // 2)),
        MoveLimits(inflow=int(arriving.max() // 2)),
    ):
        problem = replace(free, limits=limits)
        kinds = [
            broken.kind
            for broken in score.violations(problem, local_solver.place(problem, SHORT).rows)
        ]
        assert not {"cold", "inflow"} & set(kinds)


def test_what_is_too_much_for_one_node_goes_to_another(cluster: Callable[..., Problem]) -> None:
    sites = "abcdef"
    crowded = cluster(
        dict.fromkeys(sites, (50, 50)),
        {site: ["n0"] for site in sites},
        nodes=3,
        cold=dict.fromkeys(sites, 10),
    )
    problem = replace(crowded, limits=MoveLimits(inflow=20))
    four_to_one = np.array([(site, int(site > 1)) for site in range(6)], dtype=np.int64)
    found = limit_moves(problem, to_integers(problem, four_to_one, np.arange(6)))
    assert np.bincount(found.rows[:, 1]).tolist() == [2, 2, 2]


def test_the_moves_that_are_left_still_bring_load_back(drifted: Drifted) -> None:
    free = drifted(120, 5, 1)
    problem = replace(free, limits=MoveLimits(moves=3))
    assert total_off(problem, local_solver.place(problem, SHORT).rows) < total_off(
        problem, problem.old
    )

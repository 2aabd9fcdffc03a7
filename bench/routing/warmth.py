"""A site's new node with a warm-up before visitors come, and without one: how many requests of the
first minute miss its memory.

Takes how long and how fast to run. Returns figures. The warm-up fetches what was asked for most in
the part of the trace before the visitors' own, as a file table would say. Does not measure how long
the warm-up takes.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from bench.figures import Figures
from bench.routing import traffic
from bench.routing.origins import Machine
from bench.routing.rig import Rig, rig
from bench.routing.traffic import Case
from bench.routing.visitors import HOST
from flex.routing.member_pools import LardLimits
from flex.routing.warming import WarmingBudget, warm

VISITORS = 20
# Bytes of each answer of an origin, whatever the target's size is: a budget in bytes is one of
# answers.
ANSWER = 256


def measure(quick: bool, slower: float) -> Figures:
    seconds = 10.0 if quick else 60.0
    case = next(traffic.made_up(4))
    known, later = np.array_split(case.trace.target, 2)
    cold = _miss_ratio(case, later, None, seconds, slower)
    warmed = _miss_ratio(case, later, known, seconds, slower)
    return {
        "cold_first_minute_miss": cold,
        "warm_first_minute_miss": warmed,
        "warm_vs_cold_first_minute_miss": warmed / cold,
    }


def _miss_ratio(
    case: Case, asked: np.ndarray, known: np.ndarray | None, seconds: float, slower: float
) -> float:
    """Misses as a share of all requests."""
    machine = Machine(case.memory).slower(slower)
    with rig(1, machine, replace(case.trace, target=asked)) as each:
        if known is not None:
            _warm(each, case, known)
        each.start("lardr", LardLimits())
        hits, misses = each.memory()
        each.during(VISITORS, seconds)
        now_hits, now_misses = each.memory()
        return (now_misses - misses) / max(1, now_misses - misses + now_hits - hits)


def _warm(each: Rig, case: Case, known: np.ndarray) -> None:
    """As many targets as the node remembers, coldest first: those that were asked for last stay
    longest.
    """
    size = case.trace.size
    hottest = np.argsort(-np.bincount(known, minlength=len(size)), kind="stable")
    chosen = hottest[np.cumsum(size[hottest]) <= case.memory][::-1]
    targets = [(HOST, f"/o/{target}/{size[target]}") for target in chosen.tolist()]
    budget = WarmingBudget(ANSWER * len(targets), 10**9)
    at = next(iter(each.addresses.values())), each.ports["web"]
    warm(targets, at, budget, clock=time.monotonic, wait=time.sleep)

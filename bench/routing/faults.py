"""What visitors notice while a distributor reloads every second, a web server or a distributor dies, and comes back.

In goes how long and how fast; out come figures: failures, and how soon the rate is again that of a healthy cluster of
the size that is left, which is measured beside under the same load.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.figures import Figures
from bench.routing import traffic
from bench.routing.origins import Machine
from bench.routing.rig import Rig, rig
from bench.routing.traffic import Case
from bench.routing.visitors import Answers
from flex.steer import force
from flex.steer.pool import Limits
from flex.steer.runtime import Socket

NODES, VISITORS = 4, 200
ENOUGH = 0.9
WINDOW = 3.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of one thing: of the warm-up, between events, and of reloads."""

    warm: float
    between: float
    reloads: int
    slower: float


def measure(quick: bool, slower: float) -> Figures:
    pace = Pace(3.0, 6.0, 5, slower) if quick else Pace(15.0, 40.0, 60, slower)
    case = next(traffic.made_up(NODES))
    healthy = {nodes: _healthy(case, nodes, pace) for nodes in (NODES - 1, NODES)}
    return _reloads(case, pace) | _killed(case, pace, healthy) | _distributor_killed(case, pace)


def _started(each: Rig, case: Case, machine: Machine, pace: Pace, distributors: int = 1) -> None:
    each.start("lardr", Limits(), on=list(each.addresses)[:distributors])
    each.told("machine", value=Machine(machine.memory, machine.read / 50, 0, machine.answer / 10, 0))
    each.all_once(case.trace, VISITORS)
    each.during(VISITORS, pace.warm)
    each.told("machine", value=machine)
    each.during(VISITORS, pace.warm / 2)


def _healthy(case: Case, nodes: int, pace: Pace) -> float:
    """Requests a second of a cluster in which nothing happens."""
    machine = Machine(case.memory).slower(pace.slower)
    with rig(nodes, machine, case.trace) as each:
        _started(each, case, machine, pace)
        answers = each.during(VISITORS, pace.between)
        return len(answers.at) / pace.between


def _reloads(case: Case, pace: Pace) -> Figures:
    machine = Machine(case.memory).slower(pace.slower)
    with rig(NODES, machine, case.trace) as each:
        each.start("lardr", Limits(), mastered=True)
        each.begin(VISITORS)
        for _ in range(pace.reloads):
            began = time.monotonic()
            force.reload(Socket(str(each.folder / next(iter(each.running)) / "m")))
            time.sleep(max(0.0, 1.0 - (time.monotonic() - began)))
        answers = each.end()
    return {
        "failed_requests_reload": answers.failed,
        "reloads": pace.reloads,
        "requests_reload": len(answers.at),
        "asked_again_reload": answers.asked_again,
    }


def _killed(case: Case, pace: Pace, healthy: dict[int, float]) -> Figures:
    """One web server of four dies, and comes back with nothing in memory."""
    machine = Machine(case.memory).slower(pace.slower)
    with rig(NODES, machine, case.trace) as each:
        _started(each, case, machine, pace)
        each.begin(VISITORS)
        died = _at(each, lambda: each.told("kill", 1), pace)
        back = _at(each, lambda: each.told("revive", 1), pace)
        answers = each.end()
    return {
        "killed_seconds_until_90_percent": _until(answers, died, back, ENOUGH * healthy[NODES - 1]),
        "returned_seconds_until_90_percent": _until(answers, back, answers.at[-1], ENOUGH * healthy[NODES]),
        "failed_in_flight_killed": answers.between(died, died + 1.0).failed,
        "failed_later_killed": answers.failed - answers.between(died, died + 1.0).failed,
    }


def _distributor_killed(case: Case, pace: Pace) -> Figures:
    machine = Machine(case.memory).slower(pace.slower)
    with rig(NODES, machine, case.trace) as each:
        _started(each, case, machine, pace, distributors=2)
        each.begin(VISITORS)
        first = next(iter(each.running))
        died = _at(each, lambda: os.kill(each.running[first], signal.SIGKILL), pace)
        each.running.pop(first)
        answers = each.end()
    at_once = answers.between(died - 0.5, died + 1.0).failed
    return {"failed_in_flight_distributor": at_once, "failed_later_distributor": answers.failed - at_once}


def _at(each: Rig, event: Callable[[], object], pace: Pace) -> float:
    """When it happened, and what came of it."""
    each.settle(pace.between / 4)
    when = time.monotonic()
    event()
    each.settle(pace.between)
    return when


def _until(answers: Answers, begin: float, end: float, rate: float) -> float:
    """Seconds until the rate over a window is reached; as long as there was where it never was."""
    good = np.sort(answers.at[answers.status == 200])
    for moment in np.arange(begin, end - WINDOW, 0.5):
        there = np.searchsorted(good, moment + WINDOW) - np.searchsorted(good, moment)
        if there / WINDOW >= rate:
            return float(moment - begin)
    return float(end - begin)

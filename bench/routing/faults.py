"""What visitors notice while something is wrong: failures, and how soon the rate is again what it
should be.

Takes how long and how fast to run. Returns figures. Each drill has visitors of its own, and begins
on nodes that are well. A member is slow, killed, or taken out, and then comes back. Or the link
between two distributors is cut and mended, and one distributor is killed. The rate should come back
to nine tenths of that of a healthy cluster of the size that is left, which is measured under the
same load. Does not say whether that is good enough.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.figures import Figures
from bench.routing import traffic
from bench.routing.origins import Machine
from bench.routing.rig import Rig, rig
from bench.routing.traffic import Case
from bench.routing.visitors import Answers
from flex.routing import apply_to_haproxy
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import LardLimits

# More than the paper's S of all members but one let in, so that a limit that did not follow them
# would show.
NODES, VISITORS = 4, 200
ENOUGH = 0.9
WINDOW, STEP = 3.0, 0.5
# A request that was under way when something died has failed by then.
AT_ONCE = 1.0
SLOW = 4.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds for the warm-up, for each fault at most, and of quiet after all is well; and the
    number of reloads.
    """

    warm: float
    each: float
    calm: float
    reloads: int
    slower: float


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens, and the size of the healthy cluster that carries as much then."""

    name: str
    happens: Callable[[Rig], object]
    left: int


def _take_out(each: Rig) -> None:
    """The last member: first it gets nothing more, then it is gone."""
    last = list(each.addresses)[-1]
    each.become(leaving=last)
    each.become(without=last)


def _kill(each: Rig) -> None:
    """The first distributor: its master, and the workers that would end by themselves a little
    later.
    """
    master = each.running.pop(next(iter(each.running)))
    workers = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    for process in (master, *map(int, workers)):
        os.kill(process, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Drill:
    """What happens one after the other, to nodes of which so many are distributors."""

    distributors: int
    faults: tuple[Fault, ...]


DRILLS = (
    Drill(
        1,
        (
            Fault("slow", lambda each: each.tell("slow", 1, SLOW), NODES - 1),
            Fault("quick_again", lambda each: each.tell("slow", 1, 1.0), NODES),
        ),
    ),
    Drill(
        1,
        (
            Fault("killed", lambda each: each.tell("kill", 1), NODES - 1),
            Fault("returned", lambda each: each.tell("revive", 1), NODES),
        ),
    ),
    Drill(
        1,
        (
            Fault("taken_out", _take_out, NODES - 1),
            Fault("put_back", lambda each: each.become(), NODES),
        ),
    ),
    Drill(
        2,
        (
            Fault("link_cut", lambda each: each.link("cut"), NODES),
            Fault("link_mended", lambda each: each.link("mend"), NODES),
            Fault("distributor_killed", _kill, NODES),
        ),
    ),
)
FAULTS = tuple(fault for drill in DRILLS for fault in drill.faults)


def measure(quick: bool, slower: float) -> Figures:
    pace = Pace(3.0, 6.0, 0.0, 5, slower) if quick else Pace(12.0, 40.0, 5.0, 60, slower)
    case = next(traffic.made_up(NODES))
    healthy = {nodes: _healthy(case, nodes, pace) for nodes in (NODES - 1, NODES)}
    figures: Figures = {f"healthy_per_second_k{nodes}": rate for nodes, rate in healthy.items()}
    figures |= _reloads(case, pace)
    for drill in DRILLS:
        figures |= _drill(drill, case, pace, healthy)
    return figures


def _start(each: Rig, case: Case, machine: Machine, pace: Pace, distributors: int = 1) -> None:
    each.relay()
    each.start("lardr", LardLimits(), on=list(each.addresses)[:distributors], mastered=True)
    each.tell(
        "machine", value=Machine(machine.memory, machine.read / 50, 0, machine.answer / 10, 0)
    )
    each.all_once(case.trace, VISITORS)
    each.during(VISITORS, pace.warm)
    each.tell("machine", value=machine)
    each.during(VISITORS, pace.warm / 2)


def _healthy(case: Case, nodes: int, pace: Pace) -> float:
    """Requests a second of a cluster in which nothing happens."""
    machine = Machine(case.memory).slower(pace.slower)
    with rig(nodes, machine, case.trace) as each:
        _start(each, case, machine, pace)
        answers = each.during(VISITORS, pace.each / 2)
        return len(answers.at) / (pace.each / 2)


def _reloads(case: Case, pace: Pace) -> Figures:
    machine = Machine(case.memory).slower(pace.slower)
    with rig(NODES, machine, case.trace) as each:
        each.start("lardr", LardLimits(), mastered=True)
        each.begin(VISITORS)
        for _ in range(pace.reloads):
            began = time.monotonic()
            apply_to_haproxy.reload(Socket(str(each.folder / next(iter(each.running)) / "m")))
            time.sleep(max(0.0, 1.0 - (time.monotonic() - began)))
        answers = each.end()
    return {
        "failed_requests_reload": answers.failures,
        "reloads": pace.reloads,
        "requests_reload": len(answers.at),
        "asked_again_reload": answers.asked_again,
    }


def _drill(drill: Drill, case: Case, pace: Pace, healthy: Mapping[int, float]) -> Figures:
    machine = Machine(case.memory).slower(pace.slower)
    moments = []
    with rig(NODES, machine, case.trace) as each:
        _start(each, case, machine, pace, drill.distributors)
        each.begin(VISITORS)
        each.settle(pace.each / 4)
        for fault in drill.faults:
            moments.append(each.now())
            fault.happens(each)
            _heal(each, ENOUGH * healthy[fault.left], pace)
        moments.append(each.now())
        answers = each.end()
    figures: Figures = {}
    for fault, begin, end in zip(drill.faults, moments[:-1], moments[1:], strict=True):
        found = _figures(fault, answers.between(begin, end), begin, end, healthy[fault.left])
        print(f"{fault.name}: {', '.join(f'{value:.4g}' for value in found.values())}", flush=True)
        figures |= found
    return figures


def _heal(each: Rig, rate: float, pace: Pace) -> None:
    """Until the rate is there, or there was time enough for it."""
    deadline = each.now() + pace.each
    each.settle(WINDOW)
    while each.now() < deadline:
        before = each.count()
        each.settle(WINDOW)
        if each.count() - before >= rate * WINDOW:
            break
    each.settle(pace.calm)


def _figures(fault: Fault, answers: Answers, begin: float, end: float, healthy: float) -> Figures:
    last = answers.between(end - WINDOW, end)
    at_once = answers.between(begin, begin + AT_ONCE).failures
    return {
        f"{fault.name}_seconds_until_90_percent": _until(answers, begin, end, ENOUGH * healthy),
        f"{fault.name}_at_last_vs_healthy": len(last.at) / WINDOW / healthy,
        f"{fault.name}_failed_in_flight": at_once,
        f"{fault.name}_failed_later": answers.failures - at_once,
    }


def _until(answers: Answers, begin: float, end: float, rate: float) -> float:
    """Seconds until the rate over a window is reached again after the worst one; as long as there
    was where it is not.

    None is worse than that rate where nothing was noticed.
    """
    good = np.sort(answers.at[answers.status == 200])
    moments = np.arange(begin, max(end - WINDOW, begin + STEP), STEP)
    rates = (np.searchsorted(good, moments + WINDOW) - np.searchsorted(good, moments)) / WINDOW
    if rates.min() >= rate:
        return 0.0
    worst = int(rates.argmin())
    again = np.flatnonzero(rates[worst:] >= rate)
    return float(moments[worst + again[0]] - begin) if len(again) else float(end - begin)

"""A cluster that serves a trace, in Python. The other engine must give the same results as this
one.

Takes a SimulatedJob. Returns ServedAccesses. `reference_serial` is the model of the FLEX paper:
each node answers one access after the other, from its own part of the trace. `reference_queued` is
the model of the LARD paper, with queues for processor and disks. Does not read traces.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from flex.caches import CACHES
from flex.prediction.cache_replay import Ints
from flex.sim.engine_input_and_output import HIT, READ, SHARED, SimulatedJob, units
from flex.sim.queued import Queued
from flex.sim.rules import RULES
from flex.sim.rules.rule import AccessAsked, View

Answer = tuple[Ints, Ints, Ints, Ints, Ints, Ints, int, int]


def reference_simulate(job: SimulatedJob) -> Answer:
    return reference_serial(job) if job.serial else reference_queued(job)


def reference_serial(job: SimulatedJob) -> Answer:
    """Load is how far a node is behind the one that is furthest ahead, in units of time."""
    memories, router = Memories(job), Router(job)
    nodes = len(job.ram)
    clock = [0] * nodes
    view = View([0] * nodes, 0, [0] * nodes, [0] * nodes)
    chosen, outcome, delay = [], [], []
    for access, (target, key) in enumerate(zip(job.target.tolist(), job.key.tolist(), strict=True)):
        view.now = min(clock)
        view.load[:] = [(time - view.now) // job.backlog_unit for time in clock]
        node = router.choose(AccessAsked(access, key, target), view)
        hit = memories.pinned(node, target) or memories.ask(node, target)
        working = _working(job, node, target)
        reading = 0 if hit else _reading(job, int(job.size[target]))
        view.busy[node] += working
        view.reading[node] += reading
        clock[node] += working + reading
        chosen.append(node)
        outcome.append(HIT if hit else READ)
        delay.append(working + reading)
    end = max(clock)
    return _answer(chosen, outcome, delay, view, [end - time for time in clock], 0, end)


def reference_queued(job: SimulatedJob) -> Answer:
    queued = Queued(job, Memories(job), Router(job))
    queued.run()
    view, (busy, reading) = queued.view, queued.before
    view.busy = [given - before for given, before in zip(view.busy, busy, strict=True)]
    view.reading = [given - before for given, before in zip(view.reading, reading, strict=True)]
    return _answer(
        queued.node, queued.outcome, queued.delay, view, queued.idle, queued.began, view.now
    )


class Memories:
    """The nodes' memories: each node's own, or one for all."""

    def __init__(self, job: SimulatedJob) -> None:
        self._nodes = len(job.ram)
        self._shared = job.memory == SHARED
        limits = [int(job.ram.sum())] if self._shared else job.ram.tolist()
        self._caches = [CACHES[job.cache](limit) for limit in limits]
        self._size = job.size.tolist()
        self._pinned = job.pinned.tolist()
        self._largest = job.largest

    def pinned(self, node: int, target: int) -> bool:
        return bool(self._pinned) and bool(self._pinned[target * self._nodes + node])

    def ask(self, node: int, target: int) -> bool:
        size = self._size[target]
        return size <= self._largest and self._caches[0 if self._shared else node].ask(target, size)

    def elsewhere(self, node: int, target: int) -> int | None:
        """Another node that has the target in its memory: the first."""
        others = (other for other in range(len(self._caches)) if other != node)
        return next((other for other in others if target in self._caches[other]), None)


class Router:
    """The rules, each made once, and the nodes that each key may choose from."""

    def __init__(self, job: SimulatedJob) -> None:
        self._rules = [rule(job) for rule in RULES.values()]
        self._rule: list[int] = job.rule.tolist()
        first: list[int] = job.first.tolist()
        option: list[int] = job.option.tolist()
        self._nodes = [option[start:end] for start, end in pairwise(first)]

    def choose(self, request: AccessAsked, view: View) -> int:
        return self._rules[self._rule[request.key]].choose(request, self._nodes[request.key], view)


def _working(job: SimulatedJob, node: int, target: int) -> int:
    sending = units(int(job.size[target]), job.send_unit) * int(job.send[node])
    return int(job.connect[node]) + sending + int(job.work[target]) + int(job.close[node])


def _reading(job: SimulatedJob, size: int) -> int:
    """All of a file at once."""
    further = max(units(size, job.block) - 1, 0)
    return job.seek + further * job.again + units(size, job.transfer_unit) * job.transfer


def _answer(
    node: list[int],
    outcome: list[int],
    delay: list[int],
    view: View,
    idle: list[int],
    began: int,
    end: int,
) -> Answer:
    columns = (node, outcome, delay, view.busy, view.reading, idle)
    chosen, became, took, busy, reading, waited = (
        np.array(column, dtype=np.int64) for column in columns
    )
    return chosen, became, took, busy, reading, waited, began, end

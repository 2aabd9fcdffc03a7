"""Runs the commands of many moves side by side, within limits.

Takes works: each yields a command, is given how it ended, and yields the next one. Returns when all
are through. Works run in the thread that calls, one at a time, and only their commands run beside
each other: so what a work writes to the store it writes as the run that holds the lease.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

from flex_api.moving.run_hook import Ran, run

# Seconds between one look whether the lease is still held and the next.
LOOK = 1.0


@dataclass(frozen=True, slots=True)
class Command:
    words: Sequence[str]
    seconds: float
    # A descriptor that the command inherits: see run_hook.py.
    lock: int


Steps = Generator[Command, Ran, None]


@dataclass(frozen=True, slots=True)
class Work:
    """`nodes` are those that it is hard on."""

    nodes: frozenset[str]
    steps: Callable[[], Steps]


@dataclass(frozen=True, slots=True)
class Limits:
    at_once: int
    per_node: int


def run_side_by_side(
    works: Sequence[Work], limits: Limits, refuse_lost: Callable[[], None]
) -> None:
    """A work begins when there is room for it on all of its nodes, in order where that makes no
    difference. `refuse_lost` raises where the lease is lost: then, as with any other error, the
    commands that are running are ended.
    """
    stop, waiting = Event(), deque(works)
    running: dict[Future[Ran], tuple[Work, Steps]] = {}
    busy: Counter[str] = Counter()

    with ThreadPoolExecutor(limits.at_once) as threads:

        def go_on(work: Work, steps: Steps, ran: Ran | None) -> None:
            try:
                # What a generator is given first is nothing.
                asked = next(steps) if ran is None else steps.send(ran)
            except StopIteration:
                busy.subtract(work.nodes)
                return
            ahead = threads.submit(run, asked.words, asked.seconds, stop, asked.lock)
            running[ahead] = work, steps

        try:
            while waiting or running:
                for work in list(waiting):
                    if len(running) >= limits.at_once:
                        break
                    if all(busy[node] < limits.per_node for node in work.nodes):
                        waiting.remove(work)
                        busy.update(work.nodes)
                        go_on(work, work.steps(), None)
                done, _ = wait(running, timeout=LOOK, return_when=FIRST_COMPLETED)
                refuse_lost()
                for ended in done:
                    work, steps = running.pop(ended)
                    go_on(work, steps, ended.result())
        except BaseException:
            stop.set()
            wait(running)
            for _, steps in running.values():
                steps.close()
            raise

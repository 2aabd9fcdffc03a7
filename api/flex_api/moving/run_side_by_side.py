"""Runs the commands of many moves side by side, within limits.

Takes works: each yields a command, is given how it ended, and yields the next one, or a pause after
which it looks again. Returns when all are through. Works run in the thread that calls, one at a
time, and only their commands run beside each other: so what a work writes to the store it writes as
the run that holds the lease.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

from flex_api.moving.run_hook import Ran, run
from flex_api.moving.works_waiting_for_nodes import WorksWaiting

# Seconds between one look whether the lease is still held and the next.
LOOK = 1.0


@dataclass(frozen=True, slots=True)
class Command:
    words: Sequence[str]
    seconds: float
    # A descriptor that the command inherits: see run_hook.py.
    lock: int


@dataclass(frozen=True, slots=True)
class Pause:
    """The work goes on after so long. Others go on meanwhile; its nodes stay busy."""

    seconds: float


Steps = Generator[Command | Pause, Ran, None]
# What a work is given after a pause.
_PAUSED = Ran(0)


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
    stop, waiting = Event(), WorksWaiting(works, limits.per_node)
    running: dict[Future[Ran], tuple[Work, Steps]] = {}
    pausing: list[tuple[float, Work, Steps]] = []

    with ThreadPoolExecutor(limits.at_once) as threads:

        def go_on(work: Work, steps: Steps, ran: Ran | None) -> None:
            try:
                # What a generator is given first is nothing.
                asked = next(steps) if ran is None else steps.send(ran)
            except StopIteration:
                waiting.end(work)
                return
            if isinstance(asked, Pause):
                pausing.append((time.monotonic() + asked.seconds, work, steps))
                return
            ahead = threads.submit(run, asked.words, asked.seconds, stop, asked.lock)
            running[ahead] = work, steps

        def begin_where_there_is_room() -> None:
            while len(running) + len(pausing) < limits.at_once:
                work = waiting.begin_next()
                if work is None:
                    break
                go_on(work, work.steps(), None)

        def end_pauses() -> None:
            now = time.monotonic()
            over = [one for one in pausing if one[0] <= now]
            pausing[:] = [one for one in pausing if one[0] > now]
            for _, work, steps in over:
                go_on(work, steps, _PAUSED)

        def seconds_to_wait() -> float:
            first = min((due for due, _, _ in pausing), default=time.monotonic() + LOOK)
            return min(max(first - time.monotonic(), 0), LOOK)

        try:
            while waiting or running or pausing:
                begin_where_there_is_room()
                if running:
                    done, _ = wait(running, seconds_to_wait(), return_when=FIRST_COMPLETED)
                else:
                    done = set()
                    time.sleep(seconds_to_wait() if pausing else 0)
                refuse_lost()
                for ended in done:
                    work, steps = running.pop(ended)
                    go_on(work, steps, ended.result())
                end_pauses()
        except BaseException:
            stop.set()
            wait(running)
            for _, steps in running.values():
                steps.close()
            for _, _, steps in pausing:
                steps.close()
            raise

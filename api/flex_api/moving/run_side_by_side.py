"""Runs the commands of many moves side by side, within limits.

Takes works: each yields a command or a question, is given how it ended, and yields the next one, or
a pause after which it looks again. Returns when all are through. Works run in the thread that
calls, one at a time, and only their commands and questions run beside each other: so what a work
writes to the store it writes as the run that holds the lease.

`WorksWaiting` holds the works for which there is no room yet on all of their nodes. It looks at
groups of works with the same nodes, and never at all works: there may be many thousand.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from threading import Event
from typing import Generic, Protocol, TypeVar

from flex_api.moving.run_hook import Ran, run

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


@dataclass(frozen=True, slots=True)
class Question:
    """What takes time and is no command. `ask` writes nothing; the work is given what it says, and
    the exit code 1 where that is anything.
    """

    ask: Callable[[], str]


Step = Command | Question | Pause
Steps = Generator[Step, Ran, None]
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


# A work, or whatever else has nodes.
class OnNodes(Protocol):
    @property
    def nodes(self) -> frozenset[str]: ...


QueuedWork = TypeVar("QueuedWork", bound=OnNodes)


@dataclass(slots=True)
class _Group(Generic[QueuedWork]):
    """Works with the same nodes, each with its place among all, in order."""

    nodes: frozenset[str]
    works: deque[tuple[int, QueuedWork]] = field(default_factory=deque)


class WorksWaiting(Generic[QueuedWork]):
    """`per_node` works may be on a node at once."""

    def __init__(self, works: Iterable[QueuedWork], per_node: int) -> None:
        self._per_node = per_node
        self._busy: Counter[str] = Counter()
        groups: dict[frozenset[str], _Group[QueuedWork]] = {}
        for place, work in enumerate(works):
            group = groups.setdefault(work.nodes, _Group(work.nodes))
            group.works.append((place, work))
        # Groups that may have room, by the place of their first work, which is no other's.
        self._open = [(group.works[0][0], group) for group in groups.values()]
        heapify(self._open)
        # Groups that wait for a node that is full.
        self._waiting: dict[str, list[_Group[QueuedWork]]] = {}
        self._left = sum(len(group.works) for group in groups.values())

    def __bool__(self) -> bool:
        return self._left > 0

    def begin_next(self) -> QueuedWork | None:
        """The first for which there is room on all of its nodes, which it takes. None where there
        is none.
        """
        while self._open:
            _, group = heappop(self._open)
            full = next((node for node in group.nodes if self._busy[node] >= self._per_node), None)
            if full is not None:
                self._waiting.setdefault(full, []).append(group)
                continue
            _, work = group.works.popleft()
            self._left -= 1
            self._busy.update(group.nodes)
            self._put_back(group)
            return work
        return None

    def end(self, work: QueuedWork) -> None:
        """It is over: its nodes have room for others."""
        self._busy.subtract(work.nodes)
        for node in work.nodes:
            for group in self._waiting.pop(node, ()):
                self._put_back(group)

    def _put_back(self, group: _Group[QueuedWork]) -> None:
        if group.works:
            heappush(self._open, (group.works[0][0], group))


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
                step = next(steps) if ran is None else steps.send(ran)
            except StopIteration:
                waiting.end(work)
                return
            if isinstance(step, Pause):
                pausing.append((time.monotonic() + step.seconds, work, steps))
                return
            if isinstance(step, Question):
                ahead = threads.submit(_ask, step)
            else:
                ahead = threads.submit(run, step.words, step.seconds, stop, step.lock)
            running[ahead] = work, steps

        def begin_where_there_is_room() -> None:
            while len(running) + len(pausing) < limits.at_once:
                work = waiting.begin_next()
                if work is None:
                    break
                go_on(work, work.steps(), None)

        def end_pauses() -> None:
            now = time.monotonic()
            over = [pause for pause in pausing if pause[0] <= now]
            pausing[:] = [pause for pause in pausing if pause[0] > now]
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


def _ask(question: Question) -> Ran:
    said = question.ask()
    return Ran(int(bool(said)), said)

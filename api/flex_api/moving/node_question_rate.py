"""How often nodes are asked: so many questions to one node side by side, so many in a second, and
none once the time for all of them is over.

Takes the limits, a clock and a way to wait. Returns turns. Does not ask anything itself.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flex_api.moving.ask_web_server import Clock


class OutOfTime(Exception):
    """The time for all questions is over."""


@dataclass(slots=True)
class _Node:
    free: threading.Semaphore
    next: float = 0.0


@dataclass(slots=True)
class Turns:
    """`until` is when the time for all is over."""

    at_once: int
    per_second: float
    until: float
    clock: Clock
    wait: Callable[[float], None]
    _nodes: dict[str, _Node] = field(init=False)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._nodes = defaultdict(lambda: _Node(threading.Semaphore(self.at_once)))

    @contextmanager
    def take_turn(self, node: str) -> Iterator[None]:
        """One question to the node. Raises OutOfTime."""
        with self._lock:
            known = self._nodes[node]
        if not known.free.acquire(timeout=self.seconds_left()):
            raise OutOfTime
        try:
            with self._lock:
                now = self.clock()
                turn = max(known.next, now)
                if turn >= self.until:
                    raise OutOfTime
                known.next = turn + 1 / self.per_second
            if turn > now:
                self.wait(turn - now)
            yield
        finally:
            known.free.release()

    def seconds_left(self) -> float:
        """Raises OutOfTime."""
        left = self.until - self.clock()
        if left <= 0:
            raise OutOfTime
        return left

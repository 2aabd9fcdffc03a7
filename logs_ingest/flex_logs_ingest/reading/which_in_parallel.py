"""Logs read at the same time, as long as they have nothing to do with each other.

Takes logs by their first bytes. Returns which of them have to be read one after the other, and a
lock for logs that begin alike: the stream that a log continues is known only when the logs that
begin like it are recorded. Does not read anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import chain
from threading import Condition, Event, Lock
from typing import TypeVar

T = TypeVar("T")

# Logs that are read at the same time. More readers would wait for the disk and for the memory that
# they share.
MOST = 4
# Bytes by which two logs are told apart. Logs that differ later are taken for alike and are read in
# turn, which costs time alone. A guess.
_LEAD = 64


class Stopped(Exception):
    """Another reader failed, or the run is to end: nothing more is read."""


class ReadApart:
    def __init__(self, workers: int) -> None:
        self.workers = workers or min(MOST, len(os.sched_getaffinity(0)))
        self._inside: list[bytes] = []
        self._changed = Condition()
        self._stop = Event()
        self._wide = Lock()
        # Whether several turns are read at the same time.
        self._several = False

    def alone(self, head: bytes) -> AbstractContextManager[None]:
        """Meanwhile no log that begins like this one is read. Logs are renamed while they are
        looked at.
        """
        return self._keep_alike_out(head) if self._several else nullcontext()

    @contextmanager
    def _keep_alike_out(self, head: bytes) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not any(_alike(head, other) for other in self._inside))
            self._inside.append(head)
        try:
            yield
        finally:
            with self._changed:
                self._inside.remove(head)
                self._changed.notify_all()

    @contextmanager
    def roomy(self, wide: bool) -> Iterator[None]:
        """One at a time of those that take much memory to unpack. To be entered before `alone`."""
        with self._wide if wide else nullcontext():
            yield

    def serial(self) -> AbstractContextManager[object]:
        """One reader at a time: for what is stored and shown."""
        return self._changed

    def check(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def turns(
        self, logs: Sequence[tuple[str, bytes]], small: Set[str] = frozenset()
    ) -> list[list[str]]:
        """The paths of these logs, given with their first bytes: those of one turn are read one
        after the other.

        So are all that are `small`. What Python does for each of them takes longer than to read it,
        and several threads would only wait for each other.
        """
        groups = _groups(logs)
        if self.workers == 1 or len(groups) < 2:
            return [[path for path, _ in logs]]
        of_small = [group for group in groups if small >= {*group}]
        others = [group for group in groups if not small >= {*group}]
        return [turn for turn in (list(chain.from_iterable(of_small)), *others) if turn]

    def each(self, read: Callable[[str], T], logs: Sequence[tuple[str, bytes]]) -> list[T]:
        """What `read` says of each log, given with its first bytes; those that begin alike in this
        order.
        """
        return self.read_turns(read, self.turns(logs))

    def read_turns(self, read: Callable[[str], T], turns: Sequence[Sequence[str]]) -> list[T]:
        """What `read` says of each log; those of one turn in this order."""
        if len(turns) < 2:
            return [read(path) for turn in turns for path in turn]
        self._several = True
        pool = ThreadPoolExecutor(self.workers)
        try:
            of_turns = pool.map(partial(_read_in_turn, read), turns)
            return list(chain.from_iterable(of_turns))
        except BaseException:
            self._stop.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            self._several = False


def _read_in_turn(read: Callable[[str], T], group: Sequence[str]) -> list[T]:
    return [read(path) for path in group]


def _groups(logs: Sequence[tuple[str, bytes]]) -> list[list[str]]:
    """Logs of one group may begin alike; one that is shorter than the others is in the group of
    what it begins.
    """
    roots: dict[bytes, bytes] = {}
    root = b""
    for lead in sorted({head[:_LEAD] for _, head in logs}):
        root = root if root and lead.startswith(root) else lead
        roots[lead] = root
    groups: dict[bytes, list[str]] = {}
    for path, head in logs:
        groups.setdefault(roots[head[:_LEAD]], []).append(path)
    return list(groups.values())


def _alike(head: bytes, other: bytes) -> bool:
    size = min(len(head), len(other), _LEAD)
    return size > 0 and head[:size] == other[:size]

"""The process of the health watch. It is started again when it ends, and the web server learns of
it.

Takes what to run, and how long to wait before it is started again. Returns a Post, which every
process that is forked later can read. A process that ends again and again before its first round is
given up, and its keeper ends too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import wait
from multiprocessing.sharedctypes import RawArray, RawValue

Say = Callable[[str], None]

# Seconds before each further start in a row of one that did not come to look at the nodes; behind
# the last it is given up. A database that starts anew is back within these two minutes.
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
# How often the keeper looks whether who serves is there still.
LOOK = 5.0
# A round takes seconds, one that takes a node out of DNS a minute or two.
OVERDUE = timedelta(minutes=10)
# Characters of a message; what is longer is cut.
LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Watched:
    """`starts` counts the first one, too. `error` is what the last round, or the last process,
    ended with.
    """

    is_alive: bool
    starts: int
    last_round: datetime | None
    error: str

    def trouble(self, now: datetime) -> str:
        """What is wrong with it; empty for nothing."""
        if not self.is_alive:
            return f"its process ended: {self.error}" if self.error else "its process ended"
        if self.error:
            return self.error
        if self.last_round and now - self.last_round > OVERDUE:
            return f"it has not looked since {self.last_round:%Y-%m-%d %H:%M:%S} UTC"
        return ""


class Post:
    """Where the watch and its keeper leave what they know, in memory that all processes share. Each
    value has one writer at a time, and a reader who meets a change sees the old or the new one.
    """

    def __init__(self) -> None:
        self._starts = RawValue("i", 0)
        self._rounds = RawValue("i", 0)
        self._last = RawValue("d", 0.0)
        self._alive = RawValue("b", 0)
        self._error = RawArray("c", LONGEST)

    @property
    def rounds(self) -> int:
        return int(self._rounds.value)

    def note_start(self) -> None:
        self._starts.value += 1
        self._alive.value = 1

    def note_round(self, now: datetime, error: str = "") -> None:
        """After each round, also one that failed."""
        self.note_error(error)
        self._last.value = now.timestamp()
        self._rounds.value += 1

    def note_error(self, error: str) -> None:
        # Cut to whole characters.
        self._error.value = (
            error.encode()[: LONGEST - 1].decode(errors="ignore").replace("\0", " ").encode()
        )

    def note_end(self) -> None:
        self._alive.value = 0

    def state(self) -> Watched:
        last = float(self._last.value)
        return Watched(
            bool(self._alive.value),
            int(self._starts.value),
            datetime.fromtimestamp(last, UTC) if last else None,
            bytes(self._error.value).decode(errors="replace"),
        )


def anyway(say: Say) -> Say:
    """Who listens no more, such as a pipe whose reader has gone, ends nobody's work."""

    def say_anyway(line: str) -> None:
        with suppress(OSError, ValueError):
            say(line)

    return say_anyway


def keep(
    work: Callable[[Post], None], post: Post, say: Say, pauses: Sequence[float] = PAUSES
) -> None:
    """Have the work done by a process of its own for as long as who started this one lives. Ends
    with 1 where it ends again and again.
    """
    told, tells = os.pipe()
    # Not an exception, which could come between the start of a process and what ends it.
    signal.signal(signal.SIGTERM, lambda *_: os.write(tells, b"."))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent, in_a_row = os.getppid(), 0
    while True:
        before = post.rounds
        code = _done_once(work, post, parent, told)
        post.note_end()
        if os.getppid() != parent or wait([told], 0):
            return
        in_a_row = 0 if post.rounds > before else in_a_row + 1
        if in_a_row > len(pauses):
            say(
                f"The health watch ended with {code} for the {in_a_row}th time before "
                "its first round. It is not started again."
            )
            sys.exit(1)
        pause = pauses[max(in_a_row - 1, 0)]
        say(f"The health watch ended with {code}, and is started again in {pause:g} s.")
        if wait([told], pause):
            return


def _done_once(work: Callable[[Post], None], post: Post, parent: int, told: int) -> int | None:
    """Until it ends, or who keeps it is told to, or who serves has gone."""
    process = multiprocessing.get_context("fork").Process(
        target=_do, args=(work, post), name="health watch"
    )
    post.note_start()
    process.start()
    while process.is_alive() and os.getppid() == parent and not wait([told], 0):
        wait([process.sentinel, told], LOOK)
    # It is made for that, as a run that is killed is finished by the next.
    process.kill()
    process.join()
    return process.exitcode


def _do(work: Callable[[Post], None], post: Post) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        work(post)
    except Exception as error:
        post.note_error(f"{type(error).__name__}: {error}")
        raise

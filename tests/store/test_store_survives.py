"""A process is killed at any moment: what it had not finished never happened, and the next one can
go on.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pytest

from flex.store import open_store

WRITER = Path(__file__).with_name("writer.py")
ROWS = 50
KILLS = 4


class Writers:
    """Starts one writer at a time, each going on where the last was killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.orders, self.answers = process, process.stdin, process.stdout

    def start(self, die_before: int) -> int:
        """Its process number."""
        self.orders.write(f"{die_before}\n")
        self.orders.flush()
        return int(self.answers.readline())

    def done(self) -> list[int]:
        """What it did until it was dead."""
        return [int(line) for line in self._until_ended()]

    def _until_ended(self) -> Iterator[str]:
        for line in iter(self.answers.readline, "ended\n"):
            assert line, "the process that starts writers failed by itself"
            yield line


@pytest.fixture
def writers(url: str) -> Iterator[Writers]:
    command = [sys.executable, str(WRITER), url, str(ROWS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Writers(process)


def assert_whole(url: str, done: list[int]) -> None:
    """Every two things that belong together are both there or both not, and nothing that was done
    is lost.
    """
    with open_store(url) as store:
        segments = [int(each.id) for each in store.segments(0, 0)]
        assert segments == list(range(len(segments)))
        assert [each.offset for each in store.streams_of(["web"])] == segments[-1:]
        plans = store.plans(limit=10**6)
        for plan in plans:
            assert list(store.placement_of(plan.id)["node"]) == [f"n{int(plan.id)}"] * ROWS
        in_force, placement = store.placement()
        assert in_force == next((plan.id for plan in plans if plan.state == "applied"), "")
        assert len(placement) == (ROWS if in_force else 0)
        assert set(done) <= {int(plan.id) for plan in plans if plan.state == "applied"} & set(
            segments
        )


def assert_sound(url: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert file.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.torture("sqlite")
@pytest.mark.slow
def test_a_writer_killed_before_any_of_its_statements_leaves_whole_transactions(
    url: str, writers: Writers
) -> None:
    for statement in count(1):
        writers.start(statement)
        done = writers.done()
        assert_whole(url, done)
        if done:
            # It got through one whole round, so every statement has been the last one once.
            break
    assert statement > 10
    assert_sound(url)


@pytest.mark.torture("postgresql")
@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_whole_transactions_and_no_lease(
    url: str, writers: Writers
) -> None:
    chance = random.Random(20260301)
    for kill in range(KILLS):
        pid = writers.start(0)
        # No wait for anything to happen: only a moment that falls anywhere within what the writer
        # does.
        with suppress(subprocess.TimeoutExpired):
            writers.process.wait(chance.uniform(0.1, 0.4))
        os.kill(pid, signal.SIGKILL)
        assert_whole(url, writers.done())
        with open_store(url) as store:
            # Each writer takes over from the dead one at once; only the last run, if it had begun,
            # is still open.
            assert [run.exit_code for run in store.runs()[1:]] == [137] * (len(store.runs()) - 1)
            assert len(store.runs()) <= kill + 1
    assert_sound(url)

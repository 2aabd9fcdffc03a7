"""A process is killed at any moment: what it had not finished never happened, and the next one can go on."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from flex.store import SqlStore, open_store

WRITER = Path(__file__).with_name("writer.py")
ROWS = 300
KILLS = 8


@pytest.fixture
def writers(url: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a writer for each line it is given."""
    command = [sys.executable, str(WRITER), url, str(ROWS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def killed_somewhere(writers: subprocess.Popen[str], chance: random.Random) -> int:
    """Let a writer run, end it at a moment nobody chose, and say the last number it has done."""
    assert writers.stdin is not None
    assert writers.stdout is not None
    writers.stdin.write("go on\n")
    writers.stdin.flush()
    pid = int(writers.stdout.readline())
    done = [writers.stdout.readline() for _ in range(chance.randint(1, 3))]
    # No wait for anything to happen: only a moment that falls anywhere within what comes next.
    with suppress(subprocess.TimeoutExpired):
        writers.wait(chance.uniform(0, 0.03))
    os.kill(pid, signal.SIGKILL)
    done += iter(writers.stdout.readline, "ended\n")
    return int(done[-1])


def assert_whole(store: SqlStore, done: int) -> None:
    segments = [int(each.id) for each in store.segments(0, 0)]
    assert segments == list(range(len(segments)))
    assert [each.offset for each in store.streams("web")] == [segments[-1]]
    assert segments[-1] in (done, done + 1)

    cycles = store.cycles(limit=10**6)
    for cycle in cycles:
        placement = store.placement_of(cycle.id)
        assert len(placement) == ROWS
        assert set(placement["node"]) == {f"n{int(cycle.id)}"}
    in_force, placement = store.placement()
    assert in_force == next(cycle.id for cycle in cycles if cycle.state == "applied")
    assert int(in_force) in (done, done + 1)
    assert placement.equals(store.placement_of(in_force))


def test_a_killed_writer_leaves_whole_transactions_and_no_lease(url: str, writers: subprocess.Popen[str]) -> None:
    chance = random.Random(20260301)
    for kill in range(KILLS):
        done = killed_somewhere(writers, chance)
        with open_store(url) as store:
            assert_whole(store, done)
            # Each writer takes over from the dead one at once; only the last run is still open.
            assert [run.exit_code for run in store.runs()] == [None, *[143] * kill]
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert file.execute("PRAGMA foreign_key_check").fetchall() == []

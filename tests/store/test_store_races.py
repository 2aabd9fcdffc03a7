"""Two processes ask for the same thing at the same moment: exactly one of them gets it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from flex.model.nightly_run import NightlyRun
from flex.store import holder, open_store

RIVAL = Path(__file__).with_name("rival.py")
NAMES = ("a", "b")
ROUNDS = 25
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Rival:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.orders, self.answers = process, process.stdin, process.stdout

    def order(self, order: str) -> None:
        self.orders.write(f"{order}\n")
        self.orders.flush()

    def answer(self) -> str:
        return self.answers.readline().strip()


@pytest.fixture(scope="module")
def processes() -> Iterator[tuple[Rival, ...]]:
    """Each ends when there is nobody any more to give it orders."""
    with ExitStack() as later:
        commands = [[sys.executable, str(RIVAL), name] for name in NAMES]
        started = [
            later.enter_context(
                subprocess.Popen(each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for each in commands
        ]
        yield tuple(map(Rival, started))


@pytest.fixture
def rivals(url: str, processes: tuple[Rival, ...]) -> tuple[Rival, ...]:
    assert both(processes, f"open {url}") == ["yes", "yes"]
    return processes


def both(rivals: tuple[Rival, ...], order: str) -> list[str]:
    for rival in rivals:
        rival.order(order)
    return [rival.answer() for rival in rivals]


def test_of_two_processes_exactly_one_takes_the_lease(url: str, rivals: tuple[Rival, ...]) -> None:
    for number in range(ROUNDS):
        answers = both(rivals, f"begin {number}")
        assert sorted(answers) == ["no", "yes"]
        winner = rivals[answers.index("yes")]
        winner.order(f"end {number}")
        assert winner.answer() == "yes"
    with open_store(url) as store:
        assert len(store.runs()) == ROUNDS


def test_of_two_processes_exactly_one_takes_over_from_a_dead_one(
    url: str, rivals: tuple[Rival, ...]
) -> None:
    host, pid, start = holder().rsplit(":", 2)
    with open_store(url) as store:
        store.begin(
            NightlyRun("dead", f"{host}:{pid}:{int(start) + 1}", NOW), timedelta(hours=1), NOW
        )
        assert sorted(both(rivals, "begin 0")) == ["no", "yes"]
        assert [run.exit_code for run in store.runs()] == [137, None]


def test_of_two_processes_exactly_one_counts_a_segment(url: str, rivals: tuple[Rival, ...]) -> None:
    for number in range(ROUNDS):
        assert sorted(both(rivals, f"record {number}")) == ["no", "yes"]
    with open_store(url) as store:
        assert len(store.segments(0, 0)) == ROUNDS

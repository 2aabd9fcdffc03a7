"""Commands of moves are run whole, one try after the other, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex_api.moving.run_hook import NOT_EXECUTABLE, TOO_LONG, Ran, fill, lock_of_move, run
from flex_api.moving.run_side_by_side import (
    Command,
    Limits,
    Pause,
    Question,
    Steps,
    Work,
    run_side_by_side,
)

MARKS = {"{site}": "a.example", "{to}": "n2", "{from}": "{site}"}


def sh(script: str, *, folder: Path, seconds: float = 60.0) -> Ran:
    with lock_of_move(folder, "one") as lock:
        assert lock is not None
        return run(["sh", "-c", script], seconds, Event(), lock)


def test_how_a_command_ended_and_what_it_said_last_is_kept(tmp_path: Path) -> None:
    assert sh("exit 0", folder=tmp_path) == Ran(0, "")
    assert sh("exit 75", folder=tmp_path) == Ran(75, *["it ended with 75"] * 2)
    assert sh("echo no room >&2; exit 1", folder=tmp_path) == Ran(1, "no room", "it ended with 1")
    assert sh("kill -9 $$", folder=tmp_path).code == 128 + 9


def test_whatever_bytes_a_command_prints_and_however_many_the_end_is_kept(tmp_path: Path) -> None:
    ran = sh("head -c 3000000 /dev/urandom >&2; echo; echo the end >&2; exit 1", folder=tmp_path)
    assert ran.code == 1
    assert ran.said.endswith("the end")
    assert len(ran.said) <= 300


@pytest.mark.parametrize("more", [0, 200, 280, 300, 5_000])
def test_what_a_command_prints_of_secrets_in_its_environment_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    """However much it prints after it, so that the secret is where the kept end begins."""
    secret = "correct-horse-battery"
    monkeypatch.setenv("DB_PASSWORD", secret)
    monkeypatch.setenv("SIGNING_KEY", f"first line\n{secret[:12]}\nlast line")
    shown = 'echo "login $DB_PASSWORD" >&2; echo "$SIGNING_KEY" >&2'
    script = f"{shown}; head -c {more} /dev/zero | tr '\\0' x >&2; exit 1"
    said = sh(script, folder=tmp_path).said
    assert said
    for size in range(4, len(secret)):
        assert secret[-size:] not in said
    assert "horse" not in said
    assert "last line" not in said
    if not more:
        assert said == "login *** ***"


@pytest.mark.parametrize("words", [["/nowhere"], ["/etc/passwd"], ["a\0b"]])
def test_a_command_that_is_not_there_is_told_and_raises_nothing(
    tmp_path: Path, words: list[str]
) -> None:
    with lock_of_move(tmp_path, "one") as lock:
        assert lock is not None
        assert run(words, 60, Event(), lock).code == NOT_EXECUTABLE


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    left = tmp_path / "child"
    script = f"sleep 300 & echo $! > {left}; sleep 300"
    assert sh(script, folder=tmp_path, seconds=1.0).code == TOO_LONG
    gone(int(left.read_text(encoding="ascii")))


def test_what_a_command_leaves_behind_is_ended(tmp_path: Path) -> None:
    left = tmp_path / "child"
    assert sh(f"sleep 300 & echo $! > {left}", folder=tmp_path).code == 0
    gone(int(left.read_text(encoding="ascii")))


def gone(process: int) -> None:
    """Init may take a moment to hear of it."""
    for _ in range(3000):
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
        except FileNotFoundError:
            return
        if state.rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.01)
    raise AssertionError("it still runs")


def test_a_command_that_outlives_flex_keeps_others_of_its_move_from_beginning(
    tmp_path: Path,
) -> None:
    """The lock is inherited by what a command starts, and is theirs for as long as they live."""
    reading, writing = os.pipe()
    with lock_of_move(tmp_path, "one") as lock:
        assert lock is not None
        outlives = subprocess.Popen(
            ["cat"], stdin=reading, stdout=subprocess.DEVNULL, pass_fds=(lock,)
        )
    os.close(reading)
    with lock_of_move(tmp_path, "one") as lock:
        assert lock is None
    os.close(writing)
    outlives.wait()
    with lock_of_move(tmp_path, "one") as lock:
        assert lock is not None


@given(st.lists(st.sampled_from([*MARKS, "{", "}", "x", "{site", "{{to}}"]), max_size=8))
def test_each_mark_is_filled_in_once_and_all_else_stays(parts: list[str]) -> None:
    word = "".join(parts)
    [done] = fill([word], MARKS)
    expected, rest = "", word
    while rest:
        mark = next((mark for mark in MARKS if rest.startswith(mark)), "")
        expected += MARKS[mark] if mark else rest[0]
        rest = rest[len(mark) or 1 :]
    assert done == expected


def works(folder: Path, count: int, under_way: Counter[str], most: Counter[str]) -> list[Work]:
    def steps(nodes: frozenset[str], number: int) -> Steps:
        under_way.update(["all", *nodes])
        most.update({key: max(0, under_way[key] - most[key]) for key in under_way})
        with lock_of_move(folder, f"m{number}") as lock:
            assert lock is not None
            for _ in range(2):
                ran = yield Command(["true"], 60.0, lock)
                assert ran.code == 0
                yield Pause(0.001)
        under_way.subtract(["all", *nodes])

    found = []
    for number in range(count):
        nodes = frozenset((f"n{number % 3}", f"n{(number + 1) % 3}"))
        found.append(
            Work(nodes, lambda nodes=nodes, number=number: steps(nodes, number))  # type: ignore[misc]
        )
    return found


def test_no_more_are_under_way_than_the_limits_allow_and_all_are_done(tmp_path: Path) -> None:
    under_way, most = Counter[str](), Counter[str]()
    run_side_by_side(works(tmp_path, 30, under_way, most), Limits(3, 2), lambda: None)
    assert set(under_way.values()) == {0}
    assert most["all"] <= 3
    assert all(most[node] <= 2 for node in ("n0", "n1", "n2"))


def test_others_go_on_while_a_work_looks_again_and_again(tmp_path: Path) -> None:
    done: list[str] = []

    def waits() -> Steps:
        while "other" not in done:
            yield Pause(0.001)
        done.append("waits")

    def other() -> Steps:
        with lock_of_move(tmp_path, "other") as lock:
            assert lock is not None
            yield Command(["true"], 60.0, lock)
        done.append("other")

    one, two = frozenset(("n1",)), frozenset(("n2",))
    run_side_by_side([Work(one, waits), Work(two, other)], Limits(2, 1), lambda: None)
    assert done == ["other", "waits"]


def test_others_go_on_while_a_work_asks(tmp_path: Path) -> None:
    """Also where its answer takes long: requests of other sites wait meanwhile."""
    other_is_done, given = Event(), list[Ran]()

    def asks() -> Steps:
        given.append((yield Question(lambda: "" if other_is_done.wait(60) else "never")))
        given.append((yield Question(lambda: "it answers 404")))

    def other() -> Steps:
        with lock_of_move(tmp_path, "other") as lock:
            assert lock is not None
            yield Command(["true"], 60.0, lock)
        other_is_done.set()

    one, two = frozenset(("n1",)), frozenset(("n2",))
    run_side_by_side([Work(one, asks), Work(two, other)], Limits(2, 1), lambda: None)
    assert given == [Ran(0), Ran(1, "it answers 404")]


def test_where_the_lease_is_lost_a_work_that_pauses_is_ended() -> None:
    looks, ended = Counter[str](), []

    def steps() -> Steps:
        try:
            while True:
                looks["work"] += 1
                yield Pause(0.001)
        finally:
            ended.append("work")

    def refuse_lost() -> None:
        if looks["work"] > 3:
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        run_side_by_side([Work(frozenset(("n1",)), steps)], Limits(1, 1), refuse_lost)
    assert ended == ["work"]


def test_where_the_lease_is_lost_commands_are_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def steps() -> Steps:
        with lock_of_move(tmp_path, "one") as lock:
            assert lock is not None
            yield Command(["sh", "-c", f"echo $$ > {pid}; sleep 300"], 600.0, lock)

    def refuse_lost() -> None:
        if pid.exists() and pid.read_text(encoding="ascii").strip():
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        run_side_by_side([Work(frozenset(("n1",)), steps)], Limits(1, 1), refuse_lost)
    gone(int(pid.read_text(encoding="ascii")))

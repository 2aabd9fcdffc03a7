"""Who holds the lease, and when he is certainly gone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from flex.store.lease_holder import (
    has_ended,
    holder,
    is_gone,
    is_there,
    name_for_people,
)

NOW = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_holder_says_place_process_and_start() -> None:
    place, pid, start = holder().rsplit(":", 2)
    assert (place.split("/")[0], int(pid)) == (socket.gethostname(), os.getpid())
    assert int(start) > 0
    assert name_for_people(holder()) == f"process {os.getpid()} of {socket.gethostname()}"


def test_a_living_process_is_not_gone(child: subprocess.Popen[bytes]) -> None:
    for name in (holder(), holder(child.pid)):
        assert (is_gone(name), is_there(name)) == (False, True)


def test_a_killed_process_is_gone_even_before_anybody_asked_for_its_end(
    child: subprocess.Popen[bytes],
) -> None:
    name = holder(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert (is_gone(name), is_there(name)) == (True, False)
    child.wait()
    assert (is_gone(name), is_there(name)) == (True, False)


def test_another_process_of_the_same_number_is_not_the_holder() -> None:
    place, pid, start = holder().rsplit(":", 2)
    assert is_gone(f"{place}:{pid}:{int(start) - 1}")


def elsewhere(**what: str) -> str:
    """A process that was this one, but for what is said of its place."""
    place, pid, start = holder().rsplit(":", 2)
    parts = dict(zip(("host", "machine", "boot", "space"), place.split("/"), strict=True)) | what
    return f"{'/'.join(parts.values())}:{pid}:{start}"


def test_with_another_start_of_this_machine_its_processes_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flex.store.lease_holder.machine", lambda: "a1b2c3")
    assert not is_gone(elsewhere())
    before = elsewhere(boot="before")
    assert (is_gone(before), is_there(before)) == (True, False)
    for unknown in (
        elsewhere(boot=""),
        elsewhere(boot="before", machine=""),
        elsewhere(boot="before", host="other"),
    ):
        assert (is_gone(unknown), is_there(unknown)) == (False, False)


def test_a_machine_that_is_not_known_from_others_is_not_taken_to_have_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("flex.store.lease_holder.machine", lambda: "")
    assert not is_gone(elsewhere(boot="before"))


@pytest.mark.parametrize("what", [{"space": "1"}, {"machine": "other"}, {"host": "other"}])
def test_who_sees_other_processes_is_not_called_gone_or_there(what: dict[str, str]) -> None:
    """As another machine, or another container, of the same name."""
    assert (is_gone(elsewhere(**what)), is_there(elsewhere(**what))) == (False, False)


@pytest.mark.slow
def test_a_process_with_numbers_of_its_own_is_not_looked_for_among_ours() -> None:
    """Its number may be anybody's here."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c"]
    script = "from flex.store.lease_holder import holder; print(holder())"
    made = subprocess.run(
        [*command, script], capture_output=True, text=True, check=False, timeout=300
    )
    if made.returncode:
        pytest.skip(f"no namespace may be made here: {made.stderr.strip()}")
    assert (is_gone(made.stdout.strip()), is_there(made.stdout.strip())) == (False, False)


@pytest.mark.parametrize(
    ("expires", "ended"),
    [(NOW - timedelta(seconds=1), True), (NOW, True), (NOW + timedelta(seconds=1), False)],
)
def test_of_whom_nothing_is_known_silence_tells(expires: datetime, ended: bool) -> None:
    assert has_ended(elsewhere(host="other"), expires, NOW) == ended
    assert not has_ended(holder(), expires, NOW)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ":",
        "::",
        "only-a-host",
        "other.example.org:1:1",
        "{place}:1",
        "{place}:x:y",
        "{host}:1:1",
        "a/b/c:1:1",
    ],
)
def test_of_what_cannot_be_looked_at_nobody_is_called_gone_or_there(name: str) -> None:
    name = name.format(host=socket.gethostname(), place=holder().rsplit(":", 2)[0])
    assert (is_gone(name), is_there(name)) == (False, False)


def test_a_holder_without_a_start_time_is_not_called_gone() -> None:
    place, pid, _ = holder().rsplit(":", 2)
    assert not is_gone(f"{place}:{pid}:0")

"""Who holds the lease, and when he is certainly gone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from flex.store.holder import holder, is_gone, is_there


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_holder_says_host_process_and_start() -> None:
    host, pid, start = holder().rsplit(":", 2)
    assert (host, int(pid)) == (socket.gethostname(), os.getpid())
    assert int(start) > 0


def test_a_living_process_is_not_gone(child: subprocess.Popen[bytes]) -> None:
    for name in (holder(), holder(child.pid)):
        assert (is_gone(name), is_there(name)) == (False, True)


def test_a_killed_process_is_gone_even_before_anybody_asked_for_its_end(child: subprocess.Popen[bytes]) -> None:
    name = holder(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert (is_gone(name), is_there(name)) == (True, False)
    child.wait()
    assert (is_gone(name), is_there(name)) == (True, False)


def test_another_process_of_the_same_number_is_not_the_holder() -> None:
    host, pid, start = holder().rsplit(":", 2)
    assert is_gone(f"{host}:{pid}:{int(start) - 1}")


@pytest.mark.parametrize("name", ["", ":", "::", "only-a-host", "other.example.org:1:1", "{host}:1", "{host}:x:y"])
def test_of_what_cannot_be_looked_at_nobody_is_called_gone_or_there(name: str) -> None:
    name = name.format(host=socket.gethostname())
    assert (is_gone(name), is_there(name)) == (False, False)


def test_a_holder_without_a_start_time_is_not_called_gone() -> None:
    assert not is_gone(f"{socket.gethostname()}:{os.getpid()}:0")

"""systemd hears from FLEX's services when they are ready, and again and again that they go on: by a
real socket, in the way in which systemd gives one.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flex.store import migrate
from flex_api.settings.file import load
from flex_api.tell_systemd import Systemd
from tests.api.test_watch_kept import children, until

FLEX = Path(sys.executable).parent / "flex"
# Seconds within which systemd wants to hear again, here: short, and enough for a busy machine.
WITHIN = 8
PATIENCE = 120.0


@dataclass(eq=False)
class Listener:
    """What systemd is to a service: a socket, and what came to it."""

    bound: socket.socket
    address: str
    heard: list[str] = field(default_factory=list)

    def listen(self) -> None:
        while said := self.bound.recv(4096):
            self.heard += said.decode().splitlines()

    @property
    def beats(self) -> int:
        return self.heard.count("WATCHDOG=1")


@contextmanager
def listening(address: str) -> Iterator[Listener]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        name = f"\0{address[1:]}" if address.startswith("@") else address
        bound.bind(name)
        listener = Listener(bound, address)
        thread = threading.Thread(target=listener.listen)
        thread.start()
        try:
            yield listener
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
                last.sendto(b"", name)
            thread.join()


@pytest.fixture
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Listener]:
    abstract = getattr(request, "param", "a path") == "an abstract name"
    named = f"@flex/{os.getpid()}/{tmp_path.name}" if abstract else f"{tmp_path}/notify"
    with listening(named) as listener:
        yield listener


@contextmanager
def service(
    systemd: Listener, *words: str, more: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A FLEX that systemd starts, with WatchdogSec=; ended and collected behind this."""
    given = {
        "NOTIFY_SOCKET": systemd.address,
        "WATCHDOG_USEC": str(WITHIN * 1_000_000),
        **(more or {}),
    }
    process = subprocess.Popen(
        [str(FLEX), *words],
        env={**os.environ, **given},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            for child in children(process.pid):
                os.kill(child, signal.SIGKILL)
        process.kill()
        process.communicate()


@contextmanager
def serving(
    systemd: Listener,
    folder: Path,
    port: int,
    workers: int = 1,
    more: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """A `flex serve` that systemd starts, with settings of its own in the folder."""
    path, at = settings(folder, workers), f"127.0.0.1:{port}"
    words = ("--config", str(path), "serve", "--listen", at)
    with service(systemd, *words, more=more) as process:
        yield process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)


def settings(folder: Path, workers: int) -> Path:
    path = folder / "flex.toml"
    path.write_text(
        'schema = 1\n[[node]]\nname = "n1"\nram = "1 GiB"\naddresses = ["192.0.2.1"]\n'
        f'[database]\nurl = "sqlite:///flex.db"\n[api]\nworkers = {workers}\n'
    )
    migrate.upgrade(load(path).database.url)
    return path


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=PATIENCE):
            return True
    except OSError:
        return False


@pytest.mark.torture("an abstract name-1")
@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize(
    ("systemd", "workers"), [("an abstract name", 1), ("a path", 3)], indirect=["systemd"]
)
def test_flex_serve_is_ready_once_it_answers_and_says_again_and_again_that_it_does(
    systemd: Listener, tmp_path: Path, free_port: int, workers: int
) -> None:
    with serving(systemd, tmp_path, free_port, workers) as process:
        until("it is ready", lambda: "READY=1" in systemd.heard)
        assert answers(free_port)
        assert any(line.startswith("STATUS=") and str(free_port) in line for line in systemd.heard)
        until("it goes on", lambda: systemd.beats >= 3)
        assert systemd.heard.count("READY=1") == 1
        end(process)
        until("it says that it stops", lambda: "STOPPING=1" in systemd.heard)


@pytest.mark.slow
@pytest.mark.real
def test_a_process_of_flex_serve_that_hangs_is_replaced_and_the_others_go_on(
    systemd: Listener, tmp_path: Path, free_port: int
) -> None:
    with serving(systemd, tmp_path, free_port, 2) as process:
        until("it is ready", lambda: "READY=1" in systemd.heard)
        # The health watch has a process of its own, which workers have not.
        workers = [each for each in children(process.pid) if not children(each)]
        os.kill(workers[0], signal.SIGSTOP)
        until("it is gone", lambda: workers[0] not in children(process.pid))
        until("another is there", lambda: len(children(process.pid)) == len(workers) + 1)
        assert workers[1] in children(process.pid)
        before = systemd.beats
        until("it goes on", lambda: systemd.beats > before)
        end(process)


@pytest.mark.slow
@pytest.mark.real
def test_processes_that_answer_end_with_a_flex_serve_that_was_killed(
    systemd: Listener, tmp_path: Path, free_port: int
) -> None:
    """Nobody would replace one that hangs, and the next `flex serve` could not have the address."""
    with serving(systemd, tmp_path, free_port, 3) as process:
        until("it is ready", lambda: "READY=1" in systemd.heard)
        process.kill()
        until("nobody answers", lambda: not answers(free_port))


@pytest.mark.slow
@pytest.mark.real
def test_a_flex_serve_that_hangs_says_nothing_more(
    systemd: Listener, tmp_path: Path, free_port: int
) -> None:
    with serving(systemd, tmp_path, free_port) as process:
        until("it goes on", lambda: systemd.beats >= 2)
        process.send_signal(signal.SIGSTOP)
        before = systemd.beats
        # Nothing can be awaited that is not to come.
        time.sleep(WITHIN / 2)
        assert systemd.beats <= before + 1
        process.send_signal(signal.SIGCONT)
        until("it goes on again", lambda: systemd.beats > before + 1)
        end(process)


@pytest.mark.slow
@pytest.mark.real
def test_flex_route_follow_is_ready_and_goes_on_while_the_server_is_away(
    systemd: Listener, tmp_path: Path, free_port: int
) -> None:
    port = free_port
    token = tmp_path / "token"
    token.write_text("flex_nobody")
    url = f"http://127.0.0.1:{port}/api/v1/routing/nodes/n1"
    words = ("route", "follow", "--from", url, "--token-file", str(token))
    with service(systemd, *words, "--to", str(tmp_path)) as process:
        until("it is ready", lambda: "READY=1" in systemd.heard)
        until("it goes on", lambda: systemd.beats >= 3)
        assert any(line.startswith("STATUS=fetching") for line in systemd.heard)
        end(process)
        until("it says that it stops", lambda: "STOPPING=1" in systemd.heard)


@pytest.mark.slow
@pytest.mark.real
def test_signs_of_life_are_for_whom_systemd_asks_and_nobody_else(
    systemd: Listener, tmp_path: Path, free_port: int
) -> None:
    """A child of a service inherits what that one was told."""
    more = {"WATCHDOG_PID": "1"}
    with serving(systemd, tmp_path, free_port, more=more) as process:
        until("it is ready", lambda: "READY=1" in systemd.heard)
        end(process)
        until("it says that it stops", lambda: "STOPPING=1" in systemd.heard)
    assert systemd.beats == 0


def test_where_nobody_listens_the_service_goes_on(tmp_path: Path) -> None:
    for address in ("", str(tmp_path / "gone"), "@flex/nobody"):
        told = Systemd(address, 1.0)
        told.ready("all is well")
        told.beat()
        told.stopping()
    assert Systemd("", 1.0).pause is None
    assert Systemd("/run/notify", 0.0).pause is None

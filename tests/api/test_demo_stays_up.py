"""The demo's cluster that stays up: it lives by itself, nodes can be killed, and nothing is left of
it when it ends.
"""

from __future__ import annotations

import http.cookiejar
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import dns.message
import dns.query
import numpy as np
import pytest

from flex.sim import made_up_cluster, made_up_logs
from flex.sim.made_up_cluster import Shape
from flex_api.live_demo import FasterClock, Traffic, WebServers, ten_things
from flex_dns.private.private_named import free_port

if TYPE_CHECKING:
    from flex_api.wiring import World

Browser = urllib.request.OpenerDirector
# Seconds that something may take before it is taken for what never comes.
LONG = 240.0


def awaited(what: str, look: Callable[[], object]) -> object:
    """What `look` finds, once it finds something."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited for {what}")


class Running:
    """A demo in a process group of its own; all that it says is read."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "said"
        self.folder = folder / "demo"
        with self.out.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from flex_api.cli import main; main()",
                 "demo", "--serve", "--dir", str(self.folder)],
                stdout=said, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder,
            )  # fmt: skip

    @property
    def said(self) -> str:
        return self.out.read_text(encoding="utf-8")

    def told(self, pattern: str) -> str:
        def look() -> re.Match[str] | None:
            assert self.process.poll() is None, self.said
            return re.search(pattern, self.said)

        found = awaited(pattern, look)
        assert isinstance(found, re.Match)
        return str(found[1])

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(LONG)

    @property
    def has_left_somebody(self) -> bool:
        """Whether a process of its group is there still."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True


@pytest.fixture
def running(open_folder: Path) -> Iterator[Running]:
    made = Running(open_folder)
    yield made
    if made.process.poll() is None:
        os.killpg(made.process.pid, signal.SIGKILL)
        made.process.wait()


def fetch(url: str, browser: Browser | None = None, data: bytes | None = None) -> str:
    """Where one ends up, and the page that is there."""
    with (browser or urllib.request.build_opener()).open(url, data) as answer:
        return f"{answer.url}\n{answer.read().decode()}"


def addresses(port: int, site: str) -> set[str]:
    question = dns.message.make_query(site, "A")
    answer = dns.query.udp(question, "127.0.0.1", timeout=LONG, port=port)
    return {str(one) for rrset in answer.answer for one in rrset}


@pytest.mark.slow
@pytest.mark.real
def test_the_cluster_lives_loses_a_node_and_ends_without_a_trace(running: Running) -> None:
    link = running.told(r"Open (http://\S+)\n")
    port = int(running.told(r"dig @127.0.0.1 -p (\d+)"))
    site = running.told(r"dig @127.0.0.1 -p \d+ (\S+)")
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    shown = fetch(link, browser)
    assert "Ten things to try" in shown
    assert shown.count("<li>") >= 10

    # The pages are open, and strangers stay outside.
    origin = link.partition("/demo/")[0]
    assert 'class="partition' in fetch(f"{origin}/", browser)
    assert fetch(f"{origin}/").startswith(f"{origin}/login")
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        fetch(f"{origin}/demo/guessed")
    refused.value.close()

    # Logs grow.
    logs = list((running.folder / "logs").glob("*/access.log"))
    before = sum(log.stat().st_size for log in logs)
    awaited("more lines", lambda: sum(log.stat().st_size for log in logs) > before)

    # A node that is killed leaves DNS by itself.
    there = min(addresses(port, site))
    node = f"n{int(there.rpartition('.')[2]) - 10}"
    kill = urllib.parse.urlencode({"node": node, "do": "kill"}).encode()
    assert f"<strong>{node}</strong> is dead" in fetch(link, browser, kill)
    awaited("another address", lambda: there not in addresses(port, site))
    running.told(f"({node} was dead and is out of DNS)")

    assert running.end(signal.SIGTERM) == 0
    assert "The demo has ended" in running.said
    assert "Traceback" not in running.said
    assert not running.has_left_somebody


@pytest.mark.slow
@pytest.mark.real
def test_ctrl_c_in_the_first_night_leaves_no_process(running: Running) -> None:
    running.told(r"(it answers on 127.0.0.1 port \d+)")
    assert running.end(signal.SIGINT) == 128 + signal.SIGINT
    assert not running.has_left_somebody


def test_the_demos_time_runs_faster_and_never_past_the_present() -> None:
    now = datetime.now(UTC)
    behind = FasterClock(now - timedelta(days=3), time.monotonic() - 60)
    assert timedelta(hours=4) <= behind() - (now - timedelta(days=3)) < timedelta(hours=6)
    late = FasterClock(now - timedelta(days=3), time.monotonic() - 10 * 86_400)
    assert abs(late() - datetime.now(UTC)) < timedelta(minutes=1)


class Nowhere:
    """A world before the first partition: every node serves every site in turn."""

    @property
    def store(self) -> Nowhere:
        return self

    def placement(self) -> tuple[str, None]:
        return "", None


@pytest.mark.torture("200")
@pytest.mark.slow("7", "200")
@pytest.mark.parametrize("steps", [1, 7, 200])
def test_days_of_traffic_are_whole_in_however_many_steps_they_are_written(
    tmp_path: Path, steps: int
) -> None:
    rng = np.random.default_rng(4)
    hosting = made_up_cluster.hosting(rng, "hosting.example.", Shape(sites=6))
    traffic = Traffic(hosting, tmp_path, ["n1", "n2", "n3"], 1_500, 9)
    start = datetime(2026, 3, 2, tzinfo=UTC)
    here: World = Nowhere()  # type: ignore[assignment]  # of a World it asks the placement
    written = traffic.write_until(start, here)
    for step in range(1, steps + 1):
        written += traffic.write_until(start + timedelta(days=2) * step / steps, here)
    assert written == 3_000
    lines = 0
    for source in made_up_logs.sources(tmp_path, hosting, ["n1", "n2", "n3"]):
        if source.path.exists():
            text = source.path.read_text(encoding="utf-8")
            lines += text.count("\n")
            assert not source.path.with_name(f"{source.path.name}.1").exists()
    assert lines >= 3_000


def test_a_web_server_of_a_node_is_killed_and_started_again_however_often_that_is_asked() -> None:
    with free_port() as port, WebServers({"n1": "127.0.0.1"}, port) as servers:
        for _ in range(2):
            servers.start("n1")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
                assert answer.read().startswith(b"n1 serves")
            servers.kill("n1")
            servers.kill("n1")
            assert not servers.answers("n1")
            with pytest.raises(urllib.error.URLError, match="refused"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/")
        servers.start("no such node")
        assert not servers.answers("no such node")


def test_there_are_ten_things_to_try_and_each_has_its_page() -> None:
    things = ten_things(Path("demo"), 53, 80, ["a.example", "b.example"])
    assert len(things) == 10
    assert all(one.to.startswith("/") for one in things)

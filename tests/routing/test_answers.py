"""What a node answers for its sites is counted by its HAProxy: real HAProxies of four nodes on
loopback, and web servers that fail in every way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest

from flex.model.node_answer_counts import BOUNDS, NO_TIMES, Answers, total
from flex.routing import read_http_answers
from flex.routing.haproxy import CONFIGURATION
from flex.routing.haproxy_answer_counters import ANSWERS, key
from flex.routing.haproxy_socket import Socket
from flex.routing.ports_and_paths import Layout
from tests.routing.conftest import Held, until_closed
from tests.routing.test_doors import NAMES, Cluster, cluster, stack
from tests.routing.test_strays import HOSTILE

__all__ = ["cluster", "stack"]

# Any span that a test may fall into.
SPANS = 3


class CountingCluster(Cluster):
    """Whose doors count answers."""

    def layout(self, node: str) -> Layout:
        return replace(super().layout(node), counts_answers=True)

    def counted(self, node: str, *names: str) -> Answers:
        socket = Socket(str(self.folder / node / "s"))
        now = int(time.time()) // 900
        spans = range(now - SPANS, now + 1)
        return total(read_http_answers.answers(socket, node, names, spans))

    def until(self, node: str, name: str, wanted: Callable[[Answers], bool]) -> Answers:
        """A request counts as over a moment after its visitor has the answer."""
        for _ in range(600):
            found = self.counted(node, name)
            if wanted(found):
                return found
            time.sleep(0.1)
        pytest.fail(f"{node} counts {found} for {name}")


@pytest.fixture
def counting(cluster: Cluster, stack: ExitStack) -> CountingCluster:
    made = CountingCluster(cluster.found, cluster.folder, cluster.members)
    made.start(stack, NAMES)
    return made


def say(held: Held, text: bytes) -> None:
    with held.connection:
        held.connection.sendall(text)


def ask(cluster: Cluster, host: str, answer: Callable[[Held], None], at: str) -> bytes:
    with cluster.ask(at, host) as connection:
        answer(cluster.members.asked.get(timeout=60))
        return until_closed(connection)


def error(code: int) -> Callable[[Held], None]:
    head = f"HTTP/1.1 {code} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    return lambda held: say(held, head.encode())


@pytest.mark.slow
@pytest.mark.real
def test_the_owner_counts_what_it_answers_by_whichever_door_it_came(
    counting: CountingCluster,
) -> None:
    for door in ("n0", "n1", "n2"):
        counting.answered(door, "b.example")
    counting.answered("n1", "WWW.b.example.")
    found = counting.until("n1", "b.example", lambda found: found.number_of_times == 3)
    assert (found.requests, found.errors) == (3, 0)
    assert counting.counted("n1", "b.example", "www.b.example").requests == 4
    for other in ("n0", "n2", "n3"):
        assert counting.counted(other, "b.example") == Answers()


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("door", ["n0", "n1"])
def test_every_way_to_fail_counts_as_an_error_and_nothing_else_does(
    counting: CountingCluster, door: str
) -> None:
    for code in (200, 301, 404, 429, 499):
        ask(counting, "b.example", error(code), door)
    for code in (500, 501, 502, 503, 505, 599):
        ask(counting, "b.example", error(code), door)
    ask(counting, "b.example", lambda held: held.connection.close(), door)
    ask(counting, "b.example", lambda held: say(held, b"nonsense\r\n\r\n"), door)
    counting.members.stop("n1")
    with counting.ask(door, "b.example") as connection:
        assert b" 503 " in until_closed(connection)
    found = counting.until("n1", "b.example", lambda found: found.errors >= 9)
    assert (found.requests, found.errors, found.number_of_times) == (14, 9, 11)


@pytest.mark.slow
@pytest.mark.real
def test_what_is_under_way_is_no_error(counting: CountingCluster) -> None:
    with counting.ask("n0", "b.example") as connection:
        held = counting.members.asked.get(timeout=60)
        found = counting.until("n1", "b.example", lambda found: found.requests == 1)
        assert (found.errors, found.number_of_times) == (0, 0)
        held.answer()
        until_closed(connection)
    counting.until("n1", "b.example", lambda found: found.number_of_times == 1)


@pytest.mark.slow
@pytest.mark.real
def test_answers_are_counted_by_the_time_that_the_web_server_took(
    counting: CountingCluster,
) -> None:
    with counting.ask("n0", "b.example") as connection:
        held = counting.members.asked.get(timeout=60)
        began = time.monotonic()
        # Time is what this test is about: the answer comes behind the fourth bound.
        time.sleep((BOUNDS[3] + 20) / 1000)
        held.answer()
        took = (time.monotonic() - began) * 1000
        until_closed(connection)
    found = counting.until("n1", "b.example", lambda found: found.number_of_times == 1)
    at = found.times.index(1)
    assert at >= 4
    assert at == len(BOUNDS) or BOUNDS[at] <= 4 * took


@pytest.mark.slow
@pytest.mark.real
def test_no_visitor_fills_the_table_with_names_that_nobody_owns(counting: CountingCluster) -> None:
    for host in ("nobody.example", "made-up.example", HOSTILE[6], HOSTILE[8]):
        counting.answered("n0", host)
    stats = Socket(str(counting.folder / "n0" / "s"))
    assert "used:0" in stats.ask("show", "table", ANSWERS)


@pytest.mark.slow
@pytest.mark.real
def test_a_door_says_whether_it_counts_answers(counting: CountingCluster, stack: ExitStack) -> None:
    stats = Socket(str(counting.folder / "n0" / "s"))
    assert read_http_answers.counts_answers(stats)
    counting.answered("n0", "a.example")
    assert read_http_answers.counts_answers(stats)
    assert "No such table" in stats.ask("show", "table", "another", "key", "x")


def test_without_a_watch_the_files_are_what_they_were(cluster: Cluster) -> None:
    assert ANSWERS not in cluster.files("n0", NAMES)[CONFIGURATION]


LINE = (
    "0x7f: key={} use=0 exp=4500000 shard=0 conn_cur={} http_req_cnt={} gpc0=1 gpc1=5 gpc2=0 gpc3=2"
)


def test_a_line_of_the_table_is_read() -> None:
    line = LINE.format(key("b.example", 7), 1, 12)
    (found,) = read_http_answers.parse("n1", [line, ""])
    assert (found.node, found.name, found.span) == ("n1", "b.example", 7)
    # 12 requests, 7 answers, 1 under way: 4 without an answer, and one answer was an error.
    assert found.answers == Answers(12, 5, (5, 0, 2, *NO_TIMES[3:]))


@pytest.mark.parametrize(
    "line",
    [
        "# table: answers, type: string, size:102400, used:3",
        "No such table",
        LINE.format("b.example", 0, 1),
        LINE.format("b.example/x", 0, 1),
        LINE.format(r"b\ c.example/7", 0, 1),
        LINE.format("b.example/" + "7" * 40, 0, 1),
    ],
)
def test_a_line_that_is_none_of_the_table_counts_as_nothing(line: str) -> None:
    assert list(read_http_answers.parse("n1", [line])) == []

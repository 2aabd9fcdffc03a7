"""A node's memory is filled before visitors come: not with more than the budget, not faster than
the rate.
"""

from __future__ import annotations

import socket
import threading
import time as clocks
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from flex.errors import BadInput
from flex.frame_schemas import FILES
from flex.routing.warming import Warmed, WarmingBudget, hottest, warm
from tests.served_in_thread import in_a_thread

SIZE = 1_000


class Web(ThreadingHTTPServer):
    asked: list[tuple[str, str]]


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, Web)
        self.server.asked.append((self.headers["Host"], self.path))
        self.send_response(404 if self.path == "/gone" else 200)
        self.send_header("Content-Length", str(SIZE))
        self.end_headers()
        self.wfile.write(b"." * SIZE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        pass


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(("127.0.0.1", 0), _Answer) as server:
        server.asked = []
        with in_a_thread(server):
            yield server


class Time:
    """It passes only while somebody waits."""

    now = 0.0

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def warmed(port: int, paths: list[str], budget: WarmingBudget, time: Time | None = None) -> Warmed:
    time = time or Time()
    targets = [("shop.example", path) for path in paths]
    return warm(targets, ("127.0.0.1", port), budget, clock=time.clock, wait=time.wait)


PATHS = [f"/{number}" for number in range(10)]
PLENTY = WarmingBudget(10**9, 10**9)


def test_the_hottest_are_asked_for_under_the_sites_name_until_the_budget_is_used_up(
    web: Web,
) -> None:
    assert warmed(web.server_port, PATHS, WarmingBudget(3 * SIZE, 10**9)) == Warmed(3, 3 * SIZE, 0)
    assert web.asked == [("shop.example", path) for path in PATHS[:3]]


def test_it_takes_the_time_that_the_rate_gives(web: Web) -> None:
    time = Time()
    warmed(web.server_port, PATHS, WarmingBudget(10**9, 2 * SIZE), time)
    assert time.now == pytest.approx(len(PATHS) / 2)


def test_it_ends_when_its_time_is_over(web: Web) -> None:
    assert warmed(web.server_port, PATHS, WarmingBudget(10**9, 2 * SIZE, seconds=2.5)) == Warmed(
        5, 5 * SIZE, 0
    )


def files(*rows: tuple[str, int, int]) -> pd.DataFrame:
    """Target, requests, size."""
    target, requests, size = zip(*rows, strict=True)
    nothing = [0] * len(rows)
    return FILES.from_columns(
        {
            "site": ["shop.example"] * len(rows),
            "target": target,
            "requests": requests,
            "bytes": nothing,
            "size": size,
            "last": nothing,
        }
    )


def test_what_is_asked_for_most_is_chosen_while_it_fits_whatever_piece_of_the_table_it_is_in() -> (
    None
):
    pieces = [
        files(("/a", 3, 40), ("/b", 9, 40)),
        files(("/c", 5, 40), ("/unseen", 99, 0), ("/buy.PHP", 99, 1)),
    ]
    assert hottest(pieces, 100, [".php"]) == [("shop.example", "/b"), ("shop.example", "/c")]
    assert hottest(pieces, 39) == [("shop.example", "/buy.PHP")]
    assert hottest([], 100) == []


def test_one_target_that_is_larger_than_the_budget_keeps_no_other_out() -> None:
    assert hottest([files(("/disc.iso", 99, 10**10), ("/a", 1, 40))], 100) == [
        ("shop.example", "/a")
    ]


def test_what_is_gone_is_left_out(web: Web) -> None:
    assert warmed(web.server_port, ["/gone", "/here"], PLENTY) == Warmed(1, SIZE, 1)


@pytest.mark.parametrize("path", ["/a b", "/a\r\nHost: evil", "http://evil/", "", "/ä", "/\0"])
def test_what_is_no_path_is_never_sent(web: Web, path: str) -> None:
    assert warmed(web.server_port, [path, "/here"], PLENTY) == Warmed(1, SIZE, 1)
    assert web.asked == [("shop.example", "/here")]


def test_a_web_server_that_is_not_there_ends_it(free_port: int) -> None:
    said = warmed(free_port, [f"/{number}" for number in range(1_000)], PLENTY)
    assert (said.fetched, said.failed) == (0, 20)


@pytest.mark.parametrize("wrong", [(-1, 1), (1, 0)])
def test_a_budget_that_cannot_be_kept_is_refused(wrong: tuple[int, int]) -> None:
    with pytest.raises(BadInput, match="warming"):
        WarmingBudget(*wrong)


@pytest.mark.parametrize(
    "begins", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"]
)
def test_an_answer_that_trickles_holds_nothing_up(begins: bytes) -> None:
    """It is cut off long before it is whole."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked, cut = threading.Event(), threading.Event()

        def trickle() -> None:
            visitor, _ = server.accept()
            with visitor:
                visitor.sendall(begins)
                asked.set()
                for _ in range(1_000):
                    try:
                        visitor.sendall(b"x")
                    except OSError:
                        cut.set()
                        return
                    clocks.sleep(0.05)

        web = threading.Thread(target=trickle, daemon=True)
        web.start()
        budget = WarmingBudget(10**9, 10**9, seconds=0.4)
        found = warm(
            [("shop.example", "/slow")],
            server.getsockname(),
            budget,
            clock=clocks.monotonic,
            wait=clocks.sleep,
        )
        web.join()
    assert (asked.is_set(), cut.is_set(), found) == (True, True, Warmed(0, 0, 1))


def test_a_web_server_that_wants_the_proxy_protocol_gets_it_first() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        heard = []

        def answer() -> None:
            visitor, _ = server.accept()
            with visitor:
                heard.append(visitor.recv(16, socket.MSG_WAITALL))
                heard.append(visitor.recv(5, socket.MSG_WAITALL))
                visitor.recv(2**16)
                visitor.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        web = threading.Thread(target=answer, daemon=True)
        web.start()
        time = Time()
        at = server.getsockname()
        found = warm(
            [("shop.example", "/")], at, PLENTY, clock=time.clock, wait=time.wait, proxied=True
        )
        web.join()
    # Version 2, sent by nobody but the sender, without addresses.
    assert heard == [b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", b"GET /"]
    assert found == Warmed(1, 2, 0)

"""Fills a node's memory before visitors come: fetches the most wanted targets of its new sites from
its web server.

Takes FILES of these sites and a WarmingBudget. Returns the targets, and how much of them was
fetched. Goes slowly, one request at a time, because nobody waits for the answers. A target that
fails is left out. Does not know which site comes to which node.
"""

from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pandas as pd

from flex.errors import BadInput
from flex.frame_schemas import FILES, texts

# A host name and a path.
Target = tuple[str, str]

_PATH = re.compile(r"/[!-~]{0,8000}")
# Bytes of an answer that are read at a time. A guess.
_PART = 2**16
# Seconds for which the web server may be silent. A guess.
_PATIENCE = 10.0
# A target that takes more seconds is left to its visitors. A guess.
_LONGEST = 60.0
# In the PROXY protocol: a connection of nobody but its sender.
_LOCAL = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"
# After so many failures one after the other the web server is not there. A guess.
_GIVE_UP = 20


@dataclass(frozen=True, slots=True)
class WarmingBudget:
    """At most so many bytes in all, and in a second on average; and for so many seconds."""

    bytes: int
    per_second: int
    seconds: float = float("inf")

    def __post_init__(self) -> None:
        if self.bytes < 0 or self.per_second <= 0:
            raise BadInput(
                f"warming up with {self.bytes} bytes at {self.per_second} a second",
                "neither may be negative, nor the rate nothing",
                kept="nothing was fetched",
                advice="give a number of bytes",
            )


@dataclass(frozen=True, slots=True)
class Warmed:
    fetched: int
    bytes: int
    failed: int


def hottest(
    files: Iterable[pd.DataFrame], most: int, computed: Collection[str] = ()
) -> list[Target]:
    """What was asked for most often of all that fits into so many bytes, hottest first. `files` are
    pieces of FILES.

    Left out are what never came whole, so that its size is not known, what alone is too large, and
    paths with one of the `computed` endings: to ask for these is to have something done.
    """
    best = FILES.empty()
    for piece in files:
        is_computed = piece["target"].str.lower().str.endswith(tuple(computed) or ("\0",))
        both = pd.concat(
            [best, piece[piece["size"].between(1, most) & ~is_computed]], ignore_index=True
        )
        ranked = both.sort_values(
            ["requests", "site", "target"], ascending=[False, True, True], ignore_index=True
        )
        best = ranked[ranked["size"].cumsum() <= most]
    return list(zip(texts(best["site"]), texts(best["target"]), strict=True))


def warm(
    targets: Iterable[Target],
    at: tuple[str, int],
    budget: WarmingBudget,
    *,
    clock: Callable[[], float],
    wait: Callable[[float], None],
    proxied: bool = False,
) -> Warmed:
    """Until the budget is used up or the targets are. A web server that is not there ends it; one
    that is `proxied` wants the PROXY protocol.
    """
    begun, fetched, size, failed, in_a_row = clock(), 0, 0, 0, 0
    connection = (_Proxied if proxied else http.client.HTTPConnection)(*at, timeout=_PATIENCE)
    for host, path in targets:
        left = budget.seconds - (clock() - begun)
        if size >= budget.bytes or in_a_row >= _GIVE_UP or left <= 0:
            break
        got = _fetch(connection, host, path, budget.bytes - size, min(left, _LONGEST))
        if got is None:
            connection.close()
            failed, in_a_row = failed + 1, in_a_row + 1
            continue
        fetched, size, in_a_row = fetched + 1, size + got, 0
        passed = clock() - begun
        ahead = min(size / budget.per_second, budget.seconds) - passed
        if ahead > 0:
            wait(ahead)
    connection.close()
    return Warmed(fetched, size, failed)


class _Proxied(http.client.HTTPConnection):
    """It begins as HAProxy's own checks do: with a header of version 2 that names no visitor."""

    def connect(self) -> None:
        super().connect()
        self.sock.sendall(_LOCAL)


def _fetch(
    connection: http.client.HTTPConnection, host: str, path: str, most: int, seconds: float
) -> int | None:
    """Its bytes; None where there was no answer, or a path that is none. An answer over the budget
    is cut off, and one that does not end in time is none, however it trickles.
    """
    if not _PATH.fullmatch(path):
        return None
    size = 0
    try:
        connection.request("GET", path, headers={"Host": host, "User-Agent": "flex-warm-up"})
        with _cut_after(seconds, connection.sock) as is_cut:
            answer = connection.getresponse()
            while part := answer.read1(_PART):
                size += len(part)
                if size >= most:
                    connection.close()
                    break
            # One that came whole: the connection is free for the next.
            answer.close()
    except (OSError, http.client.HTTPException):
        return None
    return size if answer.status < 400 and not is_cut.is_set() else None


@contextmanager
def _cut_after(seconds: float, connected: socket.socket) -> Iterator[threading.Event]:
    """A time-out is for each piece of an answer, and there may be many: the connection is shut from
    beside.
    """
    is_cut = threading.Event()

    def cut() -> None:
        is_cut.set()
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield is_cut
    finally:
        timer.cancel()

"""A node's memory filled before visitors come: the hottest targets of a site, asked of its web server one by one.

In go paths, hottest first, and a Budget; out comes what was fetched. Nobody waits for an answer here, so it goes
slowly, one request at a time, and what fails is left out. Which targets are hot is not decided here.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flex.errors import BadInput

_PATH = re.compile(r"/[!-~]{0,8000}")
_PART = 2**16
_PATIENCE = 10.0
# After so many failures one after the other the web server is not there.
_GIVE_UP = 20


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many bytes in all, and in a second on average."""

    bytes: int
    per_second: int

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


def warm(
    host: str,
    paths: Iterable[str],
    at: tuple[str, int],
    budget: Budget,
    *,
    clock: Callable[[], float],
    wait: Callable[[float], None],
) -> Warmed:
    """Until the budget is used up or the paths are. A web server that is not there ends it."""
    begun, fetched, size, failed, in_a_row = clock(), 0, 0, 0, 0
    connection = http.client.HTTPConnection(*at, timeout=_PATIENCE)
    for path in paths:
        if size >= budget.bytes or in_a_row >= _GIVE_UP:
            break
        got = _fetched(connection, host, path, budget.bytes - size)
        if got is None:
            connection.close()
            failed, in_a_row = failed + 1, in_a_row + 1
            continue
        fetched, size, in_a_row = fetched + 1, size + got, 0
        ahead = size / budget.per_second - (clock() - begun)
        if ahead > 0:
            wait(ahead)
    connection.close()
    return Warmed(fetched, size, failed)


def _fetched(connection: http.client.HTTPConnection, host: str, path: str, most: int) -> int | None:
    """Its bytes; None where there was no answer, or a path that is none. An answer over the budget is cut off."""
    if not _PATH.fullmatch(path):
        return None
    size = 0
    try:
        connection.request("GET", path, headers={"Host": host, "User-Agent": "flex-warm-up"})
        answer = connection.getresponse()
        while part := answer.read(_PART):
            size += len(part)
            if size >= most:
                connection.close()
                break
    except (OSError, http.client.HTTPException):
        return None
    return size if answer.status < 400 else None

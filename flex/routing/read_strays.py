"""What a node's HAProxy has counted of requests for sites of other nodes.

Takes the socket of a running HAProxy. Returns a StrayReading: how many names and requests, and the
names that were asked for most. A table may have 100,000 names: it is read line by line, and only
these names are kept. A name that no host can have is counted, and not told. A connection whose
requests nobody can see, as its TLS ends elsewhere, counts as one.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta

from flex.model.stray_requests import MOST_READ, Counted, StrayReading
from flex.routing import haproxy_socket
from flex.routing.haproxy_frontends import STRAY_DAYS, STRAYS
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import is_host

# HAProxy writes a space, `=` and whatever else could end a key with a backslash before it. Numbers
# of more digits are no numbers of its own.
_LINE = re.compile(
    r"0x[0-9a-f]+: key=(?P<key>(?:[^\s\\=]|\\.)*) use=\d+ exp=(?P<expires>\d{1,12})"
    r"(?: [a-z]+=\d+)*?(?: gpc0=(?P<connections>\d{1,18}))? http_req_cnt=(?P<requests>\d{1,18})"
    r"(?: .*)?"
)
# Seconds for which HAProxy remembers a name.
_KEPT = timedelta(days=STRAY_DAYS).total_seconds()


def strays(socket: Socket, most: int = MOST_READ) -> StrayReading | None:
    """None where this HAProxy counts nothing of the kind. Raises Away when it does not answer."""
    uptime = haproxy_socket.parse_uptime(socket.ask("show", "info"))
    lines = socket.lines("show", "table", STRAYS)
    first = next(lines, "")
    if uptime is None or not first.startswith(f"# table: {STRAYS},"):
        return None
    return reading(lines, uptime, most)


def reading(lines: Iterable[str], uptime: int, most: int = MOST_READ) -> StrayReading:
    """Takes the lines of a table."""
    names = requests = 0
    # The least frequent is the first, and goes as soon as there is a more frequent one.
    most_frequent: list[tuple[int, str, float]] = []
    for stray in _entries(lines):
        names += 1
        requests += stray.requests
        if not is_host(stray.name):
            continue
        push = heapq.heappush if len(most_frequent) < most else heapq.heappushpop
        push(most_frequent, (stray.requests, stray.name, stray.quiet))
    most_frequent.sort(key=lambda stray: (-stray[0], stray[1]))
    counted = tuple(Counted(name, count, quiet) for count, name, quiet in most_frequent)
    return StrayReading(uptime, names, requests, counted)


def _entries(lines: Iterable[str]) -> Iterator[Counted]:
    for line in lines:
        if entry := _LINE.fullmatch(line):
            left = int(entry["expires"]) / 1000
            requests = int(entry["requests"]) + int(entry["connections"] or 0)
            yield Counted(entry["key"], requests, max(_KEPT - left, 0.0))

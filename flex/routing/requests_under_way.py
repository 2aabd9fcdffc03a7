"""For which held names a node's HAProxy is still answering requests.

Takes the sockets of a running HAProxy, and the held names that its node was the last to own.
Returns by name how many requests are under way. A process of before a reload may take one more
request on a connection that it has, by the map of before: while there is one, every name counts as
busy. Changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from flex.routing import haproxy_socket
from flex.routing.haproxy_socket import Socket
from flex.routing.haproxy_writer_sites import UNDER_WAY

_LINE = re.compile(
    r"0x[0-9a-f]+: key=(?P<key>(?:[^\s\\=]|\\.)*) use=\d+ exp=\d+(?: [a-z]+=\d+)*?"
    r" conn_cur=(?P<requests>\d{1,9})(?: .*)?"
)
# What `show proc` of a master says of processes that end after a reload, and of one of them.
_OLDER = "# old workers"
_WORKER = re.compile(r"\d+\s+worker\b")


def requests_under_way(
    stats: Socket, master: Socket, names: Collection[str]
) -> dict[str, int] | None:
    """Those of the names that are busy; None where this HAProxy counts nothing of the kind.
    Raises Away where it does not answer.
    """
    counts = requests_of_process(stats, names)
    if counts is None:
        return None
    # Asked after the table: a reload in between is seen here.
    older = older_processes(master.ask("show", "proc"))
    if not older:
        return counts
    return {name: counts.get(name, 0) + older for name in names}


def requests_of_process(stats: Socket, names: Collection[str]) -> dict[str, int] | None:
    """What the process that serves now counts itself."""
    lines = stats.lines("show", "table", UNDER_WAY)
    if not next(lines, "").startswith(f"# table: {UNDER_WAY},"):
        return None
    return {name: count for name, count in _counts(lines) if name in names}


def served_for(stats: Socket) -> int:
    """For how many seconds this process has run; 0 where it does not say."""
    return haproxy_socket.parse_uptime(stats.ask("show", "info")) or 0


def older_processes(answer: str) -> int:
    """How many still end, by the answer to `show proc` of a master."""
    _, _, rest = answer.partition(_OLDER)
    listed = rest.partition("\n#")[0]
    return sum(bool(_WORKER.match(line)) for line in listed.splitlines())


def _counts(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        entry = _LINE.fullmatch(line)
        if entry and (requests := int(entry["requests"])):
            yield entry["key"], requests

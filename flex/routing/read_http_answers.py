"""What a node's HAProxy has counted of its answers for some sites.

Takes the socket of a running HAProxy, host names, and spans of time. Returns what was counted of
each. Only these entries of the table are asked for, many at a time, so it does not matter how large
the table is.

A request that has no answer and is not under way any more counts as an error: nobody listened, the
answer was broken off before its head, or took too long.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from flex.model.node_answer_counts import TIMES, Answers, AnswersOfSpan
from flex.routing.haproxy_answer_counters import ANSWERS, ERRORS, key
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import is_host

_LINE = re.compile(r"0x[0-9a-f]+: key=(?P<name>[^\s\\=/]+)/(?P<span>\d{1,12}) (?P<data>.*)")
_NUMBER = re.compile(r"([a-z_]+\d*)=(\d{1,18})(?= |$)")
# Commands that are sent at a time: HAProxy takes 16 KiB, and a name may have 253 letters. A guess.
_AT_ONCE = 40


def answers(
    socket: Socket, node: str, names: Collection[str], spans: Collection[int]
) -> tuple[AnswersOfSpan, ...]:
    """Empty where this HAProxy counts nothing of the kind. Raises Away when it does not answer."""
    wanted = [
        ("show", "table", ANSWERS, "key", key(name, span))
        for name in sorted(names)
        if is_host(name)
        for span in sorted(spans)
    ]
    counted: list[AnswersOfSpan] = []
    for begin in range(0, len(wanted), _AT_ONCE):
        answer = socket.ask_all(wanted[begin : begin + _AT_ONCE])
        counted += parse(node, answer.splitlines())
    return tuple(counted)


def counts_answers(socket: Socket) -> bool:
    """Whether this HAProxy does: of a key that a table does not have it says nothing."""
    return not socket.ask("show", "table", ANSWERS, "key", key("nobody.invalid", 0))


def parse(node: str, lines: Iterable[str]) -> Iterator[AnswersOfSpan]:
    """Takes lines of the table; others are left out."""
    for line in lines:
        if entry := _LINE.fullmatch(line):
            counts = {name: int(count) for name, count in _NUMBER.findall(entry["data"])}
            yield AnswersOfSpan(node, entry["name"], int(entry["span"]), _answers(counts))


def _answers(counts: dict[str, int]) -> Answers:
    times = tuple(counts.get(f"gpc{at}", 0) for at in range(ERRORS + 1, ERRORS + 1 + TIMES))
    requests = counts.get("http_req_cnt", 0)
    under_way = counts.get("conn_cur", 0)
    unanswered = max(requests - sum(times) - under_way, 0)
    return Answers(requests, counts.get(f"gpc{ERRORS}", 0) + unanswered, times)

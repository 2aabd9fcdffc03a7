"""The names that visitors asked for most among those that are no site, in little memory.

Takes names one by one. Returns the frequent ones, and how often each was asked for at least: a
summary after Misra and Gries. Does not hold more than 2,000 names, each of at most 255 bytes; every
name with more than one request in a thousand is among them. The native scan does the same, step by
step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from flex_logs_ingest.lines.field_meanings import printable
from flex_logs_ingest.scan.site_rules import site_name

# Names that are listed. Up to twice as many are counted at a time. A guess.
KEPT = 1000
# Bytes of a name that are kept. No host name is longer.
WIDTH = 255


class Strangers:
    def __init__(self) -> None:
        self._requests: dict[bytes, int] = {}

    def add(self, name: bytes) -> None:
        key = name[:WIDTH]
        self._requests[key] = self._requests.get(key, 0) + 1
        if len(self._requests) > 2 * KEPT:
            self._requests = _heaviest(self._requests)

    def take_found(self) -> list[tuple[bytes, int]]:
        """Those since the last call, in order of their names."""
        hosts, self._requests = sorted(self._requests.items()), {}
        return hosts


def _heaviest(requests: dict[bytes, int]) -> dict[bytes, int]:
    """Those with more than the thousand-and-first has, less what it has: what is taken was seen
    with so many others.
    """
    least = sorted(requests.values(), reverse=True)[KEPT]
    return {name: number - least for name, number in requests.items() if number > least}


def names_to_show(hosts: Iterable[tuple[bytes, int]]) -> dict[str, int]:
    """The names as they can be shown and stored, those asked for most first, and at most a thousand
    of them.
    """
    requests: Counter[str] = Counter()
    for name, number in hosts:
        requests[_name_to_show(name)] += number
    return dict(sorted(requests.items(), key=lambda each: (-each[1], each[0]))[:KEPT])


def _name_to_show(name: bytes) -> str:
    host = "" if name.startswith(b"/") else site_name(name)
    return host or printable(name) or "(none)"

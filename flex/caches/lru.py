"""Least recently used: what nobody asked for longest goes first. The FLEX paper's policy."""

from __future__ import annotations

from collections import OrderedDict


class Lru:
    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._size: OrderedDict[int, int] = OrderedDict()

    def ask(self, target: int, size: int) -> bool:
        if target in self._size:
            self._size.move_to_end(target)
            return True
        if size > self._limit:
            return False
        while self._free < size:
            self._free += self._size.popitem(last=False)[1]
        self._size[target] = size
        self._free -= size
        return False

    def __contains__(self, target: int) -> bool:
        return target in self._size

    def oldest(self) -> int | None:
        return next(iter(self._size), None)

    def contents(self) -> dict[int, int]:
        return dict(self._size)

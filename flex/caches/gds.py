"""Greedy-Dual-Size (Cao and Irani, USITS 1997), and the same with frequency (GDSF; Cherkasova,
HPL-98-69): small targets stay longer.

Every target is worth L + f / size. L is what the target that left last was worth when it left. In
GDS f is 1, so every miss counts alike. In GDSF f is how often the target was asked for since it
came. The target that is worth least leaves first, and of equal ones the one that nobody asked for
longest. The LARD paper uses GDS.
"""

from __future__ import annotations

import heapq


class Gds:
    counts_requests = False

    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._floor = 0.0
        self._turn = 0
        # Entries whose turn is no longer that of their target are out of date, and skipped when
        # they come up.
        self._heap: list[tuple[float, int, int]] = []
        self._turn_of: dict[int, int] = {}
        self._size: dict[int, int] = {}
        self._asked: dict[int, int] = {}

    def ask(self, target: int, size: int) -> bool:
        if target in self._size:
            self._value(target)
            return True
        if size > self._limit:
            return False
        while self._free < size:
            self._evict()
        self._size[target] = size
        self._free -= size
        self._asked[target] = 0
        self._value(target)
        return False

    def __contains__(self, target: int) -> bool:
        return target in self._size

    def oldest(self) -> int | None:
        self._drop_stale()
        return self._heap[0][2] if self._heap else None

    def contents(self) -> dict[int, int]:
        return dict(self._size)

    def _value(self, target: int) -> None:
        self._turn += 1
        self._turn_of[target] = self._turn
        self._asked[target] = self._asked[target] + 1 if self.counts_requests else 1
        worth = self._floor + self._asked[target] / max(self._size[target], 1)
        heapq.heappush(self._heap, (worth, self._turn, target))

    def _evict(self) -> None:
        self._drop_stale()
        self._floor, _, target = heapq.heappop(self._heap)
        self._free += self._size.pop(target)
        del self._turn_of[target], self._asked[target]

    def _drop_stale(self) -> None:
        while self._heap and self._turn_of.get(self._heap[0][2]) != self._heap[0][1]:
            heapq.heappop(self._heap)


class Gdsf(Gds):
    counts_requests = True

"""S3-FIFO (Yang and others, SOSP 2023): three queues, so that a target that is asked for once
leaves early.

New targets enter a small queue of a tenth of the memory. A target that is asked for more than once
while it is there moves on to the main queue. The others leave, and are remembered for a while
without their content. A target that is asked for again in that time enters the main queue at once.
The main queue puts a target back that was asked for since it last came up, at most three times. As
many bytes of targets are remembered as the main queue may hold.
"""

from __future__ import annotations

from collections import OrderedDict

# The small queue is one part in so many of the memory: a tenth, as in the paper.
_SMALL = 10
# Further requests that count for a target at most, as in the paper: the main queue puts it back
# once for each.
_MOST = 3


class S3Fifo:
    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._small_limit = limit // _SMALL
        self._small_bytes = 0
        self._ghost_free = limit - self._small_limit
        self._small: OrderedDict[int, int] = OrderedDict()
        self._main: OrderedDict[int, int] = OrderedDict()
        self._ghost: OrderedDict[int, int] = OrderedDict()
        self._again: dict[int, int] = {}

    def ask(self, target: int, size: int) -> bool:
        if target in self._again:
            self._again[target] = min(self._again[target] + 1, _MOST)
            return True
        if size > self._limit:
            return False
        while self._free < size:
            self._evict()
        self._enter(target, size)
        return False

    def __contains__(self, target: int) -> bool:
        return target in self._again

    def oldest(self) -> int | None:
        return next(iter(self._small if self._small_is_next() else self._main), None)

    def contents(self) -> dict[int, int]:
        return {**self._small, **self._main}

    def _enter(self, target: int, size: int) -> None:
        self._free -= size
        self._again[target] = 0
        if target in self._ghost:
            self._ghost_free += self._ghost.pop(target)
            self._main[target] = size
        else:
            self._small[target] = size
            self._small_bytes += size

    def _small_is_next(self) -> bool:
        return bool(self._small) and (self._small_bytes >= self._small_limit or not self._main)

    def _evict(self) -> None:
        if self._small_is_next():
            self._leave_small()
        else:
            self._leave_main()

    def _leave_small(self) -> None:
        target, size = self._small.popitem(last=False)
        self._small_bytes -= size
        if self._again[target] > 1:
            self._again[target] = 0
            self._main[target] = size
            return
        del self._again[target]
        self._free += size
        self._remember(target, size)

    def _leave_main(self) -> None:
        target, size = self._main.popitem(last=False)
        if self._again[target]:
            self._again[target] -= 1
            self._main[target] = size
            return
        del self._again[target]
        self._free += size

    def _remember(self, target: int, size: int) -> None:
        if size > self._limit - self._small_limit:
            return
        while self._ghost_free < size:
            self._ghost_free += self._ghost.popitem(last=False)[1]
        self._ghost[target] = size
        self._ghost_free -= size

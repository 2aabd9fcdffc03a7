"""SIEVE (Zhang and others, NSDI 2024): a queue that is never reordered, and a hand that spares
targets that were asked for.

The hand starts at the oldest target and moves towards the newest. It spares a target once that was
asked for since the hand last passed. The first other target leaves. From the newest target the hand
goes back to the oldest.
"""

from __future__ import annotations

# Stands in the ring where no target is; targets are numbered from 0.
_END = -1


class Sieve:
    def __init__(self, limit: int) -> None:
        self._limit = self._free = limit
        self._size: dict[int, int] = {}
        self._visited: set[int] = set()
        # A ring: _END stands between the newest and the oldest.
        self._newer = {_END: _END}
        self._older = {_END: _END}
        self._hand = _END

    def ask(self, target: int, size: int) -> bool:
        if target in self._size:
            self._visited.add(target)
            return True
        if size > self._limit:
            return False
        while self._free < size:
            self._evict()
        self._size[target] = size
        self._free -= size
        newest = self._older[_END]
        self._newer[newest] = self._older[_END] = target
        self._older[target], self._newer[target] = newest, _END
        return False

    def __contains__(self, target: int) -> bool:
        return target in self._size

    def oldest(self) -> int | None:
        place = self._hand if self._hand != _END else self._newer[_END]
        return None if place == _END else place

    def contents(self) -> dict[int, int]:
        return dict(self._size)

    def _evict(self) -> None:
        place = self._hand
        while place == _END or place in self._visited:
            self._visited.discard(place)
            place = self._newer[place]
        older, self._hand = self._older.pop(place), self._newer.pop(place)
        self._newer[older], self._older[self._hand] = self._hand, older
        self._free += self._size.pop(place)

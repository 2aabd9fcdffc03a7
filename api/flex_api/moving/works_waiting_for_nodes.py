"""Works that wait until there is room for them on all of their nodes.

Takes works in their order. Returns the first of them that may begin, again and again. Looks at
groups of works with the same nodes, and never at all works: there may be many thousand.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar


class OnNodes(Protocol):
    @property
    def nodes(self) -> frozenset[str]: ...


Work = TypeVar("Work", bound=OnNodes)


@dataclass(slots=True)
class _Group(Generic[Work]):
    """Works with the same nodes, each with its place among all, in order."""

    nodes: frozenset[str]
    works: deque[tuple[int, Work]] = field(default_factory=deque)


class WorksWaiting(Generic[Work]):
    """`per_node` works may be on a node at once."""

    def __init__(self, works: Iterable[Work], per_node: int) -> None:
        self._per_node = per_node
        self._busy: Counter[str] = Counter()
        groups: dict[frozenset[str], _Group[Work]] = {}
        for place, work in enumerate(works):
            group = groups.setdefault(work.nodes, _Group(work.nodes))
            group.works.append((place, work))
        # Groups that may have room, by the place of their first work, which is no other's.
        self._open = [(group.works[0][0], group) for group in groups.values()]
        heapify(self._open)
        # Groups that wait for a node that is full.
        self._waiting: dict[str, list[_Group[Work]]] = {}
        self._left = sum(len(group.works) for group in groups.values())

    def __bool__(self) -> bool:
        return self._left > 0

    def begin_next(self) -> Work | None:
        """The first for which there is room on all of its nodes, which it takes. None where there
        is none.
        """
        while self._open:
            _, group = heappop(self._open)
            full = next((node for node in group.nodes if self._busy[node] >= self._per_node), None)
            if full is not None:
                self._waiting.setdefault(full, []).append(group)
                continue
            _, work = group.works.popleft()
            self._left -= 1
            self._busy.update(group.nodes)
            self._put_back(group)
            return work
        return None

    def end(self, work: Work) -> None:
        """It is over: its nodes have room for others."""
        self._busy.subtract(work.nodes)
        for node in work.nodes:
            for group in self._waiting.pop(node, ()):
                self._put_back(group)

    def _put_back(self, group: _Group[Work]) -> None:
        if group.works:
            heappush(self._open, (group.works[0][0], group))

"""Tells nodes of the next order for doors the moment it is there, however many wait for it.

Takes what each node says of itself. Returns the newest order once it is above that. One thread in
each process looks at the store while somebody waits, so a thousand that wait take no thread each.
What nodes go by is put into the store where it changed. Does not order anything.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from flex.errors import FlexError
from flex.model.orders_to_doors import DoorOrder, DoorReport
from flex.routing import host_to_node_maps
from flex.store import Store
from flex_api.web.cache_invalidation import ROUTED_BY

# Seconds between two looks at the store while somebody waits: a change of one site is to be at all
# nodes within 50 ms. The first for a store that answers at once, as SQLite does; the second for one
# that takes longer: PostgreSQL was seen to take 0.7 ms of CPU for a look, 3 % of a core.
OFTEN = 0.01
EVERY = 0.02
# Looks may take this part of the time.
PART_OF_TIME = 0.03
# Seconds until the next look where the store does not answer.
LATER = 0.5
# Seconds between two looks at what a node's other files go by beside orders. A guess.
BESIDE = 1.0
# Seconds for which it is believed what a node's other files are, while no change is seen. A guess:
# a node asks every half minute.
OTHERS = 5.0


@dataclass(frozen=True, slots=True)
class Newest:
    """`moved` is the small map as a text of JSON: made once, however many are told."""

    order: DoorOrder
    moved: bytes


@dataclass(frozen=True, slots=True)
class Has:
    """What a node has: an order of a cluster, by its number."""

    node: str
    cluster: str
    number: int


@dataclass(frozen=True, slots=True)
class Others:
    """What a node's files beside the small map are called. It began to be looked for at that time,
    when so many changes had been seen.
    """

    digest: str
    began: float
    changes: int


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    has: Has
    # As many changes as had been seen before it asked; None where it waits for orders alone.
    changes: int | None
    loop: asyncio.AbstractEventLoop
    told: asyncio.Future[Newest | None]

    def tell(self, newest: Newest | None, error: FlexError | None = None) -> None:
        # Where the loop is closed nobody waits any more.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._tell, newest, error)

    def _tell(self, newest: Newest | None, error: FlexError | None) -> None:
        if self.told.done():
            return
        if error:
            self.told.set_exception(error)
        else:
            self.told.set_result(newest)


@dataclass(slots=True, eq=False)
class DoorWatch:
    """Without doors for all sites (`has_doors`) no order counts. `is_over` says when the server is
    about to end: then nobody is kept waiting.
    """

    store: Store
    has_doors: bool
    every: float = EVERY
    is_over: Callable[[], bool] = lambda: False
    # For what takes longer than an order may wait, one after the other.
    aside: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, "files of nodes")
    )
    # By node when it was known to serve.
    serving: dict[str, float] = field(default_factory=dict)
    cluster: str = ""
    newest: Newest | None = None
    # How many changes were seen that can change nodes' other files.
    changes: int = 0
    _others: dict[str, Others] = field(default_factory=dict)
    # What that is: of the last order, and the last entry of plans and nodes, with when that was
    # looked for. None before the first look.
    _of_order: tuple[object, ...] | None = None
    _beside: int | None = None
    _beside_seen: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _poked: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _waiters: dict[str, _Waiter] = field(default_factory=dict)
    # What nodes said last, and of that what is not in the store yet.
    _said: dict[str, DoorReport] = field(default_factory=dict)
    _unnoted: dict[str, tuple[str, DoorReport]] = field(default_factory=dict)

    async def next_after(
        self, has: Has, seconds: float, changes: int | None = None
    ) -> Newest | None:
        """The newest order once it is above what the node has; None after so many seconds, and as
        soon as more changes were seen. Raises FlexError where the store cannot be asked.

        A node that asks again is not told by its question before.
        """
        loop = asyncio.get_running_loop()
        waiter = _Waiter(has, changes, loop, loop.create_future())
        with self._lock:
            before = self._waiters.pop(has.node, None)
            self._waiters[has.node] = waiter
            self._begin()
        if before:
            before.tell(None)
        try:
            return await asyncio.wait_for(waiter.told, seconds)
        except TimeoutError:
            return None
        finally:
            with self._lock:
                if self._waiters.get(has.node) is waiter:
                    del self._waiters[has.node]

    def note(self, has: Has, report: DoorReport) -> None:
        """What a node says of itself, for the store where it is news."""
        with self._lock:
            if _same(self._said.get(report.node), report):
                return
            self._said[report.node] = report
            self._unnoted[report.node] = has.cluster, report
            self._begin()

    def others_of(self, node: str) -> str | None:
        """What its other files are called; None where that has to be found anew."""
        known = self._others.get(node)
        if known is None or known.changes != self.changes:
            return None
        return known.digest if time.monotonic() - known.began <= OTHERS else None

    def note_others(self, node: str, others: Others) -> None:
        self._others[node] = others

    def _begin(self) -> None:
        self._poked.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="orders for doors", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._poked.clear()
            began = time.monotonic()
            try:
                self._look()
                took = time.monotonic() - began
                pause = min(max(OFTEN, took / PART_OF_TIME), self.every)
            except FlexError as error:
                pause = LATER
                self._tell(lambda _: True, None, error)
            with self._lock:
                if not self._waiters and not self._unnoted:
                    self._thread = None
                    return
            if pause == LATER:
                threading.Event().wait(pause)
            else:
                self._poked.wait(pause)

    def _look(self) -> None:
        if self.is_over():
            self._tell(lambda _: True, None)
        self.cluster = self.cluster or self.store.installation()
        order = self.store.door_order() if self.has_doors else None
        if order and (self.newest is None or self.newest.order != order):
            self._read(order)
        newest = self.newest
        if newest:
            self._tell(lambda waiter: self._is_behind(waiter.has, newest.order), newest)
        self._look_beside()
        # They ask again, and hear of their other files.
        self._tell(lambda waiter: waiter.changes not in (None, self.changes), None)
        self._note()

    def _look_beside(self) -> None:
        now = time.monotonic()
        if self._beside is not None and now - self._beside_seen < BESIDE:
            return
        before, self._beside = self._beside, self.store.last_number(*ROUTED_BY)
        self._beside_seen = now
        if before not in (None, self._beside):
            self.changes += 1

    def _read(self, order: DoorOrder) -> None:
        text = self.store.moved_map()
        # Else there is another one by now, which the next look finds.
        if host_to_node_maps.digest(text) == order.moved:
            self.newest = Newest(order, json.dumps(text).encode())
            self._note_of_order(order)

    def _note_of_order(self, order: DoorOrder) -> None:
        """Where sites move one by one, each order is another one, and the other files are not."""
        of_order = order.plan, order.large, bool(order.waiting or order.held)
        before, self._of_order = self._of_order, of_order
        if before not in (None, of_order):
            self.changes += 1

    def _is_behind(self, has: Has, order: DoorOrder) -> bool:
        """Not where it has a newer one: it would not go back, and waits for the one above that."""
        return has.number < order.number or has.cluster not in ("", self.cluster)

    def _tell(
        self,
        which: Callable[[_Waiter], bool],
        newest: Newest | None,
        error: FlexError | None = None,
    ) -> None:
        with self._lock:
            waiters = [waiter for waiter in self._waiters.values() if which(waiter)]
            for waiter in waiters:
                del self._waiters[waiter.has.node]
        for waiter in waiters:
            waiter.tell(newest, error)

    def _note(self) -> None:
        """All that is news in one transaction. What another process noted meanwhile is no news."""
        with self._lock:
            unnoted = dict(self._unnoted)
        if not unnoted:
            return
        there = {report.node: report for report in self.store.door_reports()}
        news = []
        for node, (cluster, node_report) in unnoted.items():
            # By an order of another cluster it goes by none of ours.
            ours = cluster in ("", self.cluster)
            report = node_report if ours else replace(node_report, number=0, moved="")
            if not _same(there.get(node), report):
                news.append(_carry_over_since(report, there.get(node)))
        if news:
            self.store.note_door_reports(news)
        with self._lock:
            for node, noted in unnoted.items():
                if self._unnoted.get(node) is noted:
                    del self._unnoted[node]


def _same(report: DoorReport | None, other: DoorReport) -> bool:
    return report is not None and replace(report, since=other.since) == other


def _carry_over_since(report: DoorReport, before: DoorReport | None) -> DoorReport:
    """It goes by that order since it first said so, whatever else it says now."""
    is_known = before and (before.number, before.moved) == (report.number, report.moved)
    return replace(report, since=before.since) if before and is_known else report


def report_of(node: str, number: int, moved: str, error: str) -> DoorReport:
    return DoorReport(node, number, moved if number else "", datetime.now(UTC), error)

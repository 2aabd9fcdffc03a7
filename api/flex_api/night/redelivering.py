"""Delivers routing again to nodes that it did not reach, until it reaches them.

Takes a world. Returns lines for people. Every night that may change something first delivers what
is in force. The health watch carries the files that lie ready for a node, and makes files again
that were refused: by HAProxy's own check, by a folder that cannot be written, or by what they are
made from. It does so soon at first, then after growing pauses. In shadow mode, and while changes
are frozen, only people deliver.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flex.errors import FlexError
from flex.model import retry_schedule
from flex.model.retry_schedule import Attempt
from flex.store.lease_holder import is_gone
from flex_api.night import (
    deliver_haproxy_files,
    freezes,
    plan_to_route_by,
    route_requests_by_plan,
)
from flex_api.wiring import World

Work = Callable[[], None]

# Runs that are looked at: one that plans as of an earlier day is not the first of them. A guess.
LATEST = 10


@dataclass(frozen=True, slots=True)
class RoutedBy:
    """What requests are routed by: the plan that is half applied or in force, and the newest order
    for doors; and the latest runs, each of which may have made files in vain.
    """

    plan: str
    order: int
    runs: tuple[str, ...]


def is_wanted(world: World) -> bool:
    settings = world.settings
    return (
        (settings.routing.delivers or settings.routing.leads_to_all)
        and settings.cluster.mode != "shadow"
        and not freezes.freeze_in_force(world)
    )


def again(world: World) -> str:
    """What is in force, or half applied, delivered to every node that does not have it; what fails
    is said.
    """
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        world.say(line)

    route_requests_by_plan.reroute(world, say=say)
    return " ".join(lines) or "every node has its routing"


def start_thread(work: Work) -> Callable[[], bool]:
    """Work that may wait for a node that is away, by a thread; what comes back says whether it has
    ended.
    """
    thread = threading.Thread(target=work, name="routing carried again", daemon=True)
    thread.start()
    return lambda: not thread.is_alive()


def _ended() -> bool:
    return True


def _routing_of_now(world: World) -> RoutedBy:
    store = world.store
    last = store.door_order() if world.settings.routing.leads_to_all else None
    which = plan_to_route_by.following(world.settings, store, last)
    runs = tuple(run.id for run in store.runs(LATEST))
    return RoutedBy(which.wanted, last.number if last else 0, runs)


def _run_at_work(world: World) -> bool:
    """One that was killed on another machine counts until the next one begins."""
    latest = world.store.runs(LATEST)
    return any(run.ended is None and not is_gone(run.holder) for run in latest)


def _whose(node: str) -> str:
    return f"The routing of {node}" if node else "Routing"


class Redelivery:
    """`start` begins work and says whether it has ended: probes wait for nobody."""

    def __init__(
        self, world: World, start: Callable[[Work], Callable[[], bool]] = start_thread
    ) -> None:
        self._world = world
        self._start = start
        self._has_ended: Callable[[], bool] = _ended
        # By node; whoever starts anew tries at once.
        self._tried: dict[str, Attempt] = {}
        # What every node's files were made for last, without any being refused; and what was
        # refused since, by node, with "" for what stopped all of them.
        self._made: RoutedBy | None = None
        self._refused: dict[str, Attempt] = {}

    def round(self) -> None:
        """Make and carry what is due, where nothing is being carried any more."""
        if not self._has_ended() or not is_wanted(self._world):
            return
        routed = self._to_make()
        due = self._due_to_carry()
        if routed or due:
            self._has_ended = self._start(lambda: self._work(routed, due))

    def _work(self, routed: RoutedBy | None, due: Sequence[str]) -> None:
        if routed:
            self._make(routed)
            due = self._due_to_carry()
        for done in deliver_haproxy_files.carried_again(self._world.settings, due):
            self._tell(done)

    def _to_make(self) -> RoutedBy | None:
        """What files are due for; None where they were made for that, or not long ago in vain, and
        where a run is at work: it delivers itself.
        """
        world = self._world
        if not world.settings.routing.delivers or _run_at_work(world):
            return None
        routed = _routing_of_now(world)
        if not routed.plan or routed == self._made:
            return None
        now = world.time_of_day()
        waits = [
            attempt for attempt in self._refused.values() if not retry_schedule.is_due(attempt, now)
        ]
        return None if waits else routed

    def _make(self, routed: RoutedBy) -> None:
        world = self._world
        try:
            every = deliver_haproxy_files.make_again(world.settings, world.store)
            refused = {done.node: done.error for done in every if done.error}
        except FlexError as error:
            refused = {"": f"{error.asked}: {error.answer}"}
        for node in sorted(self._refused.keys() - refused.keys()):
            world.say(f"{_whose(node)} is made again.")
        now, before = world.time_of_day(), self._refused
        self._refused = {
            node: retry_schedule.attempt_after_failure(before.get(node), node, now, error)
            for node, error in refused.items()
        }
        for node, tried in self._refused.items():
            if retry_schedule.is_told(tried):
                world.say(f"{_whose(node)} is as before, and is made again later: {tried.error}.")
        self._made = None if refused or _run_at_work(world) else routed

    def _due_to_carry(self) -> list[str]:
        now = self._world.time_of_day()
        owed = deliver_haproxy_files.undelivered_nodes(self._world.settings, self._world.store)
        self._tried = {node: tried for node, tried in self._tried.items() if node in owed}
        return [node for node in owed if retry_schedule.is_due(self._tried.get(node), now)]

    def _tell(self, done: deliver_haproxy_files.Delivered) -> None:
        before = self._tried.get(done.node)
        if not done.error:
            self._world.say(f"The routing of {done.node} has reached it.")
            return
        tried = self._tried[done.node] = retry_schedule.attempt_after_failure(
            before, done.node, self._world.time_of_day(), done.error
        )
        if retry_schedule.is_told(tried):
            self._world.say(
                f"The routing of {done.node} has not reached it, and is carried "
                f"again: {done.error}."
            )

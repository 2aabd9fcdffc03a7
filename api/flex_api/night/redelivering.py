"""Delivers routing again to nodes that it did not reach, until it reaches them.

Takes a world. Returns lines for people. Every night that may change something first delivers what
is in force. The health watch delivers the files that lie ready for a node, soon at first, then
after growing pauses. In shadow mode, and while changes are frozen, only people deliver.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from flex.model import dead_node_retries
from flex.model.dead_node_retries import Attempt
from flex_api.night import (
    deliver_haproxy_files,
    freeze_and_change_windows,
    route_requests_by_plan,
)
from flex_api.wiring import World

Work = Callable[[], None]


def is_wanted(world: World) -> bool:
    settings = world.settings
    return (
        (settings.routing.delivers or settings.routing.leads_to_all)
        and settings.cluster.mode != "shadow"
        and not freeze_and_change_windows.freeze_in_force(world)
    )


def again(world: World) -> str:
    """What is in force, or half applied, delivered to every node that does not have it; what fails
    is said.
    """
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        world.say(line)

    route_requests_by_plan.reroute(world, say=say)
    return " ".join(said) or "every node has its routing"


def beside(work: Work) -> Callable[[], bool]:
    """Work that may wait for a node that is away, by a thread; what comes back says whether it has
    ended.
    """
    thread = threading.Thread(target=work, name="routing carried again", daemon=True)
    thread.start()
    return lambda: not thread.is_alive()


def _ended() -> bool:
    return True


class Redelivery:
    """`start` begins work and says whether it has ended: probes wait for nobody."""

    def __init__(
        self, world: World, start: Callable[[Work], Callable[[], bool]] = beside
    ) -> None:
        self._world = world
        self._start = start
        self._has_ended: Callable[[], bool] = _ended
        # By node; whoever starts anew tries at once.
        self._tried: dict[str, Attempt] = {}

    def round(self) -> None:
        """Carry what is due, where nothing is being carried any more."""
        if not self._has_ended() or not is_wanted(self._world):
            return
        now = self._world.time_of_day()
        owed = deliver_haproxy_files.undelivered_nodes(
            self._world.settings, self._world.store
        )
        self._tried = {
            node: tried for node, tried in self._tried.items() if node in owed
        }
        due = [
            node
            for node in owed
            if dead_node_retries.is_due(self._tried.get(node), now)
        ]
        if due:
            self._has_ended = self._start(lambda: self._carry(due))

    def _carry(self, due: Sequence[str]) -> None:
        for done in deliver_haproxy_files.carried_again(self._world.settings, due):
            self._tell(done)

    def _tell(self, done: deliver_haproxy_files.Delivered) -> None:
        before = self._tried.get(done.node)
        if not done.error:
            self._world.say(f"The routing of {done.node} has reached it.")
            return
        tried = self._tried[done.node] = dead_node_retries.after_failure(
            before, done.node, self._world.time_of_day(), done.error
        )
        if dead_node_retries.is_told(tried):
            self._world.say(
                f"The routing of {done.node} has not reached it, and is carried "
                f"again: {done.error}."
            )

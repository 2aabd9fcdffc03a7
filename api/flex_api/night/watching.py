"""The health watch: nodes are probed all the time, and a dead one is taken out of DNS, in automatic mode by itself.

In go settings; out come sentences, and in mode auto plans like those of `flex nodes down`. A node that is well again is
said so, and brought back by a person.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from flex import health
from flex.domain import Node
from flex.errors import FlexError
from flex.health import Pulse
from flex.orders import NodeOrder
from flex_api import wiring
from flex_api.night import failover, freezing, probing
from flex_api.night.leases import lease
from flex_api.settings.file import Settings
from flex_api.wiring import World

Probe = Callable[[Sequence[Node]], Mapping[str, Sequence[bool]]]
Say = Callable[[str], None]


class Watch:
    """Rounds of probes, and what followed from them. `probe` is how nodes are asked."""

    def __init__(self, world: World, probe: Probe) -> None:
        self._world = world
        self._probe = probe
        self._pulses: Mapping[str, Pulse] = {}
        self._said = ""

    def round(self) -> None:
        """Probe every node once; take down what is dead by now. What goes wrong is said, and tried again."""
        before, nodes = self._pulses, self._world.nodes
        watched = [node for node in nodes if node.addresses]
        self._pulses = health.felt(before, self._probe(watched), self._world.settings.watch.terms())
        self._tell(before)
        serving = [node.name for node in watched if node.state != "down"]
        down = sum(node.state == "down" for node in nodes)
        found = health.judged(self._pulses, serving, down, self._world.settings.watch.terms())
        if found.why_not:
            self._say_once(f"Nothing is taken down: {found.why_not}.")
        for node in found.dead:
            self._act(node)

    def _act(self, node: str) -> None:
        if reason := self._held_back():
            self._say_once(f"{node} is dead, and {reason}: `flex nodes down {node}` takes it out of DNS.")
            return
        try:
            with lease(self._world, f"health watch: node {node} down", breaks_in=True) as held:
                taken = failover.take_down(self._world, NodeOrder(node, "down", given=self._world.clock()))
                if taken.cycle:
                    held.concerns(taken.cycle)
        except FlexError as error:
            self._say_once(f"{node} is dead and could not be taken out of DNS: {error}")
            return
        plan = f" by plan {taken.cycle.id}" if taken.cycle else ""
        self._world.say(f"{node} was dead and is out of DNS{plan}.")
        for name, reason in taken.left.items():
            self._world.say(f"{name} leads to {node} still: {reason}.")

    def _held_back(self) -> str:
        if self._world.settings.cluster.mode != "auto":
            return f"the mode is {self._world.settings.cluster.mode}"
        return "changes are frozen" if freezing.frozen(self._world) else ""

    def _tell(self, before: Mapping[str, Pulse]) -> None:
        for node, pulse in self._pulses.items():
            if pulse.is_sick != before.get(node, Pulse()).is_sick:
                self._world.say(f"{node} {'does not answer any more' if pulse.is_sick else 'answers again'}.")

    def _say_once(self, line: str) -> None:
        """The same sentence every ten seconds would tell nobody more."""
        if line != self._said:
            self._said = line
            self._world.say(line)


@contextmanager
def watching(settings: Settings, say: Say) -> Iterator[None]:
    """Beside whatever is done in here, where the settings name probes."""
    if not settings.watch.probes:
        yield
        return
    # A process of its own and no thread: whoever serves may fork, and a fork takes only one thread along.
    process = multiprocessing.get_context("fork").Process(target=_watch, args=(settings, say), name="health watch")
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _watch(settings: Settings, say: Say) -> None:
    terms = settings.watch
    here = wiring.world(settings, lambda: datetime.now(UTC), say=say)
    watch = Watch(here, lambda nodes: probing.answers(nodes, terms.probes, terms.timeout.total_seconds()))
    while True:
        time.sleep(terms.interval.total_seconds())
        try:
            watch.round()
        except FlexError as error:
            say(f"The health watch could not look: {error}")

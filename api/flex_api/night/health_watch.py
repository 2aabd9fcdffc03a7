"""The health watch: probes nodes all the time, and in mode auto takes a dead one out of DNS by
itself.

Takes settings. Returns sentences, and in mode auto plans like those of `flex nodes down`. What
fails is tried again until the node is out, also where a person gave the order, and where the
settings name no probes. Does not bring a node back: it reports that the node is well again, and a
person decides.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing.process import BaseProcess

from flex import health
from flex.errors import Away, Busy, FlexError, Unverified
from flex.health import Pulse
from flex.model import retry_schedule
from flex.model.drains_and_freezes import NodeOrder
from flex.model.nightly_run import WATCH
from flex.model.nodes import Node
from flex_api import wiring
from flex_api.in_words import amounts
from flex_api.night import (
    failover,
    failover_attempts,
    freezes,
    keep_watch_running,
    notifying,
    pending_failovers,
    probing,
)
from flex_api.night.failover import Taken, Tell
from flex_api.night.keep_watch_running import Post
from flex_api.night.leases import lease
from flex_api.night.move_watch_round import WatchOfMoves
from flex_api.night.redelivering import Redelivery
from flex_api.settings.file import Settings
from flex_api.wiring import World

Probe = Callable[[Sequence[Node]], Mapping[str, Sequence[bool]]]
Say = Callable[[str], None]


class HealthWatch:
    """Rounds of probes, and what followed from them. `probe` is how nodes are asked; None where
    nobody asks them, and people alone say which node is dead.
    """

    def __init__(self, world: World, probe: Probe | None) -> None:
        self._world = world
        self._probe = probe
        self._pulses: Mapping[str, Pulse] = {}
        # By node, what people said of it before the last round.
        self._orders: Mapping[str, NodeOrder] = {}
        # By what a sentence is about, the last one: the same every ten seconds would tell nobody
        # more.
        self._said: dict[str, str] = {}
        self._redelivery = Redelivery(world)
        self._moves = WatchOfMoves(world)

    def round(self) -> None:
        """Probe every node once; take down what is dead by now, and go on with what was not brought
        to its end.
        """
        if self._probe:
            self._look(self._probe)
        self._go_on()
        self._redelivery.round()
        self._moves.round()

    def _look(self, probe: Probe) -> None:
        nodes = self._world.nodes
        watched = [node for node in nodes if node.addresses]
        before = self._but_of_those_brought_back()
        self._pulses = health.pulses_after_probes(
            before, probe(watched), self._world.settings.watch.terms()
        )
        self._tell(before)
        serving = [node.name for node in watched if node.is_serving]
        active = [node.name for node in nodes if node.takes_sites]
        down = sum(node.state == "down" for node in nodes)
        finding = health.finding_of_round(
            self._pulses, serving, down, self._world.settings.watch.terms(), active=active
        )
        self._say_once(
            "all", f"Nothing is taken down: {finding.why_not}." if finding.why_not else ""
        )
        for node in finding.dead:
            self._act(node)

    def _but_of_those_brought_back(self) -> dict[str, Pulse]:
        """The pulses before this round. A node that somebody said is up again is judged by what it
        does from then on: it may have been started a moment ago.
        """
        before, now = self._orders, self._world.store.node_orders()
        self._orders = {order.node: order for order in now}
        back = {
            order.node
            for order in now
            if order.state == "active" and order != before.get(order.node)
        }
        return {node: pulse for node, pulse in self._pulses.items() if node not in back}

    def _act(self, node: str) -> None:
        if reason := self._held_back():
            self._say_once(
                node, f"{node} is dead, and {reason}: `flex nodes down {node}` takes it out of DNS."
            )
            return
        order = NodeOrder(node, "down", given=self._world.time_of_day())
        self._try(order, partial(self._taken_down, order))

    def _go_on(self) -> None:
        """With the nodes that are down and still in DNS, whoever found them dead."""
        here = self._world
        owed = {order.node: order for order in pending_failovers.orders_to_retry(here)}
        tried = {attempt.node: attempt for attempt in here.store.attempts()}
        for node in sorted(tried.keys() - owed.keys()):
            failover_attempts.forget(here, node)
        for node, order in owed.items():
            if not retry_schedule.is_due(tried.get(node), here.time_of_day()):
                continue
            if reason := pending_failovers.held_back(here, order):
                self._say_once(node, f"{node} is down and still in DNS, and {reason}.")
            else:
                self._try(order, partial(self._taken_down_again, order))

    def _try(self, order: NodeOrder, work: Callable[[Tell], Taken | None]) -> None:
        node, trouble = order.node, None
        known: list[Taken] = []
        try:
            if done := work(known.append):
                known.append(done)
        except Busy as error:
            # Whoever is at work changes DNS; that is no attempt.
            self._say_once(node, f"{node} is dead and could not be taken out of DNS yet: {error}")
            return
        except FlexError as error:
            trouble = error
        for taken in known:
            self._say_taken(node, taken, trouble.exit_code if trouble else 0)
        if isinstance(trouble, Unverified):
            self._world.say(f"Not every server agrees: {trouble}.")
        elif trouble:
            self._report_failure(node, trouble)

    def _say_taken(self, node: str, taken: Taken, code: int) -> None:
        if taken.plan:
            told = f"{taken.outcome} by plan {taken.plan.id}"
            self._world.say(f"{node} was dead and {told}.")
            notifying.tell_of_plan(self._world, taken.plan, "", code)
        elif taken.is_whole:
            self._world.say(f"{node} was dead and is out of DNS.")
        sentence = failover_attempts.left_in_words(node, taken.left, taken.staying)
        self._say_once(node, f"{sentence}." if sentence else "")

    def _taken_down(self, order: NodeOrder, tell: Tell, *, is_given: bool = False) -> Taken | None:
        with lease(self._world, f"{WATCH}: node {order.node} down", breaks_in=True) as held:
            if is_given and pending_failovers.is_withdrawn(self._world, order):
                return None
            return failover.take_down_as(held, self._world, order, tell, is_given=is_given)

    def _taken_down_again(self, order: NodeOrder, tell: Tell) -> Taken | None:
        """The lease is asked for once there is something to do: a name server that is away makes no
        run each time. None where the node was brought back meanwhile.
        """
        with failover_attempts.note_failure(self._world, order.node):
            taken = failover.look(self._world, order.node)
        if taken is None:
            return self._taken_down(order, tell, is_given=True)
        failover_attempts.note_left(self._world, order.node, taken.left, taken.staying)
        return taken

    def _report_failure(self, node: str, error: FlexError) -> None:
        attempt = failover_attempts.last(self._world, node)
        again = f" It is tried again at {amounts.when(attempt.again)}." if attempt else ""
        self._world.say(f"{node} is dead and could not be taken out of DNS: {error}.{again}")
        if attempt and retry_schedule.is_told(attempt):
            notifying.still_in_dns(self._world, attempt, error)

    def _held_back(self) -> str:
        if self._world.settings.cluster.mode != "auto":
            return f"the mode is {self._world.settings.cluster.mode}"
        return "changes are frozen" if freezes.freeze_in_force(self._world) else ""

    def _tell(self, before: Mapping[str, Pulse]) -> None:
        for node, pulse in self._pulses.items():
            if pulse.is_sick != before.get(node, Pulse()).is_sick:
                # Whatever is true of it from here on is news, also where it was said before.
                self._said.pop(node, None)
                self._world.say(
                    f"{node} {'does not answer any more' if pulse.is_sick else 'answers again'}."
                )

    def _say_once(self, about: str, line: str) -> None:
        if line and line != self._said.get(about):
            self._world.say(line)
        self._said[about] = line


@contextmanager
def watching(settings: Settings, say: Say) -> Iterator[Beside]:
    """Beside whatever is done in here: how it is, and its process. Without probes it asks no node,
    and goes on with what was not brought to its end.
    """
    post, heard = Post(), keep_watch_running.anyway(say)
    # Processes of their own and no threads: whoever serves may fork, and a fork takes only one
    # thread along.
    work = partial(_watch, settings, heard)
    process = multiprocessing.get_context("fork").Process(
        target=keep_watch_running.keep, args=(work, post, heard), name="health watch"
    )
    process.start()
    try:
        yield Beside(post, process)
    finally:
        process.terminate()
        process.join()


@dataclass(frozen=True, slots=True)
class Beside:
    """The watch beside who serves. Its keeper ends only where it is told to, or gives it up."""

    post: Post
    keeper: BaseProcess

    def refuse_gone(self) -> None:
        """Raises Away where the watch was given up."""
        if self.keeper.is_alive():
            return
        code, error = self.keeper.exitcode or 0, self.post.state().error
        ended = f"it was ended by signal {-code}" if code < 0 else f"it ended with {code}"
        raise Away(
            "watching over the nodes beside the pages",
            f"the process of the health watch does not run: {error or ended}",
            kept="DNS is as it was; nobody looks for dead nodes now, or tries again to "
            "take them out of DNS",
            advice=f"{'fix what it says and ' if error else ''}start `flex serve` again, as its "
            "systemd unit does by itself",
        )


def _watch(settings: Settings, say: Say, post: Post) -> None:
    terms, keeper = settings.watch, os.getppid()
    here = wiring.world(settings, lambda: datetime.now(UTC), say=say)
    watch = HealthWatch(here, _probe(settings))
    while os.getppid() == keeper:
        time.sleep(terms.interval.total_seconds())
        trouble = ""
        try:
            watch.round()
        except FlexError as error:
            work = "probe the nodes" if terms.probes else "look after dead nodes"
            trouble = f"it could not {work}: {error}"
            say(f"The health watch could not {work}: {error}")
        post.note_round(datetime.now(UTC), trouble)


def _probe(settings: Settings) -> Probe | None:
    terms = settings.watch
    if not terms.probes:
        return None
    return lambda nodes: probing.answers(nodes, terms.probes, terms.timeout.total_seconds())

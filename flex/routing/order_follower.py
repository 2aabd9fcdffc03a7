"""Keeps a node's HAProxy at the newest order for doors: asks the server, which answers once there
is something new, and has HAProxy go by it.

Takes where to ask, and the folder and the sockets of this node's HAProxy. Says in single lines what
changed. Does not end before it is told to. While the server is away, everything stays as it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from flex.errors import Away, FlexError, NotRunning, NotWritten
from flex.model.orders_to_doors import MOST_BUSY
from flex.routing import (
    apply_to_haproxy,
    flex_server_client,
    haproxy,
    host_to_node_maps,
    install_files,
    node_file_download,
    owners_map,
    requests_under_way,
)
from flex.routing.apply_to_haproxy import Sockets
from flex.routing.flex_server_client import Asker, HttpAnswer
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.haproxy_socket import Socket
from flex.routing.host_to_node_maps import MOVED, OWNERS
from flex.routing.install_files import Guard
from flex.routing.node_file_download import Pulled
from flex.routing.owners_map import MapsInForce
from flex.routing.traffic_reporter import LONGEST_ANSWER, AnswersReporter, StraysReporter

# Seconds for which a server has no answer while nothing changes. Less than what proxies wait for.
WAIT = 25
# Seconds between two looks whether HAProxy still goes by what it was told.
LOOK = 1.0
# The same while requests wait for those that are still answered. A guess.
LOOK_WHILE_BUSY = 0.02
# Seconds between the first two tries while something is wrong; then less often. A guess.
FIRST_PAUSE = 0.5
# Seconds between two tries in the end. A guess.
LONGEST_PAUSE = 30.0
# Letters of an error that the server is told. A guess.
_LONGEST_ERROR = 300


@dataclass(frozen=True, slots=True)
class FollowingNode:
    """Where this node's files come from, and what they are for. `sockets_of` finds HAProxy's
    sockets by its files; `refuse` raises for files that are not this node's.
    """

    url: str
    token: str
    folder: Path
    found: HaproxyProgram
    sockets_of: Callable[[Pulled], Sockets]
    refuse: Callable[[Pulled], None]
    guard: Guard
    say: Callable[[str], None]
    # Called again and again while all goes on, at the latest after a question's patience.
    beat: Callable[[], None] = lambda: None


@dataclass(slots=True, eq=False)
class Follower:
    """`over` ends it; `wake` is set beside it, and when an answer is there."""

    node: FollowingNode
    asker: Asker = field(default_factory=Asker)
    over: threading.Event = field(default_factory=threading.Event)
    wake: threading.Event = field(default_factory=threading.Event)
    # The files beside the small map as they were fetched last, and what the server called them.
    fetched: tuple[str, str] = "", ""
    # What was said last to be wrong; of that, what the server is told; why HAProxy does not go by
    # what is here.
    trouble: str = ""
    told: str = ""
    # The held names for which requests are under way here, as the server was told last; None where
    # none is held.
    busy: Mapping[str, int] | None = None
    away: FlexError | None = None
    is_older: bool = False
    # How HAProxy differs from what is here although it was told that; it is not told that again.
    in_vain: str = ""
    pause: float = FIRST_PAUSE

    def end(self) -> None:
        self.over.set()
        self.wake.set()

    def run(self) -> None:
        """Until it is ended."""
        node = self.node
        told = (node.url, node.token, self._stats, node.say, self.over)
        # The names of watched sites may be longer than what the node waits for otherwise.
        answers = AnswersReporter(*told, Asker(LONGEST_ANSWER))
        for reporter in (StraysReporter(*told, self.asker), answers):
            threading.Thread(target=reporter.run, daemon=True).start()
        while not self.over.is_set():
            self.node.beat()
            try:
                self.round(WAIT)
            except FlexError as error:
                self._note_trouble(error)
                self._rest(self.pause)
                self.pause = min(2 * self.pause, LONGEST_PAUSE)

    def _stats(self) -> Socket | None:
        sockets = self._sockets()
        return sockets.stats if sockets else None

    def once(self) -> None:
        """Takes what there is. Raises FlexError, with everything as it was."""
        self.round(0)
        self._tell_again()
        if self.away:
            raise self.away

    def round(self, wait: int) -> None:
        """One question and what follows from it. Raises FlexError, with everything as it was."""
        pending = self._begin(wait)
        answer = self._await(pending, wait + node_file_download.PATIENCE)
        if answer is None:
            return
        if answer.status == HTTPStatus.NOT_FOUND:
            self._fetch_from_older(wait)
        elif answer.status == HTTPStatus.OK:
            self._take(flex_server_client.parse(answer.content))
        elif answer.status != HTTPStatus.NO_CONTENT:
            raise flex_server_client.refusal(self.node.url, answer)
        if self.away is None:
            self._well()

    def _begin(self, wait: int) -> Future[HttpAnswer]:
        goes, moved = self._tell_again()
        query = {
            "have": self._here()[0],
            "goes": goes,
            "moved": moved,
            "cluster": self._cluster(),
            "files": self._tag(),
            "wait": wait,
            "error": self.told[:_LONGEST_ERROR],
            **self._say_busy(),
        }
        url = f"{self.node.url.rstrip('/')}/doors?{urlencode(query)}"
        told = self.asker.begin(
            flex_server_client.request(url, self.node.token), wait + node_file_download.PATIENCE
        )
        self.wake.clear()
        told.add_done_callback(lambda _: self.wake.set())
        return told

    def _await(self, told: Future[HttpAnswer], patience: float) -> HttpAnswer | None:
        """None where HAProxy was told again meanwhile, or where this is over: what was asked is
        left alone then, and asked again.
        """
        until = time.monotonic() + patience
        while not told.done():
            self.node.beat()
            if self.over.is_set():
                return None
            if time.monotonic() > until:
                break
            if self.wake.wait(LOOK_WHILE_BUSY if self.busy else LOOK):
                # Also what was given up before comes to its end some time.
                self.wake.clear()
            elif self._is_elsewhere() or self._is_less_busy():
                return None
        return flex_server_client.wait_for_answer(self.node.url, told, 0)

    def _say_busy(self) -> dict[str, str]:
        """Nothing where no name is held here, which an older server would not understand."""
        self.busy = self._read_busy()
        if self.busy is None:
            return {}
        most = sorted(self.busy.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_BUSY]
        busy_text = ",".join(f"{name}:{count}" for name, count in most)
        return {"busy": busy_text, "busy_names": str(len(self.busy))}

    def _read_busy(self) -> dict[str, int] | None:
        """None where nothing is held that this node was the last to own, and where HAProxy is not
        there to be asked.
        """
        names = self._held_here()
        sockets = self._sockets() if names else None
        if sockets is None or self.away:
            return None
        try:
            return requests_under_way.requests_under_way(sockets.stats, sockets.master, names)
        except Away:
            return None

    def _held_here(self) -> set[str]:
        moved = install_files.content(self.node.folder / MOVED) or ""
        if not host_to_node_maps.has_held_names(moved):
            return set()
        files = owners_map.small_files(self.node.folder)
        own = Pulled(files).node if haproxy.CONFIGURATION in files else ""
        held = host_to_node_maps.held_names(moved)
        return {name for name, node in held.items() if node == own}

    def _is_less_busy(self) -> bool:
        """Whoever waits for what is under way here hears of it when a name has none left."""
        if not self.busy:
            return False
        now = self._read_busy()
        return now is not None and now.keys() < self.busy.keys()

    def _here(self) -> tuple[int, str]:
        """The number and digest of the map in the folder; 0 and "" where there is none."""
        text = install_files.content(self.node.folder / MOVED) or ""
        head = host_to_node_maps.heading(text)
        if head is None or not host_to_node_maps.is_whole(text):
            return 0, ""
        return head.order, host_to_node_maps.digest(text)

    def _cluster(self) -> str:
        text = install_files.content(self.node.folder / MOVED) or ""
        head = host_to_node_maps.heading(text)
        return head.cluster if head else ""

    def _sockets(self) -> Sockets | None:
        files = owners_map.small_files(self.node.folder)
        with suppress(KeyError):
            return self.node.sockets_of(Pulled(files))
        return None

    def _goes_by(self) -> MapsInForce | None:
        """None where HAProxy is not there yet. Raises Away."""
        sockets = self._sockets()
        if sockets is None:
            return None
        return owners_map.maps_in_force(sockets.stats, self.node.folder)

    def _difference(self, goes: MapsInForce) -> str:
        """Why HAProxy does not go by all that is here, as after a restart with older files, or with
        files that were cut; "" where it does.
        """
        text = install_files.content(self.node.folder / MOVED) or ""
        head = host_to_node_maps.heading(text)
        here = self._here()
        if (goes.order, goes.moved) != here:
            by = f"order {goes.order}" if goes.order else "no order"
            return f"HAProxy goes by {by}, and not by {self.node.folder}/{MOVED}"
        if head is None:
            return ""
        if install_files.is_untold(self.node.folder):
            return f"files came to {self.node.folder} while HAProxy did not run"
        line, count = owners_map.large_map_here(self.node.folder)
        if host_to_node_maps.digest(line) != head.large:
            return f"{self.node.folder}/{OWNERS} is cut, or another one"
        sizes = {MOVED: host_to_node_maps.entries(text), OWNERS: count}
        return goes.lacks(head.large, sizes)

    def _is_elsewhere(self) -> bool:
        """Whether HAProxy and what is here differ, or HAProxy answers again."""
        try:
            goes = self._goes_by() if self._has_map() else None
            if self.away is not None:
                return True
            return goes is not None and self._difference(goes) != ""
        except Away:
            return self.away is None

    def _has_map(self) -> bool:
        return (self.node.folder / MOVED).exists()

    def _tell_again(self) -> tuple[int, str]:
        """By which order HAProxy goes, and its digest: the one that is here, once they agree."""
        try:
            goes = self._agree() if self._has_map() else self._here()
        except FlexError as error:
            self.away = error
            self._note_trouble(error)
            self.told = self.trouble
            return 0, ""
        if self.away:
            # The server hears so with this question, not when it is answered.
            self.away, self.told = None, ""
        return goes

    def _agree(self) -> tuple[int, str]:
        """HAProxy is told what is here where it goes by something else. Where that is newer than
        what is here, or this is cut or of another cluster, HAProxy's comes here. Raises where
        neither can be done.
        """
        goes = self._goes_by()
        if goes is None or not (why := self._difference(goes)):
            return self._here()
        sockets, folder = self._sockets(), self.node.folder
        if sockets and owners_map.save_order_in_force(sockets.stats, folder):
            self.node.say(f"{why}: that is put right.")
            told = False
        else:
            told = why != self.in_vain and self._tell_what_is_here(self._here()[0])
        goes = self._goes_by() or goes
        why = self._difference(goes)
        if told:
            self.in_vain = why
        if why and goes.entries:
            raise _unlike(why)
        return goes.order, goes.moved

    def _tell_what_is_here(self, number: int) -> bool:
        """Whether it could be told: not where somebody was killed while writing the files, or where
        they were cut.
        """
        pulled = node_file_download.files_in_force(self.node.folder)
        if pulled is None:
            return False
        self._enforce(pulled)
        self.node.say(f"HAProxy went by something else, and was told order {number} again.")
        return True

    def _tag(self) -> str:
        """What the files beside the small map are, in the words of the server where it has its
        own.
        """
        files = owners_map.small_files(self.node.folder)
        if not {haproxy.HOSTS, haproxy.CONFIGURATION} <= files.keys():
            return ""
        own = haproxy.others_digest(files)
        return self.fetched[1] if self.fetched[0] == own else own

    def _take(self, order: Any) -> None:  # whatever a server says
        """Raises BadInput for what is no order, and for one that is older than what is here."""
        moved, tag = _parse_order(order, self.node.url)
        begun = time.perf_counter()
        with self._reporting():
            sockets, how = self._sockets(), None
            has_the_others = tag == self._tag()
            if has_the_others and not moved:
                return
            if has_the_others and sockets:
                how = owners_map.flip(moved, self.node.folder, sockets, self.node.guard)
            if how is None:
                head = host_to_node_maps.heading(moved)
                self._fetch(tag, head.large if head else "")
            elif how != "nothing":
                took = (time.perf_counter() - begun) * 1000
                self.node.say(
                    f"Order {self._here()[0]} is in force, by {how}, after {took:.0f} ms."
                )

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """The server is told what goes wrong on this machine."""
        try:
            yield
        except FlexError as error:
            self.told = f"{error.asked}: {error.answer}"
            raise

    def _fetch_from_older(self, wait: int) -> None:
        """A server that knows no orders, or does not know this node: its answer says which."""
        self._fetch("")
        if not self.is_older:
            self.node.say(
                "The server is older, and tells nobody of orders: files are fetched from it "
                f"every {LONGEST_PAUSE:.0f} s."
            )
        self.is_older = True
        if wait:
            self._rest(LONGEST_PAUSE)

    def _fetch(self, tag: str, large: str = "") -> None:
        """All files, as `flex route apply` takes them. The server calls them by the tag, and their
        large map by the digest `large`.

        They may be others than those the tag is of, where these changed meanwhile: a newer server
        says with them what it calls them.
        """
        node = self.node
        taken = node_file_download.pull(
            node.url, node.folder, node.token, asker=self.asker, large=large, anew=True
        )
        node.refuse(taken)
        self.fetched = "", ""
        try:
            how = self._enforce(taken)
        except NotRunning:
            self._note_fetched(taken, tag)
            raise
        self._note_fetched(taken, tag)
        if how != "nothing":
            less = ", without the large map, which is here" if taken.spared else ""
            node.say(f"All files are in force, by {how}{less}; order {self._here()[0]}.")

    def _note_fetched(self, taken: Pulled, tag: str) -> None:
        node_file_download.note_in_force(taken, self.node.folder)
        own = self._tag()
        self.fetched = own, taken.others or tag or own

    def _enforce(self, taken: Pulled) -> str:
        node = self.node
        return apply_to_haproxy.enforce(
            taken.files, node.folder, node.found, node.sockets_of(taken), node.guard
        )

    def _note_trouble(self, error: FlexError) -> None:
        """Said once, however often it is so."""
        line = f"{error.asked}: {error.answer}"
        if line != self.trouble:
            self.node.say(f"{line}; {error.kept}. {error.advice}")
        self.trouble = line

    def _well(self) -> None:
        if self.trouble:
            self.node.say("All is well again.")
        self.trouble, self.told, self.pause = "", "", FIRST_PAUSE

    def _rest(self, seconds: float) -> None:
        """Shorter where HAProxy is silent and begins to answer."""
        until, is_silent = time.monotonic() + seconds, not self._answers()
        while (left := until - time.monotonic()) > 0:
            self.node.beat()
            if self.over.wait(min(left, LOOK)) or (is_silent and self._answers()):
                return

    def _answers(self) -> bool:
        try:
            self._goes_by()
        except Away:
            return False
        return True


def _unlike(answer: str) -> NotWritten:
    return NotWritten(
        "having HAProxy go by the order for doors that is here",
        answer,
        kept="HAProxy goes on by what it has",
        advice="files that are not whole are fetched again; nothing is to be done",
    )


def _parse_order(order: Any, url: str) -> tuple[str, str]:  # whatever a server says
    moved = order.get("moved") if isinstance(order, dict) else None
    tag = order.get("files") if isinstance(order, dict) else None
    if not isinstance(moved, str) or not isinstance(tag, str) or not moved.isascii():
        raise flex_server_client.unusable(url, "it is no order for doors")
    return moved, tag

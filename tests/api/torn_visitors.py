"""Visitors who come to the doors of all nodes all the time, and who was there for them."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

# Seconds between two requests of a visitor, of whom each door has one. A guess: it leaves the
# machine to what is tried.
PAUSE = 0.05
# Seconds after which a visitor gives up.
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Request:
    """`node` answered, or nobody did, and `trouble` says what came."""

    door: str
    host: str
    sent: float
    done: float
    node: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Gone:
    """A node's HAProxy or web server was killed: all of it was there until `killed`, nothing of it
    from `gone` on, and all of it again from `back` on.
    """

    node: str
    what: str
    killed: float
    gone: float
    back: float


def ask(door: str, at: tuple[str, int], host: str) -> Request:
    sent = time.monotonic()
    connection = http.client.HTTPConnection(*at, timeout=PATIENCE)
    try:
        connection.request("GET", "/", headers={"Host": host})
        answer = connection.getresponse()
        said = answer.read().decode("ascii", "replace")
    except (OSError, http.client.HTTPException) as error:
        trouble = f"{type(error).__name__}: {error}"
        return Request(door, host, sent, time.monotonic(), "", trouble)
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        return Request(door, host, sent, time.monotonic(), "", str(answer.status))
    return Request(door, host, sent, time.monotonic(), said)


@dataclass
class Visitors:
    """`with Visitors(doors, hosts, seed) as visitors: ...`; then `visitors.requests`."""

    doors: Mapping[str, tuple[str, int]]
    hosts: Sequence[str]
    seed: str
    requests: list[Request] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Visitors:
        for door in self.doors:
            thread = threading.Thread(target=self._visit, args=(door,))
            thread.start()
            self.threads.append(thread)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _visit(self, door: str) -> None:
        drawn = random.Random(f"{self.seed} {door}")
        while not self.over.wait(PAUSE):
            host = drawn.choice(self.hosts)
            self.requests.append(ask(door, self.doors[door], host))


def lost(requests: Sequence[Request], gone: Sequence[Gone]) -> list[Request]:
    """Those that failed and were not in what was killed: a visitor came to a door that was gone, or
    was on the way to a node in the moment in which that was killed.
    """
    return [
        request
        for request in requests
        if request.trouble and not any(_was_in(request, one) for one in gone)
    ]


def _was_in(request: Request, one: Gone) -> bool:
    end = one.gone
    if request.door == one.node and one.what == "haproxy":
        end = one.back
    return request.sent < end and one.killed < request.done

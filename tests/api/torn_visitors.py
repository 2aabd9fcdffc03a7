"""Visitors who come to the doors of all nodes all the time, and who was there for them."""

from __future__ import annotations

import http.client
import random
import ssl
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

# Seconds between two requests of a visitor, of whom each door has one. A guess: it leaves the
# machine to what is tried.
PAUSE = 0.05
# Seconds after which a visitor gives up.
PATIENCE = 20.0
# Seconds until everybody has seen that somebody is back, and until that one has heard of what was
# ordered meanwhile, on a busy machine. A guess.
SEEN = 20.0
# What of a node a site with one writer needs.
NEEDED = ("haproxy", "web")
# Where something listens.
At = tuple[str, int]
# One that knows whom to trust takes 40 ms to make.
TRUSTING = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRUSTING.check_hostname, TRUSTING.verify_mode = False, ssl.CERT_NONE


@dataclass(frozen=True, slots=True)
class Request:
    """`node` answered, or nobody did, and `trouble` says what came. `way` is "plain" or "TLS"."""

    door: str
    way: str
    host: str
    sent: float
    done: float
    node: str
    trouble: str = ""
    come_again: bool = False


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


class Named(http.client.HTTPSConnection):
    """Speaks TLS, and says by SNI whom it wants. Who signed the certificate is no matter here."""

    def __init__(self, at: At, host: str) -> None:
        super().__init__(*at, timeout=PATIENCE, context=TRUSTING)
        self._name = host

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = TRUSTING.wrap_socket(self.sock, server_hostname=self._name)


def ask(door: str, way: str, at: At, host: str) -> Request:
    sent = time.monotonic()
    connection = (
        http.client.HTTPConnection(*at, timeout=PATIENCE) if way == "plain" else Named(at, host)
    )
    node = trouble = ""
    come_again = False
    try:
        connection.request("GET", "/", headers={"Host": host})
        answer = connection.getresponse()
        said = answer.read().decode("ascii", "replace")
        if answer.status == http.HTTPStatus.OK:
            node = said
        else:
            trouble = str(answer.status)
            come_again = answer.getheader("Retry-After") is not None
    except (OSError, http.client.HTTPException) as error:
        trouble = f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    return Request(door, way, host, sent, time.monotonic(), node, trouble, come_again)


@dataclass
class Visitors:
    """`with Visitors(doors, hosts, seed) as visitors: ...`; then `visitors.requests`. Doors are by
    node and way.
    """

    doors: Mapping[str, Mapping[str, At]]
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
            way, at = drawn.choice(list(self.doors[door].items()))
            self.requests.append(ask(door, way, at, host))


@dataclass(frozen=True, slots=True)
class Owners:
    """Who may have answered for each host while visitors came: the nodes of its site before, after
    and on the way; hosts of sites with one writer; and those of them that had another node in the
    end.
    """

    nodes_of: Mapping[str, Collection[str]]
    one_writer: Collection[str]
    moved: Collection[str]


def lost(requests: Sequence[Request], gone: Sequence[Gone], owners: Owners) -> list[Request]:
    """Those that failed and were not in what was killed: a visitor came to a door that was gone, or
    was on the way to a node in the moment in which that was killed. Nobody stands in for the node
    of a site with one writer; who waits for it while it moves may be asked to come again.
    """

    def is_excused(request: Request, one: Gone) -> bool:
        if request.host not in owners.one_writer:
            return _was_in(request, one)
        of_its_own = one.node in owners.nodes_of[request.host] and one.what in NEEDED
        is_away = one.killed < request.done and request.sent < one.back + SEEN
        return _was_in(request, one) or (of_its_own and is_away)

    return [
        request
        for request in requests
        if request.trouble
        and not any(is_excused(request, one) for one in gone)
        and not (request.come_again and request.host in owners.moved)
    ]


def by_strangers(
    requests: Sequence[Request], gone: Sequence[Gone], owners: Owners
) -> list[Request]:
    """Those that were answered by a node that never had the site, while one that has it was there.
    Nobody stands in for the node of a site with one writer. Each node has the content of all
    others: a door that was killed answers itself until it has heard again who has them.
    """

    def is_excused(request: Request) -> bool:
        who = {*owners.nodes_of[request.host], request.door}
        return request.host not in owners.one_writer and any(
            one.node in who and one.killed < request.done and request.sent < one.back + SEEN
            for one in gone
        )

    return [
        request
        for request in requests
        if request.node
        and request.node not in owners.nodes_of[request.host]
        and not is_excused(request)
    ]


def stands_in(request: Request, owners: Owners) -> bool:
    """Whether the door answered itself, as each does that does not get through to the owner."""
    return request.node == request.door and request.host not in owners.one_writer


def turns(requests: Sequence[Request], host: str) -> list[str]:
    """The nodes that answered for the host one after the other. Who was asked before another one
    had answered is in no order with that.
    """
    answered = sorted(
        (request for request in requests if request.host == host and request.node),
        key=lambda request: request.done,
    )
    said: list[Request] = []
    for request in answered:
        if not said or (request.node != said[-1].node and request.sent > said[-1].done):
            said.append(request)
        elif request.node == said[-1].node:
            said[-1] = request
    return [request.node for request in said]


def _was_in(request: Request, one: Gone) -> bool:
    end = one.gone
    if request.door == one.node and one.what == "haproxy":
        end = one.back
    return request.sent < end and one.killed < request.done

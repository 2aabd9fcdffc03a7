"""What is under way when sites move ends where it began: WebSockets and long answers, to the last
byte; and each request on a kept connection goes by the map of its moment. Real HAProxies of four
nodes on loopback.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from flex.routing import haproxy_socket
from flex.routing.haproxy import CONFIGURATION
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import Pool
from flex.routing.member_pools import members as members_at
from flex.routing.ports_and_paths import Layout
from tests.routing.conftest import Held, Members, until_closed
from tests.routing.test_doors import NAMES, Cluster
from tests.routing.test_doors_tls import Encrypted

pytestmark = pytest.mark.real

SITE = "b.example"
SHOP = "shop.example"
# The key of RFC 6455, 1.3, and what answers it: HAProxy looks at both.
UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
SWITCHED = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)
# Sent as each request on a kept connection.
NEXT = f"GET / HTTP/1.1\r\nHost: {SITE}\r\n\r\n".encode()
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(eq=False)
class Impatient(Cluster):
    """Whoever says nothing for so long is hung up on."""

    timeout: timedelta = field(default=timedelta(minutes=1))

    def layout(self, node: str) -> Layout:
        return replace(super().layout(node), timeout=self.timeout)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def cluster(
    request: pytest.FixtureRequest, found: HaproxyProgram, members: Members, tmp_path: Path
) -> Cluster:
    """Nodes speak TLS to each other unless a test asks for others."""
    kind: type[Cluster] = getattr(request, "param", Encrypted)
    return kind(found, tmp_path, members)


def flip(cluster: Cluster, owners: Mapping[str, str]) -> set[str]:
    """At every node; how they were told."""
    return {cluster.flip(node, owners) for node in cluster.members.addresses}


def by_the_small_map(cluster: Cluster, owners: Mapping[str, str]) -> None:
    assert flip(cluster, owners) == {"commands"}


def by_a_large_map(cluster: Cluster, owners: Mapping[str, str]) -> None:
    """As where the one that is there has grown old."""
    cluster.large = ""
    assert flip(cluster, owners) == {"commands"}


def by_a_reload(cluster: Cluster, owners: Mapping[str, str]) -> None:
    """A site that comes to several nodes beside it, or is no longer on them, makes HAProxy read
    everything anew.
    """
    at = cluster.members.addresses
    pool = members_at({node: at[node] for node in at})
    cluster.pools = () if cluster.pools else (Pool("other.example", (), pool),)
    assert flip(cluster, owners) == {"reload"}
    for node in at:
        until_ways_are_up(cluster, node)


def until_ways_are_up(cluster: Cluster, node: str) -> None:
    """The new process has found the other nodes."""
    stats = Socket(str(cluster.folder / node / "s"))
    for _ in range(600):
        rows = haproxy_socket.parse_stat(stats.ask("show", "stat"))
        if {row.status for row in rows if row.server == "inner"} == {"UP"}:
            return
        time.sleep(0.1)
    pytest.fail(f"{node} does not find its neighbours")


Change = Callable[[Cluster, Mapping[str, str]], None]


@dataclass(frozen=True, eq=False)
class WebSocket:
    """Both ends: the visitor's, and that of the web server that answered."""

    visitor: socket.socket
    held: Held

    def talks(self) -> None:
        """Both say something, and hear each other."""
        ends = self.visitor, self.held.connection
        for says, hears in (ends, ends[::-1]):
            said = random.Random(id(self)).randbytes(1_000)
            says.sendall(said)
            assert exactly(hears, len(said)) == said

    def ends(self) -> None:
        self.held.connection.close()
        assert not self.visitor.recv(1)


def exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        assert more, "it was cut"
        found += more
    return found


def websocket(cluster: Cluster, stack: ExitStack, door: str, host: str = SITE) -> WebSocket:
    visitor = stack.enter_context(cluster.ask(door, host, UPGRADE, keep=True))
    held = cluster.members.asked.get(timeout=60)
    held.connection.settimeout(60)
    stack.enter_context(held.connection)
    assert b"websocket" in held.head
    held.connection.sendall(SWITCHED)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += exactly(visitor, 1)
    assert head.startswith(b"HTTP/1.1 101 ")
    return WebSocket(visitor, held)


@pytest.mark.torture("Cluster-by_a_reload", "Encrypted-by_a_reload")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "change"),
    [
        (Cluster, by_the_small_map),
        (Encrypted, by_a_large_map),
        (Cluster, by_a_reload),
        (Encrypted, by_a_reload),
    ],
    indirect=["cluster"],
)
def test_a_websocket_stays_with_the_node_at_which_it_began(
    cluster: Cluster, stack: ExitStack, change: Change
) -> None:
    """By the owner's own door, by that of the next owner, and by one of neither."""
    cluster.start(stack, NAMES)
    before = [websocket(cluster, stack, door) for door in ("n1", "n3", "n0")]
    assert {one.held.node for one in before} == {"n1"}
    for owner in ("n3", "n0", "n1"):
        change(cluster, NAMES | {SITE: owner})
        after = [websocket(cluster, stack, door) for door in ("n1", "n3", "n0")]
        assert {one.held.node for one in after} == {owner}
        for one in (*before, *after):
            one.talks()
        for one in after:
            one.ends()
    for one in before:
        one.ends()


@pytest.mark.slow
def test_a_websocket_of_a_replicated_site_stays_with_its_member(
    cluster: Cluster, stack: ExitStack
) -> None:
    at = cluster.members.addresses
    pool = members_at({node: at[node] for node in ("n1", "n2")})
    cluster.pools = (Pool(SHOP, (), pool),)
    cluster.start(stack, NAMES | {SHOP: "n1"})
    before = [websocket(cluster, stack, door, SHOP) for door in ("n0", "n1", "n2")]
    # It is on one node from now on, and that is none of the two.
    cluster.pools = ()
    flip(cluster, NAMES | {SHOP: "n3"})
    for node in at:
        until_ways_are_up(cluster, node)
    after = websocket(cluster, stack, "n0", SHOP)
    assert after.held.node == "n3"
    for one in before:
        assert one.held.node in ("n1", "n2")
        one.talks()
        one.ends()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "change"),
    [(Encrypted, by_the_small_map), (Cluster, by_a_large_map), (Encrypted, by_a_reload)],
    indirect=["cluster"],
)
def test_long_answers_come_whole_from_where_they_began_however_often_their_site_moves(
    cluster: Cluster, stack: ExitStack, change: Change
) -> None:
    cluster.start(stack, NAMES)
    dice = random.Random(7)
    owners = ["n3", "n0", "n2", "n1"]
    begun: list[tuple[Held, bytearray]] = []
    with ThreadPoolExecutor() as visitors:
        answers = []
        for owner in owners[: 2 if change is by_a_reload else 4]:
            change(cluster, NAMES | {SITE: owner})
            for door in cluster.members.addresses:
                asked = cluster.ask(door, SITE)
                held = cluster.members.asked.get(timeout=60)
                assert held.node == owner
                answers.append(visitors.submit(until_closed, asked))
                head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                held.connection.sendall(head)
                begun.append((held, bytearray()))
            for held, sent in begun:
                part = held.node.encode() + dice.randbytes(100_000)
                held.connection.sendall(chunk(part))
                sent += part
        for held, _ in begun:
            with held.connection as answering:
                answering.sendall(b"0\r\n\r\n")
        for (_, sent), answer in zip(begun, answers, strict=True):
            said = answer.result(60)
            assert said.startswith(b"HTTP/1.1 200 OK")
            assert body_of(said) == sent


def body_of(answer: bytes) -> bytes:
    """What its chunks are together; all of them are there."""
    body, rest = b"", answer.partition(b"\r\n\r\n")[2]
    while True:
        line, _, rest = rest.partition(b"\r\n")
        if not (size := int(line, 16)):
            assert rest == b"\r\n"
            return body
        body, rest = body + rest[:size], rest[size + 2 :]


def chunk(content: bytes) -> bytes:
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


@pytest.mark.slow
def test_each_request_of_a_kept_connection_goes_by_the_map_of_its_moment(
    cluster: Cluster, stack: ExitStack
) -> None:
    """From its own node, to its own node, between two others, and to nobody."""
    cluster.start(stack, NAMES)
    kept = {
        door: stack.enter_context(socket.create_connection((address, cluster.port), timeout=60))
        for door, address in cluster.members.addresses.items()
    }
    for owner in ("n1", "n3", "n0", "", "n2", "n1"):
        names = {name: node for name, node in NAMES.items() if name != SITE}
        owners = names | ({SITE: owner} if owner else {})
        assert flip(cluster, owners) <= {"commands", "nothing"}
        for door, connection in kept.items():
            connection.sendall(NEXT)
            held = cluster.members.asked.get(timeout=60)
            assert held.node == (owner or door)
            with held.connection as answering:
                answering.sendall(OK)
            said = b""
            while not said.endswith(b"\r\n\r\nok"):
                said += exactly(connection, 1)
            assert said.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.slow
def test_who_says_nothing_for_the_timeout_is_hung_up_on_and_who_talks_is_not(
    found: HaproxyProgram, members: Members, tmp_path: Path, stack: ExitStack
) -> None:
    cluster = Impatient(found, tmp_path, members, timeout=timedelta(seconds=1.5))
    cluster.start(stack, NAMES)
    silent, talking = (websocket(cluster, stack, "n0") for _ in range(2))
    silent.visitor.settimeout(0.1)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        talking.talks()
        try:
            assert not silent.visitor.recv(1)
            break
        except TimeoutError:
            continue
    else:
        pytest.fail("nobody hung up")
    talking.talks()
    talking.ends()


@pytest.mark.parametrize(
    ("timeout", "said"),
    [(60, "60s"), (1, "1s"), (86_400, "86400s"), (1.5, "1500ms"), (90.25, "90250ms")],
)
def test_the_timeout_is_in_the_configuration_to_the_millisecond(
    found: HaproxyProgram, members: Members, tmp_path: Path, timeout: float, said: str
) -> None:
    cluster = Impatient(found, tmp_path, members, timeout=timedelta(seconds=timeout))
    text = cluster.files("n0", NAMES)[CONFIGURATION]
    assert f"timeout client {said}\n    timeout server {said}\n" in text

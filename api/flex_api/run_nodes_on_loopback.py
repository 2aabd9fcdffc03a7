"""Nodes on loopback, for the demo and for tests: on each an HAProxy, and behind it a web server
that says which node it is.

Takes a World with doors for all sites. Every HAProxy goes by each order for doors the moment that
the store has it, as it would by `flex route follow`. All ends with the block, or with our process.
Does not order anything.
"""

from __future__ import annotations

import http.client
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import ClassVar

from flex.errors import FlexError, Unreachable
from flex.model.orders_to_doors import DoorReport
from flex.routing import apply_to_haproxy, haproxy, install_files, owners_map
from flex.routing.apply_to_haproxy import Sockets
from flex.routing.haproxy_frontends import NEIGHBOURS
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.haproxy_socket import Socket
from flex.routing.refuse_older_maps import refuse_older
from flex.store import Store, open_store
from flex_api.night import haproxy_pools_and_files
from flex_api.settings.file import Settings
from flex_api.wiring import World
from flex_dns.private.private_named import LOOPBACK, free_port

# Seconds between two looks for an order.
LOOK_AGAIN = 0.01
# Seconds that a door may take for an answer. A guess: on loopback it takes milliseconds.
PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Ports:
    """The same on every node's address."""

    visitors: int
    origin: int
    inner: int
    peers: int


@contextmanager
def free_ports(addresses: Sequence[str]) -> Iterator[Ports]:
    """Kept from other private servers while in use. Raises Unreachable where an address is not this
    machine's.
    """
    with ExitStack() as held:
        ports = [held.enter_context(free_port()) for _ in range(4)]
        for address in addresses:
            _refuse_taken(address, ports)
        yield Ports(*ports)


def _refuse_taken(address: str, ports: Sequence[int]) -> None:
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind((address, port))
            except OSError as error:
                raise Unreachable(
                    f"a node at {address} port {port}",
                    str(error.strerror or error),
                    kept="nothing was started",
                    advice="give the loopback interface this address (macOS: "
                    f"ifconfig lo0 alias {address}), or try again",
                ) from error


class PrivateNodes:
    """`with PrivateNodes(world, found, ports) as nodes: ... nodes.answer("n1", "shop.example")`"""

    def __init__(self, world: World, program: HaproxyProgram, ports: Ports) -> None:
        self.ports = ports
        self.addresses = haproxy_pools_and_files.addresses(world.nodes)
        self._settings = world.settings
        self._found = program
        self._exit = ExitStack()
        self._running: dict[str, ExitStack] = {}
        self._nodes: dict[str, _Node] = {}
        self._over = threading.Event()
        # Who kills a node waits until nobody tells it anything.
        self._telling = threading.Lock()

    @property
    def alive(self) -> list[str]:
        return sorted(self._running)

    def __enter__(self) -> PrivateNodes:
        with ExitStack() as started:
            # Paths of sockets have about a hundred letters at most, whatever folder others work in.
            folder = Path(started.enter_context(TemporaryDirectory(prefix="flex-nodes-")))
            store = open_store(self._settings.database.url)
            started.callback(store.close)
            for name, address in self.addresses.items():
                self._start(started, folder / name, name, address, store)
            follower = threading.Thread(target=self._follow, args=(store,))
            started.callback(follower.join)
            started.callback(self._over.set)
            follower.start()
            self._exit = started.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exit.close()

    def kill(self, name: str) -> None:
        """The node's HAProxy and its web server are gone; what they had begun is lost."""
        with self._telling:
            self._running.pop(name).close()

    def answer(self, name: str, site: str) -> str:
        """Which node answers a request for the site that comes to this one; else what came of
        it.
        """
        connection = http.client.HTTPConnection(
            self.addresses[name], self.ports.visitors, timeout=PATIENCE
        )
        try:
            connection.request("GET", "/", headers={"Host": site})
            answer = connection.getresponse()
            body = answer.read().decode("ascii", "replace")
        except (OSError, http.client.HTTPException) as error:
            return f"no answer: {error}"
        finally:
            connection.close()
        return body if answer.status == http.HTTPStatus.OK else f"{answer.status}"

    def _start(self, stack: ExitStack, folder: Path, name: str, address: str, store: Store) -> None:
        own = stack.enter_context(ExitStack())
        node = _Node(name, folder, _own(self._settings, folder, address, self.ports))
        own.enter_context(_web_server(name, address, self.ports.origin))
        install_files.put(node.files(store), folder, self._found)
        own.enter_context(
            start_with_master(self._found, folder, self.ports.visitors, folder / "m", address)
        )
        self._nodes[name], self._running[name] = node, own

    def _follow(self, store: Store) -> None:
        goes_by: dict[str, DoorReport] = {}
        while not self._over.wait(LOOK_AGAIN):
            try:
                order = store.door_order()
                for name in self.alive:
                    report = goes_by.get(name)
                    if order is None or (report and report.goes_by(order)):
                        continue
                    goes_by[name] = self._tell(name, store, report)
                    if report is None or _differ(report, goes_by[name]):
                        store.note_door_reports([goes_by[name]])
            except FlexError:
                # The store is away for a moment; whoever waits for this node says what is missing.
                continue

    def _tell(self, name: str, store: Store, last: DoorReport | None) -> DoorReport:
        """What the node says of itself then."""
        number, moved, trouble = 0, "", ""
        if last:
            number, moved = last.number, last.moved
        with self._telling:
            try:
                if name in self._running:
                    self._nodes[name].go_by_newest(store, self._found)
                    number, moved = self._nodes[name].goes_by()
            except FlexError as error:
                trouble = f"{error.asked}: {error.answer}"
        return DoorReport(name, number, moved, datetime.now(UTC), trouble)


def _differ(report: DoorReport, later: DoorReport) -> bool:
    return replace(report, since=later.since) != later


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    folder: Path
    settings: Settings

    @property
    def _sockets(self) -> Sockets:
        # Nobody has a path in memory that a reload would forget.
        stats, master = Socket(str(self.folder / "s")), Socket(str(self.folder / "m"))
        return Sockets(stats, master, hands_on=0)

    def files(self, store: Store) -> Mapping[str, str]:
        contents = haproxy_pools_and_files.files(self.settings, store, self.name)
        # Whatever connects on one machine to an address of its own comes from this one.
        neighbours = f"{contents[NEIGHBOURS]}{LOOPBACK}\n"
        return haproxy.stamp_version({**contents, NEIGHBOURS: neighbours})

    def go_by_newest(self, store: Store, program: HaproxyProgram) -> None:
        moved = store.moved_map()
        if not owners_map.flip(moved, self.folder, self._sockets, refuse_older):
            # It goes beside another large map than the one here.
            apply_to_haproxy.enforce(
                self.files(store), self.folder, program, self._sockets, refuse_older
            )

    def goes_by(self) -> tuple[int, str]:
        return owners_map.order_in_force(self._sockets.stats, self.folder)


def _own(settings: Settings, folder: Path, address: str, ports: Ports) -> Settings:
    """The same, for one of several nodes on one machine."""
    routing = settings.routing.model_copy(
        update={
            "directory": str(folder),
            "listen": (f"{address}:{ports.visitors}",),
            "inner_listen": (f"{address}:{ports.inner}",),
            "origin": address,
            "socket": str(folder / "s"),
            "metrics": "",
            "threads": 1,
            "connections": 1_000,
        }
    )
    return settings.model_copy(update={"routing": routing})


@contextmanager
def _web_server(name: str, address: str, port: int) -> Iterator[None]:
    class Answer(_Answer):
        node = name

    try:
        server = _Server((address, port), Answer)
    except OSError as error:
        raise Unreachable(
            f"the web server of {name}",
            f"{address} port {port}: {error.strerror or error}",
            kept="what was started is ended again",
            advice="try again",
        ) from error
    with server:
        serving = threading.Thread(target=server.serve_forever, args=(0.05,))
        serving.start()
        try:
            yield
        finally:
            server.shutdown()
            serving.join()


class _Server(socketserver.ThreadingTCPServer):
    # Not http.server's: it would ask DNS for the name of the address.
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """HAProxy looks whether somebody listens, and hangs up."""


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    node: ClassVar[str]

    def do_GET(self) -> None:
        body = self.node.encode()
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

"""What came to a door without the site is read from its HAProxy, whatever is asked for."""

from __future__ import annotations

import socket
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flex.errors import Away
from flex.routing import apply_to_haproxy, haproxy_socket, read_strays
from flex.routing.haproxy_socket import Socket
from flex.store import MemoryStore
from flex_api.night import note_strays_of_doors
from flex_api.night.note_strays_of_doors import EVERY
from tests.rest.conftest import settings
from tests.routing.test_doors import NAMES, Cluster, cluster, stack

__all__ = ["cluster", "stack"]

HOSTILE = (
    'x" y.example',
    "b.example=9",
    "b.example\\",
    "http_req_cnt=7 b.example",
    "%0ab.example",
    "<b>.example",
    "-b.example",
    "b.example/" + "x" * 500,
    "x" * 300 + ".example",
)


@pytest.mark.slow
@pytest.mark.real
def test_a_door_tells_what_came_to_it_and_belongs_elsewhere(
    cluster: Cluster, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    for host in ("b.example", "B.example:80", "b.example.", "c.example", "a.example"):
        cluster.answered("n0", host)
    stats = Socket(str(cluster.folder / "n0" / "s"))
    found = read_strays.strays(stats)
    assert found
    counted = {one.name: one.requests for one in found.counted}
    assert counted == {"b.example": 3, "c.example": 1}
    assert (found.names, found.requests) == (2, 4)
    assert all(0 <= one.quiet < 60 for one in found.counted)
    assert 0 <= found.uptime < 600


@pytest.mark.slow
@pytest.mark.real
def test_names_that_nobody_can_have_are_counted_and_not_told(
    cluster: Cluster, stack: ExitStack
) -> None:
    """As if the maps led them elsewhere: HAProxy itself writes the table."""
    cluster.start(stack, NAMES)
    stats = Socket(str(cluster.folder / "n0" / "s"))
    cluster.answered("n0", "b.example")
    for host in HOSTILE:
        key = host.replace("\\", "\\\\").replace(" ", "\\ ").replace('"', '\\"')
        said = _raw(stats, f"set table strays key {key} data.http_req_cnt 1000")
        assert said.strip() == "", said
    found = read_strays.strays(stats)
    assert found
    assert [one.name for one in found.counted] == ["b.example"]
    assert found.names >= len(HOSTILE)


@pytest.mark.slow
@pytest.mark.real
def test_of_many_names_the_most_frequent_are_told(cluster: Cluster, stack: ExitStack) -> None:
    cluster.start(stack, NAMES)
    stats = Socket(str(cluster.folder / "n0" / "s"))
    for one in range(1, 101):
        _raw(stats, f"set table strays key s{one}.example data.http_req_cnt {one}")
    found = read_strays.strays(stats, most=10)
    assert found
    assert [one.requests for one in found.counted] == list(range(100, 90, -1))
    assert (found.names, found.requests) == (100, 5_050)


def _raw(stats: Socket, command: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(stats.path)
        connection.sendall(f"{command}\n".encode())
        connection.shutdown(socket.SHUT_WR)
        said = b""
        while part := connection.recv(65536):
            said += part
    return said.decode()


LINE = "0x55d0c8: key={} use=0 exp=604739000 shard=0 http_req_cnt={} http_req_rate(3600000)=1"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        LINE.format("b.example", "many"),
        LINE.format("b.example", "9" * 40),
        LINE.format("b.example", "-1"),
        LINE.format("b example", 1),
        LINE.format("b=example", 1),
        LINE.format("b.example", 1).replace("604739000", "9" * 40),
        LINE.format("b.example", 1).replace(" http_req_cnt=1", ""),
        "0x1: key=" + "\\ " * 100_000,
    ],
)
def test_a_line_that_is_none_of_a_table_counts_as_nothing(line: str) -> None:
    found = read_strays.reading([line, LINE.format("c.example", 2)], 5)
    assert [(one.name, one.requests) for one in found.counted] == [("c.example", 2)]
    assert (found.names, found.requests) == (1, 2)


def test_a_name_with_escaped_letters_is_counted_and_not_told() -> None:
    found = read_strays.reading(
        [LINE.format(r"a\ http_req_cnt\=7\\", 3), LINE.format("b.example", 1)], 5
    )
    assert [one.name for one in found.counted] == ["b.example"]
    assert (found.names, found.requests) == (2, 4)
    assert found.counted[0].quiet == pytest.approx(61.0)


class Said:
    """A socket that answers each question in turn with what it is given, and then hangs up."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(path))
        self.listening.listen()

    def say(self, *answers: Iterator[bytes]) -> None:
        def answer() -> None:
            for parts in answers:
                connection, _ = self.listening.accept()
                with connection:
                    connection.recv(1000)
                    try:
                        for part in parts:
                            connection.sendall(part)
                    except OSError:
                        return

        threading.Thread(target=answer, daemon=True).start()


@pytest.fixture
def said(tmp_path: Path) -> Iterator[Said]:
    made = Said(tmp_path / "s")
    with made.listening:
        yield made


INFO = b"Name: HAProxy\nUptime_sec: 77\n"
HEAD = b"# table: strays, type: string, size:102400, used:100000\n"


@pytest.mark.slow
def test_a_full_table_is_read_in_the_memory_of_a_small_one(said: Said) -> None:
    def table() -> Iterator[bytes]:
        yield HEAD
        for one in range(100_000):
            name = f"s{one}." + "x" * 60 + "." + "y" * 60 + ".example"
            yield LINE.format(name, 1 + one % 977).encode() + b"\n"

    said.say(iter([INFO]), table())
    tracemalloc.start()
    try:
        found = read_strays.strays(Socket(str(said.path), 60.0))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found
    assert (found.names, len(found.counted)) == (100_000, 1_000)
    # All of it is 24 MB; a part of it is at most 1 MiB.
    assert most < 8 * 2**20


def test_a_line_without_an_end_is_left_out_and_not_kept(said: Said) -> None:
    def table() -> Iterator[bytes]:
        yield HEAD
        for _ in range(1_000):
            yield b"x" * 2**14
        yield b"\n" + LINE.format("b.example", 4).encode() + b"\n"

    said.say(iter([INFO]), table())
    found = read_strays.strays(Socket(str(said.path), 60.0))
    assert found
    assert [(one.name, one.requests) for one in found.counted] == [("b.example", 4)]


@pytest.mark.parametrize("answer", [b"No such table\n", b"", b"Unknown command\n"])
def test_an_haproxy_without_the_table_tells_nothing(said: Said, answer: bytes) -> None:
    said.say(iter([INFO]), iter([answer]))
    assert read_strays.strays(Socket(str(said.path))) is None


def test_an_haproxy_that_is_away_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Away):
        read_strays.strays(Socket(str(tmp_path / "none")))


def test_how_long_a_process_has_run_is_read_or_is_not_known() -> None:
    assert haproxy_socket.parse_uptime(INFO.decode()) == 77
    for said_otherwise in ("", "Uptime_sec: -1\n", "Uptime_sec: 9e9\n"):
        assert haproxy_socket.parse_uptime(said_otherwise) is None


@pytest.mark.slow
@pytest.mark.real
def test_by_the_sockets_of_all_nodes_what_their_doors_counted_is_kept(
    cluster: Cluster, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    nodes = [
        {"name": name, "addresses": [address], "ram": "1 GiB"}
        for name, address in {**cluster.members.addresses, "n9": "192.0.2.9"}.items()
    ]
    told = settings(
        node=nodes,
        routing={"on": True, "doors": "all", "sockets": str(cluster.folder / "{node}" / "s")},
    )
    store, now = MemoryStore(), datetime.now(UTC)
    for door in ("n0", "n2", "n1"):
        cluster.answered(door, "b.example")
    note_strays_of_doors.note_strays(told, store, now)
    assert [(one.node, one.name, one.requests) for one in store.strays()] == [
        ("n0", "b.example", 1),
        ("n2", "b.example", 1),
    ]
    read = [door.node for door in store.doors_read()]
    assert read == sorted(cluster.members.addresses)
    cluster.answered("n0", "b.example")
    note_strays_of_doors.note_strays(told, store, now + EVERY / 2)
    assert store.strays()[0].requests == 1, "asked once a minute at most"
    # The new process counts from nothing, and was not read before.
    apply_to_haproxy.reload(Socket(str(cluster.folder / "n0" / "m")))
    for _ in range(2):
        cluster.answered("n0", "b.example")
    note_strays_of_doors.note_strays(told, store, now + EVERY)
    assert store.strays()[0].requests == 1 + 2


@pytest.mark.slow
@pytest.mark.real
def test_this_machines_own_haproxy_says_itself_whose_it_is(
    cluster: Cluster, stack: ExitStack
) -> None:
    cluster.start(stack, NAMES)
    cluster.answered("n0", "b.example")
    nodes = [
        {"name": name, "addresses": [address], "ram": "1 GiB"}
        for name, address in cluster.members.addresses.items()
    ]
    here = str(cluster.folder / "n0" / "s")
    routing = {"on": True, "doors": "all", "socket": here}
    store, now = MemoryStore(), datetime.now(UTC)
    note_strays_of_doors.note_strays(settings(node=nodes, routing=routing), store, now)
    assert [door.node for door in store.doors_read()] == ["n0"]
    replicated_only = settings(node=nodes, routing=routing | {"doors": "replicated"})
    empty = MemoryStore()
    note_strays_of_doors.note_strays(replicated_only, empty, now)
    assert empty.doors_read() == ()

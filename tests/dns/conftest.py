"""A real name server and its double in memory, each test in a zone of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import dns.update
import pytest

from flex.ports import Publisher
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key, make_key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.zone.sets_from_primary import soa_serial
from tests.memory_publisher import MemoryPublisher

OWNER = "flex-eu1"
ZONES = tuple(f"z{number}.example." for number in range(400))
# What others keep in each zone, beside our names.
OTHERS = {
    "alias CNAME": "ns1.example.org.",
    "mail MX": "10 mx.example.org.",
    "mail TXT": '"v=spf1 -all"',
    "UPPER A": "192.0.2.77",
    "sub NS": "ns.example.org.",
    "theirs A": "192.0.2.200",
    "theirs._flex TXT": '"flex owner=flex-us1"',
    "odd._flex TXT": '"written by hand"',
}

Edit = Callable[[str, str, Sequence[str]], None]


@pytest.fixture(scope="session")
def key() -> Key:
    return make_key("flex")


@pytest.fixture(scope="session")
def reader() -> Key:
    """A key that may look and change nothing."""
    return make_key("reader")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Unlike pytest's own, one that another user can enter: named gives up being root."""
    made = Path(tempfile.mkdtemp(prefix="flex-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="session")
def named(key: Key, reader: Key) -> Iterator[PrivateNamed]:
    made = Path(tempfile.mkdtemp(prefix="flex-"))
    lines = "".join(f"{name_and_type} {value}\n" for name_and_type, value in OTHERS.items())
    records = dict.fromkeys(ZONES, lines)
    # A zone's transfer is one message: the relay that loses some counts on that.
    whole = "notify no;\ntransfer-message-size 65535;"
    with PrivateNamed(
        made, ZONES, key, records=records, readers=[reader], options=whole, own_names=ZONES
    ) as running:
        yield running
    shutil.rmtree(made)


@pytest.fixture(scope="session")
def unused() -> Iterator[str]:
    return iter(ZONES)


@pytest.fixture
def zone(unused: Iterator[str]) -> str:
    """A zone that no test has touched."""
    return next(unused)


@pytest.fixture
def real(named: PrivateNamed) -> Rfc2136Publisher:
    return Rfc2136Publisher(named.server, OWNER, patience=3)


@pytest.fixture
def memory(zone: str) -> MemoryPublisher:
    target = MemoryPublisher([zone], OWNER)
    for name_and_type, value in OTHERS.items():
        name, kind = name_and_type.split()
        target.edit(zone, f"{name}.{zone}", kind, 60, [value.strip('"')])
    return target


TARGETS = ["memory", pytest.param("real", marks=pytest.mark.real)]


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Publisher:
    found: Publisher = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def edit(target: Publisher, zone: str, named_or_none: PrivateNamed | None) -> Edit:
    """What somebody else does: one set holds these values from now on, with a TTL of 60, or is
    gone.
    """
    if isinstance(target, MemoryPublisher):
        return lambda name, kind, values: target.edit(zone, name, kind, 60, values)
    assert named_or_none is not None
    server = named_or_none.server
    return lambda name, kind, values: _edit(server, zone, name, kind, values)


def held(
    target: Publisher, named: PrivateNamed | None, zone: str, name: str, kind: str
) -> list[str]:
    """What a set of any type holds."""
    if isinstance(target, MemoryPublisher):
        return list(target._zones[zone].get((name, kind), (0, ()))[1])
    assert named is not None
    asked = dns.message.make_query(name, kind)
    answer = dns.query.tcp(asked, "127.0.0.1", port=named.port, timeout=60)
    return [one.to_text().strip('"') for found in answer.answer for one in found]


@pytest.fixture
def named_or_none(target: Publisher, request: pytest.FixtureRequest) -> PrivateNamed | None:
    if isinstance(target, MemoryPublisher):
        return None
    found: PrivateNamed = request.getfixturevalue("named")
    return found


@pytest.fixture
def serial(target: Publisher, zone: str) -> Callable[[], int]:
    return lambda: target.read(zone, []).serial


@pytest.fixture
def edit_real(named: PrivateNamed, zone: str) -> Edit:
    return lambda name, kind, values: _edit(named.server, zone, name, kind, values)


def _edit(server: Server, zone: str, name: str, kind: str, values: Sequence[str]) -> None:
    update = dns.update.UpdateMessage(zone)
    update.replace(name, 60, kind, *values) if values else update.delete(name, kind)
    with Session(server) as session:
        before = soa_serial(session, server, zone)
        assert session.ask(update, "a foreign edit").rcode() == dns.rcode.NOERROR
        assert soa_serial(session, server, zone) == before + 1

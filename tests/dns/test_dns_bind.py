"""On a real BIND: rights, lost answers, and many changes at once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import dns.message
import dns.opcode
import dns.rcode
import dns.update
import pytest

from flex.errors import PartlyApplied, Stale
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.zones.marker import marker_name, marker_text
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.update import change_messages
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from tests.dns.given import OWNER, many, owned, placed

pytestmark = pytest.mark.real

Edit = Callable[[str, str, Sequence[str]], None]
# Whether to pass on a message, and whether to pass back its answer.
Rule = Callable[[bytes], tuple[bool, bool]]


def taken(sock: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (piece := sock.recv(count - len(found))):
        found += piece
    return found


def framed(sock: socket.socket) -> bytes:
    """The next message with its length; empty at the end."""
    length = taken(sock, 2)
    return length + taken(sock, int.from_bytes(length)) if length else b""


def is_update(wire: bytes) -> bool:
    return (wire[4] >> 3) & 15 == dns.opcode.UPDATE


@contextmanager
def relay(server: Server, rule: Rule) -> Iterator[Server]:
    """A way to the server that breaks where the rule says so: the connection is closed there."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_accept, args=(listening, server, rule))
        thread.start()
        try:
            yield replace(server, port=listening.getsockname()[1])
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listening: socket.socket, server: Server, rule: Rule) -> None:
    """One connection after the other, as our client makes them."""
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        with (
            client,
            suppress(ConnectionError),
            socket.create_connection(server.address, timeout=120) as upstream,
        ):
            _pass_on(client, upstream, rule)


def _pass_on(client: socket.socket, upstream: socket.socket, rule: Rule) -> None:
    """Each message has one answer: the zones are small enough for transfers in one."""
    while wire := framed(client):
        forth, back = rule(wire)
        if forth:
            upstream.sendall(wire)
            answer = framed(upstream)
            if back:
                client.sendall(answer)
        if not (forth and back):
            return


def losing(which: int, *, forth: bool) -> Rule:
    """The update of that number is lost on its way there, or its answer on the way back."""
    seen = 0

    def rule(wire: bytes) -> tuple[bool, bool]:
        nonlocal seen
        seen += is_update(wire)
        hit = is_update(wire) and seen == which
        return forth or not hit, not hit

    return rule


@pytest.mark.torture("2-update lost")
@pytest.mark.slow("2-answer lost", "2-update lost")
@pytest.mark.parametrize("forth", [True, False], ids=["answer lost", "update lost"])
@pytest.mark.parametrize("which", [1, 2])
def test_a_plan_is_finished_though_a_message_was_lost(
    named: PrivateNamed, zone: str, forth: bool, which: int
) -> None:
    with relay(named.server, losing(which, forth=forth)) as server:
        target = Rfc2136Publisher(server, OWNER, patience=3)
        before = target.read(zone, []).serial
        target.apply(many(zone, 290))
        after = target.read(zone, []).serial
    assert owned(Rfc2136Publisher(named.server, OWNER), zone, 290) == 290
    # A message that was carried out is not sent again: that would be one serial more.
    assert after == before + len(list(change_messages.messages(zone, many(zone, 290).changes)))


def test_a_foreign_edit_behind_a_lost_message_survives(
    named: PrivateNamed, zone: str, edit_real: Edit
) -> None:
    lost = losing(1, forth=False)

    def rule(wire: bytes) -> tuple[bool, bool]:
        forth, back = lost(wire)
        if not forth:
            edit_real(f"s7.{zone}", "A", ["192.0.2.99"])
        return forth, back

    with (
        relay(named.server, rule) as server,
        pytest.raises(Stale, match=rf"s7\.{zone} A: expected nothing"),
    ):
        Rfc2136Publisher(server, OWNER, patience=3).apply(many(zone, 20))
    assert owned(Rfc2136Publisher(named.server, OWNER), zone, 20) == 0


def test_what_somebody_else_did_for_us_meanwhile_is_not_sent_again(
    named: PrivateNamed, zone: str, edit_real: Edit
) -> None:
    lost = losing(1, forth=False)

    def rule(wire: bytes) -> tuple[bool, bool]:
        forth, back = lost(wire)
        if not forth:
            edit_real(f"s7.{zone}", "A", ["192.0.2.1"])
        return forth, back

    with relay(named.server, rule) as server:
        Rfc2136Publisher(server, OWNER, patience=3).apply(many(zone, 20))
    assert owned(Rfc2136Publisher(named.server, OWNER), zone, 20) == 20


def test_an_edit_after_our_last_look_is_refused_by_the_server_itself(
    named: PrivateNamed, zone: str, edit_real: Edit
) -> None:
    www = f"www.{zone}"
    Rfc2136Publisher(named.server, OWNER).apply(ZonePlan(zone, placed(zone, www, "192.0.2.1")))
    seen = 0

    def rule(wire: bytes) -> tuple[bool, bool]:
        nonlocal seen
        seen += is_update(wire)
        if is_update(wire) and seen == 1:
            edit_real(www, "A", ["192.0.2.1", "192.0.2.99"])
        return True, True

    move = Change(Rrset(www, "A", 60, ("192.0.2.1",)), Rrset(www, "A", 60, ("192.0.2.2",)))
    with (
        relay(named.server, rule) as server,
        pytest.raises(Stale, match=r"found 60 192\.0\.2\.1 192\.0\.2\.99"),
    ):
        Rfc2136Publisher(server, OWNER, patience=3).apply(ZonePlan(zone, (move,)))
    found = Rfc2136Publisher(named.server, OWNER).read(zone, [www])
    assert found.records["value"].tolist() == ["192.0.2.1", "192.0.2.99"]


@pytest.mark.parametrize("owner", ["somebody-else", ""], ids=["another", "none"])
def test_a_marker_that_changed_after_our_last_look_is_found_by_the_server_itself(
    named: PrivateNamed, zone: str, edit_real: Edit, owner: str
) -> None:
    ours = Rfc2136Publisher(named.server, OWNER)
    names = [f"s{number}.{zone}" for number in range(5)]
    ours.apply(many(zone, 5))
    marked = [f'"{marker_text(owner)}"'] if owner else []
    seen = 0

    def rule(wire: bytes) -> tuple[bool, bool]:
        nonlocal seen
        seen += is_update(wire)
        if is_update(wire) and seen == 1:
            edit_real(marker_name(names[2], zone), "TXT", marked)
        return True, True

    moves = tuple(
        Change(Rrset(n, "A", 60, ("192.0.2.1",)), Rrset(n, "A", 60, ("192.0.2.2",))) for n in names
    )
    with (
        relay(named.server, rule) as server,
        pytest.raises(Stale, match=f"{names[2]} A: .* marker"),
    ):
        Rfc2136Publisher(server, OWNER, patience=3, controller="us").apply(ZonePlan(zone, moves))
    assert set(ours.read(zone, names).records["value"]) == {"192.0.2.1"}


@pytest.mark.slow
def test_a_foreign_edit_between_two_messages_stands_and_the_others_are_applied(
    named: PrivateNamed, zone: str, edit_real: Edit
) -> None:
    seen = 0

    def rule(wire: bytes) -> tuple[bool, bool]:
        nonlocal seen
        seen += is_update(wire)
        if is_update(wire) and seen == 2:
            edit_real(f"s449.{zone}", "A", ["192.0.2.99"])
        return True, True

    with (
        relay(named.server, rule) as server,
        pytest.raises(PartlyApplied, match=rf"1 are no longer .*s449\.{zone}") as partly,
    ):
        Rfc2136Publisher(server, OWNER, patience=3).apply(many(zone, 450))
    # Nor does the name that is somebody else's now get our marker.
    assert owned(Rfc2136Publisher(named.server, OWNER), zone, 450) == 449
    assert "898 of the record sets are as planned" in partly.value.kept
    found = Rfc2136Publisher(named.server, OWNER).read(zone, [f"s449.{zone}"])
    assert found.records["value"].tolist() == ["192.0.2.99"]


def test_a_server_that_went_away_for_good_leaves_the_plan_open(
    named: PrivateNamed, zone: str
) -> None:
    gone = threading.Event()

    def rule(wire: bytes) -> tuple[bool, bool]:
        if is_update(wire):
            gone.set()
        return (not gone.is_set(), not gone.is_set())

    with relay(named.server, rule) as server, pytest.raises(PartlyApplied) as partly:
        Rfc2136Publisher(server, OWNER, patience=0.3).apply(many(zone, 5))
    assert partly.value.kept == "whether the last 10 record sets were changed is not known"
    assert "--resume" in partly.value.advice


def test_a_server_that_was_killed_in_the_middle_is_waited_for(folder: Path, key: Key) -> None:
    zone, killed = "hosting.example.", threading.Event()
    with PrivateNamed(folder, [zone], key) as own:

        def rule(wire: bytes) -> tuple[bool, bool]:
            if is_update(wire) and not killed.is_set():
                own.kill()
                killed.set()
                return False, False
            return True, True

        with relay(own.server, rule) as server:
            applying = threading.Thread(
                target=Rfc2136Publisher(server, OWNER).apply, args=[many(zone, 20)]
            )
            applying.start()
            assert killed.wait(300), "no update came to be lost"
            own.start()
            applying.join()
        assert owned(Rfc2136Publisher(own.server, OWNER), zone, 20) == 20


@pytest.mark.slow
def test_three_thousand_names_are_placed_and_placed_again_for_nothing(
    named: PrivateNamed, zone: str
) -> None:
    target = Rfc2136Publisher(named.server, OWNER)
    target.apply(many(zone, 3000))
    assert owned(target, zone, 3000) == 3000
    serial = target.read(zone, []).serial
    target.apply(many(zone, 3000))
    assert target.read(zone, []).serial == serial


def test_two_controllers_at_once_place_each_name_once(named: PrivateNamed, zone: str) -> None:
    """Whoever comes second is refused by the server itself, however close they are."""
    zone_plan, outcomes = ZonePlan(zone, placed(zone, f"www.{zone}", "192.0.2.1")), []
    other = ZonePlan(zone, placed(zone, f"www.{zone}", "192.0.2.2"))
    gate = threading.Barrier(2, timeout=300)

    def apply(one: ZonePlan) -> None:
        gate.wait()
        try:
            Rfc2136Publisher(named.server, OWNER).apply(one)
            outcomes.append("applied")
        except (Stale, PartlyApplied):
            outcomes.append("refused")

    threads = [threading.Thread(target=apply, args=[one]) for one in (zone_plan, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["applied", "refused"]
    assert len(Rfc2136Publisher(named.server, OWNER).read(zone, [f"www.{zone}"]).records) == 1


def test_without_transfers_the_same_is_read_name_by_name(folder: Path, key: Key) -> None:
    zone = "hosting.example."
    records = "alias CNAME ns1\nUPPER A 192.0.2.7\nsub NS ns.example.org.\n"
    names = [
        f"{name}.{zone}"
        for name in ("alias", "upper", "below.sub", "free", *(f"s{n}" for n in range(40)))
    ]
    with PrivateNamed(folder, [zone], key, records={zone: records}, transfers=False) as closed:
        target = Rfc2136Publisher(closed.server, OWNER)
        target.apply(many(zone, 40))
        singly = target.read(zone, names)
    with PrivateNamed(folder / "open", [zone], key, records={zone: records}) as opened:
        target = Rfc2136Publisher(opened.server, OWNER)
        target.apply(many(zone, 40))
        at_once = target.read(zone, names)
    assert singly.records.equals(at_once.records)
    assert (singly.owned, singly.blocked) == (at_once.owned, at_once.blocked)


def test_a_zone_is_read_beside_a_wildcard(folder: Path, key: Key) -> None:
    """A wildcard answers for names that nobody has; they have no records."""
    zone = "hosting.example."
    with PrivateNamed(folder, [zone], key, records={zone: "* A 192.0.2.99\n"}) as own:
        target = Rfc2136Publisher(own.server, OWNER)
        assert target.read(zone, [f"www.{zone}"]).records.empty
        changes = placed(zone, f"www.{zone}", "192.0.2.1")
        target.apply(ZonePlan(zone, changes, below_wildcards=(f"www.{zone}",)))
        assert target.read(zone, [f"www.{zone}"]).records["value"].tolist() == ["192.0.2.1"]


def test_the_policy_grants_addresses_and_markers_and_nothing_else(
    named: PrivateNamed, zone: str
) -> None:
    """The very lines that operators are given: BIND loaded them, and this is what they let our key
    do.
    """
    allowed = [
        ("www", "A", "192.0.2.1"),
        ("www", "AAAA", "2001:db8::1"),
        ("www._flex", "TXT", '"flex owner=x"'),
        ("@", "A", "192.0.2.1"),
        ("@", "AAAA", "2001:db8::1"),
        ("_flex", "TXT", '"flex owner=x"'),
    ]
    denied = [
        ("@", "NS", "ns.example.org."),
        ("@", "MX", "10 example.org."),
        ("@", "TXT", '"flex"'),
        ("ns1", "A", "192.0.2.1"),
        ("ns1", "AAAA", "2001:db8::1"),
        ("www", "CNAME", "example.org."),
        ("www", "MX", "10 example.org."),
        ("www", "TXT", '"v=spf1"'),
        ("www", "NS", "ns.example.org."),
    ]
    for rows, expected in ((allowed, dns.rcode.NOERROR), (denied, dns.rcode.REFUSED)):
        for label, kind, value in rows:
            name = zone if label == "@" else f"{label}.{zone}"
            message = dns.update.UpdateMessage(zone)
            message.add(name, 60, kind, value)
            with Session(named.server) as session:
                assert (name, kind, session.ask(message, "try").rcode()) == (name, kind, expected)


def test_of_the_zones_own_name_nothing_but_addresses_can_be_taken_away(
    named: PrivateNamed, zone: str
) -> None:
    target = Rfc2136Publisher(named.server, OWNER)
    target.apply(ZonePlan(zone, placed(zone, zone, "192.0.2.1")))
    for kind in ("SOA", "NS", "ANY"):
        message = dns.update.UpdateMessage(zone)
        message.delete(zone) if kind == "ANY" else message.delete(zone, kind)
        with Session(named.server) as session:
            assert (kind, session.ask(message, "try").rcode()) == (kind, dns.rcode.REFUSED)
    assert target.read(zone, [zone]).records["value"].tolist() == ["192.0.2.1"]

"""What servers answer is compared, and silence or nonsense is never taken for an empty answer."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pandas as pd
import pytest

from flex.frame_schemas import RECORDS
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.zone_plan import Change, Rrset
from flex_dns.checks.verify import ExpectedAnswers, verdict
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import address_text

pytestmark = pytest.mark.real

ZONE = "hosting.example."
WWW = f"www.{ZONE}"

# What is sent back for a question, packet by packet.
Reply = Callable[[dns.message.Message], Sequence[bytes]]


def records(*rows: tuple[str, str, int, str]) -> pd.DataFrame:
    return RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))


WANTED = records((WWW, "A", 60, "192.0.2.1"))


def right(query: dns.message.Message) -> dns.message.Message:
    """What a good server of the zone says."""
    answer = dns.message.make_response(query)
    answer.flags |= dns.flags.AA
    kind = query.question[0].rdtype.name
    data = {"SOA": "ns1.example.org. hostmaster.example.org. 7 3600 600 86400 30", "A": "192.0.2.1"}
    if kind in data:
        answer.answer.append(
            dns.rrset.from_text(query.question[0].name, 60, "IN", kind, data[kind])
        )
    return answer


@contextmanager
def answering(reply: Reply) -> Iterator[tuple[str, int]]:
    """A UDP port that answers so, until a packet of one byte comes."""
    with ExitStack() as held:
        sock = held.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        sock.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=_answer, args=(sock, reply))
        thread.start()
        try:
            yield sock.getsockname()
        finally:
            with socket.socket(type=socket.SOCK_DGRAM) as stopping:
                stopping.sendto(b".", sock.getsockname())
            thread.join()


def _answer(sock: socket.socket, reply: Reply) -> None:
    while True:
        wire, sender = sock.recvfrom(65535)
        if len(wire) == 1:
            return
        for packet in reply(dns.message.from_wire(wire)):
            sock.sendto(packet, sender)


def asked(reply: Reply, timeout: float = 1.0) -> NameServerVerdict:
    with answering(reply) as address:
        return verdict(address, ZONE, ExpectedAnswers.from_records(WANTED), timeout)


def with_rcode(rcode: dns.rcode.Rcode) -> Reply:
    def reply(query: dns.message.Message) -> Sequence[bytes]:
        answer = right(query)
        if query.question[0].rdtype.name == "A":
            answer.answer.clear()
            answer.set_rcode(rcode)
        return [answer.to_wire()]

    return reply


def without_authority(query: dns.message.Message) -> Sequence[bytes]:
    answer = right(query)
    answer.flags &= ~dns.flags.AA
    return [answer.to_wire()]


def test_a_server_that_says_what_is_wanted_agrees() -> None:
    found = asked(lambda query: [right(query).to_wire()])
    assert found.agrees
    assert (found.serial, found.checked) == (7, 2)


@pytest.mark.parametrize("rcode", [dns.rcode.SERVFAIL, dns.rcode.REFUSED])
def test_a_server_that_fails_is_an_error_and_not_an_absence(rcode: dns.rcode.Rcode) -> None:
    found = asked(with_rcode(rcode))
    assert dns.rcode.to_text(rcode) in found.error
    assert found.wrong == ()
    assert found.serial == 7


def test_a_name_that_is_not_there_is_named() -> None:
    assert asked(with_rcode(dns.rcode.NXDOMAIN)).wrong == (
        Change(None, Rrset(WWW, "A", 60, ("192.0.2.1",))),
    )


def test_an_answer_without_authority_is_an_error() -> None:
    assert "without authority" in asked(without_authority).error


@pytest.mark.parametrize("packets", [[], [b""], [b"noise" * 20]], ids=["silence", "empty", "noise"])
def test_a_server_that_says_nothing_useful_is_an_error(packets: list[bytes]) -> None:
    found = asked(lambda _: packets, timeout=0.3)
    assert "no answer in time" in found.error
    assert not found.agrees


def test_a_closed_port_is_an_error(free_port: int) -> None:
    assert (
        "connection was refused"
        in verdict(("127.0.0.1", free_port), ZONE, ExpectedAnswers.from_records(WANTED), 1.0).error
    )


def test_a_host_without_an_address_is_an_error() -> None:
    assert (
        "no address"
        in verdict(
            ("name-server.invalid", 53), ZONE, ExpectedAnswers.from_records(WANTED), 1.0
        ).error
    )


def forged(query: dns.message.Message) -> Sequence[bytes]:
    """Two answers that lie, with a wrong id and to a wrong question, before the true one."""
    lie = right(query)
    lie.answer.clear()
    lie.id ^= 1
    other = dns.message.make_response(dns.message.make_query("www.example.org.", "A"))
    other.id = query.id
    other.flags |= dns.flags.AA
    return [lie.to_wire(), other.to_wire(), b"\x00", right(query).to_wire()]


def test_forged_answers_are_passed_over() -> None:
    assert asked(forged).agrees


def test_a_lost_packet_is_asked_for_again() -> None:
    seen: set[bytes] = set()

    def reply(query: dns.message.Message) -> Sequence[bytes]:
        known = query.question[0].to_text().encode() in seen
        seen.add(query.question[0].to_text().encode())
        return [right(query).to_wire()] if known else []

    assert asked(reply).agrees


def test_a_set_too_large_for_a_packet_is_fetched_by_tcp(folder: Path, key: Key) -> None:
    values = [f"2001:db8::{number:x}" for number in range(1, 101)]
    lines = "".join(f"www AAAA {value}\n" for value in values)
    with PrivateNamed(folder, [ZONE], key, records={ZONE: lines}) as own:
        target = Rfc2136Publisher(own.server, "flex")
        (found,) = target.verify(ZONE, records(*((WWW, "AAAA", 60, value) for value in values)))
    assert found.agrees


def test_an_address_is_the_same_however_it_is_written(folder: Path, key: Key) -> None:
    with PrivateNamed(folder, [ZONE], key, records={ZONE: "www AAAA 2001:db8::1"}) as own:
        (found,) = Rfc2136Publisher(own.server, "flex").verify(
            ZONE, records((WWW, "AAAA", 60, "2001:DB8:0::1"))
        )
    assert found.agrees


@pytest.mark.slow
def test_each_server_has_a_verdict_of_its_own(folder: Path, key: Key) -> None:
    """One is right, one is behind, one has stopped."""
    with (
        PrivateNamed(folder / "1", [ZONE], key, records={ZONE: "www A 192.0.2.1"}) as good,
        PrivateNamed(folder / "2", [ZONE], key, records={ZONE: "www A 192.0.2.2"}) as behind,
        PrivateNamed(folder / "3", [ZONE], key) as stopped,
    ):
        os.kill(stopped.pid, signal.SIGSTOP)
        os.waitpid(stopped.pid, os.WUNTRACED)
        servers = tuple(one.server.address for one in (good, behind, stopped))
        try:
            verdicts = Rfc2136Publisher(replace(good.server, timeout=5), "flex", servers).verify(
                ZONE, WANTED
            )
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
    assert [one.server for one in verdicts] == [address_text(address) for address in servers]
    assert [one.agrees for one in verdicts] == [True, False, False]
    assert verdicts[1].wrong[0].before == Rrset(WWW, "A", 60, ("192.0.2.2",))
    assert "no answer in time" in verdicts[2].error


def test_a_zone_that_a_server_does_not_have_is_an_error(real: Rfc2136Publisher) -> None:
    (found,) = real.verify(
        "unknown.example.", records(("www.unknown.example.", "A", 60, "192.0.2.1"))
    )
    assert "REFUSED" in found.error

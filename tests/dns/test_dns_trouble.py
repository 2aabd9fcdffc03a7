"""Whatever goes wrong with a name server becomes one clear error that changed nothing and shows no
secret.
"""

from __future__ import annotations

import os
import signal
import socket
import socketserver
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import dns.tsig
import dns.xfr
import pytest

from flex.errors import DnsError, Refused, Unreachable
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex_dns.preflight.primary_check import preflight
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.server_configuration.named_conf_lines import update_policy
from flex_dns.wire.explain_dns_errors import MEANINGS, translate
from flex_dns.wire.key import Key, make_key
from flex_dns.wire.name_server_and_key import Server
from tests.dns.given import adopted, placed
from tests.served_in_thread import in_a_thread

pytestmark = pytest.mark.real

OWNER = "flex-eu1"


def refusal(target: Rfc2136Publisher, zone: str, name: str = "") -> DnsError:
    """What applying a small plan raises."""
    zone_plan = ZonePlan(
        zone,
        (
            placed(zone, f"www.{zone}", "192.0.2.1")
            if not name
            else (Change(None, Rrset(name, "A", 60, ("192.0.2.1",))),)
        ),
    )
    with pytest.raises(DnsError) as refused:
        target.apply(zone_plan)
    error = refused.value
    assert error.kept == "nothing was changed"
    assert error.advice
    shown = "".join(traceback.format_exception(error)) + error.advice + repr(target)
    assert target.server.key.secret not in shown
    return error


@contextmanager
def answering(reply: Callable[[bytes], bytes]) -> Iterator[int]:
    """A TCP port where something answers the first message of each connection, or closes on an
    empty reply. It reads whatever else comes: what is unread when a connection is closed would take
    the answer back.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_answer, args=(listening, reply))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _answer(listening: socket.socket, reply: Callable[[bytes], bytes]) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        with client:
            size = client.recv(2, socket.MSG_WAITALL)
            message = client.recv(int.from_bytes(size), socket.MSG_WAITALL)
            client.sendall(reply(size + message))
            with suppress(OSError):
                client.shutdown(socket.SHUT_WR)
                while client.recv(65535):
                    pass


def framed(wire: bytes) -> bytes:
    return len(wire).to_bytes(2) + wire


def always(reply: bytes) -> Callable[[bytes], bytes]:
    return lambda _: reply


def unsigned_answer(request: bytes) -> bytes:
    query = dns.message.from_wire(request[2:], keyring=False)
    answer = dns.message.make_response(
        dns.message.make_query(query.question[0].name, query.question[0].rdtype)
    )
    answer.id = query.id
    return framed(answer.to_wire())


def unsigned_zone(request: bytes) -> bytes:
    """A complete transfer that anybody could have made."""
    query = dns.message.from_wire(request[2:], keyring=False)
    zone = query.question[0].name
    answer = dns.message.make_response(dns.message.make_query(zone, "AXFR"))
    answer.id = query.id
    soa = dns.rrset.from_text(
        zone, 60, "IN", "SOA", "ns1.example.org. hostmaster.example.org. 7 3600 600 86400 30"
    )
    answer.answer += [soa, soa]
    return framed(answer.to_wire())


@contextmanager
def answering_each(key: Key, say: Callable[[dns.message.Message], object]) -> Iterator[Server]:
    """A server that signs what is said to each question, by whoever has its key."""
    signer = key.signer()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while size := self.rfile.read(2):
                wire = self.rfile.read(int.from_bytes(size))
                query = dns.message.from_wire(wire, keyring={signer.name: signer})
                answer = dns.message.make_response(query)
                say(answer)
                self.wfile.write(framed(answer.to_wire()))

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    with server as listening, in_a_thread(listening):
        yield Server("127.0.0.1", listening.server_address[1], key, timeout=5.0)


@pytest.mark.parametrize("trouble", ["SERVFAIL", "REFUSED", "without authority"])
def test_a_name_that_the_server_does_not_answer_for_is_not_one_without_records(
    key: Key, trouble: str
) -> None:
    zone = "hosting.example."
    soa = dns.rrset.from_text(zone, 60, "IN", "SOA", f"ns1.{zone} root.{zone} 7 1 1 1 1")

    def say(answer: dns.message.Message) -> None:
        """It hands out no zone, and says of the zone itself and of wildcards what it should."""
        (question,) = answer.question
        if question.rdtype == dns.rdatatype.AXFR:
            answer.set_rcode(dns.rcode.REFUSED)
        elif question.rdtype == dns.rdatatype.SOA:
            answer.flags |= dns.flags.AA
            answer.answer = [soa]
        elif question.name.is_wild():
            answer.flags |= dns.flags.AA
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif trouble != "without authority":
            answer.set_rcode(dns.rcode.from_text(trouble))

    with answering_each(key, say) as server, pytest.raises(DnsError, match=f"A of www.{zone}"):
        Rfc2136Publisher(server, OWNER).read(zone, [f"www.{zone}"])


def test_a_wrong_secret_is_told_from_an_unknown_key(real: Rfc2136Publisher, zone: str) -> None:
    wrong = refusal(replace(real, server=replace(real.server, key=make_key("flex"))), zone)
    assert isinstance(wrong, Refused)
    assert "secret" in wrong.answer
    unknown = refusal(replace(real, server=replace(real.server, key=make_key("stranger"))), zone)
    assert "does not know this key" in unknown.answer


def test_another_algorithm_is_an_unknown_key(real: Rfc2136Publisher, zone: str, key: Key) -> None:
    other = replace(real, server=replace(real.server, key=replace(key, algorithm="hmac-sha512")))
    assert "another algorithm" in refusal(other, zone).answer


@pytest.mark.parametrize(("skew", "side"), [(400, "behind"), (-400, "ahead of")])
def test_clocks_that_are_apart_are_named_with_the_difference(
    real: Rfc2136Publisher, zone: str, skew: int, side: str
) -> None:
    error = refusal(replace(real, clock=lambda: time.time() + skew), zone)
    assert error.answer.startswith(
        ("its clock is 400 seconds", "its clock is 399 seconds", "its clock is 401 seconds")
    )
    assert side in error.answer
    assert "timedatectl" in error.advice


def test_a_clock_that_is_a_little_off_does_not_matter(real: Rfc2136Publisher, zone: str) -> None:
    assert replace(real, clock=lambda: time.time() + 200).read(zone, []).serial == 1


def test_a_key_without_rights_is_told_the_policy_it_needs(
    real: Rfc2136Publisher, zone: str, reader: Key
) -> None:
    error = refusal(replace(real, server=replace(real.server, key=reader)), zone)
    assert isinstance(error, Refused)
    assert f"grant reader subdomain _flex.{zone} TXT;" in error.advice
    assert "grant reader zonesub A AAAA;" in error.advice


def test_the_zones_own_name_server_is_kept(real: Rfc2136Publisher, zone: str) -> None:
    zone_plan = ZonePlan(zone, adopted(zone, f"ns1.{zone}", "127.0.0.1", "192.0.2.1"))
    with pytest.raises(Refused, match="REFUSED") as refused:
        real.apply(zone_plan)
    assert f"it denies ns1.{zone} as a name server's: `flex sites exclude`" in refused.value.advice


def test_the_policy_that_a_refusal_prints_allows_what_was_refused(folder: Path, key: Key) -> None:
    zone = "xn--bcher-kva.example."
    site = ZonePlan(zone, placed(zone, zone, "192.0.2.1"))
    denied = f"type primary;\n{update_policy(zone, key.name)}"
    with (
        PrivateNamed(folder / "denied", [zone], key, clause=denied) as own,
        pytest.raises(Refused) as refused,
    ):
        Rfc2136Publisher(own.server, OWNER).apply(site)
    said, _, policy = refused.value.advice.partition("\n")
    assert said.startswith("put this into the zone's clause in named.conf, then")
    with PrivateNamed(folder / "mended", [zone], key, clause=f"type primary;\n{policy}") as own:
        Rfc2136Publisher(own.server, OWNER).apply(site)


@pytest.mark.parametrize("part", ["beginning", "end"])
def test_one_signed_message_does_not_cover_an_unsigned_one(
    real: Rfc2136Publisher, zone: str, part: str
) -> None:
    """Somebody on the way could put records in front of a true transfer, or end it early."""
    key = real.server.key.signer()

    def reply(request: bytes) -> bytes:
        query = dns.message.from_wire(request[2:], keyring={key.name: key})
        soa = dns.rrset.from_text(
            zone, 60, "IN", "SOA", "ns1.example.org. hostmaster.example.org. 7 1 1 1 1"
        )
        www = dns.rrset.from_text(f"www.{zone}", 60, "IN", "A", "192.0.2.66")
        signed = dns.message.make_response(query)
        unsigned = dns.message.make_response(dns.message.make_query(zone, "AXFR", id=query.id))
        first, last = (unsigned, signed) if part == "beginning" else (signed, unsigned)
        first.answer, last.answer = [soa, www], [soa]
        return framed(first.to_wire()) + framed(last.to_wire())

    with answering(reply) as port:
        error = refusal(replace(real, server=replace(real.server, port=port, timeout=1)), zone)
    assert error.answer in ("the transfer is not signed", "the end of the transfer is not signed")


def test_a_zone_that_is_not_served_and_a_name_that_is_no_apex(
    real: Rfc2136Publisher, zone: str
) -> None:
    for unknown in ("unknown.example.", f"www.{zone}"):
        assert "NOTAUTH" in refusal(real, unknown).answer


def test_a_name_outside_the_zone(real: Rfc2136Publisher, zone: str) -> None:
    assert "NOTZONE" in refusal(real, zone, "www.example.org.").answer


def test_a_closed_port(real: Rfc2136Publisher, zone: str, free_port: int) -> None:
    error = refusal(replace(real, server=replace(real.server, port=free_port)), zone)
    assert isinstance(error, Unreachable)
    assert "refused" in error.answer


def test_a_host_without_an_address(real: Rfc2136Publisher, zone: str) -> None:
    error = refusal(replace(real, server=replace(real.server, host="name-server.invalid")), zone)
    assert isinstance(error, Unreachable)
    assert "host name" in error.advice


def test_a_server_that_stopped_answering(folder: Path, key: Key) -> None:
    zone = "hosting.example."
    with PrivateNamed(folder, [zone], key) as own:
        os.kill(own.pid, signal.SIGSTOP)
        os.waitpid(own.pid, os.WUNTRACED)
        try:
            error = refusal(Rfc2136Publisher(replace(own.server, timeout=0.2), OWNER), zone)
        finally:
            os.kill(own.pid, signal.SIGCONT)
    assert isinstance(error, Unreachable)
    assert "no answer in time" in error.answer


def test_more_records_than_a_name_can_hold_are_not_sent(real: Rfc2136Publisher, zone: str) -> None:
    """BIND would answer SERVFAIL, to that name and to all others in the message."""
    values = tuple(sorted(f"192.0.2.{number}" for number in range(1, 102)))
    with pytest.raises(Refused, match=r"101 records of type A") as refused:
        real.apply(ZonePlan(zone, (Change(None, Rrset(f"www.{zone}", "A", 60, values)),)))
    assert refused.value.kept == "nothing was changed"
    assert real.read(zone, []).serial == 1


@pytest.mark.slow
def test_a_directory_that_takes_no_journal_is_named_and_nothing_is_changed(
    folder: Path, key: Key
) -> None:
    zone = "hosting.example."
    with PrivateNamed(folder / "named", [zone], key) as own:
        # Root, as which tests may run, can write anywhere; a folder in the place of the journal
        # stops anybody.
        (own.directory / f"{zone}db.jnl").mkdir()
        error = refusal(Rfc2136Publisher(own.server, OWNER, patience=1), zone)
        (own.directory / f"{zone}db.jnl").rmdir()
    assert isinstance(error, Unreachable)
    assert "SERVFAIL" in error.answer
    assert "directory not writable" in error.advice


def test_a_frozen_zone_is_named_and_nothing_is_changed(
    folder: Path, key: Key, free_port: int
) -> None:
    """A person who edits the zone's file has frozen it: `rndc thaw` is in the advice."""
    zone, control = "hosting.example.", make_key("rndc-key")
    server = f'inet 127.0.0.1 port {free_port} allow {{ 127.0.0.1; }} keys {{ "{control.name}"; }};'
    with PrivateNamed(folder / "named", [zone], key, readers=[control], controls=server) as own:
        rndc = folder / "rndc.conf"
        rndc.touch(mode=0o600)
        rndc.write_text(f'{control.clause()}options {{ default-key "{control.name}"; }};\n')
        command = ["rndc", "-c", str(rndc), "-s", "127.0.0.1", "-p", str(free_port)]
        subprocess.run([*command, "freeze", zone], check=True, capture_output=True, timeout=300)
        target = Rfc2136Publisher(own.server, OWNER, patience=1)
        serial = target.read(zone, []).serial
        error = refusal(target, zone)
        assert isinstance(error, Refused)
        assert "a frozen zone needs `rndc thaw`" in error.advice
        with pytest.raises(Refused, match="REFUSED"):
            target.look(ZonePlan(zone, placed(zone, f"www.{zone}", "192.0.2.1")))
        assert target.read(zone, []).serial == serial
        failed = {
            check.name: check for check in preflight(own.server, zone) if check.state == "fail"
        }
        assert "rndc thaw" in failed["addresses"].advice
        subprocess.run([*command, "thaw", zone], check=True, capture_output=True, timeout=300)
        target.apply(ZonePlan(zone, placed(zone, f"www.{zone}", "192.0.2.1")))


GARBAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": always(b""),
    "half a length": always(b"\x00"),
    "less than it says": always(b"\x00\xff" + b"ab"),
    "no message": always(framed(b"")),
    "half a header": always(framed(b"\x00" * 8)),
    "another service": always(
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" + b" " * 20000
    ),
    "our own question": lambda request: request,
    "the header alone": lambda request: framed(request[2:14]),
    "endless pointers": lambda request: framed(
        request[2:4] + b"\x84\x00\x00\x01\x00\x00\x00\x00\x00\x00" + b"\xc0\x0c\x00\x01\x00\x01"
    ),
    "noise": lambda request: framed(request[2:4] + bytes(range(256)) * 4),
    "another id": lambda request: framed(bytes([request[2] ^ 255]) + request[3:]),
    "no signature": unsigned_answer,
    "a zone without signature": unsigned_zone,
}


@pytest.mark.parametrize("form", GARBAGE)
def test_something_else_that_answers(real: Rfc2136Publisher, zone: str, form: str) -> None:
    with answering(GARBAGE[form]) as port:
        error = refusal(replace(real, server=replace(real.server, port=port, timeout=1)), zone)
    assert isinstance(error, Unreachable)


def kinds(root: type[BaseException]) -> set[type[BaseException]]:
    return {root}.union(*(kinds(sub) for sub in root.__subclasses__()))


WIRE = {
    "dns.exception",
    "dns.message",
    "dns.name",
    "dns.query",
    "dns.tsig",
    "dns.xfr",
    "dns.rdata",
    "dns.rdatatype",
}
RAISED = sorted(
    (kind for kind in kinds(dns.exception.DNSException) if kind.__module__ in WIRE), key=str
)


@pytest.mark.parametrize(
    "kind", [*RAISED, OSError, TimeoutError, ConnectionResetError, BrokenPipeError, EOFError]
)
def test_every_exception_of_others_has_a_translation(kind: type[Exception]) -> None:
    error = translate(kind.__new__(kind), "192.0.2.53:53", "SOA of example.org.")
    assert isinstance(error, DnsError)
    assert error.asked == "asking 192.0.2.53:53: SOA of example.org."
    assert error.kept
    assert error.advice


def test_each_verdict_on_a_signature_has_a_translation_of_its_own() -> None:
    assert kinds(dns.tsig.PeerError) | {dns.tsig.BadTime} <= set(MEANINGS)

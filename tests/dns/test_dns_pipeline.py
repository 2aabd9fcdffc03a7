"""Updates on their way: there are always some, but now and then a server gets a rest to tell its
secondaries, and of many zones there are no more than those can follow.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dns.message
import dns.rcode
import dns.rrset
import pytest

from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.update import message_pipeline
from flex_dns.update.change_messages import Message
from flex_dns.update.message_pipeline import AHEAD, BREATH, DEEPEST, LINES, STEP, Pace
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Address, Server
from tests.dns.given import placed

# A client that has nothing to wait for but this answer sends nothing for so long.
RESTING = 0.1


@dataclass
class Busy:
    """Answers a message when the next one has come, so that it is never without work; or when none
    comes.

    `rests` are after how many messages none came.
    """

    key: Key
    listening: socket.socket
    rests: list[int] = field(default_factory=list)
    taken: int = 0
    _held: tuple[socket.socket, bytes] | None = None

    def run(self) -> None:
        """Until the port and all connections to it are closed."""
        lines = [self.listening]
        while lines:
            ready, _, _ = select.select(lines, [], [], RESTING if self._held else None)
            if not ready:
                self.rests.append(self.taken)
                self._answer()
            for line in ready:
                if line is not self.listening:
                    self._take(line, lines)
                elif accepted := self._accepted():
                    lines.append(accepted)
                else:
                    lines.remove(self.listening)

    def _accepted(self) -> socket.socket | None:
        try:
            return self.listening.accept()[0]
        except OSError:
            return None

    def _take(self, line: socket.socket, lines: list[socket.socket]) -> None:
        length = line.recv(2, socket.MSG_WAITALL)
        if not length:
            lines.remove(line)
            line.close()
            return
        wire = line.recv(int.from_bytes(length), socket.MSG_WAITALL)
        self.taken += 1
        self._answer()
        self._held = line, wire

    def _answer(self) -> None:
        if self._held:
            line, wire = self._held
            signer = self.key.signer()
            answer = dns.message.make_response(
                dns.message.from_wire(wire, keyring={signer.name: signer})
            )
            said = answer.to_wire()
            line.sendall(len(said).to_bytes(2) + said)
            self._held = None


@contextmanager
def busy(key: Key) -> Iterator[Busy]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Busy(key, listening)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def rests(key: Key, zones: Sequence[str], count: int) -> list[int]:
    with busy(key) as server:
        deliver(server, zones, count)
    return server.rests


def deliver(server: Busy, zones: Sequence[str], count: int, *secondaries: Address) -> None:
    messages = [
        Message(zone, (Change(None, Rrset(f"s{number}.{zone}", "A", 60, ("192.0.2.1",))),))
        for number in range(count // len(zones))
        for zone in zones
    ]
    announced: list[Message] = []
    target = Server("127.0.0.1", server.listening.getsockname()[1], server.key)
    for message, outcome in message_pipeline.deliver(
        target, messages, time.time, announced.extend, secondaries
    ):
        assert outcome == dns.rcode.NOERROR
        assert message in announced
    assert announced == messages


@contextmanager
def secondary(answer: Callable[[bytes], bytes]) -> Iterator[Address]:
    """Says by UDP what `answer` makes of a question; nothing where that is nothing."""
    with socket.socket(type=socket.SOCK_DGRAM) as asked:
        asked.bind(("127.0.0.1", 0))
        address: Address = asked.getsockname()

        def run() -> None:
            while True:
                question, peer = asked.recvfrom(512)
                if not question:
                    return
                if said := answer(question):
                    asked.sendto(said, peer)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield address
        finally:
            with socket.socket(type=socket.SOCK_DGRAM) as ending:
                ending.sendto(b"", address)
            thread.join()


def behind(question: bytes) -> bytes:
    return dns.message.make_response(dns.message.from_wire(question)).to_wire()


def level(question: bytes) -> bytes:
    answer = dns.message.make_response(dns.message.from_wire(question))
    answer.answer.append(dns.rrset.from_text(answer.question[0].name, 60, "IN", "A", "192.0.2.1"))
    return answer.to_wire()


def silent(_question: bytes) -> bytes:
    return b""


def babbling(question: bytes) -> bytes:
    return question[:2] + b"\xff" * 40


MANY = [f"z{number}.example." for number in range(6 * AHEAD)]


@pytest.mark.slow
def test_a_long_change_of_one_zone_rests_so_that_secondaries_hear_of_it(key: Key) -> None:
    found = rests(key, ["big.example."], 2 * BREATH + 40)
    assert {BREATH, 2 * BREATH} <= set(found)


def test_many_zones_never_rest_for_that(key: Key) -> None:
    assert BREATH not in rests(key, [f"z{number}.example." for number in range(32)], 2 * BREATH)


def test_no_more_is_sent_than_a_secondary_can_follow(key: Key) -> None:
    taken: list[int] = []

    def looked(question: bytes) -> bytes:
        taken.append(server.taken)
        return behind(question)

    with busy(key) as server, secondary(looked) as address:
        deliver(server, MANY, len(MANY), address)
    # It asked as long as it was patient with a secondary that never follows, and then sent the
    # rest.
    assert AHEAD < taken[-1] <= AHEAD + LINES * DEEPEST + 1
    assert server.taken == len(MANY)


@pytest.mark.parametrize("answer", [silent, babbling])
def test_a_secondary_that_says_nothing_is_waited_for_once(
    key: Key, answer: Callable[[bytes], bytes]
) -> None:
    asked: list[bytes] = []

    def counting(question: bytes) -> bytes:
        asked.append(question)
        return answer(question)

    with busy(key) as server, secondary(counting) as address:
        deliver(server, MANY, len(MANY), address)
    assert len(asked) == 1


def test_of_few_zones_no_secondary_is_asked(key: Key) -> None:
    asked: list[bytes] = []

    def counting(question: bytes) -> bytes:
        asked.append(question)
        return behind(question)

    with busy(key) as server, secondary(counting) as address:
        deliver(server, MANY[:AHEAD], 2 * AHEAD, address)
        assert not asked
        deliver(server, MANY[: 2 * AHEAD], 2 * AHEAD, address)
        assert asked


@pytest.mark.real
def test_an_apply_looks_at_the_secondaries_that_are_listed(folder: Path, key: Key) -> None:
    zones, asked = MANY[: AHEAD + STEP], list[bytes]()

    def counting(question: bytes) -> bytes:
        asked.append(question)
        return level(question)

    with PrivateNamed(folder, zones, key) as named, secondary(counting) as address:
        target = Rfc2136Publisher(named.server, "flex", (named.server.address, address))
        target.apply(
            *(
                ZonePlan(zone, tuple(placed(zone, f"www.{zone}", "192.0.2.1", owner="flex")))
                for zone in zones
            )
        )
    assert asked


@contextmanager
def pace_of(address: Address) -> Iterator[Pace]:
    """One that was told of more than the secondary can be asked for at once. Its clock stands
    still: what it says does not depend on how soon the secondary gets a turn of the processor.
    """
    pace = Pace(address, clock=lambda: 0.0)
    for zone in MANY[: 2 * AHEAD]:
        pace.note_acknowledged(Message(zone, (Change(None, Rrset(zone, "A", 60, ("192.0.2.1",))),)))
    with closing(pace):
        yield pace


def hears(pace: Pace) -> bool:
    """Asks and hears once; whether it still holds."""
    pace.question()
    if pace.is_asked:
        assert select.select([pace], [], [], 60)[0], "nothing came, an answer or a refusal"
        pace.hear()
    return pace.holds


def test_a_secondary_that_follows_is_not_waited_for_any_longer() -> None:
    with secondary(level) as address, pace_of(address) as pace:
        assert pace.holds
        assert [hears(pace) for _ in range(2 * AHEAD // STEP)].count(False) == AHEAD // STEP + 1


@pytest.mark.parametrize("server", ["127.0.0.1", "name.invalid"])
def test_nobody_waits_for_a_secondary_that_is_not_there(server: str) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pace_of((server, port)) as pace:
        assert not hears(pace)

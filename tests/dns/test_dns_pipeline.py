"""Updates on their way: there are always some, but now and then a server gets a rest to tell its secondaries."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import dns.message
import dns.rcode

from flex.domain import Change, Rrset
from flex_dns import pipeline
from flex_dns.key import Key
from flex_dns.server import Server
from flex_dns.update import Message

# A client that has nothing to wait for but this answer sends nothing for so long.
RESTING = 0.1


@dataclass
class Busy:
    """Answers a message when the next one has come, so that it is never without work; or when none comes.

    `rests` are after how many messages none came.
    """

    key: Key
    listening: socket.socket
    rests: list[int] = field(default_factory=list)
    _taken: int = 0
    _held: tuple[socket.socket, bytes] | None = None

    def run(self) -> None:
        """Until the port and all connections to it are closed."""
        lines = [self.listening]
        while lines:
            ready, _, _ = select.select(lines, [], [], RESTING if self._held else None)
            if not ready:
                self.rests.append(self._taken)
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
        self._taken += 1
        self._answer()
        self._held = line, wire

    def _answer(self) -> None:
        if self._held:
            line, wire = self._held
            signer = self.key.signer()
            answer = dns.message.make_response(dns.message.from_wire(wire, keyring={signer.name: signer}))
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
    messages = [
        Message(zone, (Change(None, Rrset(f"s{number}.{zone}", "A", 60, ("192.0.2.1",))),))
        for number in range(count // len(zones))
        for zone in zones
    ]
    announced: list[Message] = []
    with busy(key) as server:
        target = Server("127.0.0.1", server.listening.getsockname()[1], key)
        for message, outcome in pipeline.deliver(target, messages, time.time, announced.extend):
            assert outcome == dns.rcode.NOERROR
            assert message in announced
    assert announced == messages
    return server.rests


def test_a_long_change_of_one_zone_rests_so_that_secondaries_hear_of_it(key: Key) -> None:
    found = rests(key, ["big.example."], 2 * pipeline.BREATH + 40)
    assert {pipeline.BREATH, 2 * pipeline.BREATH} <= set(found)


def test_many_zones_never_rest_for_that(key: Key) -> None:
    assert pipeline.BREATH not in rests(key, [f"z{number}.example." for number in range(32)], 2 * pipeline.BREATH)

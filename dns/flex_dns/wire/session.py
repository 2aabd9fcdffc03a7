"""One TCP connection to a primary: it signs every message and checks the signature of every answer.

Takes messages without a signature. Returns answers that were verified. Does not judge what they
say, and does not retry.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import dns.message
import dns.tsig

from flex.errors import DnsError
from flex_dns.wire import signing
from flex_dns.wire.explain_dns_errors import translate_errors, untrusted_error
from flex_dns.wire.name_server_and_key import Server

# Questions on their way on one connection. BIND answers up to 23 of one connection side by side;
# more would only wait in its buffers.
WINDOW = 20

Clock = Callable[[], float]


class Session:
    """Connects when it is first used; to be closed by `with`."""

    def __init__(self, server: Server, clock: Clock = time.time) -> None:
        self.server = server
        self.key: dns.tsig.Key = server.key.signer()
        self._clock = clock
        self._socket: socket.socket | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """What a zone is transferred by: a connection of its own where there is another key for
        that.
        """
        if self.server.reader is None:
            yield self
            return
        with Session(self.server.reading, self._clock) as own:
            yield own

    def close(self) -> None:
        """The next message opens a new connection."""
        if self._socket:
            self._socket.close()
            self._socket = None

    def ask(self, message: dns.message.Message, subject: str) -> dns.message.Message:
        return self.ask_all([message], subject)[0]

    def ask_all(
        self, messages: Sequence[dns.message.Message], subject: str
    ) -> list[dns.message.Message]:
        """The answers in the order of the messages, a window of them on their way at a time."""
        answers: list[dns.message.Message] = []
        for first in range(0, len(messages), WINDOW):
            try:
                with translate_errors(self.server, subject):
                    answers.extend(self._exchange(messages[first : first + WINDOW], subject))
            except DnsError:
                # What is still on its way would answer the next question.
                self.close()
                raise
        return answers

    def send(self, message: dns.message.Message) -> bytes:
        """Sign and send; the signature is what the answer's one is chained to."""
        wire, mac = signing.sign(message.to_wire(max_size=65535), self.key, int(self._clock()))
        if self._socket is None:
            self._socket = connect(self.server)
        self._socket.settimeout(self.server.timeout)
        self._socket.sendall(struct.pack("!H", len(wire)) + wire)
        return mac

    def receive(self) -> bytes:
        deadline = time.monotonic() + self.server.timeout
        (length,) = struct.unpack("!H", self._take(2, deadline))
        return self._take(length, deadline)

    def verify(self, wire: bytes, mac: bytes, subject: str) -> dns.message.Message:
        return signing.verify_answer(wire, mac, self.key, self.server, int(self._clock()), subject)

    def _exchange(
        self, messages: Sequence[dns.message.Message], subject: str
    ) -> list[dns.message.Message]:
        waiting: dict[int, tuple[int, bytes]] = {}
        for at, message in enumerate(messages):
            # A fresh random id for each, unlike all that are on their way.
            while message.id in waiting:
                message.id = (message.id + 1) % 65536
            waiting[message.id] = (at, self.send(message))
        answers: dict[int, dns.message.Message] = {}
        while waiting:
            wire = self.receive()
            at, mac = waiting.pop(int.from_bytes(wire[:2]), (-1, b""))
            if at < 0:
                raise untrusted_error(self.server, subject, "the answer is to another question")
            answers[at] = self.verify(wire, mac, subject)
            if not messages[at].is_response(answers[at]):
                raise untrusted_error(self.server, subject, "the answer is to another question")
        return [answers[at] for at in range(len(messages))]

    def _take(self, count: int, deadline: float) -> bytes:
        assert self._socket is not None, "we have sent before we receive"
        taken = bytearray()
        while len(taken) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            piece = self._socket.recv(count - len(taken))
            if not piece:
                raise EOFError
            taken += piece
        return bytes(taken)


def connect(server: Server) -> socket.socket:
    connection = socket.create_connection(server.address, server.timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection

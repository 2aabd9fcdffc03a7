"""One TCP connection to a primary: every message on it is signed, every answer's signature is checked.

In go messages without a signature, out come answers that were verified; what they say is for the caller.
Nothing is retried here.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.tsig
from dns.rdtypes.ANY.TSIG import TSIG

from flex_dns.server import Server
from flex_dns.trouble import skewed, translated, untrusted

FUDGE = 300
# BIND answers queries of one connection side by side up to 23; more only wait in its buffers.
WINDOW = 20

Clock = Callable[[], float]


class Session:
    """Connects when it is first used; to be closed by `with`."""

    def __init__(self, server: Server, clock: Clock = time.time) -> None:
        self._server = server
        self._clock = clock
        self._key = server.key.signer()
        self._socket: socket.socket | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """The next message opens a new connection."""
        if self._socket:
            self._socket.close()
            self._socket = None

    def ask(self, message: dns.message.Message, asked: str) -> dns.message.Message:
        return self.ask_all([message], asked)[0]

    def ask_all(self, messages: Sequence[dns.message.Message], asked: str) -> list[dns.message.Message]:
        """The answers in the order of the messages, a window of them on their way at a time."""
        answers: list[dns.message.Message] = []
        for first in range(0, len(messages), WINDOW):
            with translated(self._server, asked):
                answers.extend(self._exchange(messages[first : first + WINDOW], asked))
        return answers

    def transfer(self, zone: str) -> Iterator[dns.message.Message]:
        """The messages of a zone transfer, as long as the caller wants more. Each is covered by a signature
        at the latest by the last one, which must carry its own.
        """
        asked = f"transfer of {zone}"
        query = dns.message.make_query(zone, dns.rdatatype.AXFR)
        with translated(self._server, asked):
            mac = self._send(query)
        context = None
        while True:
            with translated(self._server, asked):
                answer = self._read(self._receive(), mac, asked, context=context, multi=True)
                if answer.id != query.id:
                    raise untrusted(self._server, asked, "the answer is to another question")
            context = answer.tsig_ctx
            yield answer

    def _exchange(self, messages: Sequence[dns.message.Message], asked: str) -> list[dns.message.Message]:
        waiting: dict[int, tuple[int, bytes]] = {}
        for at, message in enumerate(messages):
            # A fresh random id for each, unlike all that are on their way.
            while message.id in waiting:
                message.id = (message.id + 1) % 65536
            waiting[message.id] = (at, self._send(message))
        answers: dict[int, dns.message.Message] = {}
        while waiting:
            wire = self._receive()
            at, mac = waiting.pop(int.from_bytes(wire[:2]), (-1, b""))
            if at < 0:
                raise untrusted(self._server, asked, "the answer is to another question")
            answers[at] = self._read(wire, mac, asked)
            if not messages[at].is_response(answers[at]):
                raise untrusted(self._server, asked, "the answer is to another question")
        return [answers[at] for at in range(len(messages))]

    def _send(self, message: dns.message.Message) -> bytes:
        """Sign and send; the signature is what the answer's one is chained to."""
        wire, mac = sign(message.to_wire(max_size=65535), self._key, int(self._clock()))
        if self._socket is None:
            self._socket = socket.create_connection(self._server.address, self._server.timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(self._server.timeout)
        self._socket.sendall(struct.pack("!H", len(wire)) + wire)
        return mac

    def _receive(self) -> bytes:
        deadline = time.monotonic() + self._server.timeout
        (length,) = struct.unpack("!H", self._take(2, deadline))
        return self._take(length, deadline)

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

    def _read(
        self,
        wire: bytes,
        mac: bytes,
        asked: str,
        context: dns.tsig.HMACTSig | dns.tsig.GSSTSig | None = None,
        multi: bool = False,
    ) -> dns.message.Message:
        keyring = {self._key.name: self._key}
        try:
            return dns.message.from_wire(
                wire, keyring=keyring, request_mac=mac, xfr=multi, tsig_ctx=context, multi=multi
            )
        except dns.tsig.PeerBadTime as error:
            raise skewed(self._server_time(wire) - int(self._clock()), self._server, asked) from error

    def _server_time(self, wire: bytes) -> int:
        """An answer of BADTIME carries the server's own time."""
        answer = dns.message.from_wire(wire, keyring=False)
        assert answer.tsig is not None
        tsig = answer.tsig[0]
        assert isinstance(tsig, TSIG)
        return int.from_bytes(tsig.other) if tsig.other else tsig.time_signed


def sign(wire: bytes, key: dns.tsig.Key, now: int) -> tuple[bytes, bytes]:
    """The message with its signature appended, and the signature. dnspython would take the time from the system."""
    message_id, additional = int.from_bytes(wire[:2]), int.from_bytes(wire[10:12])
    blank = TSIG(  # type: ignore[no-untyped-call]  # dnspython leaves it without types
        dns.rdataclass.ANY, dns.rdatatype.TSIG, key.algorithm, now, FUDGE, b"", message_id, dns.rcode.NOERROR, b""
    )
    tsig, _ = dns.tsig.sign(wire, key, blank, now, b"")  # type: ignore[no-untyped-call]  # as above
    rdata = tsig.to_wire()
    assert rdata is not None
    record = key.name.to_wire()
    assert record is not None
    record += struct.pack("!HHIH", dns.rdatatype.TSIG, dns.rdataclass.ANY, 0, len(rdata)) + rdata
    return wire[:10] + struct.pack("!H", additional + 1) + wire[12:] + record, tsig.mac

"""Updates on their way: several connections to a primary, and several messages on each before an
answer where many zones change.

Takes messages. Returns what became of each, as soon as it is known. Does not retry. When an answer
does not come, nothing more is sent, and messages that were not sent are not among the outcomes.
Where many zones change, it sends no more than the secondaries can follow: it asks each now and
then, one question at a time, whether it has one of the changes. Holding back is a courtesy: a
secondary that makes no progress for a while is no longer waited for.
"""

from __future__ import annotations

import secrets
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import dns.exception
import dns.message
import dns.rcode

from flex.errors import DnsError
from flex.model.zone_plan import Change
from flex_dns.checks import verify
from flex_dns.update.change_messages import Message
from flex_dns.wire import signing
from flex_dns.wire.explain_dns_errors import translate, translate_errors, untrusted_error
from flex_dns.wire.name_server_and_key import Address, Server
from flex_dns.wire.session import Clock, connect
from flex_dns.wire.zone_contents import canonical

# Zones that may be sent before a secondary has fetched them. A secondary on a machine such as the
# one that this was measured on fetches so many in a tenth of a second: it is never without work,
# and is not far behind after the last one.
AHEAD = 64
# Zones for which one question stands. A secondary fetches zones about in the order in which it
# hears of them, so the last of these stands for all. A guess.
STEP = 16
# Seconds between an answer that a secondary does not have the change and the next question. A
# guess.
PAUSE = 0.005
# Seconds after which a secondary that does not follow is waited for no longer. A guess.
PATIENCE = 0.25


class Pace:
    """To be asked for its `question` again and again, and to `hear` when there is something to
    read.
    """

    def __init__(self, secondary: Address, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._behind = deque[Message]()
        self._asked: dns.message.Message | None = None
        self._next = self._since = 0.0
        self._socket = _connect_by_udp(secondary)

    def fileno(self) -> int:
        assert self._socket is not None, "it is asked"
        return self._socket.fileno()

    @property
    def is_asked(self) -> bool:
        return self._socket is not None and self._asked is not None

    @property
    def holds(self) -> bool:
        """Whether it is too far behind for more."""
        return self._socket is not None and len(self._behind) > AHEAD

    @property
    def due(self) -> float:
        """When it holds: until when to wait for an answer of its, at most."""
        return self._since + PATIENCE if self._asked else self._next

    def close(self) -> None:
        if self._socket:
            self._socket.close()
        self._socket = None

    def note_acknowledged(self, message: Message) -> None:
        self._behind.append(message)
        if len(self._behind) == AHEAD + 1:
            self._since = self._clock()

    def question(self) -> None:
        now = self._clock()
        if self.holds and now >= self._since + PATIENCE:
            self.close()
        if self._socket and not self._asked and now >= self._next and len(self._behind) >= STEP:
            change = self._behind[STEP - 1].changes[0]
            self._asked = verify.query_of((change.name, change.type))
            try:
                self._socket.send(self._asked.to_wire())
            except OSError:
                self.close()

    def hear(self) -> None:
        assert self._socket is not None, "it was asked"
        try:
            answer = dns.message.from_wire(self._socket.recv(verify.PAYLOAD))
        except OSError:
            self.close()
            return
        except (dns.exception.DNSException, ValueError):
            # Damaged or forged: the true answer may still come.
            return
        if not self._asked or not self._asked.is_response(answer):
            return
        self._asked, now = None, self._clock()
        if _has(answer, self._behind[STEP - 1].changes[0]):
            self._since = now
            for _ in range(STEP):
                self._behind.popleft()
        else:
            self._next = now + PAUSE


def _connect_by_udp(address: Address) -> socket.socket | None:
    """Return a socket that takes packets from this peer only; None where there is no such host."""
    try:
        family, kind, _, _, peer = socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0]
        connection = socket.socket(family, kind)
    except OSError:
        return None
    try:
        connection.setblocking(False)
        connection.connect(peer)
    except OSError:
        connection.close()
        return None
    return connection


def _has(answer: dns.message.Message, change: Change) -> bool:
    held_set = verify.set_of(change.name, change.type, answer)
    values = change.after.values if change.after else ()
    return (held_set[1] if held_set else ()) == tuple(
        sorted(canonical(change.type, value) for value in values)
    )


# Connections to one server. BIND reads the next update of a connection when it has answered the
# last one. It notifies a zone's secondaries as soon as it has nothing to do for the zone, and that
# costs as much as an update. So the next updates of a zone wait on other connections. The number is
# a guess.
LINES = 8
# Updates that wait on one connection, where there are more zones than connections. LINES * DEEPEST
# stays below BIND's update-quota of 100: BIND drops without an answer what is over it.
DEEPEST = 12
# Messages that are announced together, while those before them are on their way. A guess.
BLOCK = 32
# Messages of few zones after which all answers are awaited. A server that is never without work for
# a zone would not notify its secondaries before the end. A guess.
BREATH = 8 * BLOCK
# Bytes that are read from a connection at a time. A DNS message is no longer than this.
PIECE = 65536
# The QR bit in the third byte of a message: set in answers (RFC 1035, section 4.1.1).
RESPONSE = 0x80

Outcome = tuple[Message, dns.rcode.Rcode | DnsError]
Announce = Callable[[Sequence[Message]], None]


def deliver(
    server: Server,
    messages: Sequence[Message],
    clock: Clock,
    announce: Announce,
    secondaries: Sequence[Address] = (),
) -> Iterator[Outcome]:
    """Each message is announced before its first byte leaves. To be read to the end."""
    lines = [_Line(server, clock) for _ in range(min(LINES, len(messages)))]
    zones = len({message.zone for message in messages})
    deep = min(max(zones // LINES, 1), DEEPEST)
    queue = _Queue(messages, announce)
    paces = [Pace(secondary) for secondary in secondaries if zones > AHEAD]
    try:
        while queue.left or any(line.sent for line in lines):
            queue.open(rested=deep > 1 or not any(line.sent for line in lines))
            for pace in paces:
                pace.question()
            for line in lines if not any(pace.holds for pace in paces) else ():
                yield from line.fill(queue, deep)
            for line, is_readable in _ready([line for line in lines if line.sent], paces):
                for message, outcome in line.receive() if is_readable else line.give_up():
                    for pace in paces if outcome == dns.rcode.NOERROR else ():
                        pace.note_acknowledged(message)
                    yield message, outcome
            if any(line.is_broken for line in lines):
                queue.drop()
    finally:
        for line in lines:
            line.close()
        for pace in paces:
            pace.close()


def _ready(lines: Sequence[_Line], paces: Sequence[Pace]) -> Iterator[tuple[_Line, bool]]:
    """Those with something to read, and those that waited too long for it. What secondaries said is
    heard, too.
    """
    due = [line.deadline for line in lines] + [pace.due for pace in paces if pace.holds]
    if not due:
        return
    poll = select.poll()
    asked_paces = [pace for pace in paces if pace.is_asked]
    for fd in [line.fileno() for line in lines] + [pace.fileno() for pace in asked_paces]:
        poll.register(fd, select.POLLIN)
    readable = {fd for fd, _ in poll.poll(max(0.0, min(due) - time.monotonic()) * 1000)}
    for pace in asked_paces:
        if pace.fileno() in readable:
            pace.hear()
    now = time.monotonic()
    for line in lines:
        is_readable = line.fileno() in readable
        if is_readable or line.deadline <= now:
            yield line, is_readable


class _Queue:
    """Messages still to be sent; the first few of them are announced."""

    def __init__(self, messages: Sequence[Message], announce: Announce) -> None:
        self.left = deque(messages)
        self.announced = 0
        self._announce = announce
        self._since_rest = 0

    def open(self, *, rested: bool) -> None:
        """The next block, if the last one is gone, unless a rest is due."""
        if rested:
            self._since_rest = 0
        if self.left and not self.announced and self._since_rest < BREATH:
            block = [self.left[at] for at in range(min(BLOCK, len(self.left)))]
            self._announce(block)
            self.announced = len(block)
            self._since_rest += len(block)

    def drop(self) -> None:
        self.left.clear()
        self.announced = 0

    def take(self) -> Message:
        self.announced -= 1
        return self.left.popleft()


class _Line:
    """One connection. When it breaks, all that was sent on it and not answered is open."""

    def __init__(self, server: Server, clock: Clock) -> None:
        self.sent: dict[int, tuple[Message, bytes, float]] = {}
        self.is_broken = False
        self._server = server
        self._clock = clock
        self._key = server.key.signer()
        self._socket: socket.socket | None = None
        self._bytes = bytearray()
        self._next_id = secrets.randbelow(65536)

    def fileno(self) -> int:
        assert self._socket is not None, "something was sent"
        return self._socket.fileno()

    @property
    def deadline(self) -> float:
        """Messages are kept in the order they were sent in: the first is the first to run out of
        time.
        """
        return next(iter(self.sent.values()))[2]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def fill(self, queue: _Queue, deep: int) -> Iterator[Outcome]:
        while queue.announced and len(self.sent) < deep and not self.is_broken:
            message = queue.take()
            try:
                with translate_errors(self._server, _what_was_asked(message)):
                    self._send(message)
            except DnsError as error:
                yield from self._broke(error)

    def receive(self) -> Iterator[Outcome]:
        try:
            yield from self._receive()
        except DnsError as error:
            yield from self._broke(error)

    def give_up(self) -> Iterator[Outcome]:
        first, _, _ = next(iter(self.sent.values()))
        yield from self._broke(translate(TimeoutError(), self._server, _what_was_asked(first)))

    def _send(self, message: Message) -> None:
        while self._next_id in self.sent:
            self._next_id = (self._next_id + 1) % 65536
        number, self._next_id = self._next_id, (self._next_id + 1) % 65536
        body = struct.pack("!H", number) + message.wire()[2:]
        wire, mac = signing.sign(body, self._key, int(self._clock()))
        self.sent[number] = (message, mac, time.monotonic() + self._server.timeout)
        if self._socket is None:
            self._socket = connect(self._server)
        self._socket.sendall(struct.pack("!H", len(wire)) + wire)

    def _receive(self) -> Iterator[Outcome]:
        assert self._socket is not None, "something was sent"
        first, _, _ = next(iter(self.sent.values()))
        with translate_errors(self._server, _what_was_asked(first)):
            piece = self._socket.recv(PIECE)
            if not piece:
                raise EOFError
        self._bytes += piece
        while len(self._bytes) >= 2 and len(self._bytes) >= 2 + int.from_bytes(self._bytes[:2]):
            end = 2 + int.from_bytes(self._bytes[:2])
            wire = bytes(self._bytes[2:end])
            del self._bytes[:end]
            yield self._outcome_of(wire)

    def _outcome_of(self, wire: bytes) -> Outcome:
        number = int.from_bytes(wire[:2])
        if len(wire) < 12 or number not in self.sent or not wire[2] & RESPONSE:
            message, _, _ = next(iter(self.sent.values()), (None, b"", 0.0))
            subject = _what_was_asked(message) if message else "update"
            raise untrusted_error(self._server, subject, "the answer is to another question")
        message, mac, _ = self.sent[number]
        subject = _what_was_asked(message)
        with translate_errors(self._server, subject):
            rcode = signing.rcode_of(
                wire, mac, self._key, self._server, int(self._clock()), subject
            )
        del self.sent[number]
        return message, rcode

    def _broke(self, error: DnsError) -> Iterator[Outcome]:
        self.is_broken = True
        left, self.sent = self.sent, {}
        for message, _, _ in left.values():
            yield message, error


def _what_was_asked(message: Message) -> str:
    return f"update of {len(message.changes)} record sets in {message.zone}"

"""The pace of a secondary, where many zones change: a primary gets no more changes than its
secondary can follow.

Takes messages that the primary has acknowledged. Returns whether to hold the next ones back. Asks
the secondary now and then, one question at a time, whether it has one of them. Does not wait twice
for a server that makes no progress for a while, whatever the reason: holding back is a courtesy.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable

import dns.exception
import dns.message

from flex.model.zone_plan import Change
from flex_dns.checks import verify
from flex_dns.update.change_messages import Message
from flex_dns.wire.name_server_and_key import Address
from flex_dns.wire.zone_names_and_owners import canonical

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
        self._socket = _connect(secondary)

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


def _connect(address: Address) -> socket.socket | None:
    """Takes packets from this peer only; None where there is no such host."""
    try:
        family, kind, _, _, peer = socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0]
        made = socket.socket(family, kind)
    except OSError:
        return None
    try:
        made.setblocking(False)
        made.connect(peer)
    except OSError:
        made.close()
        return None
    return made


def _has(answer: dns.message.Message, change: Change) -> bool:
    found = verify.set_of(change.name, change.type, answer)
    values = change.after.values if change.after else ()
    return (found[1] if found else ()) == tuple(
        sorted(canonical(change.type, value) for value in values)
    )

"""Waiting until every server that answers for a zone says what it should.

Takes servers and wanted RECORDS. Returns a verdict on each server: how long it took to agree, or
what it said last when the time was up. Secondaries hear of a change later than the primary. One
that seems not to have heard of it gets a NOTIFY of our own.

A name server notifies its secondaries by UDP. When that packet is lost, they keep the old zone
until their refresh timer runs out, which takes hours. Our NOTIFY makes a secondary ask its primary
at once, if its `allow-notify` has our key or address.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import pandas as pd

from flex.errors import DnsError
from flex.model.name_server_verdict import NameServerVerdict
from flex.planning.which_servers_agree import is_since
from flex_dns.checks import verify
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Address

# Seconds between one look at a server's serial and the next, at least. A guess.
SHORTEST = 0.01
# Seconds at most. A guess.
LONGEST = 0.5
# Seconds after which a server that is behind counts as not notified. It is sent a NOTIFY then, and
# another one after twice as long. A guess.
UNHEARD = 1.0
# Seconds that a server has for its answer when the time is all but up. A guess.
LAST_LOOK = 1.0


def verdicts(
    servers: Sequence[Address],
    zone: str,
    wanted: pd.DataFrame,
    timeout: float,
    key: Key | None,
    patience: float,
) -> tuple[NameServerVerdict, ...]:
    """All servers at once, in their order. With a `patience` of 0 each is looked at once."""
    wait, every = (
        _Wait(time.monotonic(), patience, timeout),
        verify.ExpectedAnswers.from_records(wanted),
    )
    first = _serial(servers[0], zone, wait) if patience and len(servers) > 1 else None

    def wait_for(server: Address) -> NameServerVerdict:
        return _wait_for_server(server, zone, every, key, wait, first)

    with ThreadPoolExecutor(len(servers)) as threads:
        return tuple(threads.map(wait_for, servers))


def catch_up(
    primary: Address,
    servers: Sequence[Address],
    zone: str,
    timeout: float,
    key: Key | None,
    patience: float,
) -> None:
    """Tell those of the servers that are behind the primary, and wait until each has what that has
    now.

    Nothing is compared. A server that does not say its serial is not waited for.
    """
    wait = _Wait(time.monotonic(), patience, timeout)
    if (first := _serial(primary, zone, wait)) is None:
        return

    def follow(server: Address) -> None:
        serial = _serial(server, zone, wait)
        if serial is not None and not is_since(serial, first):
            telling = _Telling(lambda: nudged(server, zone, key, wait.answer_timeout), unheard=0.0)
            _await(server, zone, wait, lambda serial: is_since(serial, first), telling)

    with ThreadPoolExecutor(max(1, len(servers))) as threads:
        list(threads.map(follow, servers))


@dataclass(frozen=True, slots=True)
class _Wait:
    """How long all servers have since it began, and how long one answer may take."""

    began: float
    patience: float
    timeout: float

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.began + self.patience - time.monotonic())

    @property
    def answer_timeout(self) -> float:
        """A silent server is not asked for longer than the others are waited for; a last look needs
        some time.
        """
        return (
            min(self.timeout, max(self.seconds_left, LAST_LOOK)) if self.patience else self.timeout
        )

    @property
    def so_far(self) -> float:
        return time.monotonic() - self.began if self.patience else 0.0


def _wait_for_server(
    server: Address,
    zone: str,
    wanted: verify.ExpectedAnswers,
    key: Key | None,
    wait: _Wait,
    first: int | None,
) -> NameServerVerdict:
    """The whole zone is compared again only when its serial is another one."""
    telling = _Telling(lambda: nudged(server, zone, key, wait.answer_timeout))
    if first is not None:
        _await(server, zone, wait, lambda serial: is_since(serial, first), telling)
    while True:
        verdict = verify.verdict(server, zone, wanted, wait.answer_timeout, key)
        if verdict.agrees:
            return replace(verdict, lag=wait.so_far)
        if not wait.seconds_left:
            return verdict
        _await(server, zone, wait, _other_than(verdict.serial), telling)


def _await(
    server: Address, zone: str, wait: _Wait, enough: Callable[[int], bool], telling: _Telling
) -> None:
    """Until the server has such a serial or the time is up."""
    begun = time.monotonic()
    while wait.seconds_left:
        serial = _serial(server, zone, wait)
        if serial is not None and enough(serial):
            return
        telling.when_due()
        # A look comes late by a tenth of what was waited for, at most.
        pause = min(max(SHORTEST, (time.monotonic() - begun) / 10), LONGEST)
        time.sleep(min(pause, wait.seconds_left))


class _Telling:
    """Tells a server now and then, as long as it listens: what it refuses once it refuses again,
    and logs.
    """

    def __init__(self, tell: Callable[[], bool], unheard: float = UNHEARD) -> None:
        self._tell, self._heeded, self._wait = tell, True, UNHEARD
        self._due = time.monotonic() + unheard

    def when_due(self) -> None:
        if self._heeded and time.monotonic() >= self._due:
            self._heeded = self._tell()
            self._wait *= 2
            self._due = time.monotonic() + self._wait


def _serial(server: Address, zone: str, wait: _Wait) -> int | None:
    """None where it cannot be learnt now: that is the next look's business."""
    try:
        return verify.serial_of(
            verify.ask(server, [(zone, "SOA")], wait.answer_timeout)[zone, "SOA"]
        )
    except DnsError:
        return None


def nudged(server: Address, zone: str, key: Key | None, timeout: float) -> bool:
    """Whether another one may be heeded: not where the server refused this one. Silence may be one
    more lost packet.
    """
    notify = dns.message.make_query(zone, "SOA", flags=dns.flags.AA)
    notify.set_opcode(dns.opcode.NOTIFY)
    if key:
        notify.use_tsig(key.signer())
    try:
        address = str(socket.getaddrinfo(*server, type=socket.SOCK_DGRAM)[0][4][0])
        answer = dns.query.udp(notify, address, timeout, server[1])
    except dns.exception.Timeout:
        return True
    except (dns.exception.DNSException, OSError, ValueError):
        return False
    return answer.rcode() == dns.rcode.NOERROR


def _other_than(seen: int | None) -> Callable[[int], bool]:
    return lambda serial: serial != seen

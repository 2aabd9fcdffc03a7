"""What a name server answers to anybody who asks, compared with what it should answer.

Takes what is wanted. Returns the NameServerVerdict: its serial, and each record set that differs
in addresses or TTL. Does not take silence or an answer without authority for a server without
records: both are an error.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pandas as pd

from flex.errors import DnsError
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.zone_plan import AddressType, Change, RecordType, Rrset
from flex.zones.address_hints import HINTED, canonical_address, hinted_addresses
from flex.zones.records_of_partition import Sets, sets_by_name
from flex_dns.wire.explain_dns_errors import translate_errors
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Address, Server, address_text
from flex_dns.wire.session import Session
from flex_dns.wire.zone_contents import Contents, Question, exclusion_in
from flex_dns.zone import sets_from_primary
from flex_dns.zone.transfer import transfer

# The record types that are checked of each name.
KINDS: tuple[AddressType, ...] = ("A", "AAAA")
# Questions on their way to one server at a time. A guess: few enough to fit the socket buffers of
# both sides.
WINDOW = 32
# How often a question is sent, because UDP loses packets. A guess.
TRIES = 3
# Names from which on one transfer of the zone is quicker than one question for each. A guess.
MANY = 200
# Bytes of an answer by UDP that fit one packet on any path. The value of DNS Flag Day 2020.
PAYLOAD = 1232

Answers = Mapping[Question, dns.message.Message]
Set = tuple[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedAnswers:
    """What every server of a zone should say, made once for all of them: names, markers, and the
    sets of both. In HTTPS and SVCB sets, `hints`, the addresses count that they may have, and the
    TTL that they have at most; 0 for any.
    """

    names: Sequence[str]
    markers: Sequence[str]
    sets: Sets
    hints: Sequence[tuple[str, RecordType]] = ()

    @classmethod
    def from_records(cls, records: pd.DataFrame) -> ExpectedAnswers:
        sets = dict(sets_by_name(records))
        for (name, kind), (ttl, values) in sets.items():
            if kind in ("AAAA", *HINTED):
                spelled = sorted(map(canonical_address, values))
                sets[name, kind] = ttl, tuple(spelled)
        names = dict.fromkeys(name for name, kind in sets if kind in KINDS)
        markers = [name for name, kind in sets if kind == "TXT"]
        hints = [(name, hinted) for name, kind in sets for hinted in HINTED if kind == hinted]
        return cls(list(names), markers, sets, hints)

    @property
    def size(self) -> int:
        return len(self.names) * len(KINDS) + len(self.markers) + len(self.hints)

    def questions(self) -> Iterator[tuple[str, RecordType]]:
        yield from product(self.names, KINDS)
        yield from ((marker, "TXT") for marker in self.markers)
        yield from self.hints


def verdict(
    address: Address, zone: str, wanted: ExpectedAnswers, timeout: float, key: Key | None = None
) -> NameServerVerdict:
    """What one server says of the zone's serial, of both address types of each wanted name, and of
    the markers.

    Many names are compared with a transfer of the zone, where the server gives one to the key.
    """
    many = len(wanted.names) >= MANY
    names = [*wanted.names, *wanted.markers, *(name for name, _ in wanted.hints)]
    hints = bool(wanted.hints)
    contents = (
        _contents_by_transfer(address, zone, names, timeout, key, hints=hints)
        if key and many
        else None
    )
    if contents is None:
        return _verdict_by_questions(address, zone, wanted, timeout)
    # Nearly always all is as it should be, and that is quickly told; but for hints, which are few.
    same = _but_hints(contents.sets, wanted) == _but_hints(wanted.sets, wanted)
    wrong = differences(
        replace(wanted, names=(), markers=()) if same else wanted,
        lambda name, kind: contents.sets.get((name, kind)),
    )
    return NameServerVerdict(address_text(address), wanted.size, contents.serial, wrong)


def _but_hints(sets: Sets, wanted: ExpectedAnswers) -> Sets:
    if not wanted.hints:
        return sets
    return {question: held for question, held in sets.items() if question[1] not in HINTED}


def _contents_by_transfer(
    address: Address, zone: str, names: Sequence[str], timeout: float, key: Key, *, hints: bool
) -> Contents | None:
    """None where the server gives this key no transfers, or does not know it: then anybody's
    questions do.
    """
    server = Server(*address, key, timeout)
    try:
        with Session(server) as session:
            return transfer(session, server, zone, names, hints=hints)
    except DnsError:
        return None


def _verdict_by_questions(
    address: Address, zone: str, wanted: ExpectedAnswers, timeout: float
) -> NameServerVerdict:
    try:
        answers = ask(address, [(zone, "SOA"), *wanted.questions()], timeout)
    except DnsError as error:
        return NameServerVerdict(address_text(address), 0, error=str(error))
    troubles = [
        trouble for question, answer in answers.items() if (trouble := _trouble(question, answer))
    ]
    if troubles:
        more = f", and {len(troubles) - 1} more" if len(troubles) > 1 else ""
        return NameServerVerdict(
            address_text(address), 0, serial_of(answers[zone, "SOA"]), error=troubles[0] + more
        )
    wrong = differences(wanted, lambda name, kind: set_of(name, kind, answers[name, kind]))
    return NameServerVerdict(
        address_text(address), wanted.size, serial_of(answers[zone, "SOA"]), wrong
    )


def differences(
    wanted: ExpectedAnswers, set_at: Callable[[str, RecordType], Set | None]
) -> tuple[Change, ...]:
    """From what to what each set that differs would have to change."""
    pairs = (
        (name, kind, _as_compared(kind, set_at(name, kind)), wanted.sets.get((name, kind)))
        for name, kind in wanted.questions()
    )
    return tuple(
        Change(_rrset(name, kind, have), _rrset(name, kind, want))
        for name, kind, have, want in pairs
        if have != want
        and not _same_marker(kind, have, want)
        and not _only_such_hints(kind, have, want)
    )


def _as_compared(kind: RecordType, have: Set | None) -> Set | None:
    """What counts of a set: where it may have hints, only these, as all else is not FLEX's."""
    if kind not in HINTED or have is None:
        return have
    return have[0], tuple(sorted(hinted_addresses(have[1])))


def _only_such_hints(kind: RecordType, have: Set | None, want: Set | None) -> bool:
    """Whoever follows the hints gets nowhere but to the name's addresses, and keeps them no longer
    than wanted.
    """
    if kind not in HINTED or want is None or have is None:
        return kind in HINTED and have is None
    ttl, hints = want
    return set(have[1]) <= set(hints) and (not ttl or have[0] <= ttl)


def _same_marker(kind: RecordType, have: Set | None, want: Set | None) -> bool:
    """A marker that was made under another TTL says the same, and so does one of a site that FLEX
    leaves alone.
    """
    if kind != "TXT" or have is None or want is None:
        return False
    return [text for text in have[1] if not exclusion_in([text])] == [*want[1]]


def ask(address: Address, questions: Sequence[Question], timeout: float) -> Answers:
    """The answers to all questions, by UDP and where one does not fit by TCP. Raises a DnsError on
    silence.
    """
    with translate_errors(address_text(address), "verification"):
        family, _, _, _, peer = socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            # A connected socket takes packets from this peer only.
            sock.connect(peer)
            answers = _Window(sock, questions, timeout / TRIES).run()
        for question, answer in answers.items():
            if answer.flags & dns.flags.TC:
                answers[question] = dns.query.tcp(
                    query_of(question), str(peer[0]), timeout, address[1]
                )
    return answers


class _Window:
    """A number of questions on their way at a time; each is sent up to three times."""

    def __init__(self, sock: socket.socket, questions: Sequence[Question], patience: float) -> None:
        self._socket = sock
        self._left = deque((question, 1) for question in questions)
        self._patience = patience
        self._sent: dict[int, tuple[Question, int, float, dns.message.Message]] = {}
        self._answers: dict[Question, dns.message.Message] = {}

    def run(self) -> dict[Question, dns.message.Message]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            self._socket.setblocking(False)
            while self._left or self._sent:
                self._fill()
                # Ids are kept in the order they were sent in: the first is the first to run out of
                # time.
                _, _, deadline, _ = next(iter(self._sent.values()))
                if selector.select(max(0.0, deadline - time.monotonic())):
                    self._receive()
                self._expire()
        return self._answers

    def _fill(self) -> None:
        while self._left and len(self._sent) < WINDOW:
            question, tries = self._left.popleft()
            query = query_of(question)
            query.id = self._fresh_id()
            self._sent[query.id] = (question, tries, time.monotonic() + self._patience, query)
            self._socket.send(query.to_wire())

    def _fresh_id(self) -> int:
        while (number := secrets.randbelow(65536)) in self._sent:
            continue
        return number

    def _receive(self) -> None:
        try:
            answer = dns.message.from_wire(self._socket.recv(65535))
        except (BlockingIOError, dns.exception.DNSException, ValueError):
            # A damaged packet, or one with a forged source: the true answer may still come.
            return
        question, _, _, query = self._sent.get(answer.id, (None, 0, 0.0, None))
        if question and query and query.is_response(answer):
            del self._sent[answer.id]
            self._answers[question] = answer

    def _expire(self) -> None:
        now = time.monotonic()
        for number, (question, tries, deadline, _) in list(self._sent.items()):
            if deadline > now:
                return
            if tries == TRIES:
                raise TimeoutError
            del self._sent[number]
            self._left.appendleft((question, tries + 1))


def query_of(question: Question) -> dns.message.Message:
    return dns.message.make_query(*question, flags=0, use_edns=0, payload=PAYLOAD)


def set_of(name: str, kind: RecordType, answer: dns.message.Message) -> Set | None:
    for rrset in answer.answer:
        if rrset.rdtype == dns.rdatatype.from_text(kind) and rrset.name.to_text().lower() == name:
            return rrset.ttl, sets_from_primary.values(rrset)
    return None


def _rrset(name: str, kind: RecordType, values: Set | None) -> Rrset | None:
    return Rrset(name, kind, *values) if values else None


def _trouble(question: Question, answer: dns.message.Message) -> str:
    name, kind = question
    if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        return f"{kind} of {name}: {dns.rcode.to_text(answer.rcode())}"
    if not answer.flags & dns.flags.AA:
        return f"{kind} of {name}: an answer without authority"
    return ""


def serial_of(answer: dns.message.Message) -> int | None:
    return next(
        (
            rdata.serial
            for rrset in answer.answer
            for rdata in rrset
            if rrset.rdtype == dns.rdatatype.SOA
        ),
        None,
    )

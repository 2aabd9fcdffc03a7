"""What the world's DNS says, asked of a resolver as any visitor would: nothing is signed.

Takes names. Returns where they lead, which servers a zone is served by, or what an address is
called. Silence and refusal are answers, too. Does not ask the servers of our zones, and does not
believe more than a visitor would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

import dns.exception
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.resolver
import dns.reversename

from flex.zones.records_of_partition import NameAnswer
from flex_dns.wire.name_server_and_key import Address, address_text

# Questions on their way at a time: what a resolver of a host is made for. A guess.
AT_A_TIME = 24
# Seconds for one answer, and how often it is asked for.
TIMEOUT = 3.0
TRIES = 2
# After so many questions in a row without an answer nobody is asked any more. A guess.
MOST_SILENT = 3 * AT_A_TIME
# Names in a chain of aliases.
LONGEST_CHAIN = 16
NOBODY = "nobody was asked"

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Said:
    """`values` of the type that was asked for, at the end of a chain of aliases. `why` says why
    there are none.
    """

    values: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    why: str = ""
    is_known: bool = True


def resolver_of_this_machine() -> Address | None:
    """The resolver that this machine uses, if any."""
    try:
        name_servers = dns.resolver.Resolver().nameservers
    except (dns.exception.DNSException, OSError):
        return None
    first = next(iter(name_servers), None)
    return (str(first), 53) if first else None


@dataclass(slots=True)
class Resolver:
    """`address` is None where nobody can be asked: then nothing is known."""

    address: Address | None
    _silent: int = field(default=0, repr=False)

    @property
    def is_silent(self) -> bool:
        return self.address is None or self._silent >= MOST_SILENT

    def addresses_of(self, names: Sequence[str]) -> dict[str, NameAnswer]:
        """Where each name leads; `unknown` says why nobody can tell."""
        questions = [(name, kind) for name in names for kind in ("A", "AAAA")]
        name_answers: dict[str, NameAnswer] = {}
        answers = iter(self._all(self._ask, questions))
        for name in names:
            four, six = islice(answers, 2)
            unknown = next((reply.why for reply in (four, six) if not reply.is_known), "")
            name_answers[name] = NameAnswer(
                (*four.values, *six.values), four.chain or six.chain, unknown
            )
        return name_answers

    def name_servers_of(self, zones: Sequence[str]) -> dict[str, Said]:
        return dict(zip(zones, self._all(self._ask, [(zone, "NS") for zone in zones]), strict=True))

    def names_of(self, addresses: Sequence[str]) -> dict[str, str]:
        """What each address is called, where it is called anything."""
        questions = [
            (dns.reversename.from_address(ip_address).to_text(), "PTR") for ip_address in addresses
        ]
        answers = self._all(self._ask, questions)
        return {
            address: reply.values[0].rstrip(".")
            for address, reply in zip(addresses, answers, strict=True)
            if reply.values
        }

    def primary_of(self, name: str) -> str:
        """The name server that the zone of a name is changed on; empty where nobody knows."""
        # A top level's primary is none of ours.
        while name.count(".") > 1:
            if soa_values := self._ask((name, "SOA")).values:
                return soa_values[0].split()[0].rstrip(".")
            name = name.partition(".")[2]
        return ""

    def _all(
        self, ask: Callable[[tuple[str, str]], Said], questions: Sequence[tuple[str, str]]
    ) -> Iterator[Said]:
        if self.is_silent:
            yield from (Said(why=NOBODY, is_known=False) for _ in questions)
            return
        with ThreadPoolExecutor(AT_A_TIME) as asking:
            yield from asking.map(ask, questions)

    def _ask(self, question: tuple[str, str]) -> Said:
        name, kind = question
        if self.is_silent:
            return Said(why=NOBODY, is_known=False)
        assert self.address is not None, "else it is silent"
        host, port = self.address
        try:
            query = dns.message.make_query(name, kind, use_edns=0, payload=1232)
        except dns.exception.DNSException:
            return Said(why="DNS can have no such name")
        for _ in range(TRIES):
            try:
                answer, _ = dns.query.udp_with_fallback(
                    query, host, TIMEOUT, port, ignore_unexpected=True
                )
            except (dns.exception.DNSException, OSError, EOFError):
                continue
            self._silent = 0
            return _answer_of(answer, name, kind)
        self._silent += 1
        where = address_text(self.address)
        return Said(why=f"{where} did not answer", is_known=False)


def _answer_of(answer: dns.message.Message, name: str, kind: str) -> Said:
    if answer.rcode() == dns.rcode.NXDOMAIN:
        return Said(why="there is no such name")
    if answer.rcode() != dns.rcode.NOERROR:
        text = dns.rcode.to_text(answer.rcode())
        return Said(why=f"the resolver says {text}", is_known=False)
    aliases: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    for rrset in answer.answer:
        owner = rrset.name.to_text().lower()
        if rrset.rdtype == dns.rdatatype.CNAME:
            aliases[owner] = rrset[0].to_text().lower()
        elif dns.rdatatype.to_text(rrset.rdtype) == kind:
            values[owner] = sorted(rdata.to_text().lower() for rdata in rrset)
    here = dns.name.from_text(name).to_text().lower()
    chain: list[str] = []
    while here in aliases and len(chain) < LONGEST_CHAIN:
        here = aliases[here]
        chain.append(here)
    final_values = tuple(values.get(here, ()))
    return Said(final_values, tuple(chain), "" if final_values else f"it has no {kind}")

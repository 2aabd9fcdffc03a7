"""The nodes of a cluster, from names and addresses in DNS.

Takes what a person wrote, or the addresses that the sites have. Returns nodes with their addresses.
Asks a resolver, and none of the nodes.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flex.errors import BadInput
from flex.zones.records_of_partition import NameAnswer
from flex_dns.wire.ask_resolver import Resolver

# An address is taken for a node's if it has this share of what the commonest one has. A guess.
SHARE = 0.05
# More addresses than that are no nodes of one cluster, but customers' own servers. A guess.
MOST = 64
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class FoundNode:
    """`sites` counts the sites whose names lead to it, where that was looked at."""

    name: str
    addresses: tuple[str, ...]
    sites: int = 0

    def __str__(self) -> str:
        return f"{self.name}={','.join(self.addresses)}"


def nodes_written(texts: Iterable[str], resolver: Resolver) -> tuple[FoundNode, ...]:
    """`n1=192.0.2.11,2001:db8::11`, `n1=web1.example.net`, or one of these without a name. Raises
    BadInput.
    """
    nodes: dict[str, FoundNode] = {}
    for text in texts:
        name, is_named, rest = text.strip().partition("=")
        targets = [part.strip() for part in (rest if is_named else name).split(",")]
        addresses: list[str] = []
        for target in filter(None, targets):
            addresses += _addresses(target, resolver)
        if not addresses:
            raise _bad(text, "it has no address")
        called = name if is_named else _name_for(targets[0], len(nodes) + 1)
        if called in nodes or not called:
            raise _bad(text, "two nodes have one name" if called else "it has no name")
        nodes[called] = FoundNode(called, tuple(dict.fromkeys(addresses)))
    return tuple(nodes.values())


def nodes_of_addresses(
    answers: Mapping[str, NameAnswer], panel_addresses: Iterable[str], resolver: Resolver
) -> tuple[FoundNode, ...]:
    """Return the nodes at the addresses that many sites have; where no site has one, those at
    `panel_addresses`, which the panel named. Addresses with the same name are one node's.
    """
    counts = Counter(address for answer in answers.values() for address in answer.addresses)
    least = max(counts.values(), default=0) * SHARE
    often = [address for address, count in counts.items() if count >= least]
    every = sorted(
        {ip for ip in (*often, *(panel_addresses if not often else ())) if _is_public(ip)},
        key=lambda ip: (ipaddress.ip_address(ip).version, ipaddress.ip_address(ip)),
    )
    if len(every) > MOST:
        every = sorted(every, key=lambda ip: -counts[ip])[:MOST]
    names = resolver.names_of(every)
    by_name: dict[str, list[str]] = {}
    for number, address in enumerate(every, start=1):
        by_name.setdefault(names.get(address, f"n{number}"), []).append(address)
    nodes: dict[str, FoundNode] = {}
    for name, addresses in by_name.items():
        short = _name_for(name, len(nodes) + 1)
        # What is called alike in two domains keeps its domain.
        called = short if short not in nodes else _NAME.sub("-", name)
        sites = max(counts[ip] for ip in addresses)
        nodes[called] = FoundNode(called, tuple(addresses), sites)
    return tuple(nodes.values())


def node_of_this_machine(nodes: Sequence[FoundNode]) -> str:
    """The one that has an address of this machine; empty where none has."""
    return next((node.name for node in nodes if any(map(_is_ours, node.addresses))), "")


def _addresses(target: str, resolver: Resolver) -> list[str]:
    if _is_address(target):
        return [str(ipaddress.ip_address(target))]
    answers = resolver.addresses_of([target.rstrip(".") + "."])
    answer = next(iter(answers.values()))
    if not answer.addresses:
        raise _bad(target, answer.unknown or "it has no address in DNS")
    return list(answer.addresses)


def _name_for(target: str, number: int) -> str:
    """The first label of a host's name; an address is called by its number."""
    if _is_address(target):
        return f"n{number}"
    return _NAME.sub("-", target.partition(".")[0]).strip("-._") or f"n{number}"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_public(text: str) -> bool:
    """One that a name in DNS can lead visitors to."""
    if not _is_address(text):
        return False
    address = ipaddress.ip_address(text)
    return not (address.is_unspecified or address.is_multicast or address.is_link_local)


def _is_ours(address: str) -> bool:
    """Only its own addresses can a machine listen on."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe_socket:
            probe_socket.bind((address, 0))
    except OSError:
        return False
    return True


def _bad(text: str, why: str) -> BadInput:
    return BadInput(
        f"the node {text[:100]!r}",
        why,
        kept="nothing was written",
        advice="say it as --node n1=192.0.2.11, --node n1=192.0.2.11,2001:db8::11 or "
        "--node web1.example.net",
    )

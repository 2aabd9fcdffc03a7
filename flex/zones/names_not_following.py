"""Where visitors go who reach a site by another name of it: `www.a.example` of the site
`a.example`.

Takes other names of sites, what DNS says of them, and the nodes. Returns the names that do not move
with their site. A name that is a CNAME to its site moves with it, and is left out. Does not change
any of these names. Does not say what their traffic asks of each node:
planning/traffic_by_other_names.py does.

The model of what DNS does with visitors is the simplest one: each address of a name, A or AAAA,
gets the same number of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flex.model.nodes import Node
from flex.model.zone_plan import StaysBehind
from flex.zones import records_of_partition
from flex.zones.records_of_partition import NameAnswer, ZoneState

# What is said of a name that its name servers do not say all of.
NOT_KNOWN = "where it leads is not known"
# Addresses of strangers that a sentence names.
NAMED = 3


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of a site's requests, and of the bytes it sent, one of its names has."""

    requests: float
    bytes: float


@dataclass(frozen=True, slots=True)
class OtherName:
    """Another name of a site, as a host name. Where the counts were `looked` at and there is no
    share, nobody counted what came by that name.
    """

    site: str
    name: str
    share: Share | None = None
    looked: bool = True
    # Whether a person wrote it down, and it is not only the site's name with www. or without it.
    written: bool = True


@dataclass(frozen=True, slots=True)
class NameLeftBehind:
    """Another name of a site that does not move with it.

    `parts` are the nodes that its visitors are sent to, in order, each with the part that it gets;
    what is missing goes to addresses that are no node's, or nowhere. `like_site` says that it has
    the addresses of its site now. `leant_on` is why it does not follow, though it could.
    `is_of_wildcard` says that a wildcard answers for its site: a record below that, a CNAME to it
    too, would take the site off the net (RFC 4592).
    """

    other: OtherName
    zone: str
    answer: NameAnswer
    parts: tuple[tuple[str, float], ...]
    like_site: bool
    leant_on: str = ""
    is_of_wildcard: bool = False

    @property
    def name(self) -> str:
        return self.other.name

    @property
    def site(self) -> str:
        return self.other.site

    @property
    def why(self) -> str:
        """What a person is told of the name."""
        return f"another name of {self.site}, {self._leads}{_came_by(self.other)}"

    @property
    def _leads(self) -> str:
        if self.answer.unknown:
            return f"which {self.answer.unknown}: {NOT_KNOWN}"
        if self.leant_on:
            return f"which does not move with the site, as that {self.leant_on}"
        if self.is_of_wildcard and self.name.endswith(f".{self.site}"):
            return f"answered by the same wildcard as the site{self._where}"
        own = (
            f"a CNAME to {self.answer.chain[0]}"
            if self.answer.chain
            else "with addresses of its own"
        )
        if self.like_site:
            return f"{own}, the same as the site's now: it stays behind when the site moves"
        return f"{own}{self._where}: it does not move with the site"

    @property
    def _where(self) -> str:
        nodes = ", ".join(node for node, _ in self.parts)
        others = sum(part for _, part in self.parts) < 1 - 1e-9
        if nodes:
            return f" at {nodes}{' and at others that are no node of ours' if others else ''}"
        if not self.answer.addresses:
            return ", which leads to no address that its name server knows"
        more = ", ..." if len(self.answer.addresses) > NAMED else ""
        return f" that are no node's ({', '.join(self.answer.addresses[:NAMED])}{more})"


@dataclass(frozen=True, slots=True)
class Followed:
    """`strays` do not move with their sites; `unseen` are in no zone of the settings: where they
    lead is not known. `along` get the addresses of their sites, where FLEX is told to follow with
    them.
    """

    strays: tuple[NameLeftBehind, ...] = ()
    unseen: tuple[OtherName, ...] = ()
    along: tuple[OtherName, ...] = ()

    @property
    def strays_left_behind(self) -> tuple[NameLeftBehind, ...]:
        """Those of sites that FLEX can move: what a wildcard answers for moves with nobody."""
        return tuple(stray for stray in self.strays if not stray.is_of_wildcard)

    def staying_behind_in(self, zone: str) -> tuple[StaysBehind, ...]:
        """What a plan keeps of the strays of a zone."""
        return tuple(_staying_behind(stray) for stray in self.strays if stray.zone == zone)


def _staying_behind(stray: NameLeftBehind) -> StaysBehind:
    share = None if stray.answer.unknown else stray.other.share
    return StaysBehind(
        stray.name,
        stray.site,
        tuple(node for node, _ in stray.parts),
        stray.parts,
        share.requests if share else None,
        share.bytes if share else None,
    )


def strays_of(zone: str, kept: Iterable[StaysBehind]) -> Iterator[NameLeftBehind]:
    """What a plan kept of names that do not move with their sites, as far as their traffic was
    counted; where they lead only by the nodes.
    """
    for left_name in kept:
        if left_name.requests is not None and left_name.bytes is not None:
            other = OtherName(
                left_name.site, left_name.name, Share(left_name.requests, left_name.bytes)
            )
            yield NameLeftBehind(other, zone, NameAnswer(), left_name.parts, like_site=False)


def group_names_by_zone(
    others: Iterable[OtherName], zones: Collection[str]
) -> dict[str, list[str]]:
    """The names that are to be asked for, zone by zone."""
    known, zone_names = frozenset(zones), dict[str, list[str]]()
    for other in others:
        name = records_of_partition.name_of(other.name)
        if zone := records_of_partition.zone_of(name, known):
            zone_names.setdefault(zone, []).append(name)
    return zone_names


def follow(
    others: Sequence[OtherName], states: Mapping[str, ZoneState], nodes: Sequence[Node]
) -> Followed:
    """What the zones, which were read with these names, say of them."""
    owner = {address: node.name for node in nodes for address in node.addresses}
    sets = _addresses(states)
    below_wildcards = {name for state in states.values() for name in state.below_wildcards}
    strays: list[NameLeftBehind] = []
    unseen: list[OtherName] = []
    for other in sorted(others, key=lambda other_name: (other_name.site, other_name.name)):
        zone = records_of_partition.zone_of(records_of_partition.name_of(other.name), states.keys())
        if zone is None:
            unseen.append(other)
            continue
        answer = states[zone].answers.get(records_of_partition.name_of(other.name), NameAnswer())
        if _strays(other, answer):
            site = records_of_partition.name_of(other.site)
            addresses = set(answer.addresses)
            strays.append(
                NameLeftBehind(
                    other,
                    zone,
                    answer,
                    _parts(answer, owner),
                    like_site=bool(addresses) and addresses == sets.get(site),
                    is_of_wildcard=site in below_wildcards,
                )
            )
    return Followed(tuple(strays), tuple(unseen))


def _strays(other: OtherName, answer: NameAnswer) -> bool:
    if records_of_partition.name_of(other.site) in answer.chain:
        return False
    return bool(answer.addresses or answer.chain or answer.unknown)


def _addresses(states: Mapping[str, ZoneState]) -> dict[str, set[str]]:
    addresses: dict[str, set[str]] = {}
    for state in states.values():
        for name, value in zip(state.records["name"], state.records["value"], strict=True):
            addresses.setdefault(name, set()).add(value)
    return addresses


def _parts(answer: NameAnswer, owner: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    counts: dict[str, int] = {}
    for address in answer.addresses:
        if node := owner.get(address):
            counts[node] = counts.get(node, 0) + 1
    return tuple((node, count / len(answer.addresses)) for node, count in sorted(counts.items()))


def _came_by(other: OtherName) -> str:
    if other.share is None:
        return "; how much of its traffic comes by that name is not known" if other.looked else ""
    return f"; {other.share.requests:.0%} of its requests come by that name"

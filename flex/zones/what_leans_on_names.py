"""What leans on the name of a site: records whose service, or meaning, moves with its address.

Takes records that point to names, of all zones together, and the names of sites. Returns what leans
on each name. Does not read a zone, and does not decide whether a site stays for it.

A name from which a mail server, a service or a name server has its address (MX, SRV, NS) would take
that to another node. A CNAME moves along, as it should. An SPF record lets other addresses send
mail once the site has moved. A CAA record has nothing to do with addresses: it is of interest only
where it binds certificates to one account or one way to prove who asks, which the new node must
have, too.

Mail may come to a name without any MX by its address record (RFC 5321). Whether it does is in no
DNS. But whoever lets hosts send mail as that name, by SPF, is likely to get answers there: that is
said, and keeps no site where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

# A is mail that may come to an address, as its name has no MX.
Kind = Literal["MX", "SRV", "NS", "CNAME", "SPF", "CAA", "A", "HTTPS", "SVCB"]
# What a move would take to another node.
CARRIED: tuple[Kind, ...] = ("MX", "SRV", "NS")
# Records with addresses of their own, as hints (RFC 9460), which a move would leave as they are.
HINTS: tuple[Kind, ...] = ("HTTPS", "SVCB")
# For what a site stays where nobody lets it move.
HOLDING: tuple[Kind, ...] = (*CARRIED, *HINTS)
# Names in a chain of CNAMEs. BIND follows 16, and other resolvers fewer.
LONGEST_CHAIN = 16
# Names that an SPF record leads to, one after the other. RFC 7208 allows 10 look-ups in all.
DEEPEST_SPF = 10
# Records of one kind that are kept for one name; others are counted. A guess of what people read.
MOST_KEPT = 20
# Names whose own records are asked for at a time where their zone cannot be transferred. Of more
# names nothing is said, until it is known which of them would move. A guess: so many questions take
# less than a second.
MOST_ASKED = 2_000
# What an SPF record begins with (RFC 7208), in lower case.
SPF = "v=spf1"
# Parameters of a CAA record by which not every node gets a certificate (RFC 8657).
BINDING = ("accounturi", "validationmethods")


class PointingRecord(NamedTuple):
    """A record that says something of another name, or of what depends on a name. `text` is its
    data as zone files have it; `target` the name that it points to, "" for SPF and CAA.
    """

    owner: str
    type: Kind
    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Pointed:
    """What records are looked for by: the `names` of all sites, in all `zones`."""

    names: frozenset[str]
    zones: frozenset[str]


@dataclass(frozen=True, slots=True)
class Dependent:
    """A record that leans on a name, and the names on the way from its target to there."""

    record: PointingRecord
    via: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return self.record.type

    @property
    def description(self) -> str:
        """What a person calls it, with the record."""
        owner = self.record.owner.rstrip(".")
        what = {
            "MX": f"mail for {owner}",
            "SRV": f"the service {owner}",
            "NS": f"a name server of {owner or 'the root'}",
            "CNAME": f"its other name {owner}",
            "SPF": f"who may send mail as {owner}",
            "CAA": f"who issues certificates for {owner}",
            "A": f"mail for {owner}, if any comes, as {owner} has no MX",
            "HTTPS": f"the addresses that browsers are told for {owner}",
            "SVCB": f"the addresses that clients are told for {owner}",
        }[self.kind]
        return f"{what} ({self._record})"

    @property
    def _record(self) -> str:
        kind = "TXT" if self.kind in ("SPF", "A") else self.kind
        text = f"{kind} {self.record.text}"
        return f"{text} by {', '.join(self.via)}" if self.via else text


@dataclass(frozen=True, slots=True)
class Leaning:
    """What leans on one name: MOST_KEPT of each kind, and how many there are of it."""

    dependents: tuple[Dependent, ...] = ()
    counts: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def taken_along(self) -> tuple[Dependent, ...]:
        """What a move would take to another node."""
        return self.dependents_of_kinds(*CARRIED)

    @property
    def left_behind(self) -> tuple[Dependent, ...]:
        """What would lead to the old node after a move."""
        return self.dependents_of_kinds(*HINTS)

    def dependents_of_kinds(self, *kinds: Kind) -> tuple[Dependent, ...]:
        return tuple(dependent for dependent in self.dependents if dependent.kind in kinds)

    def count(self, *kinds: Kind) -> int:
        return sum(self.counts.get(kind, 0) for kind in kinds)


class _Gathered:
    """Dependents by name while they are found."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[str, list[Dependent]] = {}
        self._counts: dict[str, dict[Kind, int]] = {}

    def add(self, name: str, dependent: Dependent) -> None:
        counts = self._counts.setdefault(name, {})
        counts[dependent.kind] = counts.get(dependent.kind, 0) + 1
        if counts[dependent.kind] <= self._most:
            self._kept.setdefault(name, []).append(dependent)

    def leaning(self) -> dict[str, Leaning]:
        return {
            name: Leaning(tuple(self._kept[name]), counts)
            for name, counts in sorted(self._counts.items())
        }


def leaning(
    records: Iterable[PointingRecord],
    names: Set[str],
    *,
    along: Mapping[str, str] | None = None,
    most: int = MOST_KEPT,
) -> dict[str, Leaning]:
    """What leans on each of these names. Those on which nothing does are left out. Names that go
    `along` with one of them get its addresses: what leans on them leans on it.
    """
    every = sorted(set(records))
    if not every:
        return {}
    aliases = dict(along or {})
    aliases |= {record.owner: record.target for record in every if record.type == "CNAME"}
    gathered = _Gathered(most)
    for record in every:
        if record.target:
            for name, via in _sites_on_the_way(record.target, aliases, names):
                gathered.add(name, Dependent(record, via))
    _add_senders(every, aliases, names, gathered)
    _add_certificates(every, names, gathered)
    return gathered.leaning()


def way(target: str, aliases: Mapping[str, str]) -> list[str]:
    """The name, and those that its CNAMEs lead to, as far as anybody follows them."""
    names = [target]
    while (following := aliases.get(names[-1])) and len(names) <= LONGEST_CHAIN:
        if following in names:
            break
        names.append(following)
    return names


def _sites_on_the_way(
    target: str, aliases: Mapping[str, str], names: Set[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The sites on the way, each with the names behind the target that lead to it."""
    steps = way(target, aliases)
    for place, name in enumerate(steps):
        if name in names:
            yield name, tuple(steps[1 : place + 1])


def _add_senders(
    every: Iterable[PointingRecord],
    aliases: Mapping[str, str],
    names: Set[str],
    gathered: _Gathered,
) -> None:
    policies: dict[str, list[PointingRecord]] = {}
    exchanges: dict[str, list[str]] = {}
    for pointing_record in every:
        if pointing_record.type == "SPF":
            policies.setdefault(pointing_record.owner, []).append(pointing_record)
        elif pointing_record.type == "MX":
            exchanges.setdefault(pointing_record.owner, []).append(pointing_record.target)
    hosts = {owner: _hosts(owner, policies, exchanges, aliases) for owner in policies}
    for owner, records in policies.items():
        for record in records:
            for name, via in sorted(_sites(hosts[owner], aliases, names).items()):
                gathered.add(name, Dependent(record, via))


def _hosts(
    owner: str,
    policies: Mapping[str, list[PointingRecord]],
    exchanges: Mapping[str, list[str]],
    aliases: Mapping[str, str],
) -> dict[str, tuple[str, ...]]:
    """The names whose addresses may send mail as the owner, each with the policies that are between
    them.
    """
    hosts: dict[str, tuple[str, ...]] = {}
    level: dict[str, tuple[str, ...]] = {owner: ()}
    seen = {owner}
    for _ in range(DEEPEST_SPF + 1):
        following: dict[str, tuple[str, ...]] = {}
        for name, between in level.items():
            for record in policies.get(name, ()):
                for kind, domain in spf_terms(record.text):
                    about = domain or name
                    if kind == "a":
                        hosts.setdefault(about, between)
                    elif kind == "mx":
                        for host in exchanges.get(way(about, aliases)[-1], ()):
                            hosts.setdefault(host, between)
                    elif (other := way(about, aliases)[-1]) not in seen:
                        seen.add(other)
                        following[other] = (*between, about)
        level = following
    return hosts


def _sites(
    hosts: Mapping[str, tuple[str, ...]], aliases: Mapping[str, str], names: Set[str]
) -> dict[str, tuple[str, ...]]:
    sites: dict[str, tuple[str, ...]] = {}
    for host, between in sorted(hosts.items()):
        for name, via in _sites_on_the_way(host, aliases, names):
            sites.setdefault(name, (*between, *via))
    return sites


def spf_terms(text: str) -> Iterator[tuple[Literal["a", "mx", "other"], str]]:
    """What of an SPF record points to names: "a" and "mx", and "other" policies (`include`,
    `redirect`), with the name, "" for the owner's own. What else there is, is passed over, and so
    are macros: nobody can tell them before a mail comes.
    """
    first, *terms = text.lower().split() or [""]
    if first != SPF:
        return
    for term in terms:
        term = term.lstrip("+-~?")
        if term.startswith("redirect="):
            kind, domain = "other", term.removeprefix("redirect=")
        else:
            whole, _, _ = term.partition("/")
            what, colon, domain = whole.partition(":")
            if what not in ("a", "mx", "include") or bool(colon) != bool(domain):
                continue
            kind = "other" if what == "include" else what
        if "%" in domain or (kind == "other" and not domain):
            continue
        name = domain.rstrip(".") + "." if domain else ""
        if kind == "a":
            yield "a", name
        elif kind == "mx":
            yield "mx", name
        else:
            yield "other", name


def lets_somebody_send(text: str) -> bool:
    """Whether an SPF record lets any host send mail as its owner."""
    first, *terms = text.lower().split() or [""]
    return first == SPF and any(
        not term.startswith(("-", "exp=")) and term.lstrip("+~?") != "all" for term in terms
    )


def mail_without_mx(owner: str, policy: str) -> PointingRecord:
    """That mail may come to the owner's address."""
    return PointingRecord(owner, "A", policy, owner)


def points_to_names(text: str) -> bool:
    """Whether an SPF record depends on any other name, or on the address of its own."""
    return any(True for _ in spf_terms(text))


def _add_certificates(
    every: Iterable[PointingRecord], names: Set[str], gathered: _Gathered
) -> None:
    rules: dict[str, list[PointingRecord]] = {}
    for pointing_record in every:
        if pointing_record.type == "CAA":
            rules.setdefault(pointing_record.owner, []).append(pointing_record)
    if not rules:
        return
    for name in sorted(names):
        for record in rules.get(_closest(name, rules), ()):
            if binds_certificates(record.text):
                gathered.add(name, Dependent(record))


def _closest(name: str, rules: Mapping[str, object]) -> str:
    """Where the rules for a name stand: at itself, or at the closest name above (RFC 8659)."""
    while name and name not in rules:
        name = name.partition(".")[2]
    return name


def binds_certificates(text: str) -> bool:
    """Whether a CAA record hinders a node that has another account, or proves itself otherwise."""
    lower = text.lower()
    if " issue " not in f" {lower} ":
        return False
    value = lower.partition(" issue ")[2].strip().strip('"').strip()
    return not value.partition(";")[0].strip() or any(binding in value for binding in BINDING)

"""A zone plan: what would change in one DNS zone, record set by record set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AddressType = Literal["A", "AAAA"]
# Whether a name that has IPv4 alone, or IPv6, keeps it so, or gets every address of its node.
Families = Literal["keep", "all"]
# Records that may repeat the addresses of a name as hints (RFC 9460).
HintedType = Literal["HTTPS", "SVCB"]
RecordType = Literal[AddressType, HintedType, "TXT"]
# One such set: its name and its type.
HintedSet = tuple[str, HintedType]


@dataclass(frozen=True, slots=True)
class Rrset:
    """Values are sorted and unique, so that equal sets compare equal. Names are absolute and lower
    case. Values of HTTPS and SVCB are as zone files have them.
    """

    name: str
    type: RecordType
    ttl: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One RRset's before and after. At least one of them is there; both have the same name and
    type.

    `beside` a marker that is made are all address sets that its name had then: None where nobody
    noted them.
    """

    before: Rrset | None
    after: Rrset | None
    beside: tuple[Rrset, ...] | None = None

    @property
    def name(self) -> str:
        return self.either.name

    @property
    def type(self) -> RecordType:
        return self.either.type

    @property
    def either(self) -> Rrset:
        rrset = self.after or self.before
        assert rrset is not None, "a change without before and after changes nothing"
        return rrset


@dataclass(frozen=True, slots=True)
class StaysBehind:
    """Another name of a site that does not move with it, and the nodes that its addresses lead to.
    Both names are host names.

    `parts` is which part of its visitors each node gets. `requests` and `bytes` are its part of
    what the site asks for, None where nobody counted that or knows where it leads.
    """

    name: str
    site: str
    nodes: tuple[str, ...]
    parts: tuple[tuple[str, float], ...] = ()
    requests: float | None = None
    bytes: float | None = None


@dataclass(frozen=True, slots=True)
class LeansOnSite:
    """A record of the name `owner` that depends on the name of a site: `what` a person calls it,
    with the record. `stays` says that the site does not move for it.
    """

    site: str
    kind: str
    owner: str
    what: str
    stays: bool = False


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """What would have to change in one zone, in canonical order.

    `foreign` are the names we were asked to place that hold somebody else's addresses: never
    touched, always shown. `owned` is how many names carried our marker when the plan was made;
    limits are shares of it. `serial` is the zone's at that time, 0 where it is not known: a zone
    that still has it is as the plan saw it. `stay_behind` are the other names of sites that do not
    move with them; they are among the `foreign` names, too. `leaning` is what depends on the names
    of its sites, as far as it is kept: sites that stay for it are among the `foreign` names.
    `nothing_leans` are names that move as no mail or other service leans on them: where one does by
    the time the plan is applied, they are left as they are.
    `go_along` are other names that get the addresses of their sites: each with its site, both host
    names. `below_wildcards` are names that are made though a wildcard answers for them. `hints` are
    the HTTPS and SVCB sets whose address hints are those of their name, before the plan and after
    it, each as a name and a type; those that others wrote otherwise are not among them.
    """

    zone: str
    changes: tuple[Change, ...]
    foreign: tuple[str, ...] = ()
    owned: int = 0
    serial: int = 0
    stay_behind: tuple[StaysBehind, ...] = ()
    leaning: tuple[LeansOnSite, ...] = ()
    nothing_leans: tuple[str, ...] = ()
    go_along: tuple[tuple[str, str], ...] = ()
    below_wildcards: tuple[str, ...] = ()
    hints: tuple[tuple[str, HintedType], ...] = ()

    @property
    def why_foreign(self) -> dict[str, str]:
        """By each foreign name the reason that is told with it."""
        entries = (entry.partition(" ")[::2] for entry in self.foreign)
        return {name: why.removeprefix("(").removesuffix(")") for name, why in entries}

    @property
    def site_of_name(self) -> dict[str, str]:
        """By each name that goes along the one of its site, both as DNS has them."""
        return {f"{name.lower()}.": f"{site.lower()}." for name, site in self.go_along}

    @property
    def owned_after(self) -> int:
        """How many names carry our marker once all of it is applied."""
        marks = [change for change in self.changes if change.type == "TXT"]
        new_marks = sum(change.before is None for change in marks)
        gone = sum(change.after is None for change in marks)
        return self.owned + new_marks - gone

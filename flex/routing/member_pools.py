"""The nodes that share a site, and the limits by which its requests are spread over them: plain
values.

Takes names from logs and settings. Does not trust them: a name that would mean something else in a
configuration is refused where the value is made.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from flex.errors import BadInput

# A set of members is a number of so many bits; a site on more nodes than this is on all of a large
# cluster.
MOST_MEMBERS = 16

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}")
_PATH = re.compile(r"/[!-~]{0,2000}")
_HOST = re.compile(r"(?=[a-z0-9].{0,252}$)([a-z0-9-]{1,63}\.)*[a-z0-9-]{0,62}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class LardLimits:
    """The LARD paper's: a node under `low` requests has room, one over `high` too many; a set that
    did not change for `hold` seconds loses a member. With `admission` as many requests are let in
    as the paper's S, the others wait.
    """

    low: int = 25
    high: int = 65
    hold: int = 20
    admission: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high <= 10_000 or self.hold < 0:
            raise unusable_configuration(
                f"limits of {self.low} and {self.high} requests and {self.hold} s",
                "low must be over 0 and not over high, high not over 10,000, and the "
                "time not negative",
            )

    def divided_among(self, distributors: int) -> LardLimits:
        """The limits for each of so many distributors. Each of them sees only the requests that it
        got itself.
        """
        low = max(1, self.low // distributors)
        return replace(self, low=low, high=max(low, self.high // distributors))

    def most_under_way(self, members: int) -> int:
        """The paper's S: with more under way, every member would be over its limits."""
        return (members - 1) * self.high + self.low - 1


@dataclass(frozen=True, slots=True)
class Member:
    """A node that serves the site. Its `slot` stays its own while it is a member: sets of members
    are kept by slots.

    `weight` is for policies that regard it; one that is `leaving` answers what it has begun, and
    gets nothing more.
    """

    node: str
    address: str
    slot: int
    weight: int = 100
    leaving: bool = False

    def __post_init__(self) -> None:
        ipaddress.ip_address(self.address)
        if (
            not _NODE.fullmatch(self.node)
            or not 0 <= self.slot < MOST_MEMBERS
            or not 1 <= self.weight <= 256
        ):
            raise unusable_configuration(
                f"the node {self.node!r:.100} in slot {self.slot}",
                "no such name or slot can be written",
            )

    @property
    def bit(self) -> int:
        return 1 << self.slot


@dataclass(frozen=True, slots=True)
class Pool:
    """A replicated site: its host names, its members in order of their slots, and the policy that
    spreads requests.

    Requests that change something, and those whose path has one of the `endings`, go to the
    `dynamic` nodes alone, if there are any. `popular` paths have at least the members of a set
    under LARD/R.
    """

    site: str
    hosts: tuple[str, ...]
    members: tuple[Member, ...]
    policy: str = "lardr"
    limits: LardLimits = LardLimits()
    by_query: bool = False
    dynamic: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    popular: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if wrong := [path for path, _ in self.popular if not is_path(path)]:
            raise unusable_configuration(f"the path {wrong[0]!r:.100}", "no request could have it")
        for ending in self.endings:
            if not _ENDING.fullmatch(ending):
                raise unusable_configuration(
                    f"paths that end in {ending!r:.100}", "an ending is a few letters after a dot"
                )
        for host in (self.site, *self.hosts):
            if not is_host(host):
                raise unusable_configuration(
                    f"the host name {host!r:.100}", "it is none that DNS could have"
                )
        if len({member.slot for member in self.members}) < len(self.members) or not self.members:
            raise unusable_configuration(
                f"the members of {self.site}", "two share a slot, or there are none"
            )

    @property
    def name(self) -> str:
        return backend(self.site)

    @property
    def target(self) -> str:
        """What HAProxy takes for a target: host and path, and the query where answers differ by
        it.
        """
        return "url32" if self.by_query else "base32"


def is_host(name: str) -> bool:
    return bool(_HOST.fullmatch(name))


def is_path(path: str) -> bool:
    """Whether it can stand in a map: printable, and not longer than a line of one may be."""
    return bool(_PATH.fullmatch(path))


def members(
    addresses: Mapping[str, str], slots: Mapping[str, int] | None = None
) -> tuple[Member, ...]:
    """A member for each node and its address, in its slot if it has one; the others take what slots
    are free.
    """
    if len(addresses) > MOST_MEMBERS:
        raise unusable_configuration(
            f"a site routed on {len(addresses)} nodes", f"at most {MOST_MEMBERS} can share one"
        )
    kept = {
        node: slot
        for node, slot in (slots or {}).items()
        if node in addresses and slot < MOST_MEMBERS
    }
    free = (slot for slot in range(MOST_MEMBERS) if slot not in kept.values())
    new_members = (
        Member(node, addresses[node], kept[node] if node in kept else next(free))
        for node in sorted(addresses)
    )
    return tuple(sorted(new_members, key=lambda member: member.slot))


# What the names of their backends begin with.
BACKEND = "site_"


def backend(site: str) -> str:
    """What HAProxy calls it: no name of a site is long or strange enough to matter."""
    return f"{BACKEND}{sha256(site.encode()).hexdigest()[:16]}"


def unusable_configuration(request: str, answer: str) -> BadInput:
    return BadInput(
        request,
        answer,
        kept="no configuration was written",
        advice="correct the settings, or what names it",
    )

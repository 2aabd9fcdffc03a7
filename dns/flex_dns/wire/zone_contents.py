"""What a zone holds at the names we care about, and whose they are.

Takes record sets, however they were read. Returns Contents. Does not ask a name server, and does
not make a table of what was read: make_zone_state.py does, and that takes as much memory again as a
large zone.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from flex.zones.decisions_in_markers import EXCLUDED, MarkedDecision, decision_in, printable
from flex.zones.marker import LABEL, marker_name, marker_owner
from flex.zones.records_of_partition import BelowWildcard
from flex.zones.what_leans_on_names import PointingRecord

# A host name without the underscore, as BIND checks it. BIND refuses addresses at any other name by
# default, and the whole update with them.
HOST_NAME = re.compile(r"([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+")
# Characters of a name as text, with a dot behind each label (RFC 1035: 255 bytes in a message).
LONGEST = 254
# Between the strings of a text that somebody split, as zone files have it.
SPLIT = '" "'

Question = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """The sets that are there at the names that were asked for: (name, type) to (ttl, sorted
    values).

    `closed` are names that can hold no addresses here, with the reason: an alias, or delegated
    away. `aliases` are the targets of the aliases. `whole` says that the zone was transferred: what
    is not there then does not exist. `pointing` are records that may lean on names that FLEX moves;
    None where nobody looked for them, or could. `below_wildcards` are names that are not there, and
    for which a wildcard answers.
    """

    serial: int
    sets: Mapping[Question, tuple[int, tuple[str, ...]]]
    closed: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    pointing: tuple[PointingRecord, ...] | None = None
    below_wildcards: Mapping[str, BelowWildcard] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskedNames:
    """All that has to be known about names inside the zone, question by question: their addresses
    and their markers.

    They are made as they are asked for: a hundred thousand names take three hundred thousand of
    them.
    """

    zone: str
    names: Sequence[str]

    def __iter__(self) -> Iterator[Question]:
        for name in self.fit():
            yield name, "A"
            yield name, "AAAA"
            yield marker_name(name, self.zone), "TXT"

    def fit(self) -> list[str]:
        return [name for name in self.names if not unfit(self.zone, name)]


def unfit(zone: str, name: str) -> str:
    """Why the zone cannot hold this name; empty when it can."""
    if name != zone and not name.endswith(f".{zone}"):
        return f"lies outside {zone}"
    if name.endswith(f".{LABEL}.{zone}") or name == f"{LABEL}.{zone}":
        return "lies among FLEX's own markers"
    if not HOST_NAME.fullmatch(name):
        return "is not a host name of letters, digits and hyphens in lower case (A-labels)"
    if len(name) + len(LABEL) + 1 > LONGEST:
        return "is too long for a marker beside it"
    return ""


def owners(questions: Iterable[Question]) -> list[str]:
    """The names that are asked for, of which there can be two hundred thousand."""
    if not isinstance(questions, AskedNames):
        return [name for name, _ in questions]
    fit = questions.fit()
    return fit + [marker_name(name, questions.zone) for name in fit]


def canonical(kind: str, value: str) -> str:
    """One text for one address, so that equal sets compare equal."""
    return str(ipaddress.IPv6Address(value)) if kind == "AAAA" else value


def names_below(names: Iterable[str], ancestors: Set[str]) -> Iterator[tuple[str, str]]:
    """Each name that lies below one of the ancestors, with its closest."""
    for name in names if ancestors else ():
        closest = next((up for up in _names_above(name) if up in ancestors), None)
        if closest:
            yield name, closest


def names_at_or_below(names: Iterable[str], ancestors: Set[str]) -> Iterator[tuple[str, str]]:
    known = set(names) if ancestors else set()
    yield from names_below(known - ancestors, ancestors)
    yield from ((name, name) for name in known & ancestors)


def _names_above(name: str) -> Iterator[str]:
    while name:
        name = name.partition(".")[2]
        yield name


def why_not_ours(zone: str, name: str, owner: str, contents: Contents) -> str:
    """By what its marker says that the name is not ours; "" where it says so, or there is none.
    That the name is left alone, `exclusion_in` says.
    """
    marker = marker_name(name, zone)
    if marker in contents.closed:
        return f"cannot have a marker, as {marker} {contents.closed[marker]}"
    _, texts = contents.sets.get((marker, "TXT"), (0, ()))
    for text in texts:
        other = marker_owner(text)
        if other is None and exclusion_in([text]):
            continue
        if other is None:
            return f"holds a TXT record that is no marker at {marker}"
        if other != owner:
            return f'carries the marker of another owner "{printable(other)}"'
    return ""


def texts_of_marker(zone: str, name: str, contents: Contents) -> tuple[str, ...]:
    return contents.sets.get((marker_name(name, zone), "TXT"), (0, ()))[1]


def exclusion_in(texts: Iterable[str]) -> MarkedDecision | None:
    """Somebody's last word that FLEX leaves the name alone, among the texts of its marker, however
    they are split. A marker that somebody split is none: the name server compares it as it is.
    """
    decisions = (decision_in(EXCLUDED, text.replace(SPLIT, "")) for text in texts)
    return max(filter(None, decisions), key=lambda decision: decision.since, default=None)

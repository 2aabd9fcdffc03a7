"""A freeze, and sites that FLEX leaves alone, as TXT records among our markers.

Takes decisions. Returns the names and texts of their records, the way back from these, and whether
a database that was told less should believe one. Does not read or write a zone.

A freeze has a name of its own below `_flex`. That a site is left alone stands at its marker, beside
the owner where there is one. So whoever wants to change the site's records requires a marker that
is not there, and the name server refuses that, also for a FLEX that cannot read the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from flex.zones.marker import LABEL

# What the texts begin with.
EXCLUDED = "flex excluded"
FROZEN = "flex frozen"
# What the reason begins with by which such a site is left alone.
IS_EXCLUDED = "is excluded, as its marker "
# The reason where people have taken that back, or it has ended.
STILL_MARKED = (
    "is not excluded any more, but its marker still says so; `flex run` or `flex apply` takes "
    "that out, or says why it cannot"
)
# Bytes of one string of a TXT record (RFC 1035).
LONGEST = 255
# Bytes of an author's name. A guess: the reason should have the most room.
LONGEST_AUTHOR = 60
# Printable, and neither the sign of an escape nor what zone files quote or escape with.
_PLAIN = "".join(map(chr, range(33, 127))).translate({ord(one): None for one in '%"\\'})
_REASON = " reason="
# Of a text that says no time: any word of the database is a later one.
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MarkedDecision:
    """Who decided it, when and why, and when it ends, if it does."""

    since: datetime
    until: datetime | None = None
    author: str = ""
    reason: str = ""

    def holds(self, now: datetime) -> bool:
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class LastWords:
    """When people last said something of each site's wishes, and what time it is."""

    of_sites: Mapping[str, datetime] = field(default_factory=dict)
    now: datetime = _LONG_AGO

    def believe(self, site: str, decision: MarkedDecision) -> bool:
        """Whether a marker counts: the later word does, and a database that lost its own has
        none. A time that is still to come is no later word: nobody could ever take it back.
        """
        last = self.of_sites.get(site)
        is_later = last is None or last < decision.since <= self.now
        return decision.holds(self.now) and is_later


def freeze_name(zone: str) -> str:
    """Among our markers, where the key may write; no host name begins so."""
    return f"_freeze.{LABEL}.{zone}"


def decision_text(kind: str, decision: MarkedDecision) -> str:
    """At most 255 printable characters; what is left of the reason is its beginning."""
    parts = [kind, f"since={_time_text(decision.since)}"]
    if decision.until:
        parts.append(f"until={_time_text(decision.until)}")
    if decision.author:
        parts.append(f"by={_fitting(decision.author, LONGEST_AUTHOR, _PLAIN)}")
    text = " ".join(parts)
    reason = _fitting(decision.reason, LONGEST - len(text) - len(_REASON), f"{_PLAIN} ")
    return f"{text}{_REASON}{reason}" if reason else text


def decision_in(kind: str, text: str) -> MarkedDecision | None:
    """None for a text of another kind. What cannot be understood in one of this kind is left
    out: whoever wrote it wanted FLEX to stop. Author and reason are printable, and no longer than
    FLEX writes them.
    """
    if not text.startswith(kind):
        return None
    head, _, reason = text.partition(_REASON)
    if head != kind and not head.startswith(f"{kind} "):
        return None
    fields = dict(part.split("=", 1) for part in head[len(kind) :].split() if "=" in part)
    return MarkedDecision(
        _time_in(fields.get("since", "")) or _LONG_AGO,
        _time_in(fields.get("until", "")),
        printable(unquote(fields.get("by", "")[:LONGEST]))[:LONGEST_AUTHOR],
        printable(unquote(reason[:LONGEST])),
    )


def printable(text: str) -> str:
    """With a space for each character that a terminal or a database might take for something
    else: anybody may have written the record.
    """
    return "".join(character if character.isprintable() else " " for character in text)


def who_when_why(decision: MarkedDecision) -> str:
    """Who decided it, when and why, in brackets for a sentence; empty where nobody says so."""
    who = f"by {decision.author}" if decision.author else ""
    when = f"{decision.since:%Y-%m-%d %H:%M} UTC" if decision.since > _LONG_AGO else ""
    words = ", ".join(filter(None, (who, when, decision.reason)))
    return f" ({words})" if words else ""


def why_excluded(site: str, marker: str, decision: MarkedDecision) -> str:
    """The reason for which a site's name is not ours to change."""
    return (
        f"{IS_EXCLUDED}{marker} says{who_when_why(decision)}; `flex sites unpin {site}` takes it "
        "in again, after a `flex run` if it knows of no pin"
    )


def _time_text(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _time_in(text: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(text)
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _fitting(text: str, room: int, plain: str) -> str:
    """The longest beginning that fits once it is escaped, character by character."""
    characters: list[str] = []
    for character in text:
        escaped = quote(character, safe=plain, errors="replace")
        room -= len(escaped)
        if room < 0:
            break
        characters.append(escaped)
    return "".join(characters)

"""A pin: what a person wishes for one site, for always or for a while.

Holds the one description of a wish. A field of it says here what it is called, what it means when
nobody gives it, its bounds, and its words. The store makes its columns from that, the command line
its options, the API the bounds and texts of its models, the pages their form. Does not judge
whether a wish can be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class Words:
    """A field of a wish for people.

    `help` stands at its option, and in the API. `label` stands at its input in the form, and
    `empty` in it while it is empty. `phrase` says it in a sentence, with its value for the braces.
    `option` is for a field whose option has another name; a field without an option has "-".
    """

    help: str
    label: str
    phrase: str
    empty: str = "none"
    option: str = ""
    # What its names are names of.
    of: Literal["node", "site"] | None = None
    # The bounds of a number. The command line leaves `most` to the judge of the wish.
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """What a person wants for one site, from `since` to `until`.

    A wish of a `campaign` is on top of the permanent one. The fields that have words are what it
    asks for.
    """

    site: str
    nodes: tuple[str, ...] = field(
        default=(),
        metadata={
            "words": Words(
                help="must be on all of these nodes",
                label="On these nodes only",
                phrase="on {}",
                empty="any",
                of="node",
            )
        },
    )
    min_replicas: int = field(
        default=1,
        metadata={
            "words": Words(
                help="on at least this many nodes",
                label="On at least this many nodes",
                phrase="on at least {} nodes",
                empty="1",
                least=1,
                most=10_000,
            )
        },
    )
    until: datetime | None = None
    reason: str = ""
    author: str = ""
    max_replicas: int = field(
        default=0,
        metadata={
            "words": Words(
                help="on at most this many nodes; 0 means as many as the load needs",
                label="On at most this many",
                phrase="on at most {}",
                empty="as many as it takes",
                least=0,
                most=10_000,
            )
        },
    )
    not_on: tuple[str, ...] = field(
        default=(),
        metadata={
            "words": Words(
                help="must be on none of these nodes",
                label="Not on these nodes",
                phrase="not on {}",
                of="node",
            )
        },
    )
    together: tuple[str, ...] = field(
        default=(),
        metadata={
            "words": Words(
                help="on the same nodes as these sites",
                label="On the same nodes as these sites",
                phrase="together with {}",
                of="site",
            )
        },
    )
    apart: tuple[str, ...] = field(
        default=(),
        metadata={
            "words": Words(
                help="of this site and these sites, no two share a node",
                label="On no node of these sites",
                phrase="apart from {}",
                of="site",
            )
        },
    )
    since: datetime | None = None
    weight: float = field(
        default=1.0,
        metadata={
            "words": Words(
                help="multiply the load of the site by this number",
                label="Multiply its load by",
                phrase="counted {} times",
                empty="1",
                least=0.1,
                most=100,
            )
        },
    )
    sla: str = field(
        default="",
        metadata={
            "words": Words(
                help="the class of the site in [solver.classes]",
                label="Class with a promise",
                phrase="of the class {}",
                option="--class",
            )
        },
    )
    excluded: bool = field(
        default=False,
        metadata={
            "words": Words(
                help="leave it alone: its records stay, and it is in no partition",
                label="leave it alone altogether",
                phrase="left alone",
                # It has a verb of its own: `flex sites exclude`.
                option="-",
            )
        },
    )
    campaign: str = ""

    def holds(self, now: datetime) -> bool:
        return (self.since is None or self.since <= now) and (
            self.until is None or now < self.until
        )


FIELDS = tuple(one.name for one in fields(Pin))
# What a wish can ask for: the name of each field and its words, in the order of the options.
ASKS: Mapping[str, Words] = {
    one.name: one.metadata["words"] for one in fields(Pin) if "words" in one.metadata
}
# What each of these is where nobody asks for anything.
DEFAULTS: Mapping[str, object] = {one.name: one.default for one in fields(Pin) if one.name in ASKS}


def option(name: str) -> str:
    """What the command line calls a field of a wish; empty where it has no option."""
    given = ASKS[name].option
    return "" if given == "-" else given or f"--{name.replace('_', '-')}"

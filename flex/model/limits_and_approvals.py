"""What a plan may do without being asked about, what stopped it, and what people said of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Literal

# The rule that stops every plan while changes are frozen, as plans and `--force` have it.
FREEZE = "freeze"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plan may do without being asked about. Shares are ignored for clusters of few
    sites.
    """

    moved_sites: int = 25
    new_sites: int = 25
    drifted_names: int = 0
    rewritten_names: int = 25
    moved_share: float = 0.30
    share_from: int = 10
    cold_bytes: int = 4 * 2**30
    inflow: int = 10


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a plan breaks: which setting, what it allows, what the plan does."""

    rule: str
    limit: float
    actual: float

    def __str__(self) -> str:
        return f"{self.rule}: {self.actual:g} is over the limit of {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Stop:
    """A rule that kept sites from moving: which setting, what it asks for, what was found, in words
    and for people.

    `limit` and `actual` are as a person reads them. `override` says what gets past it, where that
    is another thing than naming the rule with --force. `sites` would move without it, and `until`
    says when the first of them may, where time alone lifts it.
    """

    rule: str
    limit: str
    actual: str
    said: str
    override: str = ""
    sites: tuple[str, ...] = ()
    until: datetime | None = None

    @property
    def way_past(self) -> str:
        return self.override or f"--force {self.rule}"

    @property
    def sentence(self) -> str:
        """With how to get past it."""
        return f"{self} (past it: {self.way_past})"

    def __str__(self) -> str:
        return f"{self.said}: {self.actual}; {self.rule} is {self.limit}"


def join_stops(stops: Iterable[Stop]) -> str:
    """In one line, each way past them once: several rules may take one command."""
    groups = groupby(stops, key=lambda stop: stop.way_past)
    return "; ".join(f"{'; '.join(map(str, each))} (past it: {way})" for way, each in groups)


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's yes or no to a plan as it is: its digest never changes. A yes may name rules to go
    over.
    """

    decision: Literal["approve", "reject"]
    author: str
    given: datetime
    reason: str = ""
    force: tuple[str, ...] = ()

"""What the name servers answered when they were last asked, and when that was, small enough to be
stored.

Takes verdicts. Returns a Check. It has the number of all lines that differ, and the first few of
them. Does not ask a name server.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from flex.model.name_server_verdict import NameServerVerdict
from flex.zones import zone_changes

# Lines that differ of which the text is kept, of each server. A guess: about a screen.
LINES = 30


@dataclass(frozen=True, slots=True)
class Answered:
    """What one name server answered of a zone; `differ` counts the lines that are other than they
    should be.

    What was kept by versions that did not write down the zone has none.
    """

    server: str
    checked: int
    serial: int | None = None
    differ: int = 0
    lines: tuple[str, ...] = ()
    error: str = ""
    lag: float = 0.0
    zone: str = ""

    @property
    def agrees(self) -> bool:
        return not self.error and not self.differ


@dataclass(frozen=True, slots=True)
class Check:
    asked: datetime
    partition: str
    servers: tuple[Answered, ...]

    @property
    def wrong(self) -> tuple[Answered, ...]:
        return tuple(server for server in self.servers if not server.agrees)


def check(moment: datetime, partition: str, verdicts: Iterable[NameServerVerdict]) -> Check:
    return Check(moment, partition, tuple(map(_answer_of, verdicts)))


def _answer_of(verdict: NameServerVerdict) -> Answered:
    lines = [line for change in verdict.wrong for line in zone_changes.lines_of_difference(change)]
    return Answered(
        verdict.server,
        verdict.checked,
        verdict.serial,
        len(lines),
        tuple(lines[:LINES]),
        verdict.error,
        verdict.lag,
        verdict.zone,
    )

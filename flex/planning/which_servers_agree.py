"""Which name servers agree with a plan, and which are only behind.

Takes the Verdicts of name servers, zone by zone. Returns how many servers agree, and those that
have an older serial than another one. Does not ask them: verify_dns.py does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol


class VerdictOrRow(Protocol):
    """A verdict, or the row of one."""

    @property
    def server(self) -> str: ...
    @property
    def zone(self) -> str: ...
    @property
    def serial(self) -> int | None: ...
    @property
    def checked(self) -> int: ...
    @property
    def agrees(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Servers:
    """Name servers, each counted once, however many zones it was asked about.

    A server agrees that does so in all of its zones.
    """

    agreeing: int
    asked: int
    zones: int


def servers(verdicts: Iterable[VerdictOrRow]) -> Servers:
    """Where a server had nothing to check in a zone, it said nothing of that zone."""
    telling = [verdict for verdict in verdicts if verdict.checked or not verdict.agrees]
    server_names = {verdict.server for verdict in telling}
    wrong = {verdict.server for verdict in telling if not verdict.agrees}
    return Servers(
        len(server_names - wrong), len(server_names), len({verdict.zone for verdict in telling})
    )


@dataclass(frozen=True, slots=True)
class Behind:
    """A server that has an older serial of a zone than another one."""

    server: str
    zone: str
    serial: int
    latest: int

    @property
    def advice(self) -> str:
        refresh = f"run `rndc refresh {self.zone.rstrip('.')}` on {self.server}"
        return f"it is behind, as another server has serial {self.latest}: {refresh}"


def servers_behind(verdicts: Sequence[VerdictOrRow]) -> dict[tuple[str, str], Behind]:
    """By server and zone, those that do not agree and have an old serial."""
    latest: dict[str, int] = {}
    for verdict in verdicts:
        if verdict.serial is not None and is_since(
            verdict.serial, latest.get(verdict.zone, verdict.serial)
        ):
            latest[verdict.zone] = verdict.serial
    return {
        (verdict.server, verdict.zone): Behind(
            verdict.server, verdict.zone, verdict.serial, latest[verdict.zone]
        )
        for verdict in verdicts
        if not verdict.agrees
        and verdict.serial is not None
        and verdict.serial != latest[verdict.zone]
    }


def is_since(serial: int, earlier: int) -> bool:
    """Serials run in a circle (RFC 1982): half of them are later than any given one."""
    return (serial - earlier) % 2**32 < 2**31

"""The verdict on one name server: whether it answers what a plan wrote."""

from __future__ import annotations

from dataclasses import dataclass

from flex.model.zone_plan import Change


@dataclass(frozen=True, slots=True)
class NameServerVerdict:
    """What one name server answered for the names of a zone that were checked; `lag` is the seconds
    until it agreed.
    """

    server: str
    checked: int
    serial: int | None = None
    wrong: tuple[Change, ...] = ()
    error: str = ""
    lag: float = 0.0
    zone: str = ""

    @property
    def agrees(self) -> bool:
        return not self.error and not self.wrong

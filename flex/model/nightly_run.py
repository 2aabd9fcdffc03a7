"""A nightly run: who ran it, which stages it went through, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a nightly run, as the run's record keeps it."""

    name: str
    started: datetime
    ended: datetime | None = None
    outcome: str = ""


# What the message of a run begins with that a timer or the health watch began.
NIGHTLY, WATCH = "nightly", "health watch"


@dataclass(frozen=True, slots=True)
class NightlyRun:
    """One night: who ran it, how far it came, how it ended. `made` is when it began by the clock,
    where it is as of another time.
    """

    id: str
    holder: str
    started: datetime
    ended: datetime | None = None
    exit_code: int | None = None
    plan: str = ""
    message: str = ""
    stages: tuple[Stage, ...] = field(default=())
    made: datetime | None = None

    @property
    def wall_time(self) -> datetime:
        """When it began, whatever time it is as of."""
        return self.made or self.started

    @property
    def wall_end(self) -> datetime | None:
        return self.ended and self.ended + (self.wall_time - self.started)

    @property
    def is_ordered(self) -> bool:
        """Whether a person did, who is told how it ends."""
        return not self.message.startswith((NIGHTLY, WATCH))

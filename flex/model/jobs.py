"""Work that takes longer than an answer may: what was asked, how far it is, what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

JobState = Literal["running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Job:
    """`holder` is the process that does it, `seen` when that last said so, `stage` what it said
    last.

    `result` is the address of what came of it. `cancelled_by` is whoever asked for its end; it ends
    at the next safe point, if one is still to come. `problem` is JSON, as the API would have
    answered.
    """

    id: str
    kind: str
    author: str
    holder: str
    created: datetime
    state: JobState = "running"
    stage: str = ""
    done: int = 0
    size: int = 0
    ended: datetime | None = None
    result: str = ""
    problem: str = ""
    cancelled_by: str = ""
    past_return: bool = False
    seen: datetime | None = None

    @property
    def live(self) -> bool:
        return self.state == "running"

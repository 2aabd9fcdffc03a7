"""What people order of the cluster itself: nodes in and out of service, and a stop to all automatic
changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

OrderState = Literal["active", "draining", "down", "removed"]


@dataclass(frozen=True, slots=True)
class NodeOrder:
    """The state that somebody put a node into. A draining one should be empty by the deadline,
    where there is one. Of one that is down all sites go to other nodes, also `without_content`,
    where somebody said so.
    """

    node: str
    state: OrderState
    given: datetime | None = None
    deadline: datetime | None = None
    reason: str = ""
    author: str = ""
    without_content: bool = False


@dataclass(frozen=True, slots=True)
class Freeze:
    """Nothing is applied by itself from `since` until the end, or until somebody thaws it."""

    since: datetime
    until: datetime | None = None
    reason: str = ""
    author: str = ""

    def holds(self, now: datetime) -> bool:
        return self.since <= now and (self.until is None or now < self.until)

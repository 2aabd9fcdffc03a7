"""Who we say we are: what every message requires to be so beside what it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Claim:
    """Names must carry the marker of `owner`, zones be held by `controller` (fence.py); empty ones
    ask for nothing.

    `held` has the controller with the epoch of each zone in which one was begun.
    """

    owner: str = ""
    controller: str = ""
    held: Mapping[str, str] = field(default_factory=dict)

    def holder(self, zone: str) -> str:
        return self.held.get(zone, self.controller)


NOBODY = Claim()

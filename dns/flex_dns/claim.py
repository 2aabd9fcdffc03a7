"""Who we say we are: what every message requires to be so beside what it changes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """Names must carry the marker of `owner`, zones be held by `controller` (fence.py); empty ones ask for nothing."""

    owner: str = ""
    controller: str = ""


NOBODY = Claim()

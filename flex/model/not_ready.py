"""A site that stays where it is, as its new node is not ready for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotReady:
    """`why` says what was asked of which node, and what came back."""

    site: str
    why: str

"""A pin: what a person wishes for one site, for always or for a while."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Pin:
    """What a person wants for one site, from `since` to `until`; `max_replicas` of 0 is as many as
    it takes.

    It shares all nodes with the sites it is `together` with, no node with those of `apart`. It
    counts `weight` times as large, as one of class `sla`; an `excluded` site is left alone. That of
    a `campaign` is on top of the standing one.
    """

    site: str
    nodes: tuple[str, ...] = ()
    min_replicas: int = 1
    until: datetime | None = None
    reason: str = ""
    author: str = ""
    not_on: tuple[str, ...] = ()
    max_replicas: int = 0
    together: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    since: datetime | None = None
    weight: float = 1.0
    sla: str = ""
    excluded: bool = False
    campaign: str = ""

    def holds(self, now: datetime) -> bool:
        return (self.since is None or self.since <= now) and (
            self.until is None or now < self.until
        )

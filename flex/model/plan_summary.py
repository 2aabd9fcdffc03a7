"""What a list shows of a cycle: its figures, without the changes, which may be a hundred thousand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flex.model.domain import Cycle, CycleState


@dataclass(frozen=True, slots=True)
class Headline:
    id: str
    created: datetime
    state: CycleState
    digest: str
    base: str
    settled: datetime | None
    sites: int
    moves: int
    scratch_moves: int
    worst: float
    author: str


def headline(cycle: Cycle) -> Headline:
    return Headline(
        id=cycle.id,
        created=cycle.created,
        state=cycle.state,
        digest=cycle.digest,
        base=cycle.base,
        settled=cycle.settled,
        sites=cycle.sites,
        moves=len(cycle.moves),
        scratch_moves=cycle.scratch_moves,
        worst=cycle.after.worst,
        author=cycle.author,
    )

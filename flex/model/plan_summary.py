"""What a list shows of a plan: its figures, without the changes, which may be a hundred
thousand.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flex.model.plan import Plan, PlanState


@dataclass(frozen=True, slots=True)
class Headline:
    id: str
    created: datetime
    state: PlanState
    digest: str
    base: str
    settled: datetime | None
    sites: int
    moves: int
    scratch_moves: int
    worst: float
    author: str
    made: datetime | None

    @property
    def wall_time(self) -> datetime:
        """When it was made, whatever time it is as of."""
        return self.made or self.created


def headline(plan: Plan) -> Headline:
    return Headline(
        id=plan.id,
        created=plan.created,
        state=plan.state,
        digest=plan.digest,
        base=plan.base,
        settled=plan.settled,
        sites=plan.sites,
        moves=len(plan.moves),
        scratch_moves=plan.scratch_moves,
        worst=plan.after.worst,
        author=plan.author,
        made=plan.made,
    )

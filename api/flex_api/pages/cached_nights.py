"""Moves and predictions of earlier nights, small enough to keep in memory.

Takes the views of a desk. Returns rows. Does not keep plans, which are large: it reads them once
after each change.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pandas as pd

from flex.model.plan import Plan
from flex_api.web.request_context import Desk

# Applied plans that are read, the newest: about two months of nights. A guess.
MOST = 60
# How many periods small curves show, and growth is told from.
PERIODS = 14
# A first night moves everything, and nobody looks for a move in that.
MOST_MOVES = 2_000


@dataclass(frozen=True, slots=True)
class Past:
    """One night that changed the partition. `error` is how far the prediction before it was off."""

    plan: str
    settled: datetime
    before: float | None
    after: float
    moves: tuple[tuple[str, str, str], ...]
    error: float | None
    predicted: tuple[tuple[str, float, float], ...]

    @property
    def rows_moved(self) -> int:
        """Rows that left a node for another; a site that is placed for the first time leaves
        none.
        """
        return sum(1 for _, source, target in self.moves if source and target)


def past(desk: Desk) -> tuple[Past, ...]:
    """The newest first."""
    return desk.views.get_or_make("past", lambda: _past(desk))


def sent_lately(desk: Desk) -> pd.DataFrame | None:
    """What each site sent in the last periods, a column each; None while it is being read: of many
    it takes a while.
    """
    store, period = desk.house.store, desk.views.catalogue().period
    if period is None:
        return pd.DataFrame()
    return desk.house.later.ask(
        "sent in the last periods", lambda: store.bytes_sent(period, PERIODS)
    )


def _past(desk: Desk) -> tuple[Past, ...]:
    return tuple(
        _row(plan) for plan in desk.house.store.plans(MOST, state="applied") if plan.settled
    )


def _row(plan: Plan) -> Past:
    assert plan.settled is not None, "it was looked at before"
    measured = plan.measured
    return Past(
        plan=plan.id,
        settled=plan.settled,
        before=plan.before.worst if plan.before else None,
        after=plan.after.worst,
        moves=tuple(
            (move.site, move.source or "", move.target or "") for move in plan.moves[:MOST_MOVES]
        ),
        error=measured.error if measured else None,
        predicted=measured.nodes if measured else (),
    )


def moves_of_site(
    nights: tuple[Past, ...], site: str
) -> tuple[tuple[datetime, str, str, str], ...]:
    """When it moved, from where, to where, and by which plan."""
    return tuple(
        (night.settled, source, target, night.plan)
        for night in nights
        for name, source, target in night.moves
        if name == site
    )

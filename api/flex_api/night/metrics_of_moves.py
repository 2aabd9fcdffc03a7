"""Metrics of sites on their way.

Takes a store and the time. Returns series. What was run is counted for moves that began within the
last 24 hours or are not over, so that these figures go down again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import get_args

from flex.model.site_moves import MoveCounts, State
from flex.store import Store
from flex_api.night.prometheus_metrics import Labels, Series

# A night and the day after it.
LATELY = timedelta(days=1)


def series(store: Store, now: datetime) -> list[Series]:
    counts = store.count_site_moves(now - LATELY)
    resting = {move.site for move in store.site_moves(resting_at=now)}
    return list(_series(counts, len(resting), now))


def _series(counts: MoveCounts, resting: int, now: datetime) -> Iterator[Series]:
    states: tuple[State, ...] = get_args(State)
    yield Series(
        "flex_moves",
        "gauge",
        "Moves of sites that are kept, by state.",
        [({"state": state}, counts.states.get(state, 0)) for state in states],
    )
    yield Series(
        "flex_move_oldest_open_age_seconds",
        "gauge",
        "How long the oldest move that is not over is in its way, by state.",
        [
            ({"state": state}, (now - began).total_seconds())
            for state, began in counts.oldest.items()
        ],
    )
    none: Labels = {}
    yield Series(
        "flex_move_resting_sites",
        "gauge",
        "Sites that are not moved for now, as their last move failed.",
        [(none, resting)],
    )
    for name, about, of_stage in (
        ("flex_move_retries", "Tries after the first, by stage.", counts.again),
        ("flex_move_failed_stages", "Stages that failed, by stage.", counts.failed),
    ):
        told: list[tuple[Labels, float]] = [
            ({"stage": stage}, number) for stage, number in of_stage.items()
        ]
        yield Series(
            name,
            "gauge",
            f"{about} Of moves of the last 24 hours and those that are not over.",
            told,
        )
    waited = counts.waited
    quantiles: list[tuple[Labels, float]] = [
        ({"quantile": f"{part:g}"}, waited[min(int(len(waited) * part), len(waited) - 1)])
        for part in (0.5, 0.99, 1.0)
        if waited
    ]
    yield Series(
        "flex_move_waited_seconds",
        "gauge",
        "For how long requests waited at doors in a move of the last 24 hours, or one not over.",
        quantiles,
    )

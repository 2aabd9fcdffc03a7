"""How much is asked for in each hour of the day and of the week, on the mean of the days that logs
are of.

Takes a store and a period. Returns means. Does not read logs: their counts are in the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from flex.model.period import Period
from flex.store import Store

DAY, WEEK = 24, 7 * 24
Hours = npt.NDArray[np.int64]
Means = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HoursInLogs:
    """Hours since 1970. `covered` are those of days with answers of any node, from the first
    answer to the last; `answers` are those of each node, by hour.
    """

    covered: Hours
    answers: Mapping[str, tuple[Hours, Means]]

    @property
    def days(self) -> Period | None:
        """From the first day with answers to the last; None where no line is of the period."""
        if not len(self.covered):
            return None
        first, last = (int(self.covered[place]) // DAY for place in (0, -1))
        start, end = (datetime.fromtimestamp(day * DAY * 3600, UTC) for day in (first, last + 1))
        return Period(start, end)

    def means_by_hour_of_day(self) -> dict[str, tuple[float, ...]]:
        """The mean of each node in each hour of the day, UTC."""
        return {
            node: tuple(_mean(hours, numbers, self._days_of(hours), DAY).tolist())
            for node, (hours, numbers) in self.answers.items()
        }

    def means_by_hour_of_week(self) -> dict[str, Means]:
        """The mean of each node in each hour since Monday, UTC."""
        return {
            node: _mean(
                _hours_since_monday(hours), numbers, _hours_since_monday(self._days_of(hours)), WEEK
            )
            for node, (hours, numbers) in self.answers.items()
        }

    def _days_of(self, hours: Hours) -> Hours:
        """Those of the days with any of these hours: a node may be newer than others."""
        return self.covered[np.isin(self.covered // DAY, hours // DAY)]

    def mean_of_week(self, hours: Hours, numbers: npt.ArrayLike) -> Means:
        """The same of numbers that are of all these days."""
        return _mean(_hours_since_monday(hours), numbers, _hours_since_monday(self.covered), WEEK)


def hours_in_logs(store: Store, period: Period) -> HoursInLogs:
    by_node: dict[str, dict[int, int]] = {}
    for node, hour, answers in _answers(store, period):
        of_node = by_node.setdefault(node, {})
        of_node[hour] = of_node.get(hour, 0) + answers
    every = np.unique(np.array([hour for each in by_node.values() for hour in each], int))
    days = np.unique(every // DAY)
    covered = (days[:, None] * DAY + np.arange(DAY)).ravel()
    if len(every):
        covered = covered[(covered >= every[0]) & (covered <= every[-1])]
    return HoursInLogs(
        covered,
        {
            node: (np.array(list(each), int), np.array(list(each.values()), float))
            for node, each in sorted(by_node.items())
        },
    )


def _answers(store: Store, period: Period) -> Iterator[tuple[str, int, int]]:
    for segment in store.segments(period.first_day, period.last_day):
        for hour, answers in segment.hours:
            if answers and period.first_day <= hour // DAY <= period.last_day:
                yield segment.node, hour, answers


def _mean(hours: Hours, numbers: npt.ArrayLike, covered: Hours, turn: int) -> Means:
    sums = np.bincount(hours % turn, weights=numbers, minlength=turn)
    times = np.bincount(covered % turn, minlength=turn)
    return sums / np.maximum(times, 1)


def _hours_since_monday(hours: Hours) -> Hours:
    """1 January 1970 was a Thursday."""
    return hours + 3 * DAY

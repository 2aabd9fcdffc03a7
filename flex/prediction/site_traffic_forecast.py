"""What sites will ask for in the next night, from what they asked for in the nights before, and how
reliable that forecast is.

Takes the bytes that each site sent in consecutive periods, the latest one last. Returns what is
expected of the next period, by the method that would have been best in the known nights. Does not
leave yesterday's figures for another method unless that method is clearly better on this very
cluster.

A night of which nothing is known keeps its place, so that the others keep their days of the week.
It is left out of everything else. The last night is always known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from flex.model.accuracy import Outlook
from flex.placing.problem import Bools, Floats, Ints

YESTERDAY = "yesterday"
# Nights.
WEEK = 7
# In fewer nights no pattern of the week can be told from chance.
LEAST = 2 * WEEK
# So many nights are predicted from those before them, and compared with what they were.
TESTED = 7
# Another method must be off by so much less, as a part of what yesterday's figures are off by.
BETTER = 0.05
# A prediction is at most so many times as much as a site asked for on the last night or on two of
# the last fortnight, and at least as much less: one bad night must not move a cluster, and a site
# that rests on Sundays comes back. For a night that is not known the one before it on its day of
# the week counts.
FARTHEST = 2.0
# The growth of sites that get less than this share of the whole is noise.
FEW = 0.001

Method = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Surge:
    """A site that grew to `times` what it asked for in the nights before, on the mean."""

    site: str
    times: float


def yesterday(past: Floats) -> Floats:
    last: Floats = past[-1]
    return last


def weighted_mean(past: Floats) -> Floats:
    """The mean of all nights, of which each weighs half of the one two nights after it."""
    known = known_nights(past)
    weight = 0.5 ** (np.arange(len(past))[::-1] / 2)[known]
    mean: Floats = (past[known] * weight[:, None]).sum(axis=0) / weight.sum()
    return mean


def weekday(past: Floats) -> Floats:
    """A week ago, as much larger or smaller as this week was than the one before; where nothing is
    known of that night, two weeks ago with the growth of both, or else yesterday.
    """
    known = known_nights(past)
    both = known[-WEEK:] & known[-2 * WEEK : -WEEK]
    this = past[-WEEK:][both].sum(axis=0)
    before = past[-2 * WEEK : -WEEK][both].sum(axis=0)
    grown = np.clip(np.divide(this, before, out=np.ones_like(this), where=before > 0), 0.5, 2.0)
    if not known[-WEEK] and not known[-2 * WEEK]:
        return yesterday(past)
    expected: Floats = past[-WEEK] * grown if known[-WEEK] else past[-2 * WEEK] * grown**2
    return expected


def trend(past: Floats) -> Floats:
    """Yesterday and half of a night's growth along the straight line through a week."""
    known = known_nights(past)[-WEEK:]
    nights = np.flatnonzero(known) - np.flatnonzero(known).mean()
    slope = (past[-WEEK:][known] * nights[:, None]).sum(axis=0) / max(float((nights**2).sum()), 1.0)
    expected: Floats = np.maximum(past[-1] + slope / 2, 0.0)
    return expected


METHODS: dict[str, Method] = {
    YESTERDAY: yesterday,
    "faded": weighted_mean,
    "weekday": weekday,
    "trend": trend,
}


def outlook(past: pd.DataFrame) -> tuple[Outlook, pd.Series]:
    """The backtest, and what each site is expected to ask for.

    `past` has a row for each site and a column for each period, of which all or nothing is known.
    What was tested is what is expected: the same bounds hold for both.
    """
    nights = past.to_numpy(dtype=np.float64).T
    known = int(known_nights(nights).sum())
    if not predictable_nights(nights):
        return Outlook(YESTERDAY, (), known), past.iloc[:, -1].astype(np.float64)
    errors = backtest(nights)
    best = min(errors, key=lambda name: errors[name])
    method = best if errors[best] <= (1 - BETTER) * errors[YESTERDAY] else YESTERDAY
    return Outlook(method, tuple(errors.items()), known), pd.Series(
        next_night_by_method(nights)[method], index=past.index
    )


def known_nights(past: Floats) -> Bools:
    """For each night whether anything is known of it."""
    return np.asarray(np.isfinite(past).all(axis=1))


def next_night_by_method(past: Floats) -> dict[str, Floats]:
    """By method: the next night, within what a site has shown that it may ask for."""
    least, most = bounds(past)
    return {name: np.clip(method(past), least, most) for name, method in METHODS.items()}


def bounds(past: Floats) -> tuple[Floats, Floats]:
    """The least and the most that each site may be expected to ask for; the last night is always
    between them.
    """
    twice = np.partition(past[_fortnight(known_nights(past))], (1, -2), axis=0)
    return np.minimum(twice[1], past[-1]) / FARTHEST, np.maximum(twice[-2], past[-1]) * FARTHEST


def _fortnight(known: Bools) -> list[int]:
    """The last two nights known of each day of the week."""
    last: dict[int, list[int]] = {}
    for night in np.flatnonzero(known)[::-1].tolist():
        last.setdefault(night % WEEK, []).append(night)
    return [night for of_day in last.values() for night in of_day[:2]]


def predictable_nights(nights: Floats) -> list[int]:
    """The last nights that can be predicted: enough is known before them, the night before them
    first of all.
    """
    known = known_nights(nights)
    before: Ints = np.cumsum(known) - known
    last_nights: list[int] = np.flatnonzero(known & np.roll(known, 1) & (before >= LEAST))[
        -TESTED:
    ].tolist()
    return last_nights


def backtest(nights: Floats) -> dict[str, float]:
    """By method: how far off the last nights would have been predicted, as a ratio of all that was
    asked for.
    """
    those = predictable_nights(nights)
    total = sum(float(nights[night].sum()) for night in those) or 1.0
    off = dict.fromkeys(METHODS, 0.0)
    for night in those:
        for name, foretold in next_night_by_method(nights[:night]).items():
            off[name] += float(np.abs(foretold - nights[night]).sum())
    return {name: error / total for name, error in off.items()}


def surges(past: pd.DataFrame, times: float) -> tuple[Surge, ...]:
    """The sites that grew so many times beyond the mean of the nights before; the largest first."""
    if past.shape[1] < 2:
        return ()
    last, before = past.iloc[:, -1], past.iloc[:, :-1].mean(axis=1)
    grown = (last > times * before) & (last > FEW * last.sum()) & (before > 0)
    growths = [Surge(str(site), float(last[site] / before[site])) for site in past.index[grown]]
    return tuple(sorted(growths, key=lambda surge: (-surge.times, surge.site)))


def sentences(outlook: Outlook, grown: Sequence[Surge]) -> tuple[str, ...]:
    """For people: which method, and how good it would have been; who surged."""
    notes = []
    errors = dict(outlook.errors)
    if outlook.method != YESTERDAY:
        notes.append(
            f"planned for what the next day is expected to be, by {outlook.method}: "
            "over the last nights that was off by "
            f"{errors[outlook.method]:.1%}, yesterday's figures by {errors[YESTERDAY]:.1%}"
        )
    if grown:
        named = ", ".join(f"{surge.site} ({surge.times:.1f} times)" for surge in grown[:5])
        more = f" and {len(grown) - 5} more" if len(grown) > 5 else ""
        notes.append(f"grown far beyond the nights before: {named}{more}")
    return tuple(notes)

"""What sites will ask for next, from what they asked for in the nights before: and whether saying so is any good.

In go the bytes sent per site in consecutive periods, the last one last; out comes what is expected of the next one, by
the method that would have been best in the nights that are known. Yesterday's figures are a method, too, and stay the
answer until another one is clearly better on this very cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from flex.domain import Outlook
from flex.problem import Floats

YESTERDAY = "yesterday"
WEEK = 7
# Of fewer nights no pattern of the week can be told from chance.
LEAST = 2 * WEEK
# So many nights are predicted from those before them, and compared with what they were.
TESTED = 7
# Another method must be off by so much less, as a part of what yesterday's figures are off by.
BETTER = 0.05
# A prediction is at most so many times as much as a site asked for on the last night or on two of the last fortnight,
# and at least as much less: one bad night must not move a cluster, and a site that rests on Sundays comes back.
FARTHEST = 2.0
# Of sites that get less than this share of the whole, growth is noise.
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


def faded(past: Floats) -> Floats:
    """The mean of all nights, of which each weighs half of the one two nights after it."""
    weight = 0.5 ** (np.arange(len(past))[::-1] / 2)
    mean: Floats = (past * weight[:, None]).sum(axis=0) / weight.sum()
    return mean


def weekday(past: Floats) -> Floats:
    """A week ago, as much larger or smaller as this week was than the one before."""
    this, before = past[-WEEK:].sum(axis=0), past[-2 * WEEK : -WEEK].sum(axis=0)
    grown = np.clip(np.divide(this, before, out=np.ones_like(this), where=before > 0), 0.5, 2.0)
    expected: Floats = past[-WEEK] * grown
    return expected


def trend(past: Floats) -> Floats:
    """Yesterday and half of a night's growth along the straight line through a week."""
    nights = np.arange(WEEK) - (WEEK - 1) / 2
    slope = (past[-WEEK:] * nights[:, None]).sum(axis=0) / (nights**2).sum()
    expected: Floats = np.maximum(past[-1] + slope / 2, 0.0)
    return expected


METHODS: dict[str, Method] = {YESTERDAY: yesterday, "faded": faded, "weekday": weekday, "trend": trend}


def outlook(past: pd.DataFrame) -> tuple[Outlook, pd.Series]:
    """The backtest, and what each site is expected to ask for.

    `past` has a row for each site and a column for each period. What was tested is what is expected: the same bounds
    hold for both.
    """
    nights = past.to_numpy(dtype=np.float64).T
    if len(nights) < LEAST + 1:
        return Outlook(YESTERDAY, (), len(nights)), past.iloc[:, -1].astype(np.float64)
    errors = backtest(nights)
    best = min(errors, key=lambda name: errors[name])
    method = best if errors[best] <= (1 - BETTER) * errors[YESTERDAY] else YESTERDAY
    return Outlook(method, tuple(errors.items()), len(nights)), pd.Series(expected(nights)[method], index=past.index)


def expected(past: Floats) -> dict[str, Floats]:
    """By method: the next night, within what a site has shown that it may ask for."""
    least, most = bounds(past)
    return {name: np.clip(method(past), least, most) for name, method in METHODS.items()}


def bounds(past: Floats) -> tuple[Floats, Floats]:
    """The least and the most that each site may be expected to ask for; the last night is always between them."""
    twice = np.partition(past[-LEAST:], (1, -2), axis=0)
    return np.minimum(twice[1], past[-1]) / FARTHEST, np.maximum(twice[-2], past[-1]) * FARTHEST


def backtest(nights: Floats) -> dict[str, float]:
    """By method: how far off the last nights would have been predicted, as a ratio of all that was asked for."""
    tested = range(max(LEAST, len(nights) - TESTED), len(nights))
    asked = sum(float(nights[night].sum()) for night in tested) or 1.0
    off = dict.fromkeys(METHODS, 0.0)
    for night in tested:
        for name, foretold in expected(nights[:night]).items():
            off[name] += float(np.abs(foretold - nights[night]).sum())
    return {name: error / asked for name, error in off.items()}


def surges(past: pd.DataFrame, times: float) -> tuple[Surge, ...]:
    """The sites that grew so many times beyond the mean of the nights before; the largest first."""
    if past.shape[1] < 2:
        return ()
    last, before = past.iloc[:, -1], past.iloc[:, :-1].mean(axis=1)
    grown = (last > times * before) & (last > FEW * last.sum()) & (before > 0)
    found = [Surge(str(site), float(last[site] / before[site])) for site in past.index[grown]]
    return tuple(sorted(found, key=lambda surge: (-surge.times, surge.site)))


def said(found: Outlook, grown: Sequence[Surge]) -> tuple[str, ...]:
    """For people: which method, and how good it would have been; who surged."""
    notes = []
    errors = dict(found.errors)
    if found.method != YESTERDAY:
        notes.append(
            f"planned for what the next day is expected to be, by {found.method}: over the last nights that was off by "
            f"{errors[found.method]:.1%}, yesterday's figures by {errors[YESTERDAY]:.1%}"
        )
    if grown:
        named = ", ".join(f"{surge.site} ({surge.times:.1f} times)" for surge in grown[:5])
        more = f" and {len(grown) - 5} more" if len(grown) > 5 else ""
        notes.append(f"grown far beyond the nights before: {named}{more}")
    return tuple(notes)

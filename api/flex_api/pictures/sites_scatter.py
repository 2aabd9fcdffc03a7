"""A picture of all sites by working set and access rate, however many there are.

Takes columns of numbers. Returns a Scatter. A few sites are a point each, with their names. Many
sites are counted by cells: the area of a circle says how many sites are in its cell. Does not work
site by site where there are many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flex.placing.problem import Ints
from flex_api.in_words import amounts, text_safe_for_html
from flex_api.pictures.chart_geometry import Extent, Point, Scatter, Tick

# Points that are drawn one by one; more are counted in cells. A guess.
FEW = 600
# Cells of the picture from left to right. A guess: with UP, about square ones on a screen.
ACROSS = 56
# Cells of the picture from bottom to top. A guess.
UP = 28


@dataclass(frozen=True, slots=True)
class Span:
    """A logarithmic axis over whole powers of ten."""

    low: int
    high: int

    @classmethod
    def from_values(cls, values: np.ndarray) -> Span:
        if not len(values):
            return cls(0, 1)
        low = math.floor(math.log10(values.min()))
        high = math.ceil(math.log10(values.max()))
        return cls(low, max(high, low + 1))

    def extent(self, name: str) -> Extent:
        return Extent(self.low, self.high, "bytes", name, log=True)

    def place(self, values: np.ndarray) -> np.ndarray:
        placed: np.ndarray = (np.log10(values) - self.low) / (self.high - self.low) * 100
        return placed

    def percent_along(self, value: float) -> float:
        return (math.log10(value) - self.low) / (self.high - self.low) * 100

    def ticks(self) -> tuple[Tick, ...]:
        every = 1 if self.high - self.low <= 6 else 2
        powers = range(self.low, self.high + 1, every)
        return tuple(
            Tick(self.percent_along(10.0**power), amounts.size(10.0**power).replace(".0 ", " "))
            for power in powers
        )


def cloud(
    title: str, names: np.ndarray, held: Ints, sent: Ints, share: tuple[float, float], marked: Ints
) -> Scatter:
    """`share` is what one mean node can take of either; `marked` are the rows that get a ring and a
    name.
    """
    seen = np.flatnonzero((held > 0) & (sent > 0))
    across = Span.from_values(np.append(held[seen], share[0] or 1.0))
    up = Span.from_values(np.append(sent[seen], share[1] or 1.0))
    x, y = across.place(held[seen]), 100 - up.place(sent[seen])
    grouped = len(seen) > FEW
    rings = np.flatnonzero(np.isin(seen, marked[:FEW]))
    points = (
        _circles(x, y)
        if grouped
        else [_point_with_name(names[row], x[at], y[at]) for at, row in enumerate(seen)]
    )
    ringed = [_point_with_name(names[seen[at]], x[at], y[at], ring=True) for at in rings]
    return Scatter(
        title=title,
        desc=f"{amounts.count(len(seen), 'site')}; working set to the right, bytes sent "
        "upwards, both logarithmic.",
        points=(*points, *ringed),
        across=across.ticks(),
        up=tuple(Tick(100 - tick.at, tick.text) for tick in up.ticks()),
        fair=(across.percent_along(share[0]), 100 - up.percent_along(share[1]))
        if min(share) > 0
        else None,
        left_out=len(names) - len(seen),
        grouped=grouped,
        extents=(across.extent("working set"), up.extent("bytes sent in the period")),
    )


def _point_with_name(name: str, x: float, y: float, *, ring: bool = False) -> Point:
    return Point(float(x), float(y), 3.0, text_safe_for_html.short(str(name)), ring)


def _circles(x: np.ndarray, y: np.ndarray) -> list[Point]:
    """One for each cell of the plot that has any sites."""
    column = np.clip((x * ACROSS / 100).astype(np.int64), 0, ACROSS - 1)
    row = np.clip((y * UP / 100).astype(np.int64), 0, UP - 1)
    counts = np.bincount(row * ACROSS + column, minlength=ACROSS * UP)
    most = counts.max()
    return [
        Point(
            (cell % ACROSS + 0.5) * 100 / ACROSS,
            (cell // ACROSS + 0.5) * 100 / UP,
            1.2 + 6.5 * math.sqrt(counts[cell] / most),
            amounts.count(int(counts[cell]), "site"),
        )
        for cell in np.flatnonzero(counts).tolist()
    ]


def decades(held: Ints, sent: Ints) -> tuple[tuple[str, int, float, float], ...]:
    """The table behind it: working sets of a size, how many sites have one, their shares of bytes
    and of sets.
    """
    digits = np.where(held > 0, np.floor(np.log10(np.maximum(held, 1))).astype(np.int64) + 1, 0)
    total_sent, total_held = max(int(sent.sum()), 1), max(int(held.sum()), 1)
    table = []
    for power in np.unique(digits).tolist():
        rows = digits == power
        name = (
            f"{amounts.size(10 ** (power - 1))} to {amounts.size(10**power)}" if power else "none"
        )
        table.append(
            (
                name,
                int(rows.sum()),
                int(sent[rows].sum()) / total_sent,
                int(held[rows].sum()) / total_held,
            )
        )
    return tuple(table)

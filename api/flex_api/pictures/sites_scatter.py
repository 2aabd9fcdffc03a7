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
from flex_api.pictures.chart_geometry import Tick

# Points that are drawn one by one; more are counted in cells. A guess.
FEW = 600
# Cells of the picture from left to right. A guess: with UP, about square ones on a screen.
ACROSS = 56
# Cells of the picture from bottom to top. A guess.
UP = 28
# Ticks of an axis at most. Chosen by eye.
TICKS = 7
# What a power of ten is multiplied with for ticks: the first that gives three, else the last.
FACTORS = (
    (1.0,),
    (1.0, 2.0, 5.0),
    tuple(map(float, range(1, 10))),
    tuple(at / 10 for at in range(10, 100)),
)


@dataclass(frozen=True, slots=True)
class Box:
    """Sites whose working sets and sent bytes lie between these, in bytes."""

    held_from: int
    held_to: int
    sent_from: int
    sent_to: int


@dataclass(frozen=True, slots=True)
class Point:
    """A site, or all those in a cell of the plot and in the cells around it: these are in `box`."""

    x: float
    y: float
    size: float
    title: str
    site: str = ""
    box: Box | None = None
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Decade:
    """Sites whose working sets are of one length in digits, with their shares of all bytes sent and
    of all working sets.
    """

    working_sets: str
    sites: int
    access_share: float
    working_set_share: float


@dataclass(frozen=True, slots=True)
class Scatter:
    """With the table behind it. Both axes are logarithmic and in per cent of the plot; y counts
    downwards, as the screen does.
    """

    title: str
    desc: str
    points: tuple[Point, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    fair_across: float | None
    fair_up: float | None
    left_out: int
    grouped: bool
    decades: tuple[Decade, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """A logarithmic axis between two powers of ten, which need not be whole."""

    low: float
    high: float

    @classmethod
    def around(cls, values: np.ndarray) -> Span:
        """Over whole powers of ten."""
        if not len(values):
            return cls(0, 1)
        low = math.floor(math.log10(values.min()))
        high = math.ceil(math.log10(values.max()))
        return cls(low, max(high, low + 1))

    @classmethod
    def close_around(cls, values: np.ndarray) -> Span:
        """No longer than it has to be."""
        if not len(values):
            return cls(0, 1)
        low, high = math.log10(values.min()), math.log10(values.max())
        margin = max((high - low) * 0.03, 0.03)
        return cls(low - margin, high + margin)

    def place(self, values: np.ndarray) -> np.ndarray:
        placed: np.ndarray = (np.log10(values) - self.low) / (self.high - self.low) * 100
        return placed

    def percent_along(self, value: float) -> float:
        return (math.log10(value) - self.low) / (self.high - self.low) * 100

    def percent_inside(self, value: float) -> float | None:
        at = self.percent_along(value) if value > 0 else -1.0
        return at if 0 <= at <= 100 else None

    def between(self, low: float, high: float) -> tuple[int, int]:
        """The whole numbers from the first per cent of the axis to the second."""
        first, last = (10 ** (self.low + (self.high - self.low) * at / 100) for at in (low, high))
        return math.floor(first), math.ceil(last)

    def ticks(self) -> tuple[Tick, ...]:
        """At round numbers, as many as there is room for."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        for factors in FACTORS:
            values = [factor * 10.0**power for power in powers for factor in factors]
            inside = [value for value in values if -1e-9 <= self.percent_along(value) <= 100 + 1e-9]
            if len(inside) > 2:
                break
        return tuple(
            Tick(self.percent_along(value), amounts.size(value).replace(".0 ", " "))
            for value in inside[:: math.ceil(len(inside) / TICKS)]
        )


def cloud(
    title: str,
    names: np.ndarray,
    held: Ints,
    sent: Ints,
    share: tuple[float, float],
    marked: Ints,
    *,
    near: bool = False,
) -> Scatter:
    """`share` is what one mean node can take of either; `marked` are the rows that get a ring and a
    name. From `near`, the plot is no larger than the sites need it.
    """
    seen = np.flatnonzero((held > 0) & (sent > 0))
    if near:
        across, up = Span.close_around(held[seen]), Span.close_around(sent[seen])
    else:
        across = Span.around(np.append(held[seen], share[0] or 1.0))
        up = Span.around(np.append(sent[seen], share[1] or 1.0))
    x, y = across.place(held[seen]), 100 - up.place(sent[seen])
    grouped = len(seen) > FEW
    rings = np.flatnonzero(np.isin(seen, marked[:FEW]))
    points = (
        _circles(x, y, across, up)
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
        fair_across=across.percent_inside(share[0]),
        fair_up=up.percent_inside(share[1]),
        left_out=len(names) - len(seen),
        grouped=grouped,
        decades=_decades(held, sent),
    )


def _point_with_name(name: str, x: float, y: float, *, ring: bool = False) -> Point:
    return Point(
        float(x), float(y), 3.0, text_safe_for_html.short(str(name)), str(name), marked=ring
    )


def _circles(x: np.ndarray, y: np.ndarray, across: Span, up: Span) -> list[Point]:
    """One for each cell of the plot that has any sites."""
    column = np.clip((x * ACROSS / 100).astype(np.int64), 0, ACROSS - 1)
    row = np.clip((y * UP / 100).astype(np.int64), 0, UP - 1)
    counts = np.bincount(row * ACROSS + column, minlength=ACROSS * UP)
    most = counts.max()
    wide, high = 100 / ACROSS, 100 / UP

    def circle(cell: int) -> Point:
        at, down = (cell % ACROSS + 0.5) * wide, (cell // ACROSS + 0.5) * high
        held = across.between(at - 1.5 * wide, at + 1.5 * wide)
        sent = up.between(100 - down - 1.5 * high, 100 - down + 1.5 * high)
        size = 1.2 + 6.5 * math.sqrt(counts[cell] / most)
        return Point(
            at, down, size, amounts.count(int(counts[cell]), "site"), box=Box(*held, *sent)
        )

    return [circle(cell) for cell in np.flatnonzero(counts).tolist()]


def _decades(held: Ints, sent: Ints) -> tuple[Decade, ...]:
    digits = np.where(held > 0, np.floor(np.log10(np.maximum(held, 1))).astype(np.int64) + 1, 0)
    total_sent, total_held = max(int(sent.sum()), 1), max(int(held.sum()), 1)

    def decade(power: int) -> Decade:
        rows = digits == power
        ends = f"{amounts.size(10 ** (power - 1))} to {amounts.size(10**power)}"
        return Decade(
            ends if power else "none",
            int(rows.sum()),
            int(sent[rows].sum()) / total_sent,
            int(held[rows].sum()) / total_held,
        )

    return tuple(map(decade, np.unique(digits).tolist()))

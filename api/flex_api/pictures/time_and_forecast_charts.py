"""Where everything stands in pictures of time and of predictions: lines with a band, small lines,
heat maps, pairs of dots.

Takes numbers. Returns frozen geometries that the templates draw, as chart_geometry.py does. Does
not write markup or choose colours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flex_api.in_words import amounts, text_safe_for_html
from flex_api.pictures import chart_geometry, label_widths
from flex_api.pictures.chart_geometry import Tick

# Pixels of height of the plot. Chosen by eye.
PLOT = 200
# Pixels of width of a small line in a table's row. Chosen by eye.
SPARK_WIDTH = 90
# Pixels of its height. Chosen by eye.
SPARK_HEIGHT = 18


@dataclass(frozen=True, slots=True)
class Spark:
    """A line as small as a word; `points` are pixels, `band` is what lies within the aim."""

    title: str
    points: tuple[tuple[float, float], ...]
    band: float | None


def course(title: str, values: Sequence[float]) -> Spark:
    """From zero to the most, oldest on the left; its numbers stand beside it."""
    return Spark(title, _points(values, max(values, default=0.0) * 1.1 or 1.0), None)


def _points(values: Sequence[float], most: float) -> tuple[tuple[float, float], ...]:
    step = (SPARK_WIDTH - 6) / max(len(values) - 1, 1)
    return tuple(
        (round(3 + at * step, 1), round(SPARK_HEIGHT * (1 - each / most), 1))
        for at, each in enumerate(values)
    )


def spark(title: str, values: Sequence[float], aim: float) -> Spark:
    """From zero up, oldest on the left."""
    most = max([aim * 2, *values]) * 1.1
    description = (
        f"{title}: {', '.join(amounts.share(value) for value in values)}; the aim is "
        f"{amounts.share(aim)}."
    )
    return Spark(description, _points(values, most), round(SPARK_HEIGHT * (1 - aim / most), 1))


@dataclass(frozen=True, slots=True)
class Mark:
    """One value of a line: `x` in per cent of the plot, `y` in per cent from above; `text` is what
    it says.
    """

    x: float
    y: float
    text: str
    strong: bool = False
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """One line; its `kind` names how it is drawn: "one" and "two" differ in dash and mark, not in
    colour alone, and of "dots" nothing is joined.
    """

    name: str
    kind: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """A line across, at so much, with its name."""

    y: float
    name: str


@dataclass(frozen=True, slots=True)
class Lines:
    title: str
    desc: str
    series: tuple[Series, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    band: float | None
    levels: tuple[Level, ...]
    unit: str
    height: int = PLOT


@dataclass(frozen=True, slots=True)
class Value:
    """What a line is at a place; `at` counts from the first, None is a gap."""

    at: float
    value: float
    text: str
    strong: bool = False


def lines(
    title: str,
    desc: str,
    series: Sequence[tuple[str, str, Sequence[Value]]],
    labels: Sequence[tuple[float, str]],
    *,
    aim: float | None = None,
    levels: Sequence[tuple[float, str]] = (),
    unit: str = "",
    say: Callable[[float], str] = amounts.share,
    least: float = 0.01,
) -> Lines:
    """From zero up, to `least` at least. What lies under `aim` is within the band; `labels` name
    places across.
    """
    every = [point for _, _, values in series for point in values]
    most = (
        max(
            [
                *(point.value for point in every),
                *(level for level, _ in levels),
                (aim or 0) * 1.5,
                least,
            ]
        )
        * 1.06
    )
    first = min((point.at for point in every), default=0.0)
    last = max((point.at for point in every), default=1.0)
    width = (last - first) or 1.0

    def x(at: float) -> float:
        return (at - first) / width * 96 + 2 if last > first else 50.0

    def y(value: float) -> float:
        return (1 - value / most) * 100

    drawn = []
    for name, kind, values in series:
        marks = [Mark(x(point.at), y(point.value), point.text, point.strong) for point in values]
        drawn.append(Series(name, kind, tuple(marks)))
    return Lines(
        title=title,
        desc=desc,
        series=tuple(drawn),
        across=tuple(Tick(x(at), text) for at, text in labels),
        up=tuple(Tick(y(value), say(value)) for value in chart_geometry.steps(most, 4)),
        band=None if aim is None else y(aim),
        levels=tuple(Level(y(level), name) for level, name in levels),
        unit=unit,
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """`shade` from 0 to 8 is how dark; `text` says the number, which a shade cannot."""

    shade: int
    text: str


@dataclass(frozen=True, slots=True)
class Heat:
    """Rows of cells under columns; `key` says from which number on each shade is."""

    title: str
    desc: str
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    columns: tuple[str, ...]
    key: tuple[tuple[int, str], ...]
    left_out: int = 0


# Shades of a cell that is not empty, from few to most. Chosen by eye.
SHADES = 8
# Rows that are drawn, those with most. A guess: about a screen.
MOST_ROWS = 32
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOURS = tuple(f"{hour:02}" for hour in range(24))


def week(title: str, hours: np.ndarray, unit: str) -> Heat:
    """A row a day, from the hours of a week."""
    rows = [(day, hours[at * 24 : at * 24 + 24].tolist()) for at, day in enumerate(DAYS)]
    return heat(f"{title} in each hour of the week, UTC", rows, HOURS, unit)


def heat(
    title: str, rows: Sequence[tuple[str, Sequence[float]]], columns: Sequence[str], unit: str
) -> Heat:
    """A cell for each number, darker for more; equal shades are equal numbers in every row.

    Where there are more rows than MOST_ROWS, those with most are drawn.
    """
    busiest = sorted(range(len(rows)), key=lambda at: -sum(rows[at][1]))[:MOST_ROWS]
    drawn = [rows[at] for at in sorted(busiest)]
    most = max((value for _, values in drawn for value in values), default=0.0)
    peak = max(
        ((value, name, columns[at]) for name, values in drawn for at, value in enumerate(values)),
        default=(0.0, "", ""),
    )
    cells = []
    for name, values in drawn:
        row = [Cell(_shade(value, most), f"{amount(value)} {unit}") for value in values]
        cells.append((name, tuple(row)))
    return Heat(
        title=title,
        desc=f"Most is {amount(peak[0])} {unit}: {text_safe_for_html.short(peak[1])}, {peak[2]}."
        if most
        else "Nothing was asked for.",
        rows=tuple(cells),
        columns=tuple(columns),
        key=tuple((shade, amount(most * max(shade - 1, 0) / SHADES)) for shade in range(SHADES + 1))
        if most
        else (),
        left_out=len(rows) - len(drawn),
    )


def _shade(value: float, most: float) -> int:
    return 0 if value <= 0 or not most else min(math.ceil(value / most * SHADES), SHADES)


def amount(value: float) -> str:
    """12, 4.1 k, 3.2 M: what has no unit of its own."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size * 0.9995:
            part = value / size
            return f"{part:.1f}{letter}" if abs(part) < 9.95 else f"{part:.0f}{letter}"
    return f"{value:.0f}" if abs(value) >= 9.95 or value == int(value) else f"{value:.1f}"


@dataclass(frozen=True, slots=True)
class Pair:
    """What was predicted and what was measured, in per cent of the plot, and how far they are
    apart.
    """

    label: str
    predicted: float
    measured: float
    text: str
    far: bool


@dataclass(frozen=True, slots=True)
class Pairs:
    title: str
    desc: str
    pairs: tuple[Pair, ...]
    ticks: tuple[Tick, ...]
    row: int = 26

    @property
    def height(self) -> int:
        return self.row * len(self.pairs)

    @property
    def label_width(self) -> int:
        return label_widths.text_margin(max((len(pair.label) for pair in self.pairs), default=0))


def pairs(title: str, rows: Sequence[tuple[str, float, float]], far: float) -> Pairs:
    """A hollow dot predicted and a full one measured for each (name, predicted, measured), as
    ratios of a fair share.

    Where there are more than MOST_BARS, those farthest apart are drawn.
    """
    order = sorted(range(len(rows)), key=lambda at: -abs(rows[at][2] - rows[at][1]))[
        : chart_geometry.MOST_BARS
    ]
    drawn = [rows[at] for at in sorted(order)]
    values = [value for _, predicted, measured in drawn for value in (predicted, measured)] or [1.0]
    low, high = max(min(values) - 0.05, 0.0), max(values) + 0.05

    def x(value: float) -> float:
        return (value - low) / (high - low) * 100

    worst = max(drawn, key=lambda row: abs(row[2] - row[1]), default=("", 0.0, 0.0))
    return Pairs(
        title=title,
        desc=f"Farthest apart: {text_safe_for_html.short(worst[0])}, "
        f"{amounts.signed_share(worst[2] - worst[1])} beside its prediction.",
        pairs=tuple(
            Pair(
                text_safe_for_html.plain(name, chart_geometry.LABEL),
                x(predicted),
                x(measured),
                amounts.signed_share(measured - predicted),
                abs(measured - predicted) > far,
            )
            for name, predicted, measured in drawn
        ),
        ticks=tuple(Tick(x(value), f"{value * 100:.0f}") for value in _round_numbers(low, high)),
    )


def _round_numbers(low: float, high: float) -> tuple[float, ...]:
    """A few round numbers that lie within."""
    step = chart_geometry.steps(high - low, 4)[1]
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(number * step for number in range(first, last + 1))

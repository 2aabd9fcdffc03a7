"""Where everything stands in a picture.

Takes numbers. Returns frozen geometries that the templates draw. Does not write markup or choose
colours. Horizontal positions are per cent of the plot, so that a picture is as readable on a
telephone as on paper: the plot stretches and its text does not. Vertical positions are pixels.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flex_api.in_words import amounts, text_safe_for_html
from flex_api.pictures import label_widths

# Nodes that are drawn as bars; of more, only the worst are. A guess: a screen or two.
MOST_BARS = 40
# Nodes farthest from their fair share that are drawn then. A guess.
WORST_BARS = 10
# Characters of a label. Chosen by eye.
LABEL = 14
# Pixels of height of a bar and the room around it. Chosen by eye.
ROW = 30
# Pixels of the highest column. Chosen by eye.
COLUMN_HEIGHT = 96

# Loads are sums of floats: a node exactly on the edge of the band is inside it.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the plot with what is written at its end."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: `value` solid, `before` as an outline. `text` says it in words; `note` says what a
    colour would.
    """

    label: str
    value: float
    before: float | None
    text: str
    note: str = ""
    outside: bool = False
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    title: str
    desc: str
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    band: tuple[float, float] | None = None
    aim: float | None = None
    row: int = ROW

    @property
    def label_width(self) -> int:
        """Pixels that the longest label takes."""
        return label_widths.text_margin(max((len(bar.label) for bar in self.bars), default=0))

    @property
    def right(self) -> int:
        """Pixels that the longest text takes."""
        longest = max((max(len(bar.text), len(bar.note)) for bar in self.bars), default=0)
        return label_widths.text_margin(longest)

    @property
    def height(self) -> int:
        return self.row * len(self.bars)


@dataclass(frozen=True, slots=True)
class Load:
    """What one node has of one resource, as a ratio of its fair share; of 100 for a closed node,
    which has none.
    """

    node: str
    before: float | None
    after: float
    closed: bool = False

    @property
    def away(self) -> float:
        return self.after if self.closed else self.after - 1

    def outside(self, tolerance: float) -> bool:
        return abs(self.away) > (0 if self.closed else tolerance) + ROUNDING


def scale(rows: Iterable[Load]) -> float:
    """How far the axis reaches, as a ratio of a fair share: to the largest bar, and always past the
    band.
    """
    return max([1.25, *(max(row.after, row.before or 0.0) for row in rows)]) * 1.02


def loads(title: str, rows: Sequence[Load], tolerance: float, most: float) -> Bars:
    """A bar for each node, on an axis that reaches to `most`, with the band around a fair share.

    Where there are more than MOST_BARS nodes, only those farthest from it are drawn; the
    description speaks of all.
    """
    drawn = _worst(rows) if len(rows) > MOST_BARS else rows
    return Bars(
        title=title,
        desc=_said_of_loads(rows, tolerance),
        bars=tuple(_load_bar(row, tolerance, most) for row in drawn),
        ticks=tuple(Tick(value / most * 100, f"{value * 100:.0f}") for value in steps(most, 4)),
        band=((1 - tolerance) / most * 100, (1 + tolerance) / most * 100),
        aim=100 / most,
    )


def _load_bar(row: Load, tolerance: float, most: float) -> Bar:
    outside = row.outside(tolerance)
    return Bar(
        label=text_safe_for_html.plain(row.node, LABEL),
        value=row.after / most * 100,
        before=None if row.before is None else row.before / most * 100,
        text="closed" if row.closed else amounts.signed_share(row.away),
        note=("over" if row.away > 0 else "under") if outside else "",
        outside=outside,
    )


def _said_of_loads(rows: Sequence[Load], tolerance: float) -> str:
    inside = sum(1 for row in rows if not row.outside(tolerance))
    sentence = (
        f"{inside} of {amounts.count(len(rows), 'node')} within "
        f"{amounts.share(tolerance)} of the fair share"
    )
    if not rows:
        return sentence + "."
    farthest = max(rows, key=lambda row: abs(row.away))
    return (
        f"{sentence}; farthest is {text_safe_for_html.plain(farthest.node, LABEL)} at "
        f"{amounts.signed_share(farthest.away)}."
    )


def _worst(rows: Sequence[Load]) -> tuple[Load, ...]:
    """The rows farthest from the fair share, in the order they came."""
    farthest = sorted(range(len(rows)), key=lambda at: -abs(rows[at].away))[:WORST_BARS]
    return tuple(rows[at] for at in sorted(farthest))


@dataclass(frozen=True, slots=True)
class Column:
    """One bin or one night: `value` and `before` are pixels of height, `at` and `width` per cent of
    the plot.
    """

    at: float
    width: float
    value: float
    before: float | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    title: str
    desc: str
    columns: tuple[Column, ...]
    ticks: tuple[Tick, ...]
    height: int = COLUMN_HEIGHT


# The first and the last hold whatever is beyond them.
BINS = tuple(edge / 100 for edge in range(80, 125, 5))


def distribution(title: str, rows: Sequence[Load], tolerance: float) -> Columns:
    """How many nodes are how far from their fair share, for clusters too large to draw each
    node.
    """
    after = _bins(row.after for row in rows)
    before = _bins(row.before for row in rows if row.before is not None)
    most, width = max([1, *after, *before]), 100 / (len(BINS) + 1)
    columns = tuple(
        Column(
            at=at * width,
            width=width,
            value=count / most * COLUMN_HEIGHT,
            before=before[at] / most * COLUMN_HEIGHT,
            text=f"{count:,}" if count else "",
        )
        for at, count in enumerate(after)
    )
    ticks = tuple(
        Tick((at + 1) * width, f"{edge * 100:.0f}") for at, edge in enumerate(BINS) if at % 2 == 0
    )
    return Columns(title, _said_of_loads(rows, tolerance), columns, ticks)


def counts(title: str, rows: Sequence[tuple[str, int]]) -> Columns:
    """A column for each (label, count), in their order; of many only some are labelled."""
    most, width = max([1, *(count for _, count in rows)]), 100 / max(len(rows), 1)
    every, total = max(len(rows) // 6, 1), sum(count for _, count in rows)
    columns = tuple(
        Column(
            at * width,
            width,
            count / most * COLUMN_HEIGHT,
            None,
            f"{count:,}" if count and len(rows) <= 24 else "",
        )
        for at, (_, count) in enumerate(rows)
    )
    ticks = tuple(
        Tick((at + 0.5) * width, label) for at, (label, _) in enumerate(rows) if at % every == 0
    )
    return Columns(title, f"{total:,} in all, {most:,} at most.", columns, ticks)


def _bins(values: Iterable[float]) -> list[int]:
    counts = [0] * (len(BINS) + 1)
    for value in values:
        counts[bisect_right(BINS, value)] += 1
    return counts


def quantities(title: str, rows: Sequence[tuple[str, float, str]], strong: str) -> Bars:
    """A bar for each (label, value, text), from zero; the row named `strong` is the one that
    counts.
    """
    most = max((value for _, value, _ in rows), default=0.0) * 1.02 or 1.0
    bars = tuple(
        Bar(
            text_safe_for_html.beginning(label, LABEL),
            value / most * 100,
            None,
            text,
            muted=label != strong,
        )
        for label, value, text in rows
    )
    return Bars(
        title, "; ".join(f"{label}: {text}" for label, _, text in rows) + ".", bars, ticks=()
    )


@dataclass(frozen=True, slots=True)
class NightMark:
    """One night of the strip: `moves` is a height and `worst` a depth, in pixels. `day` is empty
    for want of room.
    """

    at: float
    moves: float
    moves_text: str
    worst: float
    worst_text: str
    day: str
    applied: bool
    inside: bool


@dataclass(frozen=True, slots=True)
class Strip:
    """Columns of moves above, a dot for the worst node below; a column is `half` to each side of
    its middle.
    """

    title: str
    desc: str
    nights: tuple[NightMark, ...]
    aim: float
    half: float
    height: int


@dataclass(frozen=True, slots=True)
class NightColumn:
    """`moves` is None where every site was placed for the first time."""

    day: str
    moves: int | None
    worst: float
    applied: bool


# Nights that there is room for, also where there are fewer. Chosen by eye.
SLOTS = 10


def strip(title: str, nights: Sequence[NightColumn], tolerance: float, height: int = 56) -> Strip:
    """The last nights, oldest first. A few of them keep to the left, so that a column is as wide
    each night.
    """
    slots = max(len(nights), SLOTS)
    most = max([1, *(night.moves or 0 for night in nights)])
    farthest = max([tolerance * 1.5, *(night.worst for night in nights)])
    # What would run into each other on a telephone is left out.
    said_days = {0, len(nights) // 2, len(nights) - 1} if len(nights) > 6 else {len(nights) - 1}
    marks = tuple(
        NightMark(
            at=(number + 0.5) / slots * 100,
            moves=(night.moves or 0) / most * height,
            moves_text="first" if night.moves is None else f"{night.moves:,}",
            worst=(1 - night.worst / farthest) * height,
            worst_text=amounts.share(night.worst).removesuffix(" %"),
            day=night.day if number in said_days else "",
            applied=night.applied,
            inside=night.worst <= tolerance + ROUNDING,
        )
        for number, night in enumerate(nights)
    )
    texts = [
        f"{night.day}: {_moves_text(night)}, {amounts.share(night.worst)} off" for night in nights
    ]
    return Strip(
        title,
        f"Oldest on the left. {'; '.join(texts)}.",
        marks,
        aim=(1 - tolerance / farthest) * height,
        half=min(30 / slots, 1.8),
        height=height,
    )


def _moves_text(night: NightColumn) -> str:
    return "first partition" if night.moves is None else amounts.count(night.moves, "move")


def steps(most: float, wanted: int) -> tuple[float, ...]:
    """Round numbers from zero to `most`, about as many as wanted."""
    raw = most / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    size = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    return tuple(number * size for number in range(math.floor(most / size + 1e-9) + 1))

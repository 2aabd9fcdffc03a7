"""Where everything stands beside the bars of a partition: each node's day by hours, and its misses
under two partitions.

Takes numbers for each node, in the order of the bars. Returns frozen geometries whose rows are as
high as those of partition_geometry.py. Does not write markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flex_api.in_words import amounts, text_safe_for_html
from flex_api.pictures import chart_geometry, label_widths
from flex_api.pictures.chart_geometry import Tick
from flex_api.pictures.partition_geometry import ROW

# Pixels of height of the highest hour of all nodes. Chosen by eye.
HOUR = 30
HOURS_OF_DAY = 24


@dataclass(frozen=True, slots=True)
class Day:
    """One node: pixels of height of each hour, and what its busiest is."""

    node: str
    label: str
    top: int
    heights: tuple[float, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Days:
    title: str
    desc: str
    rows: tuple[Day, ...]

    @property
    def height(self) -> int:
        return ROW * len(self.rows)

    @property
    def label_width(self) -> int:
        return label_widths.text_margin(max((len(row.label) for row in self.rows), default=0))


def days(
    title: str, nodes: Sequence[str], hours: Mapping[str, Sequence[float]], unit: str
) -> Days | None:
    """A column for each hour, all nodes on one scale; None where nothing is known of any node."""
    most = max((max(hours[node]) for node in nodes if node in hours), default=0.0)
    if not most:
        return None
    rows, peaks = [], []
    for place, node in enumerate(nodes):
        values = hours.get(node, (0.0,) * HOURS_OF_DAY)
        top = max(range(HOURS_OF_DAY), key=lambda hour: values[hour])
        text = f"{node}: {values[top]:,.0f} {unit} in the hour from {top:02}:00"
        heights = tuple(round(value / most * HOUR, 2) for value in values)
        label = text_safe_for_html.plain(node, chart_geometry.LABEL)
        rows.append(Day(node, label, place * ROW, heights, text))
        peaks.append((values[top], text))
    return Days(title, f"Most is {max(peaks)[1]}.", tuple(rows))


@dataclass(frozen=True, slots=True)
class Misses:
    """One node, in per cent of the plot: `before` under the one partition, `after` under the
    other.
    """

    node: str
    label: str
    middle: int
    before: float
    after: float
    text: str


@dataclass(frozen=True, slots=True)
class MissPairs:
    title: str
    desc: str
    rows: tuple[Misses, ...]
    ticks: tuple[Tick, ...]

    @property
    def height(self) -> int:
        return ROW * len(self.rows)

    @property
    def label_width(self) -> int:
        return label_widths.text_margin(max((len(row.label) for row in self.rows), default=0))

    @property
    def right(self) -> int:
        return label_widths.text_margin(max((len(row.text) for row in self.rows), default=0))


def misses(
    title: str,
    nodes: Sequence[str],
    before: Mapping[str, float],
    after: Mapping[str, float],
    words: tuple[str, str],
) -> MissPairs | None:
    """Shares of requests from disk, a hollow dot and a full one; None where one is not known."""
    known = [node for node in nodes if node in before and node in after]
    if not known:
        return None
    most = max(max(before[node], after[node]) for node in known) * 1.1 or 0.01
    rows = []
    for place, node in enumerate(nodes):
        if node not in known:
            continue
        rows.append(
            Misses(
                node,
                text_safe_for_html.plain(node, chart_geometry.LABEL),
                place * ROW + ROW // 2,
                before[node] / most * 100,
                after[node] / most * 100,
                amounts.share(after[node]),
            )
        )
    shares = "; ".join(
        f"{node} {amounts.share(before[node])} and {amounts.share(after[node])}"
        for node in known[:8]
    )
    return MissPairs(
        title,
        f"{words[0]} and {words[1]}: {shares}.",
        tuple(rows),
        tuple(
            Tick(value / most * 100, amounts.share(value).replace(".0 ", " "))
            for value in chart_geometry.steps(most, 3)
        ),
    )

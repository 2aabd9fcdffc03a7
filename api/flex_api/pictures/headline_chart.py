"""The headline results of the papers as one picture: published beside ours, a row for each claim.

Takes rows of claims. Returns markup, light or dark as its reader is. Draws those claims alone that
are of so many times another policy's throughput.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from flex_api.pictures.curves import FONT, frame, round_marks, text
from flex_api.schemas.simulate_output import ClaimRow

TITLE = "Throughput, as times that of the policy it is compared with"
WIDTH = 600
# Pixels of the labels at the left and of the figures at the right. Chosen by eye.
_LEFT, _RIGHT = 244, 114
# Pixels above the first row: for the title and what the marks mean.
_TOP = 58
# Pixels below the last row: for the marks of the axis.
_BOTTOM = 28
# Pixels from one line of a label to the next, of a bar, and between rows. Chosen by eye.
_LINE, _BAR, _GAP = 17, 9, 12
# Letters of a line of a label: what has room at the left.
_LETTERS = 30
# Pixels of the narrowest bar: a range narrower than that is a tick or a dot.
_NARROW = 5
_STYLE = """text { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #d1d9e0 }
.published { fill: none; stroke: #59636e; stroke-width: 2 }
line.published { stroke-width: 3 }
.ours { fill: #0969da } text.ours { font-weight: bold }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .soft { fill: #9198a1 } .grid { stroke: #3d444d }
  .published { stroke: #9198a1 } .ours { fill: #6cb0ff }
}"""

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Axis:
    """From `low`, at the left, by equal steps to the last of `marks`."""

    low: float
    marks: tuple[float, ...]

    def at(self, value: float) -> float:
        part = (value - self.low) / (self.marks[-1] - self.low)
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * part


def svg(rows: Sequence[ClaimRow]) -> str:
    """Each row has the published figure in its upper line, as a hollow bar or a tick, and ours in
    its lower one, as a full bar or a dot. "" where no claim is of that kind.
    """
    drawn = [(row, *row.times) for row in rows if row.times]
    if not drawn:
        return ""
    axis = _axis([value for _, *both in drawn for each in both for value in each])
    parts: list[str] = []
    top = _TOP
    for row, published, ours in drawn:
        parts += _row(axis, top, _lines(row), published, ours)
        top += _LINE * max(2, len(_lines(row))) + _GAP
    described = "; ".join(
        f"{row.paper}, {row.claim}: published {figures(published)}, ours {figures(ours)}"
        for row, published, ours in drawn
    )
    head = [text(0, 18, TITLE, "start", bold=True), *_legend(), *_grid(axis, top)]
    return frame(TITLE, WIDTH, top + _BOTTOM, _STYLE, [*head, *parts], f"{described}.")


def figures(range_: Range) -> str:
    low, high = (f"{value:.2f}".rstrip("0").rstrip(".") for value in range_)
    return low if low == high else f"{low} to {high}"


def _axis(values: Sequence[float]) -> _Axis:
    """From once as much, which is neither more nor less; from nothing where something is less."""
    low = 1.0 if min(values) >= 1 else 0.0
    return _Axis(low, tuple(low + mark for mark in round_marks(max(values) - low)))


def _lines(row: ClaimRow) -> list[str]:
    return wrap(f"{row.paper} {row.claim}", _LETTERS)


def _legend() -> Iterator[str]:
    y = 40
    yield _mark_published(_LEFT, _LEFT + 24, y)
    yield text(_LEFT + 30, y + 5, "published", "start")
    yield _ours(_LEFT + 120, _LEFT + 144, y)
    yield text(_LEFT + 150, y + 5, "ours", "start")


def _grid(axis: _Axis, bottom: int) -> Iterator[str]:
    for mark in axis.marks:
        x = axis.at(mark)
        width = 2 if mark == 1 else 1
        yield (
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{bottom - 4}" '
            f'stroke-width="{width}"/>'
        )
        yield text(x, bottom + FONT, f"{mark:g}", "middle")


def _row(
    axis: _Axis, top: int, label: Sequence[str], published: Range, ours: Range
) -> Iterator[str]:
    for number, line in enumerate(label):
        yield text(0, top + _LINE * number + FONT - 2, line, "start")
    right = WIDTH - _RIGHT + 10
    upper, lower = top + _LINE // 2, top + _LINE + _LINE // 2
    yield _mark_published(axis.at(published[0]), axis.at(published[1]), upper)
    yield _words("soft", right, upper + 5, figures(published))
    yield _ours(axis.at(ours[0]), axis.at(ours[1]), lower)
    yield _words("ours", right, lower + 5, figures(ours))


def _mark_published(left: float, right: float, y: float) -> str:
    if right - left < _NARROW:
        middle = (left + right) / 2
        return _line(middle, y - _BAR / 2 - 1, y + _BAR / 2 + 1)
    return (
        f'<rect class="published" x="{left:.1f}" y="{y - _BAR / 2:.1f}" '
        f'width="{right - left:.1f}" height="{_BAR}"/>'
    )


def _line(x: float, top: float, bottom: float) -> str:
    return f'<line class="published" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'


def _ours(left: float, right: float, y: float) -> str:
    if right - left < _NARROW:
        return f'<circle class="ours" cx="{(left + right) / 2:.1f}" cy="{y:.1f}" r="5"/>'
    return (
        f'<rect class="ours" x="{left:.1f}" y="{y - _BAR / 2:.1f}" '
        f'width="{right - left:.1f}" height="{_BAR}"/>'
    )


def _words(kind: str, x: float, y: float, words: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(words)}</text>'

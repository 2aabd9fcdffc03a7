"""Curves as SVG: what the simulator found for several numbers of nodes or sizes of memory.

Takes numbers. Returns markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, log10

Points = Sequence[tuple[float, float]]
# Each at an x, from a lowest to a highest y.
Ranges = Sequence[tuple[float, float, float]]

# Pixels of the picture. Chosen by eye.
WIDTH = 600
# Pixels of the picture. Chosen by eye.
HEIGHT = 360
# Pixels of the letters, which can be read where the picture is as narrow as a telephone.
FONT = 14
# Pixels that are kept free around the curves for their labels, here and below. Chosen by eye.
_LEFT = 64
# For the names of the curves.
_RIGHT = 190
# For the title.
_TOP = 36
# For the marks of the axis.
_BOTTOM = 34
_COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#8e5ea2", "#e08e0b", "#808080", "#00a6a6", "#a0522d")
# Beyond so many lines, colours come again, dashed.
_DASHES = ("", "6 3", "2 2")
# What bars are called.
_PUBLISHED = "published"
# Pixels from one name to the next.
_LINE = 18
# As the reader's page is light or dark.
THEMES = """text { fill: #1f2328 } .grid { stroke: #d1d9e0 } .published { stroke: #1f2328 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .grid { stroke: #3d444d } .published { stroke: #e6edf3 }
}"""
# Marks stand at one of these times a power of ten.
_ROUND = (1, 2, 2.5, 5, 10)
# Marks on an axis at most. Chosen by eye.
_MARKS = 5


def svg(title: str, lines: Mapping[str, Points], ranges: Ranges = ()) -> str:
    """One curve a line, from zero up, named at the right in the order of their last values, of
    the same colour in each picture whose lines come in the same order. Ranges
    that somebody else found are drawn as bars with a foot and a head, named below the curves.
    """
    across = round_marks(max((x for points in lines.values() for x, _ in points), default=1.0))
    highest = [y for points in lines.values() for _, y in points]
    upward = round_marks(max((*highest, *(high for _, _, high in ranges)), default=1.0))
    right, top = across[-1], upward[-1]
    parts = [text(0, 18, title, "start", bold=True), *_grid(across, upward)]
    order = list(lines)
    for number, (name, points) in enumerate(
        sorted(lines.items(), key=lambda line: -line[1][-1][1])
    ):
        again, nth = divmod(order.index(name), len(_COLORS))
        color, dashes = _COLORS[nth], _DASHES[again % len(_DASHES)]
        parts += _curve([(_x(x, right), _y(y, top)) for x, y in points], color, dashes)
        at = _TOP + _LINE * (number + 1)
        parts += _curve(
            [(WIDTH - _RIGHT + 6, at - 4), (WIDTH - _RIGHT + 24, at - 4)], color, dashes
        )
        parts.append(text(WIDTH - _RIGHT + 28, at, name, "start"))
    parts += _bars(ranges, right, top, _TOP + _LINE * (len(lines) + 1))
    return frame(title, WIDTH, HEIGHT, THEMES, parts)


def frame(
    title: str, width: int, height: int, style: str, parts: Iterable[str], description: str = ""
) -> str:
    """A picture that stands by itself: as wide as its page where that is narrower."""
    inner = "\n".join(parts)
    desc = f"<desc>{escape(description)}</desc>\n" if description else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="system-ui, sans-serif" '
        f'font-size="{FONT}">\n<title>{escape(title)}</title>\n{desc}'
        f"<style>{style}</style>\n{inner}\n</svg>\n"
    )


def round_marks(largest: float) -> list[float]:
    """Round numbers from 0 to the first that is no less than the largest."""
    wanted = (largest or 1.0) / _MARKS
    power = 10 ** floor(log10(wanted))
    step = next(power * factor for factor in _ROUND if power * factor >= wanted * (1 - 1e-9))
    return [step * n for n in range(ceil((largest or 1.0) / step - 1e-9) + 1)]


def _grid(across: Sequence[float], upward: Sequence[float]) -> list[str]:
    parts = []
    for y in upward:
        at = _y(y, upward[-1])
        parts.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>'
        )
        parts.append(text(_LEFT - 6, at + 4, f"{y:,.10g}", "end"))
    return parts + [
        text(_x(x, across[-1]), HEIGHT - _BOTTOM + 18, f"{x:,.10g}", "middle") for x in across
    ]


def _curve(points: Points, color: str, dashes: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{color}"/>' for x, y in points]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return [
        f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5"{dashed}/>',
        *dots,
    ]


def _bars(ranges: Ranges, right: float, top: float, at: float) -> list[str]:
    if not ranges:
        return []
    parts = _bar(WIDTH - _RIGHT + 15, at - 8, at)
    parts.append(text(WIDTH - _RIGHT + 28, at, _PUBLISHED, "start"))
    for x, low, high in ranges:
        parts += _bar(_x(x, right), _y(high, top), _y(low, top))
    return parts


def _bar(x: float, high: float, low: float) -> list[str]:
    """With a stroke at each end, so that a range of one figure is seen."""
    return [
        f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" '
        'class="published" stroke-width="1.5"/>'
        for left, right, top, bottom in (
            (x, x, high, low),
            (x - 5, x + 5, high, high),
            (x - 5, x + 5, low, low),
        )
    ]


def text(x: float, y: float, words: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'


def _x(value: float, right: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * value / right


def _y(value: float, top: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top

"""Curves as SVG: what the simulator found over numbers of nodes or sizes of memory. In go numbers, out comes markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 170, 34, 34
_COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#8e5ea2", "#e08e0b", "#4d4d4d", "#00a6a6", "#a0522d")
_STEPS = 4


def svg(title: str, lines: Mapping[str, Points]) -> str:
    """One curve a line, from zero up, named at the right in the order of their last values."""
    right = max((x for points in lines.values() for x, _ in points), default=1.0) or 1.0
    top = max((y for points in lines.values() for _, y in points), default=1.0) or 1.0
    parts = [_text(_LEFT, 18, title, "start", bold=True), *_grid(right, top)]
    for number, (name, points) in enumerate(sorted(lines.items(), key=lambda line: -line[1][-1][1])):
        color = _COLORS[number % len(_COLORS)]
        parts += _curve([(_x(x, right), _y(y, top)) for x, y in points], color)
        at = _TOP + 14 * (number + 1)
        parts.append(f'<rect x="{WIDTH - _RIGHT + 14}" y="{at - 8}" width="9" height="9" fill="{color}"/>')
        parts.append(_text(WIDTH - _RIGHT + 28, at, name, "start"))
    inner = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="11">\n<title>{escape(title)}</title>\n{inner}\n</svg>\n'
    )


def _grid(right: float, top: float) -> list[str]:
    parts = []
    for step in range(_STEPS + 1):
        y, x = top * step / _STEPS, right * step / _STEPS
        line = f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{_y(y, top):.1f}" y2="{_y(y, top):.1f}" stroke="#ddd"/>'
        parts += [line, _text(_LEFT - 6, _y(y, top) + 4, f"{y:.4g}", "end")]
        parts.append(_text(_x(x, right), HEIGHT - _BOTTOM + 16, f"{x:.4g}", "middle"))
    return parts


def _curve(points: Points, color: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{color}"/>' for x, y in points]
    return [f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>', *dots]


def _text(x: float, y: float, words: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'


def _x(value: float, right: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * value / right


def _y(value: float, top: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top

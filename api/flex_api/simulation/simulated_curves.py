"""Simulated points as curves: of `flex simulate --pictures`, and on the page of the papers.

Takes points. Returns markup, by the file names of pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from flex.sim.papers.experiment_lab import Simulated
from flex.sim.papers.published_points import MISSES, RATE, RATE_AT_WORK, published_points
from flex_api.pictures import curves
from flex_api.simulation.paper_sections import CurvesOfSection, PaperSection

WHOLE = "requests a second until the last node ends"
# Policies by the names that the papers give them, and others by names that have room.
_NAMES = {
    "flex": "FLEX",
    "round_robin": "round robin",
    "optimal": "Optimal",
    "wrr": "WRR",
    "wrr_gms": "WRR/GMS",
    "lb": "LB",
    "lb_gc": "LB/GC",
    "lard": "LARD",
    "lardr": "LARD/R",
    "distributors on every node": "distributors",
}


def pictures_of(points: Sequence[Simulated]) -> dict[str, str]:
    """A picture of requests per second and one of misses, for each thing that was varied."""
    lines_of: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    for point in points:
        for what, value in _values_to_draw(point).items():
            lines = lines_of.setdefault((point.picture, what), {})
            lines.setdefault(point.line, []).append((point.x, value))
    return {
        f"{_slug(picture)}-{_slug(what)}.svg": curves.svg(f"{picture}: {what}", lines)
        for (picture, what), lines in lines_of.items()
        if any(len(line) > 1 for line in lines.values())
    }


def pictures_of_sections(
    sections: Iterable[PaperSection], points: Sequence[Simulated]
) -> dict[str, str]:
    """Those on the page of the papers whose points were simulated, with published points."""
    drawn = {
        picture.file: _svg(picture, points) for section in sections for picture in section.pictures
    }
    return {file: markup for file, markup in drawn.items() if markup}


def _svg(picture: CurvesOfSection, points: Sequence[Simulated]) -> str:
    simulated = {point.picture for point in points}
    found = [name for name in picture.points_of if name in simulated]
    shown = found if picture.together else found[:1]
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        if point.picture in shown and point.x <= picture.up_to:
            name = point.picture.split(",")[0] if picture.together else point.line
            at = (point.x, _values_to_draw(point)[picture.what])
            lines.setdefault(_NAMES.get(name, name), []).append(at)
    if not lines:
        return ""
    published = [
        (point.x, point.low, point.high)
        for point in published_points(points)
        if point.picture in shown and point.what == picture.what
    ]
    return curves.svg(picture.title, lines, published)


def _values_to_draw(point: Simulated) -> dict[str, float]:
    """Two measures of throughput where nodes end each at a time of their own, as then they say
    different things.
    """
    result = point.result
    served = (
        {RATE_AT_WORK: result.per_server, WHOLE: result.throughput}
        if point.apart
        else {RATE: result.throughput}
    )
    return served | {MISSES: 100 * result.miss_ratio}


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")

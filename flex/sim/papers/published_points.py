"""What the papers say of their curves, as points to draw into ours.

Takes the simulated points of pictures. Returns published points in the units of the pictures. The
papers print most figures as so many times another policy's: these stand at so many times what that
policy came to here. Does not have points that would have to be read off a printed curve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flex.sim.papers.experiment_lab import Simulated

RATE = "requests a second"
RATE_AT_WORK = "requests a second of a node at work"
MISSES = "miss ratio in per cent"


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """From `low` to `high`; the same where a paper says one figure."""

    picture: str
    what: str
    x: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Times:
    """So many times what the policy `of` comes to at x."""

    picture: str
    of: str
    x: tuple[float, ...]
    low: float
    high: float


_MONTHS = ("hp-april", "hp-may", "hp-june", "hp-july")
_DAYS = ("hp-day-1", "hp-day-2", "hp-day-3", "hp-day-4")
_RAM = (16, 32, 64, 128)
_TIMES = (
    *(_Times(f"{month}, 4 nodes", "round_robin", (64, 128), 1.5, 2.0) for month in _MONTHS),
    *(_Times(f"{day}, 4 nodes", "round_robin", _RAM, 1.3, 1.8) for day in _DAYS),
    *(_Times(f"{day}, 8 nodes", "round_robin", _RAM, 1.85, 2.3) for day in _DAYS),
    _Times("rice, nodes", "wrr", (8,), 3.9, 3.9),
    _Times("rice, nodes", "wrr", (16,), 4.5, 4.5),
    # "Slightly more than": these marks are the least that is meant.
    _Times("ibm, nodes", "wrr", (4, 8, 12, 16), 2.0, 2.0),
)


def published_points(points: Sequence[Simulated]) -> list[PublishedPoint]:
    return list(_points_of_times(points))


def _points_of_times(points: Sequence[Simulated]) -> Iterator[PublishedPoint]:
    for times in _TIMES:
        for point in points:
            if (point.picture, point.line) == (times.picture, times.of) and (point.x in times.x):
                what, rate = _rate(point)
                yield PublishedPoint(
                    times.picture, what, point.x, times.low * rate, times.high * rate
                )


def _rate(point: Simulated) -> tuple[str, float]:
    """By the measure of its paper."""
    if point.apart:
        return RATE_AT_WORK, point.result.per_server
    return RATE, point.result.throughput

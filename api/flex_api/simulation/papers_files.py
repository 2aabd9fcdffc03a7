"""What lies beside the page of the papers as comma-separated values: all that the page leaves out.

Takes rows and points. Returns the text of files by their names.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from flex.sim.papers.experiment_lab import Simulated
from flex_api.schemas.simulate_output import ClaimRow, FitRow

CLAIMS, POINTS, TWINS = "claims.csv", "points.csv", "twins.csv"
_CLAIM = (
    "experiment,paper,claim,published,ours,verdict,before calibration,"
    "published lowest,published highest,our lowest,our highest,values,reason,tried"
)
_POINT = (
    "picture,policy,x,requests a second,requests a second of a node at work,miss ratio,"
    "byte miss ratio,idle,mean delay,p50,p95,p99"
)
_TWIN = "twin,figure,published,twin's,off,assumed"


def claims_csv(rows: Sequence[ClaimRow]) -> str:
    return _csv(
        _CLAIM,
        (
            (r.experiment, r.paper, r.claim, r.published, r.measured, r.verdict, r.without)
            + (r.times[0] + r.times[1] if r.times else ("",) * 4)
            + (r.values, r.reason, r.counter)
            for r in rows
        ),
    )


def points_csv(points: Sequence[Simulated]) -> str:
    """Every simulated point. Where all nodes end together a node has no rate of its own."""
    return _csv(
        _POINT,
        (
            (
                *(point.picture, point.line, point.x, point.result.throughput),
                point.result.per_server if point.apart else "",
                *(point.result.miss_ratio, point.result.byte_miss_ratio, point.result.idle),
                *point.result.delay,
            )
            for point in points
        ),
    )


def twins_csv(rows: Sequence[FitRow]) -> str:
    return _csv(
        _TWIN,
        ((r.twin, r.figure, r.published, r.made, r.error, r.assumed) for r in rows),
    )


def _csv(head: str, rows: Iterable[tuple[object, ...]]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head.split(","))
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    """Six digits of a figure are more than is known of it."""
    return f"{value:.6g}" if isinstance(value, float) else value

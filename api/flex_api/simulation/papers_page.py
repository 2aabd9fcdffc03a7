"""The papers' experiments run again, as a page with pictures.

Takes the names of experiments. Returns files, and whether the claims of the papers hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from flex.errors import BadInput, NotWritten, Unknown
from flex.sim.papers import EXPERIMENTS, MADE_UP, judge
from flex.sim.papers.assumptions import CALIBRATED, CALIBRATED_EXPERIMENTS, Assumptions
from flex.sim.papers.calibration import INPUTS, USUAL, USUAL_SPREAD_OF_SIZES
from flex.sim.papers.claim import HOLDS, HOLDS_FOR, Claim
from flex.sim.papers.experiment_lab import Lab, Simulated
from flex.sim.papers.published_points import RATE, RATE_AT_WORK, published_points
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.trace_twins import MB, fit
from flex.sim.traces import Trace
from flex.why_file_unreadable import why_unreadable
from flex_api.pictures import curves
from flex_api.schemas.simulate_output import ClaimRow, FitRow, SimulatePaperOutput
from flex_api.simulation.traces_and_solver import place_by_solver

PAGE = "papers.md"
WHOLE = "requests a second until the last node ends"
_TITLE = "# The papers, run again\n"
_TWINS = """This page is written by `flex simulate paper --to FOLDER`. It is for readers who know
the papers, and need not know FLEX. Nobody can get the papers' traces, so each experiment runs on a
twin: made-up traffic with every aggregate that was published of the trace.

These experiments are measured twice: {calibrated}.
"Without locality" are twins whose accesses are independent of each other. "Calibrated" are twins
with the order and the sizes that are usual of real logs, and with the figures in the next table
set, before any policy but the baseline runs. Every other figure of the papers is a prediction: a
test holds that none of those set is a claim's. The other experiments have the first measure alone.

A claim "holds" where it comes out calibrated, or without locality where nothing is calibrated. It
"holds for values that are told" where it comes out only with other values of what was not
published: the range that is tried is in `flex/sim/papers/assumptions.py`, and the first value with
which the claim comes out is told. It "does not come out" where it does with none of them: the
reason that was found is told, and an experiment puts it to the test. Claims of FLEX take its
paper's throughput: the mean over the nodes of what each serves a second while it is at work.
"""
_MARKS = """Black marks are what the papers print. Most of them are multiples of another policy's
figure, so a mark stands at that multiple of what the other policy came to here; a range is a bar.
"""
_REAL = """This page is written by `flex simulate paper --logs LOG --to FOLDER`. A real trace,
{name}, stands in for each of the papers': {accesses:,} accesses to files of
{working_set:,.1f} MB in {sites:,} sites. A node's memory is as large a part of its working set as
it was of the paper's. What came out in the paper need not come out of another server's traffic.
"""


def run(
    names: Sequence[str],
    told: Callable[[str], None],
    folder: Path | None = None,
    most: int | None = None,
    real: Trace | None = None,
) -> SimulatePaperOutput:
    """`folder` is where the page and its pictures go; `most` cuts traces short; `real` stands in
    for all of them.
    """
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise _unknown_paper(unknown[0])
    if real is not None and (made_up := [name for name in names if name in MADE_UP]):
        raise _no_log_for(made_up[0])
    if real is not None:
        lab = Lab(place_by_solver, told, most, real)
        judged = {name: EXPERIMENTS[name](lab) for name in names}
    else:
        plain = Lab(place_by_solver, told, most)
        lab = Lab(place_by_solver, told, most, assumed=CALIBRATED)
        lab.points = plain.points
        judged = {
            name: judge(
                name,
                lab if name in CALIBRATED_EXPERIMENTS else plain,
                lambda assumed: _lab_under(assumed, told, most),
            )
            for name in names
        }
    rows = [_row(name, claim) for name, claims in judged.items() for claim in claims]
    pages = write(folder, rows, lab) if folder else []
    return SimulatePaperOutput(items=rows, pages=pages)


def _lab_under(assumed: Assumptions, told: Callable[[str], None], most: int | None) -> Lab:
    return Lab(place_by_solver, told, most, assumed=assumed, explains=False)


def _row(experiment: str, claim: Claim) -> ClaimRow:
    return ClaimRow(
        experiment=experiment,
        paper=claim.paper,
        claim=claim.claim,
        published=claim.published,
        measured=claim.measured,
        verdict=claim.verdict,
        reason=claim.reason,
        counter=claim.counter,
        without=claim.without,
        values=claim.values,
    )


def every(real: Trace | None) -> list[str]:
    """All experiments that there are for twins, or for a log."""
    return [name for name in EXPERIMENTS if real is None or name not in MADE_UP]


def fits(lab: Lab | None = None) -> list[FitRow]:
    lab = lab or Lab(place_by_solver, lambda _: None)
    return [
        FitRow(
            twin=name,
            figure=row.figure,
            published=row.published,
            made=row.twin,
            error=row.error,
            assumed=row.assumed,
        )
        for name, published in PUBLISHED.items()
        for row in fit(published, lab.twin(name))
    ]


def write(folder: Path, rows: Sequence[ClaimRow], lab: Lab) -> list[str]:
    pictures = pictures_of(lab.points)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, markup in pictures.items():
            (folder / name).write_text(markup, encoding="utf-8")
        parts = [page(rows, list(pictures), lab.real), *([] if lab.real is not None else _fits())]
        (folder / PAGE).write_text("\n".join(parts) + "\n", encoding="utf-8")
    except OSError as error:
        raise NotWritten(
            f"the page of the papers in {folder}",
            why_unreadable(error),
            kept="nothing else was changed",
            advice="name another folder",
        ) from error
    return [str(folder / PAGE), *(str(folder / name) for name in pictures)]


def pictures_of(points: Sequence[Simulated]) -> dict[str, str]:
    """A picture of requests per second and one of misses, for each thing that was varied, by the
    picture's file name.
    """
    lines_of: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    for point in points:
        for what, value in _values_to_draw(point).items():
            lines = lines_of.setdefault((point.picture, what), {})
            lines.setdefault(point.line, []).append((point.x, value))
    published: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for published_point in published_points(points):
        at = published.setdefault((published_point.picture, published_point.what), [])
        at.append((published_point.x, published_point.low, published_point.high))
    pictures = {}
    for (picture, what), lines in lines_of.items():
        if any(len(line) > 1 for line in lines.values()):
            file = f"{_slug(picture)}-{_slug(what)}.svg"
            pictures[file] = curves.svg(
                f"{picture}: {what}", lines, published.get((picture, what), ())
            )
    return pictures


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
    return served | {"miss ratio in per cent": 100 * result.miss_ratio}


def page(rows: Sequence[ClaimRow], pictures: Sequence[str], real: Trace | None = None) -> str:
    """Claims, reasons and pictures, in Markdown."""
    counts = Counter(row.verdict for row in rows)
    ran = dict.fromkeys(row.experiment for row in rows)
    left = [name for name in every(real) if name not in ran]
    parts = [
        _TITLE,
        _TWINS.format(calibrated=", ".join(CALIBRATED_EXPERIMENTS))
        if real is None
        else _describe_log(real),
    ]
    parts.append(
        f"Run for this page: {', '.join(ran)}. Not run for it: {', '.join(left) or 'none'}.\n"
    )
    parts += [] if real is not None else _inputs()
    parts.append(
        f"## Claims\n\n{counts[HOLDS] + counts[HOLDS_FOR]} of {len(rows)} claims come out: "
        f"{counts[HOLDS]} as measured, {counts[HOLDS_FOR]} for values that are told "
        "below the table.\n"
    )
    parts.append(
        "| paper | claim | published | without locality | calibrated | verdict |\n"
        "| --- | --- | --- | --- | --- | --- |"
    )
    parts += [
        f"| {r.paper} | {r.claim} | {r.published} | {r.without} | {_calibrated_figure(r)} "
        f"| {r.verdict} |"
        for r in rows
    ]
    parts += ["\n## For which values\n", *_values(rows)]
    parts += ["\n## Why not\n", *_reasons(rows)]
    parts.append("\n## Pictures\n")
    if real is None:
        parts.append(_MARKS)
    parts += [f"![{name}]({name})" for name in pictures]
    return "\n".join(parts)


def _calibrated_figure(row: ClaimRow) -> str:
    return row.measured if row.experiment in CALIBRATED_EXPERIMENTS else "not run"


def _inputs() -> list[str]:
    """What was set, and by which published figure: none of them is a claim's."""
    head = (
        "## What was set\n\n| paper | published figure | value | where | what it sets |\n"
        "| --- | --- | --- | --- | --- |"
    )
    rows = [f"| {i.paper} | {i.figure} | {i.value:g} | {i.where} | {i.sets} |" for i in INPUTS]
    usual = (
        f"\nCalibrated twins have what is usual of real logs: {USUAL.repeats:.0%} of the accesses "
        "follow the one before to the same file, at a gap with a median of "
        f"{USUAL.gap:.1e} of the trace whose logarithm spreads by {USUAL.spread:g}; a file is "
        f"asked for during {USUAL.life:.0%} of the trace; logarithms of sizes spread by "
        f"{USUAL_SPREAD_OF_SIZES:g}.\n"
    )
    return [head, *rows, usual]


def _values(rows: Sequence[ClaimRow]) -> list[str]:
    return [f"- **{r.claim}**: {r.values}." for r in rows if r.verdict == HOLDS_FOR]


def _reasons(rows: Sequence[ClaimRow]) -> list[str]:
    """Each reason once, with the claims it is of and what came of its test."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.verdict not in (HOLDS, HOLDS_FOR) and row.reason:
            by_reason.setdefault((row.reason, row.counter), []).append(row.claim)
    return [
        f"- **{'; '.join(claims)}**: {reason}.{f' Put to the test: {counter}.' if counter else ''}"
        for (reason, counter), claims in by_reason.items()
    ]


def _fits() -> list[str]:
    head = (
        "\n## How near the twins are\n\n| twin | figure | published | twin | off "
        "|\n| --- | --- | --- | --- | --- |"
    )
    return [
        head,
        *(
            f"| {r.twin} | "
            f"{r.figure.replace('_', ' ')}{' (assumed)' if r.assumed else ''} | "
            f"{r.published:,.6g} | "
            f"{r.made:,.6g} | {r.error:.1%} |"
            for r in fits()
        ),
    ]


def _describe_log(trace: Trace) -> str:
    return _REAL.format(
        name=trace.name,
        accesses=len(trace.target),
        working_set=trace.working_set() / MB,
        sites=len(trace.sites),
    )


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _unknown_paper(name: str) -> Unknown:
    return Unknown(
        f"the experiment {name}",
        "there is none with that name",
        kept="nothing was simulated",
        advice=f"take one of {', '.join(EXPERIMENTS)}, or --all",
    )


def _no_log_for(name: str) -> BadInput:
    return BadInput(
        f"the experiment {name} on a log",
        "its workload is made up from the paper's words, a log cannot stand in for it",
        kept="nothing was simulated",
        advice="leave it out, or run it without --logs",
    )

"""The papers' experiments run again, as a page with pictures.

Takes the names of experiments. Returns files, and whether the claims of the papers hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from flex.errors import BadInput, NotWritten, Unknown
from flex.sim.papers import EXPERIMENTS, MADE_UP, judge
from flex.sim.papers.assumptions import CALIBRATED, Assumptions
from flex.sim.papers.calibration import (
    INPUTS,
    REPLICATE_ABOVE,
    USUAL,
    USUAL_GAP,
    USUAL_SPREAD_OF_SIZES,
)
from flex.sim.papers.claim import (
    AS_PUBLISHED,
    BETTER,
    FOR_VALUES,
    GOOD,
    IMPOSSIBLE,
    OPEN,
    WORSE,
    Claim,
)
from flex.sim.papers.experiment_lab import Lab, Simulated
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.trace_twins import MB, fit
from flex.sim.traces import Trace
from flex.why_file_unreadable import why_unreadable
from flex_api.pictures import headline_chart
from flex_api.schemas.simulate_output import ClaimRow, FitRow, SimulatePaperOutput
from flex_api.simulation import simulated_curves
from flex_api.simulation.paper_sections import SECTIONS, PaperSection
from flex_api.simulation.papers_files import (
    CLAIMS,
    POINTS,
    TWINS,
    claims_csv,
    points_csv,
    twins_csv,
)
from flex_api.simulation.traces_and_solver import place_by_solver

PAGE, HEADLINE = "papers.md", "headline.svg"
# A twin's figure that is farther off than this is on the page.
_FAR_OFF = 0.02
_TITLE = "# The papers, run again\n"
_HEADLINE = f"""![{headline_chart.TITLE}: published and ours]({HEADLINE})

*How many times the throughput of the policy that it is compared with: hollow is what a paper
prints, full is what comes out here.*
"""
_TWINS = """`flex simulate paper --to FOLDER` writes this page: published results of five papers,
beside what comes out of FLEX's simulator. Nobody can get the papers' traces, so experiments run on
twins: made-up traffic with every aggregate that was published of a trace, in the order and with the
sizes that are usual of real logs. "Before" is the same on twins whose accesses are independent of
each other, on nodes with nothing in memory, and with no figure of the last table set.
"""
_REAL = """`flex simulate paper --logs LOG --to FOLDER` writes this page. A real trace, {name},
stands in for each of the papers': {accesses:,} accesses to files of {working_set:,.1f} MB in
{sites:,} sites. A node's memory is as large a part of its working set as it was of the paper's.
What came out in the paper need not come out of another server's traffic.
"""
_VERDICTS = """
"As published" is within the paper's figures; "better" passes them on the side that is better. "With
other values": only with other values of something that was not published; the paper's section tells
them. "Worse": with none of those that are tried (`flex/sim/papers/assumptions.py`). "Cannot be
told": what decides it is not published; or it is a figure that sets something here, which is no
evidence for itself.
"""
_MARKS = """Bars with a foot and a head in the pictures are what the papers print: mostly so many
times another policy's figure, and so a bar stands at that many times what that policy came to here.
"""
_TRIED = ("what was tried", "what came out")
_SHORT = {
    BETTER: "better",
    FOR_VALUES: "with other values",
    WORSE: "**worse**",
}


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
        lab = Lab(place_by_solver, told, most, real, assumed=CALIBRATED)
        judged = {name: EXPERIMENTS[name](lab) for name in names}
        points = lab.points
    else:
        ran = dict(zip(names, _run_on_twins(names, told, most), strict=True))
        judged = {name: claims for name, (claims, _) in ran.items()}
        points = [point for _, of_one in ran.values() for point in of_one]
    rows = [_row(name, claim) for name, claims in judged.items() for claim in claims]
    pages = write(folder, rows, points, real) if folder else []
    return SimulatePaperOutput(items=rows, pages=pages)


def _run_on_twins(
    names: Sequence[str], told: Callable[[str], None], most: int | None
) -> Iterator[tuple[list[Claim], list[Simulated]]]:
    """Whole twins of several experiments take minutes each: two at a time."""
    if most is not None or len(names) == 1:
        yield from (_run_one(name, told, most) for name in names)
        return
    # Its end ends the processes, whatever they are at.
    with get_context("spawn").Pool(2) as pool:
        running = pool.imap(partial(_run_one, told=_say_nothing, most=None), names)
        for name in names:
            told(name)
            yield next(running)


def _say_nothing(_: str) -> None:
    """Processes of their own have nobody to tell."""


def _run_one(
    name: str, told: Callable[[str], None], most: int | None
) -> tuple[list[Claim], list[Simulated]]:
    lab = _lab_under(CALIBRATED, told, most, explains=True)
    claims = judge(name, lab, lambda assumed: _lab_under(assumed, told, most, explains=False))
    return claims, lab.points


# Which sites are on several nodes is an input.
_place_as_published = partial(place_by_solver, replicate_above=REPLICATE_ABOVE)


def _lab_under(
    assumed: Assumptions, told: Callable[[str], None], most: int | None, *, explains: bool
) -> Lab:
    solve = _place_as_published if assumed.calibrated else place_by_solver
    return Lab(solve, told, most, assumed=assumed, explains=explains)


def _row(experiment: str, claim: Claim) -> ClaimRow:
    return ClaimRow.like(
        claim,
        experiment=experiment,
        counter="; ".join(f"{what}: {came}" for what, came in claim.tried),
    )


def every(real: Trace | None) -> list[str]:
    """All experiments that there are for twins, or for a log."""
    return [name for name in EXPERIMENTS if real is None or name not in MADE_UP]


def fits(lab: Lab | None = None) -> list[FitRow]:
    lab = lab or Lab(place_by_solver, lambda _: None)
    return [
        FitRow.like(row, twin=name, made=row.twin)
        for name, published in PUBLISHED.items()
        for row in fit(published, lab.twin(name))
    ]


def write(
    folder: Path, rows: Sequence[ClaimRow], points: Sequence[Simulated], real: Trace | None = None
) -> list[str]:
    """The page, its pictures and all figures, in files. What else is in the folder stays."""
    pictures = simulated_curves.pictures_of_sections(SECTIONS, points)
    if headline := headline_chart.svg([row for row in rows if row.verdict != OPEN]):
        pictures = {HEADLINE: headline} | pictures
    twins = fits() if real is None else []
    files = {
        PAGE: page(rows, list(pictures), twins, real) + "\n",
        **pictures,
        CLAIMS: claims_csv(rows),
        POINTS: points_csv(points),
        **({TWINS: twins_csv(twins)} if twins else {}),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise NotWritten(
            f"the page of the papers in {folder}",
            why_unreadable(error),
            kept="nothing else was changed",
            advice="name another folder",
        ) from error
    return [str(folder / name) for name in files]


def page(
    rows: Sequence[ClaimRow],
    pictures: Collection[str],
    twins: Sequence[FitRow] = (),
    real: Trace | None = None,
) -> str:
    """The claims of all papers, then a section for each, in Markdown."""
    parts = [_TITLE, *([_HEADLINE] if HEADLINE in pictures else []), _intro(rows, real)]
    parts += [_count(rows), "## Claims\n", *_claims(rows), _VERDICTS]
    if any(name != HEADLINE for name in pictures):
        parts.append(_MARKS)
    for section in SECTIONS:
        if own := [row for row in rows if row.paper == section.paper]:
            parts += _section(section, own, pictures)
    if real is None:
        parts += [*_inputs(), *_far_off(twins)]
    parts.append(
        f"## All figures\n\n[{CLAIMS}]({CLAIMS}) has every claim with what was tried and what came "
        f"out before calibration, [{POINTS}]({POINTS}) every simulated point."
    )
    return "\n".join(parts)


def _intro(rows: Sequence[ClaimRow], real: Trace | None) -> str:
    ran = dict.fromkeys(row.experiment for row in rows)
    left = [name for name in every(real) if name not in ran]
    not_run = f"\nNot run for this page: {', '.join(left)}.\n" if left else ""
    if real is not None:
        return _describe_log(real) + not_run
    return _TWINS + not_run


def _count(rows: Sequence[ClaimRow]) -> str:
    counts = Counter(row.verdict for row in rows)
    impossible = f", {counts[IMPOSSIBLE]} are {IMPOSSIBLE}" if counts[IMPOSSIBLE] else ""
    return (
        f"Of {len(rows)} claims {counts[AS_PUBLISHED]} come out as published, {counts[BETTER]} "
        f"better than published, {counts[FOR_VALUES]} for values that are told, {counts[WORSE]} "
        f'worse than published, {counts[OPEN]} cannot be told{impossible}. "Better" is said of '
        "the policy, not of the simulator: a twin may be kinder to it than the paper's trace was.\n"
    )


def _claims(rows: Sequence[ClaimRow]) -> list[str]:
    """A line each, below the name of their paper."""
    head = ["claim", "published", "ours", "before", "verdict"]
    lines: list[list[str]] = []
    for section in SECTIONS:
        own = [row for row in rows if row.paper == section.paper]
        lines += [[f"**{section.heading}**", "", "", "", ""]] if own else []
        lines += [
            [r.claim, r.published, r.measured, r.without, _SHORT.get(r.verdict, r.verdict)]
            for r in own
        ]
    if not any(row.without for row in rows):
        for line in (head, *lines):
            del line[3]
    return _table(head, lines)


def _section(
    section: PaperSection, rows: Sequence[ClaimRow], pictures: Collection[str]
) -> Iterator[str]:
    yield f"## {section.heading}\n\n{section.about} ({section.source}.)\n"
    for picture in section.pictures:
        if picture.file in pictures:
            yield f"![{picture.title}]({picture.file})\n\n*{picture.caption}*\n"
    yield from _reasons(rows)
    for row in rows:
        if row.verdict == FOR_VALUES:
            yield f"**{row.claim}** comes out with other values: {row.values}.\n"
            yield from (*_table(_TRIED, row.tried), "")
    if section.differs:
        yield f"**What is not as in the paper.** {section.differs}\n"


def _reasons(rows: Sequence[ClaimRow]) -> Iterator[str]:
    """Each reason once, with the claims it is of and what came of its test."""
    by_reason: dict[str, list[ClaimRow]] = {}
    for row in rows:
        if row.verdict not in (*GOOD, FOR_VALUES) and row.reason:
            by_reason.setdefault(row.reason, []).append(row)
    for reason, claims in by_reason.items():
        yield f"**{'; '.join(row.claim for row in claims)}**: {reason}.\n"
        for tried in dict.fromkeys(row.tried for row in claims if row.tried):
            yield from (*_table(_TRIED, tried), "")


def _inputs() -> list[str]:
    """What was set, and by which published figure: none of them is a claim's."""
    rows = [(i.paper, i.figure, f"{i.value:g}", i.where, i.sets) for i in INPUTS]
    usual = (
        f"\nCalibrated twins have what is usual of real logs: {USUAL.repeats:.0%} of the accesses "
        f"follow the one before to the same file, at a gap with a median of {USUAL_GAP:g} seconds "
        f"whose logarithm spreads by {USUAL.spread:g}; a file is "
        f"asked for during {USUAL.life:.0%} of the trace; logarithms of sizes spread by "
        f"{USUAL_SPREAD_OF_SIZES:g}. Rice is a trace of two months: its twin has how long files "
        "live in the longest log at hand instead, and the CWARD paper asks at random. Runs of the "
        "LARD paper serve their trace twice, and the second time counts: WRR's misses stay the "
        "same on any number of nodes there, and with nothing in memory at first they cannot. "
        "Misses are reads from disk: who waits for a read under way causes none.\n"
    )
    head = ("paper", "published figure", "value", "where", "what it sets")
    return ["## What was set\n", *_table(head, rows), usual]


def _far_off(twins: Sequence[FitRow]) -> list[str]:
    far = [row for row in twins if row.error > _FAR_OFF]
    intro = (
        f"Of {len(twins)} published figures of {len({row.twin for row in twins})} twins "
        f"{len(twins) - len(far)} are within {_FAR_OFF:.0%} before calibration, and these are "
        f"farther off. [{TWINS}]({TWINS}) has all.\n"
    )
    rows = [
        (
            row.twin,
            f"{row.figure.replace('_', ' ')}{' (assumed)' if row.assumed else ''}",
            f"{row.published:,.6g}",
            f"{row.made:,.6g}",
            f"{row.error:.1%}",
        )
        for row in far
    ]
    table = _table(("twin", "figure", "published", "twin's", "off"), rows)
    return ["## How near the twins are\n", intro, *table, ""]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
        for cells in (head, ["---"] * len(head), *rows)
    ]


def _describe_log(trace: Trace) -> str:
    return _REAL.format(
        name=trace.name,
        accesses=len(trace.target),
        working_set=trace.working_set() / MB,
        sites=len(trace.sites),
    )


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

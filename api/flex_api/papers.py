"""The papers' experiments run again, as a page with pictures. In go experiments' names, out come files and claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from flex.errors import NotWritten, Unknown
from flex.sim.fitted import fit
from flex.sim.papers import EXPERIMENTS
from flex.sim.papers.claim import HOLDS, Lab, Point
from flex.sim.published import PUBLISHED
from flex_api import curves
from flex_api.sim_schemas import ClaimRow, FitRow, SimulatePaperOutput
from flex_api.simulating import placed

PAGE = "papers.md"
_HEAD = """# The papers, run again

This page is written by `flex simulate paper --to docs/papers`. Traces are twins: made-up traffic with every
aggregate that was published of the papers' traces, and nothing of their results. A twin cannot carry what was not
published: in which order files were asked for (its accesses are independent of each other), how sizes go with
popularity beyond the sums, daily rhythm, and who asked. A claim that does not come out is reported as it is.
"""


def run(
    names: Sequence[str], told: Callable[[str], None], folder: Path | None, most: int | None
) -> SimulatePaperOutput:
    """`folder` is where the page and its pictures go; `most` cuts the twins short."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise _unknown(unknown[0])
    lab = Lab(placed, told, most)
    rows = [
        ClaimRow(
            experiment=name, paper=claim.paper, claim=claim.claim, published=claim.published,
            measured=claim.measured, verdict=claim.verdict, reason="" if claim.verdict == HOLDS else claim.reason,
        )
        for name in names
        for claim in EXPERIMENTS[name](lab)
    ]  # fmt: skip
    pages = write(folder, rows, lab) if folder else []
    return SimulatePaperOutput(items=rows, pages=pages)


def fits(lab: Lab | None = None) -> list[FitRow]:
    lab = lab or Lab(placed, lambda _: None)
    return [
        FitRow(
            twin=name, figure=row.figure, published=row.published, made=row.twin, error=row.error, assumed=row.assumed
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
        (folder / PAGE).write_text(_page(rows, list(pictures), fits()), encoding="utf-8")
    except OSError as error:
        raise NotWritten(
            f"the page of the papers in {folder}",
            str(error),
            kept="nothing else was changed",
            advice="name another folder",
        ) from error
    return [str(folder / PAGE), *(str(folder / name) for name in pictures)]


def pictures_of(points: Sequence[Point]) -> dict[str, str]:
    """Requests a second and misses, a picture each, of whatever was varied."""
    found: dict[str, dict[str, dict[str, list[tuple[float, float]]]]] = {}
    for point in points:
        result = point.result
        for what, value in (
            ("requests a second", result.throughput),
            ("miss ratio in per cent", 100 * result.miss_ratio),
        ):
            found.setdefault(point.picture, {}).setdefault(what, {}).setdefault(point.line, []).append((point.x, value))
    return {
        f"{_slug(picture)}-{_slug(what)}.svg": curves.svg(f"{picture}: {what}", lines)
        for picture, kinds in found.items()
        for what, lines in kinds.items()
        if any(len(line) > 1 for line in lines.values())
    }


def _page(rows: Sequence[ClaimRow], pictures: Sequence[str], made: Sequence[FitRow]) -> str:
    held = sum(1 for row in rows if row.verdict == HOLDS)
    ran = dict.fromkeys(row.experiment for row in rows)
    left = [name for name in EXPERIMENTS if name not in ran]
    parts = [_HEAD, f"Run for this page: {', '.join(ran)}. Not run for it: {', '.join(left) or 'none'}.\n"]
    parts.append(f"## Claims\n\n{held} of {len(rows)} claims come out.\n")
    parts.append("| paper | claim | published | measured | verdict |\n| --- | --- | --- | --- | --- |")
    parts += [f"| {r.paper} | {r.claim} | {r.published} | {r.measured} | {_said(r)} |" for r in rows]
    parts.append("\n## Pictures\n")
    parts += [f"![{name}]({name})" for name in pictures]
    parts.append(
        "\n## How near the twins are\n\n| twin | figure | published | twin | off |\n| --- | --- | --- | --- | --- |"
    )
    parts += [
        f"| {r.twin} | {r.figure.replace('_', ' ')}{' (assumed)' if r.assumed else ''} | {r.published:,.6g} | "
        f"{r.made:,.6g} | {r.error:.1%} |"
        for r in made
    ]
    return "\n".join(parts) + "\n"


def _said(row: ClaimRow) -> str:
    return f"{row.verdict}: {row.reason}" if row.reason else row.verdict


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _unknown(name: str) -> Unknown:
    return Unknown(
        f"the experiment {name}",
        "there is none of that name",
        kept="nothing was simulated",
        advice=f"take one of {', '.join(EXPERIMENTS)}, or --all",
    )

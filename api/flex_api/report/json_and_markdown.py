"""The report in other forms than a page: JSON for programs, Markdown for tickets and wikis. All say
the same.

Takes a ReportData. Returns text. A new form is a function and a line in FORMATS. Does not make PDF:
print_pdf.py prints it from the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest

from flex_api.in_words import amounts, grouped_moves_text, held_back_moves_text, site_moves_text
from flex_api.report import page as report
from flex_api.report.content import ReportData, state, verdict
from flex_api.schemas.plan_parts import MoveRow
from flex_api.schemas.rest_bodies import ReportShown

# The busiest sites that a report names. A guess.
BUSIEST = 100
# The moves that a report in Markdown names. A guess; the plan has all of them.
MOVES = 200
MOVED = ("site", "from", "to", "to read", "why")

MEDIA = {
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "pdf": "application/pdf",
}


def report_model(data: ReportData) -> ReportShown:
    sites = data.sites.items if data.sites else []
    return ReportShown.like(
        data,
        lines=dict(data.lines),
        tolerance_ratio=data.tolerance,
        verdict=verdict(data),
        busiest=nlargest(BUSIEST, sites, key=lambda row: (row.access_bytes, row.site)),
    )


def as_json(data: ReportData) -> str:
    return report_model(data).model_dump_json(indent=2) + "\n"


def markdown(data: ReportData) -> str:
    plan = data.plan
    stops = [f"stopped: {stop}" for stop in held_back_moves_text.lines(plan)]
    parts = [
        (
            f"# {cell(data.cluster)}, plan {plan.id}\n\n{verdict(data)}\n\n{state(plan)}. "
            f"Digest `{plan.digest}`.\n"
        ),
        *(f"- {cell(note)}\n" for note in (*plan.notes, *stops)),
        *_section("Balance", ("node", "access rate", "working set", "sites"), _loads(data)),
        *_section("Moves", MOVED, _moves(plan.moves)),
        *_section("Left to later nights", MOVED, _moves(plan.put_off)),
        *_section(
            "Not ready on their new node",
            ("site", "what was asked, and what came back"),
            ((row.site, row.why) for row in plan.not_ready),
        ),
        *_section(
            "What was brought to new nodes",
            ("site", "from", "to", "how it went", "took", "stages", "why"),
            _moves_with_stages(data),
        ),
        *_section("Name servers", ("server", "zone", "checked", "says"), _verdicts(data)),
        *_section("Logs", ("of", "state", "coverage", "last line"), _logs(data)),
        *_section("Nights before", ("plan", "state", "moves", "worst node off by"), _earlier(data)),
    ]
    return "\n".join(parts)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = tuple(heads)
    lines = (heads, ("---",) * len(heads), *rows)
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _section(name: str, heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    if table_rows := list(rows):
        yield f"\n## {name}\n\n{table(heads, table_rows)}"


def _loads(data: ReportData) -> Iterator[tuple[str, ...]]:
    for row in data.plan.after.nodes:
        yield (
            row.node,
            f"{row.access_units:.1f}",
            f"{row.working_set_units:.1f}",
            f"{row.sites:,}",
        )


def _moves(rows: Sequence[MoveRow]) -> Iterator[tuple[str, ...]]:
    groups = grouped_moves_text.group(rows)
    for row in groups[:MOVES]:
        yield (row.sites, row.source, row.target, amounts.size(row.cold_bytes), row.reason)
    if len(groups) > MOVES:
        yield f"and {len(groups) - MOVES:,} more", "", "", "", ""


def _moves_with_stages(data: ReportData) -> Iterator[tuple[str, ...]]:
    for row in data.brought[:MOVES]:
        yield (
            row.site,
            row.source,
            row.target,
            row.state,
            site_moves_text.took(row),
            site_moves_text.stages_in_words(row),
            site_moves_text.why(row),
        )
    if len(data.brought) > MOVES:
        yield f"and {len(data.brought) - MOVES:,} more", "", "", "", "", "", ""


def _verdicts(data: ReportData) -> Iterator[tuple[str, ...]]:
    for row in data.plan.verdicts:
        yield (
            row.server,
            row.zone,
            f"{row.checked:,}",
            "agrees" if row.agrees else row.error or f"{len(row.wrong)} lines differ",
        )


def _logs(data: ReportData) -> Iterator[tuple[str, ...]]:
    for row in data.logs:
        yield (
            row.name,
            row.state,
            amounts.share(row.coverage_ratio),
            amounts.when(row.last_line) if row.last_line else "",
        )


def _earlier(data: ReportData) -> Iterator[tuple[str, ...]]:
    for row in data.earlier:
        yield row.id, row.state, f"{row.moves:,}", amounts.share(row.worst_ratio)


FORMATS: dict[str, Callable[[ReportData], str]] = {
    "html": report.html,
    "json": as_json,
    "md": markdown,
}

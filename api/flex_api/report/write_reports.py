"""Writes reports to their places, and sums up what was read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flex.errors import NotWritten
from flex.model.plan import Plan
from flex_api.report import print_pdf
from flex_api.report.gather import gather
from flex_api.report.json_and_markdown import FORMATS
from flex_api.report.page import write as write_html
from flex_api.wiring import World
from flex_logs_ingest.reading.read_logs import FileReport


def report_text(world: World, plan: Plan, form: str) -> str:
    """The report as text of that form."""
    return FORMATS[form](gather(world.settings, world.store, plan, world.clock()))


def write(world: World, plan: Plan, to: Path | None = None) -> Path:
    """One HTML file for the plan; `latest.html` beside it is the newest one."""
    content = gather(world.settings, world.store, plan, world.clock())
    path = to or place(world, plan)
    write_html(content, path)
    if to is None and [newest.id for newest in world.store.plans(1)] == [plan.id]:
        write_html(content, path.with_name("latest.html"))
    return path


def place(world: World, plan: Plan) -> Path:
    """Where its report is, once it is written."""
    return world.settings.report.dir / f"{plan.id}.html"


def print_too(world: World, path: Path) -> None:
    """As PDF beside it, where the settings ask for it; that it cannot be printed stops no night."""
    if world.settings.report.pdf:
        try:
            print_pdf.print_pdf(path, path.with_suffix(".pdf"))
        except NotWritten as error:
            world.say(f"No PDF: {error}; {error.advice}.")


def lines(files: Sequence[FileReport]) -> dict[str, int]:
    """New lines by class, over all files."""
    total: dict[str, int] = {}
    for file in files:
        for name, number in file.lines:
            total[name] = total.get(name, 0) + number
    return total

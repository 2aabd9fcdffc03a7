"""Gathers what a report shows and writes it where reports go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flex.domain import Cycle
from flex_api import present
from flex_api.report import ReportData
from flex_api.report import write as write_html
from flex_api.schemas import SitesOutput
from flex_api.wiring import World
from flex_logs_ingest.read import FileReport

EARLIER = 14


def write(world: World, cycle: Cycle, files: Sequence[FileReport] = (), to: Path | None = None) -> Path:
    """One HTML file for the cycle; `latest.html` beside it is the newest one."""
    content = data(world, cycle, files)
    if to is not None:
        write_html(content, to)
        return to
    path = world.settings.report.dir / f"{cycle.id}.html"
    write_html(content, path)
    write_html(content, path.with_name("latest.html"))
    return path


def data(world: World, cycle: Cycle, files: Sequence[FileReport] = ()) -> ReportData:
    earlier = [one for one in world.store.cycles(EARLIER + 1) if one.id != cycle.id and one.created <= cycle.created]
    return ReportData(
        cluster=world.settings.cluster.name,
        made=world.clock(),
        tolerance=world.settings.solver.tolerance,
        plan=present.plan_output(cycle),
        earlier=tuple(present.plans_output(earlier[:EARLIER]).items),
        sites=_sites(world, cycle),
        lines=lines(files),
    )


def lines(files: Sequence[FileReport]) -> dict[str, int]:
    """New lines by class, over all files."""
    total: dict[str, int] = {}
    for file in files:
        for name, number in file.lines:
            total[name] = total.get(name, 0) + number
    return total


def _sites(world: World, cycle: Cycle) -> SitesOutput | None:
    found = world.store.profiles()
    if found is None:
        return None
    period, profiles, _ = found
    return present.sites_output(
        profiles, world.store.placement_of(cycle.id), world.store.pins(), (period.start, period.end)
    )

"""Writes reports where reports go, and sums up what was read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flex.domain import Cycle
from flex_api.gather import gather
from flex_api.report import write as write_html
from flex_api.wiring import World
from flex_logs_ingest.read import FileReport


def write(world: World, cycle: Cycle, to: Path | None = None) -> Path:
    """One HTML file for the cycle; `latest.html` beside it is the newest one."""
    content = gather(world.settings, world.store, cycle, world.clock())
    if to is not None:
        write_html(content, to)
        return to
    path = world.settings.report.dir / f"{cycle.id}.html"
    write_html(content, path)
    if [newest.id for newest in world.store.cycles(1)] == [cycle.id]:
        write_html(content, path.with_name("latest.html"))
    return path


def lines(files: Sequence[FileReport]) -> dict[str, int]:
    """New lines by class, over all files."""
    total: dict[str, int] = {}
    for file in files:
        for name, number in file.lines:
            total[name] = total.get(name, 0) + number
    return total

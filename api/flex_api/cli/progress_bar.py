"""A bar that shows how far the reading of logs has come, where a person watches. Shows nothing in a
pipe or under cron.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bar

from flex_api.cli.common import now
from flex_api.in_words import amounts
from flex_logs_ingest.reading.read_logs import Progress, Step


@contextmanager
def following(console: Console | None) -> Iterator[Progress]:
    if console is None:
        yield lambda _: None
        return
    columns = (
        # A column reads markup by itself, whatever its console does: logs may be called
        # `access[1].log`.
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[lines]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        yield _Line(bar).tell


def count_down(console: Console | None, until: datetime) -> None:
    """Wait until then; where a person watches, with a clock that runs."""
    if console is None:
        time.sleep(max(0.0, (until - now()).total_seconds()))
        return
    with console.status("") as status:
        while (left := until - now()) > timedelta():
            status.update(f"old answers live on for {amounts.span(left)}")
            time.sleep(min(1.0, left.total_seconds()))


class _Line:
    """One line, of the source being read: a cluster's sources are more than a terminal has
    lines.
    """

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, lines="")
        self._source = ""
        self._started = 0.0

    def tell(self, step: Step) -> None:
        # How much a pipe will bring is not known.
        total = step.source_size if step.size else None
        if step.source != self._source:
            self._source, self._started = step.source, time.monotonic()
            self._bar.reset(self._task, total=total)
        seconds = max(time.monotonic() - self._started, 0.001)
        self._bar.update(
            self._task,
            total=total,
            completed=step.source_done,
            description=f"{step.source}: {Path(step.path).name}",
            lines=f"{step.source_lines / seconds:,.0f} lines/s",
        )

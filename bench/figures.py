"""What a bench measures, as a flat object of figures, and how it is shown and kept.

Takes the name of a bench and its figures. Prints a table for people, and writes results/NAME.json
for comparisons. Does not measure anything. A figure has its unit at the end of its name:
`_seconds`, `_per_second`, `_bytes`, `_ratio`.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

Figure = float | int | str
Figures = dict[str, Figure]
Measure = Callable[[], Figures]

RESULTS = Path(__file__).parent / "results"


def best_of(times: int, work: Callable[[], object]) -> float:
    """The seconds of the fastest of several runs: the one that other programs disturbed least."""
    seconds = []
    for _ in range(times):
        started = perf_counter()
        work()
        seconds.append(perf_counter() - started)
    return min(seconds)


def keep(name: str, figures: Figures) -> Path:
    """The figures as JSON, with what they were measured on."""
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        json.dumps(
            {"python": platform.python_version(), "machine": platform.machine(), **figures},
            indent=2,
        )
    )
    return path


def kept_figures(name: str) -> Figures:
    """The figures that an earlier run has kept."""
    path = RESULTS / f"{name}.json"
    found: Figures = json.loads(path.read_text()) if path.exists() else {}
    return {figure: value for figure, value in found.items() if figure not in ("python", "machine")}


def show(name: str, figures: Figures) -> None:
    """As a table; what has a `_min` and a `_max` beside it takes them into its own row. Days are
    left to the file.
    """
    table = Table(title=name, title_justify="left")
    table.add_column("figure")
    for column in ("value", "min", "max"):
        table.add_column(column, justify="right")
    for figure in figures:
        if not _is_bound(figure, figures) and not figure.endswith("_by_day"):
            table.add_row(
                figure,
                *(
                    _text(figures.get(bound, ""))
                    for bound in (figure, f"{figure}_min", f"{figure}_max")
                ),
            )
    Console().print(table)


def _is_bound(figure: str, figures: Figures) -> bool:
    of, _, end = figure.rpartition("_")
    return end in ("min", "max") and of in figures


def _text(value: Figure) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"

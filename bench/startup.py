"""How soon the command line answers, beside what Python takes to import the libraries that it
stands on.

Help, the version and an error of usage are set beside `import typer`; verbs that show what is in a
database of 200 sites beside `import pandas, sqlalchemy`. All run in turn, ROUNDS times, each in a
process of its own. A figure is the median, with the worst as its maximum: of the processor's time
(user and system, children too), which other programs disturb little, and of the time on the clock.
A `_ratio` is that of the processor's time, of a verb and of an import in one round.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.api import given
from bench.figures import Figures

ROUNDS = int(os.environ.get("ROUNDS", "15"))
FLEX = str(Path(sys.executable).with_name("flex"))
TYPER, STORE = "import_typer", "import_pandas_sqlalchemy"
IMPORTS = {TYPER: "import typer", STORE: "import pandas, sqlalchemy"}
MISUSE = "misuse"
# Small: what grows with sites is no start.
SMALL = given.Size().scale(0)
# What a call is set beside, and what it says.
CALLS: dict[str, tuple[str, list[str]]] = {
    "version": (TYPER, ["version"]),
    "help": (TYPER, ["--help"]),
    MISUSE: (TYPER, ["nodse"]),
    "nodes_list": (STORE, ["nodes", "list"]),
    "history": (STORE, ["history"]),
    "plan_list": (STORE, ["plan", "list"]),
    "explain": (STORE, ["explain", given.site_name(1)]),
}


def measure() -> Figures:
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as name:
        folder = Path(name)
        given.installation(folder, SMALL)
        before = [FLEX, "--config", str(folder / "flex.toml")]
        programs = {
            **{name: [sys.executable, "-c", code] for name, code in IMPORTS.items()},
            **{
                name: [*(before if beside == STORE else [FLEX]), *words]
                for name, (beside, words) in CALLS.items()
            },
        }
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
        # The first round fills the caches of modules and files, and does not count.
        for number in range(ROUNDS + 1):
            for name, command in programs.items():
                seconds = _run(command, 2 if name == MISUSE else 0)
                if number:
                    took[name].append(seconds)
    figures: Figures = {"rounds": ROUNDS, "load_average": os.getloadavg()[0]}
    for name, pairs in took.items():
        for clock, found in zip(("cpu", "wall"), zip(*pairs, strict=True), strict=True):
            figures[f"{name}_{clock}_seconds"] = round(median(found), 4)
            figures[f"{name}_{clock}_seconds_max"] = round(max(found), 4)
    for name, (beside, _) in CALLS.items():
        ratios = [
            verb[0] / imports[0] for verb, imports in zip(took[name], took[beside], strict=True)
        ]
        figures[f"{name}_ratio"] = round(median(ratios), 3)
        figures[f"{name}_ratio_max"] = round(max(ratios), 3)
    return figures


def _run(command: list[str], code: int) -> tuple[float, float]:
    """Seconds of the processor, and on the clock."""
    began = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = perf_counter() - began
    # It was waited for, which `process` cannot know.
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == code, (command, process.returncode)
    return used.ru_utime + used.ru_stime, wall

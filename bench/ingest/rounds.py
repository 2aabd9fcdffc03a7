"""Rounds: each round measures everything once, so that whatever disturbs the machine disturbs all
alike.

Takes commands and what they cost in each round. Returns figures. A ratio is taken within a round,
and the figure is its median over the rounds; `_min` and `_max` beside it say how steady it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.figures import Figures

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds; `cpu` is that of the process and of all that it waited for."""

    wall: float
    cpu: float


def time_command(*command: str | Path) -> Spent:
    """What the command cost from its start to its end."""
    started = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(
            f"{command[0]} ended with {process.returncode}: "
            f"{said.decode(errors='replace').strip()[-500:]}"
        )
    return Spent(wall, usage.ru_utime + usage.ru_stime)


def figures_of(module: str, *arguments: str | Path) -> dict[str, float]:
    """The line of JSON that one of our own modules says when it is run with these arguments."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{module} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@contextmanager
def on_cores(number: int) -> Iterator[None]:
    """What is started meanwhile has that many cores and no more."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:number])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ratio(name: str, above: Sequence[float], below: Sequence[float]) -> Figures:
    """The median of the quotients of the rounds, and the least and the greatest."""
    return middle(name, [a / b for a, b in zip(above, below, strict=True)])


def middle(name: str, values: Sequence[float]) -> Figures:
    return {name: median(values), f"{name}_min": min(values), f"{name}_max": max(values)}

"""The controller over a large store: pages of lists and a minute of load, a night's control part
and its memory.

`SCALE=0.01` only shows that it runs; `API_FOLDER` keeps the store, which takes minutes to fill, for
the next time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from bench.api import apart, asked, given
from bench.figures import Figures

WORKERS = int(os.environ.get("API_WORKERS", "2"))
SCALE = float(os.environ.get("SCALE", "1"))


def measure() -> Figures:
    size = given.Size().scale(SCALE)
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as name:
        folder = Path(os.environ.get("API_FOLDER", name))
        folder.mkdir(parents=True, exist_ok=True)
        _say(f"{size.sites:,} sites, {size.nodes} nodes, {size.nights} nights: filling the store")
        given.installation(folder, size)
        figures: Figures = {"sites": size.sites, "nodes": size.nodes, "nights": size.nights}
        figures["load_average"] = os.getloadavg()[0]
        return figures | asked.measure(folder, size, WORKERS, _say) | control(folder)


def control(folder: Path) -> Figures:
    """In a process of its own: memory that somebody else has used before would be counted, too. And
    on a copy: what that night changes must not be there when a store that was kept is measured
    again.
    """
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as name:
        copy = shutil.copytree(folder, Path(name, "night"))
        return apart.measure_apart("bench.api.control", str(copy), str(SCALE), say=_say)


def _say(line: str) -> None:
    print(line, flush=True)

"""Access logs of a made-up night, as real servers leave them on disk.

Takes the accesses of a night, and the partition by which they were served. Writes files: one
directory for each node, in several formats, rotated and compressed as logrotate does it, with the
broken lines that every public server collects. Returns which logs there are. Does not make up what
is asked for (made_up_cluster.py does) and does not read logs.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from flex.placing.problem import Ints
from flex.prediction.replay_forecast import NOWHERE, assign_in_turn, route
from flex.sim.made_up_cluster import DAY, Accesses, Hosting
from flex.sim.write_log_lines import FORMATS, add_garbage, rows

# Logs are rotated every eight hours: a night leaves a live file, a rotated one and a compressed
# one.
ROTATION = DAY // 3
# Where a server keeps some customers' logs apart, that many sites have a file of their own.
OWN_LOGS = 5


@dataclass(frozen=True, slots=True)
class LogSource:
    """A log of a node and what it is. `site` is set where the lines do not name theirs."""

    path: Path
    node: str
    format: str
    site: str = ""

    @property
    def glob(self) -> str:
        """The live file and all that it was rotated to."""
        return f"{self.path}*"


def sources(directory: Path, hosting: Hosting, nodes: Sequence[str]) -> tuple[LogSource, ...]:
    """The second of three nodes writes JSON; the third keeps the logs of a few sites apart."""
    log_sources = []
    for position, node in enumerate(nodes):
        apart = hosting.sites[:OWN_LOGS] if position % 3 == 2 else ()
        log_sources += [
            LogSource(directory / node / f"{site}.access.log", node, "combined", site)
            for site in apart
        ]
        shared = "nginx_json" if position % 3 == 1 else "vhost_combined"
        log_sources.append(LogSource(directory / node / "access.log", node, shared))
    return tuple(log_sources)


def aliases(hosting: Hosting) -> dict[str, str]:
    """The other names that the sites are asked for by."""
    return {f"www.{site}": site for site in hosting.sites}


def write(
    directory: Path,
    hosting: Hosting,
    accesses: Accesses,
    nodes: Sequence[str],
    rng: np.random.Generator,
    *,
    placement: pd.DataFrame | None = None,
) -> tuple[LogSource, ...]:
    """Add a night to the logs below the directory, and say which logs there are.

    Each access is in a log of the node the PLACEMENT sends it to. A site without a node is served
    by all in turn, and so is every site when there is no partition.
    """
    logs = sources(directory, hosting, nodes)
    for source, mine in _split_by_log(logs, hosting, accesses, nodes, rng, placement):
        _append(source, mine, rng)
    return logs


def grow(
    directory: Path,
    hosting: Hosting,
    accesses: Accesses,
    nodes: Sequence[str],
    rng: np.random.Generator,
    *,
    placement: pd.DataFrame | None = None,
) -> None:
    """Add accesses to the live logs, which are not rotated for it: what a busy minute leaves."""
    logs = sources(directory, hosting, nodes)
    for source, mine in _split_by_log(logs, hosting, accesses, nodes, rng, placement):
        lines = FORMATS[source.format](mine)
        if lines:
            source.path.parent.mkdir(parents=True, exist_ok=True)
            with source.path.open("a", encoding="utf-8", newline="\n") as log:
                log.write("\n".join(lines) + "\n")


def _split_by_log(
    logs: Sequence[LogSource],
    hosting: Hosting,
    accesses: Accesses,
    nodes: Sequence[str],
    rng: np.random.Generator,
    placement: pd.DataFrame | None,
) -> Iterator[tuple[LogSource, pd.DataFrame]]:
    """The rows of each log."""
    table = rows(hosting, accesses, rng)
    position = table["access"].to_numpy()
    node = _served_by(hosting, accesses, nodes, placement)[position]
    for source in logs:
        of_log = _sites_of(source, logs, hosting)[accesses.site[position]]
        yield source, table[of_log & (node == nodes.index(source.node))]


def _served_by(
    hosting: Hosting, accesses: Accesses, nodes: Sequence[str], placement: pd.DataFrame | None
) -> Ints:
    turns = assign_in_turn(len(accesses.time), np.arange(len(nodes)))
    if placement is None:
        return turns
    placed = route(hosting.sites, accesses.site, placement, nodes)
    served: Ints = np.where(placed == NOWHERE, turns, placed)
    return served


def _sites_of(source: LogSource, logs: Sequence[LogSource], hosting: Hosting) -> np.ndarray:
    """Which sites' accesses stand in this log."""
    apart = {log.site for log in logs if log.node == source.node and log.site}
    return np.array(
        [site == source.site if source.site else site not in apart for site in hosting.sites]
    )


def _append(source: LogSource, table: pd.DataFrame, rng: np.random.Generator) -> None:
    source.path.parent.mkdir(parents=True, exist_ok=True)
    source.path.touch()
    lines = add_garbage(FORMATS[source.format](table), rng)
    shift = table["time"].to_numpy() // ROTATION
    for start, end in zip(*_runs(shift), strict=True):
        if source.path.stat().st_size:
            _rotate(source.path)
        source.path.write_text("\n".join(lines[start:end]) + "\n", encoding="utf-8", newline="\n")


def _runs(values: Ints) -> tuple[list[int], list[int]]:
    """Where each run of equal values starts and ends."""
    starts = np.flatnonzero(np.diff(values, prepend=-1)).tolist()
    return starts, [*starts[1:], len(values)] if starts else []


def _rotate(live: Path) -> None:
    """logrotate with `compress` and `delaycompress`: .1 stays plain until the next time."""
    for number in sorted(_compress(live), reverse=True):
        live.with_name(f"{live.name}.{number}.gz").rename(
            live.with_name(f"{live.name}.{number + 1}.gz")
        )
    latest = live.with_name(f"{live.name}.1")
    if latest.exists():
        packed = gzip.compress(latest.read_bytes(), compresslevel=3, mtime=0)
        live.with_name(f"{live.name}.2.gz").write_bytes(packed)
    live.rename(latest)


def _compress(live: Path) -> list[int]:
    pattern = re.compile(re.escape(live.name) + r"\.(\d+)\.gz")
    return [
        int(match[1]) for path in live.parent.iterdir() if (match := pattern.fullmatch(path.name))
    ]

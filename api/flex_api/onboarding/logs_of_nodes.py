"""Whose logs are where: those found on one machine, and where the same ones of other nodes are.

Takes nodes, sources as one machine has them, and where logs of all nodes are kept. Returns sources
for each node, with remarks where there are none. Looks at which files there are, not into them.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flex_api.onboarding.find_nodes import FoundNode
from flex_api.onboarding.settings_text import NodeLogs
from flex_api.onboarding.source_patterns import LogSource
from flex_logs_ingest.files.find_and_unpack_logs import Source, paths
from flex_logs_ingest.scan.site_rules import SiteRule

# What stands for a node's name in a folder.
NODE = "{node}"
# Where web servers log that were told nothing else.
USUAL = (
    "/var/log/apache2/other_vhosts_access.log",
    "/var/log/apache2/access.log",
    "/var/log/nginx/access.log",
    "/var/log/httpd/access_log",
)


@dataclass(frozen=True, slots=True)
class LogsFound:
    """`newest` is when a log was written last, in seconds; 0 where there is none."""

    nodes: tuple[NodeLogs, ...]
    files: int
    newest: float
    remarks: tuple[str, ...]


def usual_logs(tree: Path) -> tuple[LogSource, ...]:
    """The logs of all sites together, where no virtual host names one."""
    there = (path for path in USUAL if os.path.exists(f"{_prefix(tree)}{path}"))  # noqa: PTH110
    return tuple(LogSource((f"{glob.escape(path)}*",), sites=0) for path in there)


def logs_of_nodes(
    nodes: Sequence[FoundNode], here: str, sources: Sequence[LogSource], tree: Path, folder: str
) -> LogsFound:
    """`here` is the node that the tree is of. `folder` is where the logs of each node are, with
    {node} in it; empty where nobody keeps them together.
    """
    node_logs: list[NodeLogs] = []
    remarks: list[str] = []
    files, newest = 0, 0.0
    for node in nodes:
        prefix = _prefix_of(node.name, here, tree, folder, alone=len(nodes) == 1)
        if prefix is None or not sources:
            node_logs.append(NodeLogs(node.name))
            continue
        moved = tuple(_move_below_prefix(prefix, source) for source in sources)
        node_logs.append(NodeLogs(node.name, moved))
        times = [time for source in moved for time in _times(source)]
        files += len(times)
        newest = max((newest, *times))
        if not times:
            first = moved[0].globs[0]
            remarks.append(f"no log of {node.name} is there yet, such as {first}")
    if not sources:
        remarks.append("no file names a log: name the logs in [[ingest.source]]")
    if left := [logs.node for logs in node_logs if not logs.sources]:
        remarks.append(
            f"the logs of {', '.join(left)} are not here: --logs '/srv/logs/{NODE}' says "
            "where those of each node are, or count them there"
        )
    return LogsFound(tuple(node_logs), files, newest, tuple(remarks))


def _prefix(tree: Path) -> str:
    return str(tree.absolute()).rstrip("/")


def _prefix_of(node: str, here: str, tree: Path, folder: str, *, alone: bool) -> str | None:
    if NODE in folder:
        given = folder.replace(NODE, node).rstrip("/")
        is_tree = node == here and not os.path.isdir(given)  # noqa: PTH112
        return _prefix(tree) if is_tree else given
    if alone and folder:
        return folder.rstrip("/")
    return _prefix(tree) if node == here else None


def _move_below_prefix(prefix: str, source: LogSource) -> LogSource:
    """In a folder for a node the logs may have fewer folders above them than on the node."""
    if not prefix:
        return source
    needed = source.pattern.count("/") + 1
    ways = [
        replace(source, globs=tuple(_shorten(prefix, pattern, drop) for pattern in source.globs))
        for drop in range(max(1, source.globs[0].count("/") - needed + 1))
    ]
    return next((way for way in ways if any(_times(way))), ways[0])


def _shorten(prefix: str, pattern: str, drop: int) -> str:
    parts = pattern.split("/")[1 + drop :]
    return "/".join((glob.escape(prefix), *parts))


def _times(source: LogSource) -> Iterator[float]:
    """When each file of it was written."""
    rule = SiteRule(pattern=source.pattern)
    for path in paths(Source("logs", source.globs, "", rule)):
        try:
            status = os.stat(path)  # noqa: PTH116 - strings all the way
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            yield status.st_mtime

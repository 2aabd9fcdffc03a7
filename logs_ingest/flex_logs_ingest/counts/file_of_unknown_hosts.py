"""Requests for names that are no sites of ours, kept beside the counts of each reading and shown.

Takes a reading's unknown hosts (scan/frequent_unknown_hosts.py). Writes one small Parquet file with
the name of the reading, where there were any:

    <id>.strangers.parquet    host, requests (at least); most requests first, at most 1,000 rows

Does not change what counts: a reading whose file is gone still counts in full, and shows no names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flex.model.log_reading import Segment
from flex_logs_ingest.scan.counts_as_columns import integers, texts
from flex_logs_ingest.scan.site_rules import UNKNOWN

# What stands in the names of these files.
KIND = "strangers"


@dataclass(frozen=True, slots=True)
class Unhosted:
    """All answers to requests for no site of ours, and the names that were asked for most, with
    requests at least.
    """

    requests: int
    bytes: int
    names: tuple[tuple[str, int], ...]


def write(directory: Path, segment: str, strangers: Mapping[str, int]) -> None:
    """Whole when it is there under its name. Raises OSError."""
    if not strangers:
        return
    path = _path(directory, segment)
    unfinished = path.with_name(f"{path.name}.part")
    hosts = [host.encode() for host in strangers]
    offsets = np.cumsum([0, *map(len, hosts)], dtype=np.int64)
    requests = np.array(list(strangers.values()), dtype=np.int64)
    table = pa.table(
        [texts(b"".join(hosts), offsets), integers(requests)], names=["host", "requests"]
    )
    pq.write_table(table, unfinished, compression="zstd")
    unfinished.replace(path)


def names_of(directory: Path, segment: str) -> list[tuple[str, int]]:
    """Those of one reading, as they were written."""
    try:
        with pq.ParquetFile(_path(directory, segment)) as file:
            table = file.read().to_pydict()
    except (OSError, pa.ArrowInvalid):
        return []
    return list(zip(table["host"], table["requests"], strict=True))


def delete(directory: Path, segment: str) -> None:
    """Raises OSError."""
    _path(directory, segment).unlink(missing_ok=True)


def requests_for_unknown_hosts(
    directory: Path, segments: Sequence[Segment], first_day: int, last_day: int, most: int
) -> Unhosted:
    """What came for unknown hosts in these readings and days; the names are those of all the days
    that a reading tells of.
    """
    names: Counter[str] = Counter()
    requests = sent = 0
    for segment in segments:
        hours = _unknown_hours(directory / f"{segment.id}.hours.parquet", first_day, last_day)
        requests += pc.sum(hours["requests"]).as_py() or 0
        sent += pc.sum(hours["bytes"]).as_py() or 0
        for name, number in names_of(directory, segment.id):
            names[name] += number
    ordered = sorted(names.items(), key=lambda each: (-each[1], each[0]))
    return Unhosted(requests, sent, tuple(ordered[:most]))


def _unknown_hours(path: Path, first_day: int, last_day: int) -> pa.Table:
    hour = pc.field("hour")
    days = (hour >= first_day * 24) & (hour < (last_day + 1) * 24)
    wanted = ["requests", "bytes"]
    try:
        return pq.read_table(
            path, columns=wanted, filters=days & (pc.field("site") == UNKNOWN), partitioning=None
        )
    except (OSError, pa.ArrowInvalid):
        return pa.table({name: pa.array([], pa.int64()) for name in wanted})


def _path(directory: Path, segment: str) -> Path:
    return directory / f"{segment}.{KIND}.parquet"

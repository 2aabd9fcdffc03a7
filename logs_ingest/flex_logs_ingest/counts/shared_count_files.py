"""Counts of several small readings in one set of files: each file costs as much as a small log.

Takes the counts of readings. Writes the files that count_files.py describes, once for all of them,
with a name that no reading has:

    <id>.files.parquet    the rows of all, added up
    <id>.hours.parquet    the hours of all, added up
    <id>.sample.parquet   SAMPLE and `reading`: the sample of one reading after the other. The
                          metadata key `flex.readings` lists their ids and levels; `reading` is
                          the place in that list.

Does not decide which readings share, and does not decide that they count: record_in_batches.py and
the store do.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flex_logs_ingest.scan.counts_as_columns import (
    LEVEL,
    Columns,
    Ints,
    OtherCount,
    ScannedColumns,
    hours_table,
    integers,
    join,
    plain_table,
    texts,
    write_rows,
    write_table,
)
from flex_logs_ingest.scan.segment_scan import Counts

# The metadata key of the readings whose samples are in a file.
READINGS = "flex.readings"
# What the ids of shared files begin with. Those of readings and of sums have a hexadecimal digit.
_LETTER = "s"

Flags = npt.NDArray[np.bool_]


def id_of(readings: Iterable[str]) -> str:
    """The same readings always share files of the same name."""
    text = "\n".join(sorted(readings)).encode()
    return _LETTER + sha1(text, usedforsecurity=False).hexdigest()[:39]


def is_shared(files: str) -> bool:
    return files.startswith(_LETTER)


def write(readings: Sequence[tuple[str, Counts]], files: Path, hours: Path, sample: Path) -> None:
    """The files of these readings; whole when this returns. Raises OSError."""
    sites = sorted({site for _, counts in readings for site in counts.found["sites"]})
    numbers = {site: number for number, site in enumerate(sites)}
    every = [counts.found for _, counts in readings]
    of_sites = [[numbers[site] for site in scanned["sites"]] for scanned in every]
    tables = [scanned["tables"] for scanned in every]
    joined, sampled = tables[0].join(tables, of_sites)
    rows, place = _rows(joined)
    write_rows(str(files), rows, sites)
    write_table(str(hours), _hours(every, of_sites, sites))
    notes = {
        LEVEL: str(max(counts.sample_level for _, counts in readings)),
        READINGS: json.dumps([[id_, counts.sample_level] for id_, counts in readings]),
    }
    write_table(str(sample), _sample(joined, sampled, place), notes)


def others(readings: Iterable[Counts]) -> tuple[OtherCount, ...] | None:
    """What came by other names of sites, added up; None where one of them does not tell."""
    sums: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for counts in readings:
        if counts.others is None:
            return None
        for site, name, day, requests, sent in counts.others:
            total = sums[site, name, day]
            total[0] += requests
            total[1] += sent
    return tuple((*key, requests, sent) for key, (requests, sent) in sorted(sums.items()))


def levels(metadata: Mapping[bytes, bytes]) -> list[tuple[str, int]]:
    """The readings whose samples are in a file with this metadata, and from which level on each is
    complete.
    """
    return [(id_, level) for id_, level in json.loads(metadata.get(READINGS.encode(), b"[]"))]


def _rows(joined: Columns) -> tuple[Columns, Ints]:
    """The rows in order, those of one target added up; and the place of each of the rows given."""
    target = texts(joined["text"], joined["offsets"])
    day, site = joined["day"], joined["site"]
    order, first, place = _groups([integers(day), integers(site), target])
    names = target.take(integers(order[first]))
    _, bounds, text = names.buffers()
    kept = np.frombuffer(bounds, dtype=np.int64)[: len(names) + 1] if len(names) else _NONE
    columns = Columns(
        day=day[order][first],
        site=site[order][first],
        text=text.to_pybytes()[: kept[-1]] if len(names) and text else b"",
        offsets=kept if len(names) else np.zeros(1, dtype=np.int64),
        requests=_sums(joined["requests"][order], first),
        bytes=_sums(joined["bytes"][order], first),
        size=_largest(joined["size"][order], first),
        last=_largest(joined["last"][order], first),
        sample_time=_NONE,
        sample_row=_NONE,
        sample_level=_NONE,
    )
    return columns, place


def _hours(
    every: Sequence[ScannedColumns], of_sites: Sequence[Sequence[int]], sites: list[str]
) -> pa.Table:
    numbers = np.array([*chain.from_iterable(of_sites)], dtype=np.int64)
    before = np.cumsum([0, *map(len, of_sites)])[:-1]
    begins = np.repeat(before, [len(scanned["hour"]) for scanned in every])
    site = numbers[join([scanned["hour_site"] for scanned in every]) + begins]
    hour = join([scanned["hour"] for scanned in every])
    order, first, _ = _groups([integers(site), integers(hour)])
    counts = {
        "requests": join([scanned["hour_requests"] for scanned in every]),
        "bytes": join([scanned["hour_bytes"] for scanned in every]),
        "timed": join([scanned["hour_timed"] for scanned in every]),
        "service_us": join([scanned["hour_service"] for scanned in every]),
    }
    keys = {"site": site[order][first], "hour": hour[order][first]}
    sums = {name: _sums(values[order], first) for name, values in counts.items()}
    return hours_table({**keys, **sums}, sites)


def _sample(joined: Columns, sampled: Sequence[int], place: Ints) -> pa.Table:
    return plain_table(
        {
            "time": joined["sample_time"],
            "target": place[joined["sample_row"]],
            "level": joined["sample_level"],
            "reading": np.repeat(np.arange(len(sampled)), sampled),
        }
    )


_NONE: Ints = np.zeros(0, dtype=np.int64)


def _groups(keys: Sequence[pa.Array]) -> tuple[Ints, Ints, Ints]:
    """The order of rows with these keys, where in that order each key comes first, and the number
    that the key of each row has then.
    """
    names = [f"{number}" for number in range(len(keys))]
    table = pa.Table.from_arrays(list(keys), names=names)
    indices = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
    order = indices.to_numpy().astype(np.int64)
    new: Flags = np.ones(len(order), dtype=np.bool_)
    if len(order):
        new[1:] = False
    for key in keys:
        ordered = key.take(integers(order))
        differs = pc.not_equal(ordered[1:], ordered[:-1])
        new[1:] |= differs.to_numpy(zero_copy_only=False)
    place = np.zeros(len(order), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return order, np.flatnonzero(new), place


def _sums(values: Ints, first: Ints) -> Ints:
    """Small logs have far too few lines to add up to what 64 bits do not hold."""
    sums: Ints = np.add.reduceat(values, first) if len(values) else values
    return sums


def _largest(values: Ints, first: Ints) -> Ints:
    largest: Ints = np.maximum.reduceat(values, first) if len(values) else values
    return largest

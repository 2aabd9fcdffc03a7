"""Counts on their way from the machine with the logs to the controller: one file for each reading
of a log.

Takes a reading's segment, its stream and its files of counts. Writes a parcel, `<id>.parcel`: one
line of JSON, then three files one after another. The line says what was read, how far, the length
and checksum of each file, which names were asked for that are no sites, and how much processor time
came with the hours. Does not send the parcel: the operator decides how it travels. It may arrive
twice, late, and in any order.

The Outbox is the store of the machine with the logs, and makes a parcel of every reading that is
recorded in it. It keeps what a parcel needs before the reading is recorded, so a run that is killed
anywhere leaves no reading without its parcel, and none with two.

The processor time of sites is added to the hours of a reading before its parcel is made.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from flex.errors import NotWritten
from flex.model.log_reading import Segment, Stream
from flex.model.period import LAST_DAY
from flex.ports import Segments
from flex_logs_ingest.counts import count_files, file_of_unknown_hosts, other_name_counts
from flex_logs_ingest.cpu.cpu_since_last_time import CpuSinceLastTime, Used
from flex_logs_ingest.scan.counts_as_columns import Ints, hours_table, write_table

# The version of the format of a parcel.
VERSION = 1
# What the name of a parcel ends in.
ENDING = ".parcel"
# The tables of a reading (counts/count_files.py), in the order in which a parcel has them.
KINDS = ("files", "hours", "sample")
# What the name of a reading's description ends in, while the reading is on its way.
_NOTE = ".json"
# The file that says which reading's parcel was made last.
_LATEST = "latest"
# What HOURS counts, beside the processor time.
_COUNTS = ("requests", "bytes", "timed", "service_us")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reading of one log was; `replaces` is how far the log had been read before."""

    segment: Segment
    stream: Stream
    replaces: Stream | None


class Outbox:
    """Implements flex.ports.Segments: what is recorded leaves as a parcel. Raises NotWritten."""

    def __init__(
        self, store: Segments, counts: Path, out: Path, cpu: CpuSinceLastTime | None = None
    ) -> None:
        self._store = store
        self._cpu = cpu
        self._counts = counts
        self._out = out
        self._make(out)
        self._make(counts)
        self._send_what_is_left()

    def streams_of(self, sources: Collection[str]) -> tuple[Stream, ...]:
        return self._store.streams_of(sources)

    def every_stream(self) -> tuple[Stream, ...]:
        return self._store.every_stream()

    def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
        return self._store.segments(first_day, last_day)

    def with_opening(self, opening: str, first_time: int) -> tuple[Segment, ...]:
        return self._store.with_opening(opening, first_time)

    def behind(self, places: Collection[str]) -> tuple[Segment, ...]:
        return self._store.behind(places)

    def moved_counts(self) -> Mapping[str, str]:
        return self._store.moved_counts()

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        # A parcel speaks of one source, whatever the log was counted as before.
        before = replace(replaces, source=stream.source) if replaces else None
        told = replace(segment, after=self._latest())
        used = add_cpu_to_reading(self._counts, segment, self._cpu) if self._cpu else 0
        note = json.dumps(asdict(Reading(told, stream, before)) | {"cpu": used})
        self._write(self._note_of(segment.id), note.encode())
        recorded = self._store.record(told, stream, replaces)
        if self._cpu:
            self._cpu.settle(recorded=recorded)
        if recorded:
            self._write(self._counts / _LATEST, segment.id.encode())
            self._send(segment.id)
        return recorded

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        """Each alone: a parcel leaves when its reading is stored, and not before."""
        return frozenset(reading[0].id for reading in readings if not self.record(*reading))

    def _latest(self) -> str:
        """The reading whose parcel was made last; killed at the wrong moment, the one before it."""
        try:
            return (self._counts / _LATEST).read_text(encoding="ascii")
        except FileNotFoundError:
            return ""

    def _send_what_is_left(self) -> None:
        """A run that was killed may have recorded a reading and not sent it, or noted one and not
        recorded it.
        """
        known = {segment.id for segment in self._store.segments(0, LAST_DAY)}
        if self._cpu:
            self._cpu.settle(recorded=self._cpu.taken_by in known)
        for note in sorted(self._counts.glob(f"{'[0-9a-f]' * 40}{_NOTE}")):
            if note.stem in known:
                self._send(note.stem)
            else:
                note.unlink()

    def _send(self, id_: str) -> None:
        files = {kind: self._counts / f"{id_}.{kind}.parquet" for kind in KINDS}
        parcel = self._counts / f"{id_}{ENDING}"
        if all(path.exists() for path in files.values()):
            try:
                note = json.loads(self._note_of(id_).read_bytes())
                pack(note | manifest_fields(self._counts, id_), files, parcel)
                parcel.replace(self._out / parcel.name)
                count_files.sync(self._out)
            except OSError as error:
                raise _not_written(self._out, error) from error
        file_of_unknown_hosts.delete(self._counts, id_)
        other_name_counts.delete(self._counts, id_)
        # The files go before the note: without it nobody would know what is left of them.
        for path in (*files.values(), self._note_of(id_)):
            path.unlink(missing_ok=True)

    def _note_of(self, id_: str) -> Path:
        return self._counts / f"{id_}{_NOTE}"

    def _write(self, path: Path, content: bytes) -> None:
        unfinished = path.with_name(f"{path.name}.part")
        try:
            with unfinished.open("wb") as file:
                file.write(content)
                _flush(file)
            unfinished.replace(path)
            count_files.sync(path.parent)
        except OSError as error:
            raise _not_written(path.parent, error) from error

    def _make(self, directory: Path) -> None:
        try:
            directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        except OSError as error:
            raise _not_written(directory, error) from error


def manifest_fields(counts: Path, id_: str) -> dict[str, object]:
    """What the line of a parcel says of a reading beside its sums: names that are no sites, other
    names of sites.
    """
    others = other_name_counts.fitting(other_name_counts.read(counts, id_))
    return {"strangers": file_of_unknown_hosts.names_of(counts, id_), "names": others}


def pack(note: Mapping[str, object], files: Mapping[str, Path], parcel: Path) -> None:
    """The parcel of a Reading, as a dictionary, and of its files by kind."""
    contents = {kind: path.read_bytes() for kind, path in files.items()}
    sums = {
        kind: [len(content), hashlib.sha256(content).hexdigest()]
        for kind, content in contents.items()
    }
    with parcel.open("wb") as file:
        # Counts name sites and paths, and whoever carries the parcel away keeps its mode.
        os.fchmod(file.fileno(), 0o640)
        file.write(json.dumps({"parcel": VERSION, **note, "files": sums}).encode() + b"\n")
        for content in contents.values():
            file.write(content)
        _flush(file)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _not_written(directory: Path, error: OSError) -> NotWritten:
    return NotWritten(
        f"writing parcels to {directory}",
        error.strerror or str(error),
        kept="what was read is kept; its parcel is made by the next run",
        advice="make room or rights there, then run again: nothing is lost and "
        "nothing is counted twice",
    )


def add_cpu_to_reading(counts: Path, segment: Segment, cpu: CpuSinceLastTime) -> int:
    """Return how many microseconds came with it. A copy counts nothing, and takes none along."""
    path = counts / f"{segment.id}.hours.parquet"
    if segment.copy_of or not path.exists():
        return 0
    hours = count_files.hours(counts, segment.id, segment.first_day, segment.last_day)
    _note_requests(hours, cpu)
    used = cpu.take(segment.id, segment.first_day, segment.last_day)
    if not used:
        return 0
    unfinished = path.with_name(f"{path.name}.part")
    try:
        write_table(str(unfinished), _add_cpu_column(hours, used))
        count_files.sync(unfinished)
        unfinished.replace(path)
        count_files.sync(counts)
    except OSError as error:
        raise NotWritten(
            f"writing counts to {counts}",
            error.strerror or str(error),
            kept="the log being read counts as unread; what was counted before it stands",
            advice="make room or rights there, then run again: nothing is lost and "
            "nothing is counted twice",
        ) from error
    return sum(number for _, _, number in used)


def _note_requests(hours: pa.Table, cpu: CpuSinceLastTime) -> None:
    requests: Counter[tuple[str, int]] = Counter()
    for site, hour, number in zip(
        hours["site"].to_pylist(),
        hours["hour"].to_pylist(),
        hours["requests"].to_pylist(),
        strict=True,
    ):
        requests[site, hour // 24] += number
    cpu.note_requests(requests)


def _add_cpu_column(hours: pa.Table, used: Sequence[Used]) -> pa.Table:
    """HOURS in order; hours of a site in which it was not asked for have no requests."""
    rows: dict[tuple[str, int], list[int]] = {}
    places = zip(hours["site"].to_pylist(), hours["hour"].to_pylist(), strict=True)
    counts = zip(*(hours[name].to_pylist() for name in _COUNTS), strict=True)
    for place, row in zip(places, counts, strict=True):
        rows[place] = [*row, 0]
    for site, hour, spent in used:
        rows.setdefault((site, hour), [0] * (len(_COUNTS) + 1))[-1] = spent
    ordered = sorted(rows.items(), key=lambda item: (item[0][0].encode(), item[0][1]))
    names = sorted({site for (site, _), _ in ordered}, key=str.encode)
    number_of = {name: number for number, name in enumerate(names)}

    def ints(values: Sequence[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    columns = {
        "site": ints([number_of[site] for (site, _), _ in ordered]),
        "hour": ints([hour for (_, hour), _ in ordered]),
    }
    for number, name in enumerate((*_COUNTS, "cpu_us")):
        columns[name] = ints([row[number] for _, row in ordered])
    return hours_table(columns, names)

"""Counts on their way from the machine with the logs to the controller: one file for each reading
of a log.

Takes a reading's segment, its stream and its files of counts. Writes a parcel, `<id>.parcel`: one
line of JSON, then three files one after another. The line says what was read, how far, the length
and checksum of each file, which names were asked for that are no sites, and how much processor time
came with the hours (add_cpu.py). Does not send the parcel: the operator decides how it travels. It
may arrive twice, late, and in any order.

The Outbox is the store of the machine with the logs, and makes a parcel of every reading that is
recorded in it. It keeps what a parcel needs before the reading is recorded, so a run that is killed
anywhere leaves no reading without its parcel, and none with two.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO

from flex.errors import NotWritten
from flex.model.log_reading import Segment, Stream
from flex.model.period import LAST_DAY
from flex.ports import Segments
from flex_logs_ingest.counts import (
    count_files,
    file_of_counts_by_other_names,
    file_of_unknown_hosts,
)
from flex_logs_ingest.cpu.cpu_since_last_time import CpuSinceLastTime
from flex_logs_ingest.parcels import add_cpu

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

    def streams(self, source: str) -> tuple[Stream, ...]:
        return self._store.streams(source)

    def streams_of(self, sources: Collection[str]) -> tuple[Stream, ...]:
        return self._store.streams_of(sources)

    def every_stream(self) -> tuple[Stream, ...]:
        return self._store.every_stream()

    def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
        return self._store.segments(first_day, last_day)

    def places_where_readings_ended(self, places: Collection[str]) -> frozenset[str]:
        return self._store.places_where_readings_ended(places)

    def known_segments(self, ids: Collection[str]) -> frozenset[str]:
        return self._store.known_segments(ids)

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
        used = add_cpu.to_reading(self._counts, segment, self._cpu) if self._cpu else 0
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

    def adopt(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        return self._store.adopt(segment, stream, replaces)

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
        file_of_counts_by_other_names.delete(self._counts, id_)
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
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_written(directory, error) from error


def manifest_fields(counts: Path, id_: str) -> dict[str, object]:
    """What the line of a parcel says of a reading beside its sums: names that are no sites, other
    names of sites.
    """
    others = file_of_counts_by_other_names.fitting(file_of_counts_by_other_names.read(counts, id_))
    return {"strangers": file_of_unknown_hosts.names_of(counts, id_), "names": others}


def pack(note: Mapping[str, object], files: Mapping[str, Path], parcel: Path) -> None:
    """The parcel of a Reading, as a dictionary, and of its files by kind."""
    contents = {kind: path.read_bytes() for kind, path in files.items()}
    sums = {
        kind: [len(content), hashlib.sha256(content).hexdigest()]
        for kind, content in contents.items()
    }
    with parcel.open("wb") as file:
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

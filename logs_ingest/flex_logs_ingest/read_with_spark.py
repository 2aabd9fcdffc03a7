"""Logs that live on a cluster: Spark tasks read them with the same code that reads them beside a
web server.

Takes a source, whose globs are paths or URIs that every worker reaches, and a folder that all
workers can write to. Returns a report for each file, and leaves the counts of what is new in that
folder. Does not merge counts (counts/merge_expression.py does, or the controller that gets them as
parcels). Only names and reports pass through the driver.

    <id>.files.parquet, <id>.hours.parquet, <id>.sample.parquet    as counts/count_files.py has them
    <id>.segment.json    what was read (a Reading); without it the counts do not count
    <id>.sent            says that they left as a parcel

Each line counts once here, too. Logs that begin alike (a rotated log beside its compressed copy, a
copy that was cut) are read in one task, one after the other. A log is read only as far as it went
when it was found, so a task that is repeated writes the same files under the same names. What
stands in the folder says how far the next run need not read. Only one run at a time may write to a
folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pydantic import TypeAdapter

from flex.errors import NoData
from flex.model.log_reading import Segment, Stream
from flex.traffic import reading_chains
from flex_logs_ingest.counts import (
    count_files,
    file_of_unknown_hosts,
    other_name_counts,
)
from flex_logs_ingest.files import local_or_uri_files
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source, Unusable
from flex_logs_ingest.files.local_or_uri_files import File
from flex_logs_ingest.parcels import pack_parcels
from flex_logs_ingest.parcels.pack_parcels import KINDS, Reading
from flex_logs_ingest.reading import read_logs as local
from flex_logs_ingest.reading.log_identity import HEAD
from flex_logs_ingest.reading.report import FileReport
from flex_logs_ingest.reading.run_state import ReadingRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What the name of a reading's description ends in.
ENTRY = ".segment.json"
# What the name of a sent reading ends in.
_SENT = ".sent"
# Bytes of a packed log that are read to look at its beginning: enough to unpack its first 4 KiB. A
# guess.
_LOOK = 2**20
# Tasks of one Spark job. A guess.
_MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class _Head:
    """A file and its first bytes in hexadecimal."""

    file: File
    head: str


@dataclass(frozen=True, slots=True)
class _Known:
    """How far each log of a source was read, and what those readings were."""

    streams: tuple[Stream, ...]
    readings: tuple[Segment, ...]


_ENTRY = TypeAdapter(Reading)
_FILE = TypeAdapter(File)
_FILES = TypeAdapter(tuple[File, ...])
_HEAD = TypeAdapter(_Head)
_REPORTS = TypeAdapter(tuple[FileReport, ...])


# Does a piece of work on each row, in whatever order and wherever; the results are in any order,
# too.
Tasks = Callable[[Callable[[bytes], bytes], Sequence[bytes]], Sequence[bytes]]


def here(work: Callable[[bytes], bytes], rows: Sequence[bytes]) -> list[bytes]:
    """Tasks without a cluster: one after the other in this process."""
    return [work(row) for row in rows]


def on_spark(spark: SparkSession) -> Tasks:
    """Tasks of Spark, of one row each as far as possible; by Spark Connect or without."""

    def run(work: Callable[[bytes], bytes], rows: Sequence[bytes]) -> list[bytes]:
        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield pa.RecordBatch.from_pydict({"row": here(work, batch.column(0).to_pylist())})

        given = spark.createDataFrame([(bytearray(row),) for row in rows], "row binary")
        spread = given.repartition(min(len(rows), _MOST_TASKS))
        return [bytes(row[0]) for row in spread.mapInArrow(task, "row binary").collect()]

    return run


def read(
    tasks: Tasks, source: Source, to: str, *, read_at: int = 0, sample_limit: int = 2_000_000
) -> tuple[FileReport, ...]:
    """Count what is new in the logs that the globs of the source name; a report per file, sorted by
    path.

    `read_at` is when, in seconds since 1970. Raises NoData when no file is there, NotWritten when
    the folder takes no more.
    """
    files = sorted(
        {file for pattern in source.globs for file in local_or_uri_files.files(pattern)},
        key=lambda file: file.uri,
    )
    if not files:
        raise _nothing(source)
    heads = tasks(_head, [_FILE.dump_json(file) for file in files])
    groups = _groups([_HEAD.validate_json(head) for head in heads])
    work = partial(_read, source, _known_of(entries(to), source.name), to, read_at, sample_limit)
    answers = tasks(work, [_FILES.dump_json(group) for group in groups])
    reports = (report for answer in answers for report in _REPORTS.validate_json(answer))
    return tuple(sorted(reports, key=lambda report: report.path))


def entries(folder: str) -> tuple[Reading, ...]:
    """What all readings so far left in the folder, in order of id."""
    files = local_or_uri_files.files(f"{folder.rstrip('/')}/*{ENTRY}")
    with ThreadPoolExecutor(16) as threads:
        texts = threads.map(local_or_uri_files.text, [file.uri for file in files])
        return tuple(_ENTRY.validate_json(text) for text in texts)


def send(folder: str, out: Path) -> int:
    """Parcels for the controller, of what was read since the last time; how many. Raises
    NotWritten.
    """
    sent = {
        Path(file.uri).stem for file in local_or_uri_files.files(f"{folder.rstrip('/')}/*{_SENT}")
    }
    some = {
        kind: _file_names(folder, kind)
        for kind in (file_of_unknown_hosts.KIND, other_name_counts.KIND)
    }
    new = [entry for entry in entries(folder) if entry.segment.id not in sent]
    for entry in new:
        more = [
            kind
            for kind, file_names in some.items()
            if f"{entry.segment.id}.{kind}.parquet" in file_names
        ]
        _send(entry, folder.rstrip("/"), (*KINDS, *more), out)
    return len(new)


def _file_names(folder: str, kind: str) -> set[str]:
    return {
        Path(file.uri).name
        for file in local_or_uri_files.files(f"{folder.rstrip('/')}/*.{kind}.parquet")
    }


def _send(entry: Reading, folder: str, kinds: Sequence[str], out: Path) -> None:
    id_ = entry.segment.id
    with tempfile.TemporaryDirectory() as scratch:
        files = {kind: Path(scratch, f"{id_}.{kind}.parquet") for kind in kinds}
        for path in files.values():
            path.write_bytes(local_or_uri_files.text(f"{folder}/{path.name}"))
        parcel = Path(scratch, id_ + pack_parcels.ENDING)
        note = asdict(entry) | pack_parcels.manifest_fields(Path(scratch), id_)
        pack_parcels.pack(note, {kind: files[kind] for kind in KINDS}, parcel)
        local_or_uri_files.put(parcel, str(out))
    # Noted last: what is sent twice counts once, what is noted and not sent would be lost.
    with local_or_uri_files.write_whole(folder, id_ + _SENT) as file:
        file.write(b"")


def counts(folder: str, kind: str) -> tuple[str, ...]:
    """The Parquet files of that kind (files, hours, sample) that count. Raises NoData when there
    are none.
    """
    paths = tuple(
        f"{folder.rstrip('/')}/{entry.segment.id}.{kind}.parquet" for entry in entries(folder)
    )
    if not paths:
        raise NoData(
            f"counts in {folder}",
            "no reading left any there",
            advice="read logs into it first, or name the folder that they were read into",
        )
    return paths


def _head(row: bytes) -> bytes:
    """The first bytes of a log, unpacked; nothing of one that cannot be read, which the reading of
    it will report.
    """
    file = _FILE.validate_json(row)
    head = b""
    with tempfile.NamedTemporaryFile() as local:
        try:
            local_or_uri_files.fetch(file, Path(local.name), _LOOK)
            with Log(local.name) as log:
                head = log.read(HEAD)
        except Unusable:
            pass
    return _HEAD.dump_json(_Head(file, head.hex()))


def _groups(heads: Sequence[_Head]) -> list[tuple[File, ...]]:
    """Files that begin alike, together: one head is another's beginning, or the same."""
    groups: list[list[File]] = []
    first = ""
    # What begins with a head follows it in order.
    for head in sorted(heads, key=lambda head: (head.head, head.file.uri)):
        if first and head.head.startswith(first):
            groups[-1].append(head.file)
        else:
            groups.append([head.file])
            first = head.head
    return [tuple(group) for group in groups]


def _streams(known: Sequence[Reading], source: str) -> tuple[Stream, ...]:
    """How far each log was read; where it went on since is not in it."""
    gone = {entry.replaces for entry in known}
    return tuple(
        entry.stream
        for entry in known
        if entry.segment.source == source and entry.stream not in gone
    )


def _known_of(readings: Sequence[Reading], source: str) -> _Known:
    of_source = (entry.segment for entry in readings if entry.segment.source == source)
    return _Known(
        _streams(readings, source), tuple(replace(segment, samples=()) for segment in of_source)
    )


def _read(
    source: Source, known: _Known, to: str, read_at: int, sample_limit: int, row: bytes
) -> bytes:
    """The task: copies of the logs, read as local ones are, their counts sent to the folder."""
    with tempfile.TemporaryDirectory() as folder:
        reports, uris = _fetch(_FILES.validate_json(row), source, Path(folder))
        if uris:
            sent = _Sent(known, Path(folder, "counts"), to, uris)
            with count_files.hold_directory(sent.counts):
                run = ReadingRun(sent, sent.counts, sample_limit, local.MEMORY, read_at)
                reports += local.read([replace(source, globs=(), files=tuple(uris))], run)
        named = tuple(
            replace(report, path=uris.get(report.path, report.path)) for report in reports
        )
    return _REPORTS.dump_json(named)


def _fetch(
    files: Sequence[File], source: Source, folder: Path
) -> tuple[list[FileReport], dict[str, str]]:
    """Where the copies are and what they are copies of; reports of those that could not be
    copied.
    """
    reports, uris = [], {}
    for number, file in enumerate(files):
        # Patterns of sites look at the name of the file, so it is kept.
        copy = folder / str(number) / file.uri.rpartition("/")[2]
        copy.parent.mkdir()
        try:
            local_or_uri_files.fetch(file, copy)
            uris[str(copy)] = file.uri
        except Unusable as error:
            reports.append(FileReport(source.name, file.uri, "unreadable", str(error)))
    return reports, uris


class _Sent:
    """Segments whose counts leave the worker before they are recorded: the entry that is written
    last is the record.
    """

    def __init__(self, known: _Known, counts: Path, to: str, uris: dict[str, str]) -> None:
        self.counts = counts
        self._known = known
        self._to = to
        self._uris = uris
        self._segments: dict[str, Segment] = {}

    def streams_of(self, sources: Collection[str]) -> tuple[Stream, ...]:
        return tuple(stream for stream in self._known.streams if stream.source in sources)

    def every_stream(self) -> tuple[Stream, ...]:
        """None: where a log is now cannot be told by the URIs that they were last seen at."""
        return ()

    def record(self, segment: Segment, stream: Stream, replaces: Stream | None) -> bool:
        for path in sorted(self.counts.glob(f"{segment.id}.*.parquet")):
            local_or_uri_files.put(path, self._to)
            path.unlink()
        uri = self._uris[segment.path]
        entry = Reading(
            replace(segment, path=uri), replace(stream, path=uri), self._stream_as_sent(replaces)
        )
        with local_or_uri_files.write_whole(self._to, segment.id + ENTRY) as file:
            file.write(_ENTRY.dump_json(entry))
        self._segments[segment.id] = segment
        return True

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        """Each alone: the folder knows no transactions."""
        return frozenset(reading[0].id for reading in readings if not self.record(*reading))

    def segments(self, first_day: int, last_day: int) -> tuple[Segment, ...]:
        return tuple(
            each
            for each in self._every()
            if each.last_day >= first_day and each.first_day <= last_day
        )

    def with_opening(self, opening: str, first_time: int) -> tuple[Segment, ...]:
        return reading_chains.segments_with_opening(self._every(), opening, first_time)

    def behind(self, places: Collection[str]) -> tuple[Segment, ...]:
        return reading_chains.segments_beginning_at(self._every(), places)

    def _every(self) -> Iterator[Segment]:
        return chain(self._known.readings, self._segments.values())

    def moved_counts(self) -> Mapping[str, str]:
        return {}

    def _stream_as_sent(self, stream: Stream | None) -> Stream | None:
        """As its own entry has it."""
        return stream and replace(stream, path=self._uris.get(stream.path, stream.path))


def _nothing(source: Source) -> NoData:
    return NoData(
        f"the logs {', '.join(source.globs)}",
        "no file is there",
        kept="what was counted before stands",
        advice="name the logs by paths or URIs that the driver and every worker reach",
    )

"""Reading logs: what is new in them, each line once, whatever is renamed, packed, truncated or killed in between.

In go sources, the store's Segments and a directory, out comes a report per file; on the way each new stretch of a log
leaves its counts in the directory (partials.py) and one entry in the store. The order is what makes it exact: the
files are whole and on disk before the store hears of them, and the store learns of the counts and of how far the log
was read in one transaction. Killed before it, nothing counts and the stretch is read again under the same name;
killed after it, the log goes on behind it. Lines still being written wait for the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from flex.domain import BadLine, Segment, Stream
from flex.errors import BadInput, NoData
from flex.ports import Segments
from flex_logs_ingest import finished, partials
from flex_logs_ingest.formats import detect, going_on, layout_of, record_size, with_columns
from flex_logs_ingest.scan import CLASSES, Counts, Scanner, new_scanner
from flex_logs_ingest.sites import SiteRule
from flex_logs_ingest.sources import CHUNK, Log, Source, Unusable, paths, shown
from flex_logs_ingest.stream import HEAD, Mark, Start, segment_id, start

Outcome = Literal[
    "read",
    "nothing new",
    "copy",
    "empty",
    "changed",
    "unreadable",
    "unknown format",
    "unknown site",
    "nothing matches",
]
Progress = Callable[[str, str, int, int], None]

FAILED: tuple[Outcome, ...] = ("unreadable", "unknown format", "unknown site", "nothing matches")
# Later than any day of a log: years have four digits.
LAST_DAY = 3_000_000
# How much of a log the search for its format sees.
LOOK = 2**16
# A reading is recorded, and its memory given back, once it holds about this many bytes of counts.
MEMORY = 2**26
SAMPLES = 5
MOST_HOURS = 4096


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file. `size` is what it takes on disk, `new_bytes` what was new in it, unpacked.

    `note` gives the reason of an outcome that is not the usual one. Times are 0 when no line was new.
    """

    source: str
    path: str
    outcome: Outcome
    note: str = ""
    format: str = ""
    packing: str = ""
    size: int = 0
    new_bytes: int = 0
    lines: tuple[tuple[str, int], ...] = tuple((name, 0) for name in CLASSES)
    samples: tuple[BadLine, ...] = ()
    first_time: int = 0
    last_time: int = 0


def ingest(
    sources: Sequence[Source],
    segments: Segments,
    directory: Path,
    *,
    sample_limit: int = 2_000_000,
    progress: Progress | None = None,
    memory: int = MEMORY,
    read_at: int = 0,
) -> tuple[FileReport, ...]:
    """Count what is new in every file of every source; a report per file, sorted by path within its source.

    A file that cannot be read is an outcome, not an error. Raises NoData when there is no file that could be read,
    Busy while another run reads into the directory, NotWritten when the directory takes no more; what was counted
    until then stays counted.
    """
    with partials.held(directory):
        run = _Run(segments, directory, sample_limit, memory, progress, read_at)
        partials.clear(directory, run.known)
        reports = [report for source in sources for report in _Reader(source, run).reports()]
        finished.save(directory, run.finished)
    if all(report.outcome in FAILED for report in reports):
        raise _nothing(reports)
    return tuple(reports)


class _Run:
    """What the sources of one run share. `known` follows what the store holds."""

    def __init__(
        self,
        segments: Segments,
        directory: Path,
        sample_limit: int,
        memory: int,
        progress: Progress | None,
        read_at: int,
    ) -> None:
        self.segments = segments
        self.directory = directory
        self.sample_limit = sample_limit
        self.memory = memory
        self.progress = progress
        self.read_at = read_at
        self.known = {segment.id for segment in segments.segments(0, LAST_DAY)}
        self.finished_before = finished.load(directory)
        self.finished: finished.Streams = {}


class _Reader:
    """One source, while it is read. `streams` follows what the store holds."""

    def __init__(self, source: Source, run: _Run) -> None:
        self.source = source
        self.run = run
        self.streams = run.segments.streams(source.name)
        self.heads: list[bytes] = []

    def reports(self) -> list[FileReport]:
        found = paths(self.source)
        if not found:
            return [FileReport(self.source.name, ", ".join(self.source.globs), "nothing matches")]
        return sorted(map(self._file, self._oldest_first(found)), key=lambda report: report.path)

    def format_of(self, look: bytes, first: bytes, stream: Stream | None) -> str:
        """Told by how a log that names its columns went on, else by its first lines, else by the new ones."""
        if stream and stream.format and self.source.format in ("auto", stream.format.partition(" ")[0]):
            return stream.format
        if self.source.format != "auto":
            return with_columns(self.source.format, look)
        try:
            return detect(look)
        except (BadInput, NoData):
            return detect(first)

    def keep(self, segment: Segment, stream: Stream, replaces: Stream | None, counts: Counts) -> bool:
        """Whether it was not counted yet; then it is now."""
        if segment.id in self.run.known:
            return False
        partials.write(self.run.directory, segment.id, counts)
        if not self.run.segments.record(segment, stream, replaces):
            return False
        self.run.known.add(segment.id)
        self.streams = (*(other for other in self.streams if other != replaces), stream)
        return True

    def is_finished(self, log: Log) -> bool:
        stream = None if log.is_plain else self.run.finished_before.get(finished.key_of(log))
        if stream not in self.streams:
            return False
        self.finish(log, stream)
        return True

    def finish(self, log: Log, stream: Stream | None) -> None:
        if stream and not log.is_plain and not log.note:
            self.run.finished[finished.key_of(log)] = stream

    def tell(self, path: str, log: Log) -> None:
        if self.run.progress:
            self.run.progress(self.source.name, path, log.read_on_disk, log.size)

    def _oldest_first(self, found: Sequence[str]) -> list[str]:
        """Rotated logs before those still written: while one is copied, the copy is the shorter of the two."""
        ages = []
        for path in found:
            try:
                with Log(path) as log:
                    self.heads.append(log.read(HEAD))
                    ages.append((log.status.st_mtime_ns, path))
            except Unusable:
                ages.append((0, path))
        return [path for _, path in sorted(ages)]

    def _file(self, path: str) -> FileReport:
        try:
            with Log(path) as log:
                return _Reading(self, log).report()
        except Unusable as error:
            return FileReport(self.source.name, shown(path), "unreadable", str(error))


class _Reading:
    """One log, while it is read: from where the store says, stretch by stretch, to its last whole line."""

    def __init__(self, reader: _Reader, log: Log) -> None:
        self._reader = reader
        self._log = log
        self._path = shown(log.path)
        self._head = b""
        self._format, self._goes_on = "", ""
        self._record_size = 0
        self._counted: list[Segment] = []

    def report(self) -> FileReport:
        if self._reader.is_finished(self._log):
            return self._report("nothing new")
        look = self._log.read(LOOK)
        self._head = look[:HEAD]
        if not look:
            return self._report("unreadable" if self._log.note else "empty")
        begin = start(self._log, self._head, self._reader.streams, self._reader.heads)
        if begin.copy:
            return self._report("copy", begin.copy)
        self._record_size = record_size(self._reader.source.format, look)
        first = self._log.read(CHUNK) if self._log.seek(begin.offset) else b""
        if self._holds_nothing_whole(first):
            self._reader.finish(self._log, begin.stream)
            return self._report("nothing new")
        rule = self._reader.source.site.of_file(self._log.path)
        if rule is None:
            return self._report("unknown site", f"its name is not as {self._reader.source.site.pattern!r} wants it")
        try:
            self._format = self._reader.format_of(look, first, begin.stream)
            scanner = self._new_scanner(rule, begin)
        except (BadInput, NoData) as error:
            return self._report("unknown format", str(error))
        return self._report(self._count(begin, first, scanner))

    def _holds_nothing_whole(self, first: bytes) -> bool:
        if self._record_size:
            return len(first) < self._record_size
        return b"\n" not in first and len(first) < CHUNK

    def _count(self, begin: Start, first: bytes, scanner: Scanner) -> Outcome:
        mark = Mark(begin, self._head, self._record_size)
        for chunk in chain([first], self._log.chunks()):
            scanner.feed(chunk)
            mark.feed(chunk)
            self._reader.tell(self._path, self._log)
            if scanner.memory >= self._reader.run.memory:
                if stopped := self._record(begin, mark, scanner.finish()):
                    return stopped
                begin = mark.start(self._stream(mark))
                self._format = self._goes_on or self._format
        return self._record(begin, mark, scanner.finish()) or self._finished(mark)

    def _finished(self, mark: Mark) -> Outcome:
        self._reader.finish(self._log, self._stream(mark))
        return "read" if self._counted else "nothing new"

    def _new_scanner(self, rule: SiteRule, begin: Start) -> Scanner:
        return new_scanner(layout_of(self._format), rule, self._reader.run.sample_limit, first_byte=begin.offset)

    def _record(self, begin: Start, mark: Mark, counts: Counts) -> Outcome | None:
        """Files, then the store. None when that went well, else why reading stops here."""
        assert counts.pending == mark.open_size, "the scanner and the mark disagree where the last whole line ends"
        self._goes_on = going_on(self._format, counts.heading)
        if mark.offset == begin.offset:
            return None
        if not self._log.begins_with(self._head):
            return "changed"
        stream = self._stream(mark)
        segment = self._segment(begin, stream, counts)
        if not self._reader.keep(segment, stream, begin.stream, counts):
            return "copy"
        self._counted.append(segment)
        return None

    def _stream(self, mark: Mark) -> Stream:
        return mark.stream(self._reader.source.name, self._path, self._goes_on)

    def _segment(self, begin: Start, stream: Stream, counts: Counts) -> Segment:
        first_day, last_day = _days(counts, self._reader.run.read_at)
        return Segment(
            id=segment_id(begin, stream),
            source=self._reader.source.name,
            node=self._reader.source.node,
            path=self._path,
            format=self._format,
            first_byte=begin.offset,
            last_byte=stream.offset,
            first_day=first_day,
            last_day=last_day,
            first_time=counts.first_time,
            last_time=counts.last_time,
            lines=tuple(counts.lines.items()),
            reasons=tuple((name, number) for name, number in counts.reasons.items() if number),
            samples=counts.bad,
            hours=_by_hour(counts),
            read_at=self._reader.run.read_at,
        )

    def _report(self, outcome: Outcome, note: str = "") -> FileReport:
        return FileReport(
            source=self._reader.source.name,
            path=self._path,
            outcome=outcome,
            note=note or self._log.note,
            format=self._format,
            packing=self._log.packing,
            size=self._log.size,
            new_bytes=sum(segment.last_byte - segment.first_byte for segment in self._counted),
            lines=added_lines(self._counted),
            samples=tuple(sample for segment in self._counted for sample in segment.samples)[:SAMPLES],
            first_time=min((segment.first_time for segment in self._counted if segment.first_time), default=0),
            last_time=max((segment.last_time for segment in self._counted), default=0),
        )


def _days(counts: Counts, read_at: int) -> tuple[int, int]:
    """The first and the last day it tells of; that of the reading where no line says its time."""
    hours, _ = counts.by_hour()
    if len(hours):
        return int(hours[0]) // 24, int(hours[-1]) // 24
    if counts.last_time:
        return counts.first_time // 86400, counts.last_time // 86400
    return read_at // 86400, read_at // 86400


def _by_hour(counts: Counts) -> tuple[tuple[int, int], ...]:
    """Answers in each hour; the busiest ones of a log that claims to reach over years."""
    hours, answers = counts.by_hour()
    busiest = np.sort(np.argsort(-answers, kind="stable")[:MOST_HOURS])
    return tuple(zip(hours[busiest].tolist(), answers[busiest].tolist(), strict=True))


def added_lines(segments: Iterable[Segment]) -> tuple[tuple[str, int], ...]:
    """Lines by class, every class named."""
    total = dict.fromkeys(CLASSES, 0)
    for segment in segments:
        for name, number in segment.lines:
            total[name] = total.get(name, 0) + number
    return tuple(total.items())


def _nothing(reports: Sequence[FileReport]) -> NoData:
    tried = "; ".join(f"{report.path or report.source}: {report.note or report.outcome}" for report in reports[:10])
    more = f" and {len(reports) - 10} more" if len(reports) > 10 else ""
    return NoData(
        "reading the access logs",
        f"none of them could be read: {tried}{more}" if reports else "no source is set",
        kept="what was counted before stands",
        advice="check the paths and formats of [[ingest.source]] and the rights on the logs",
    )

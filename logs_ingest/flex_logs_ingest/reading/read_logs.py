"""Reading logs: what is new in them, each line once, even when they are renamed, packed or
truncated, or the run is killed.

Takes sources, the store's Segments and a directory. Returns a report for each file. Each new
segment of a log leaves its counts in the directory (counts/count_files.py) and one entry in the
store. Does not count lines that are still being written: they wait for the next run.

The order makes it exact. The files are whole and on disk before the store hears of them. The store
learns of the counts and of how far the log was read in one transaction, for several small logs at
once (record_in_batches.py). When a run is killed before that, nothing counts and the segment is
read again under the same name; when it is killed after that, the next run goes on behind it.

Nobody can go back in a pipe. It is counted from its beginning, and wherever a known stream turns
out to end, what was counted up to there is forgotten. So a pipe needs no room on disk, and one that
brings what was counted before counts nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa

from flex.errors import FlexError, NoData
from flex.model.log_reading import Stream
from flex.model.period import LAST_DAY
from flex.ports import Segments
from flex.site_names_in_words import first_few
from flex_logs_ingest.counts import count_files, count_files_of_days
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source, Unusable, path_text, paths
from flex_logs_ingest.files.pipes import Pipe, is_pipe
from flex_logs_ingest.formats import LOOK, record_size
from flex_logs_ingest.lines.headings import split_at_headings
from flex_logs_ingest.reading import failed_files
from flex_logs_ingest.reading.log_identity import HEAD, Start, ends_early
from flex_logs_ingest.reading.malformed_lines_file import Invalid
from flex_logs_ingest.reading.one_log import FileReading, LogReading
from flex_logs_ingest.reading.record_in_batches import READINGS, SMALL
from flex_logs_ingest.reading.report import (
    FAILED,
    SAMPLES,
    FileReport,
    Outcome,
    added_lines,
    describe_unread,
    subtract_refused,
)
from flex_logs_ingest.reading.rewritten_logs import opens_like
from flex_logs_ingest.reading.run_state import Progress, Reader, ReadingRun, Step, never
from flex_logs_ingest.reading.small_logs import Look, SmallLogs, heads
from flex_logs_ingest.reading.which_in_parallel import ReadApart

__all__ = [
    "FAILED",
    "SAMPLES",
    "FileReport",
    "Outcome",
    "Progress",
    "Step",
    "added_lines",
    "ingest",
    "read",
]

# Bytes of counts in memory after which a reading is recorded and its memory is given back. Reading
# promises to stay within 256 MiB with two logs at once.
MEMORY = 2**26

# M_MMAP_THRESHOLD of glibc's malloc.h.
_MMAP_THRESHOLD = -3
# Blocks of this many bytes or more come from the system, and go back to it when they are freed. A
# guess.
_LARGE = 2**20


def ingest(
    sources: Sequence[Source],
    segments: Segments,
    directory: Path,
    *,
    sample_limit: int = 2_000_000,
    progress: Progress | None = None,
    invalid: Invalid | None = None,
    memory: int = MEMORY,
    read_at: int = 0,
    workers: int = 0,
    copies_too: bool = False,
    together: int = READINGS,
    small: int = SMALL,
    is_over: Callable[[], bool] = never,
) -> tuple[FileReport, ...]:
    """Count what is new in every file of every source; a report per file, sorted by path within its
    source.

    A file that cannot be read is an outcome, not an error. Every malformed line goes to `invalid`,
    where that is given. Raises NoData when there is no file that could be read, Busy while another
    run reads into the directory, NotWritten when the directory takes no more; what was counted
    until then stays counted.

    Readings are recorded so many `together` at most, as record_in_batches.py says. Logs up to
    `small` bytes are looked at many at a time, as small_logs.py says.

    With `copies_too`, also lines count that look like those of a log that was counted before it was
    edited.

    Once it `is_over`, each log ends where it is: what was read of it counts, its report says so,
    and the next run goes on there.

    So many `workers` read at the same time and share the `memory`; 0 stands for one for each core,
    up to 4. One alone reads where malformed lines are wanted: they are in the order of the files
    then.
    """
    _give_freed_memory_back()
    with count_files.hold_directory(directory):
        apart = ReadApart(1 if invalid else workers)
        run = ReadingRun(
            segments,
            directory,
            sample_limit,
            memory,
            read_at,
            progress,
            invalid,
            apart,
            copies_too=copies_too,
            is_over=is_over,
            together=together,
            small=small,
        )
        reports = read(sources, run)
    if all(report.outcome in FAILED for report in reports):
        raise _nothing(reports)
    return reports


def read(sources: Sequence[Source], run: ReadingRun) -> tuple[FileReport, ...]:
    """What `ingest` does in a directory that is held; that nothing could be read is no error
    here.
    """
    count_files.clear(run.directory, count_files_of_days.files_left(run.segments, 0, LAST_DAY))
    try:
        reports = [report for source in sources for report in _reports(Reader(source, run))]
    except FlexError:
        run.batch.settle_what_can_be()
        raise
    run.save_finished()
    failed_files.save(run.directory, reports, {source.name for source in sources if source.globs})
    return tuple(reports)


def _reports(reader: Reader) -> list[FileReport]:
    named = reader.source.files
    pipes = [path for path in named if is_pipe(path)]
    files = sorted({*paths(reader.source), *named} - set(pipes))
    if not files and not pipes:
        return [FileReport(reader.source.name, ", ".join(reader.source.globs), "nothing matches")]
    logs = _oldest_first(reader, files)
    reader.look_up()
    read = _files(reader, logs)
    # A pipe may take for ever.
    reader.settle()
    refused = reader.run.batch.refused
    all_reports = [*read, *(_pipe(reader, path) for path in pipes)]
    reports = [subtract_refused(report, refused) for report in all_reports]
    return sorted(reports, key=lambda report: report.path)


@dataclass(frozen=True, slots=True)
class _Found:
    """A file as it was found: nanoseconds since 1970 of its last change, its first bytes unpacked,
    its size, whether it is looked at together with others.
    """

    age: int
    path: str
    head: bytes
    size: int = 0
    small: bool = False


def _oldest_first(reader: Reader, paths: Sequence[str]) -> list[_Found]:
    """Rotated logs before those still written: while one is copied, the copy is the shorter of the
    two.
    """
    logs = []
    for path, look in zip(paths, heads(paths, reader.run.apart.workers), strict=True):
        log = _plain(path, look, reader.run.small) if look else _packed_log(path)
        if log:
            reader.look_at(path, log.head)
            reader.size += log.size
        logs.append(log or _Found(0, path, b""))
    return sorted(logs, key=lambda log: (log.age, log.path))


def _plain(path: str, look: Look, small: int) -> _Found:
    _, _, size, age, head = look
    return _Found(age, path, head, size, 0 < size <= small)


def _packed_log(path: str) -> _Found | None:
    """One that is packed; None where it cannot be read."""
    try:
        with Log(path) as log:
            return _Found(log.status.st_mtime_ns, path, log.read(HEAD), log.size)
    except Unusable:
        return None


def _files(reader: Reader, log_files: Sequence[_Found]) -> list[FileReport]:
    apart = reader.run.apart
    small = {log.path: log.size for log in log_files if log.small}
    turns = apart.turns([(log.path, log.head) for log in log_files], small.keys())
    in_turn = [path for turn in turns for path in turn]
    logs = SmallLogs(reader, [(path, small[path]) for path in in_turn if path in small])
    return apart.read_turns(partial(_file, reader, logs), turns)


def _file(reader: Reader, logs: SmallLogs, path: str) -> FileReport:
    try:
        log, ahead = logs.open(path)
        with log, reader.run.apart.roomy(log.is_wide):
            reader.refuse_claimed(log)
            report = FileReading(reader, log, ahead).report()
            if report.outcome not in FAILED:
                reader.claim(log)
            reader.tell_done(report.path, log.size)
            return report
    except Unusable as error:
        return _unusable(reader, path, error)


def _pipe(reader: Reader, path: str) -> FileReport:
    try:
        with Pipe(path) as pipe:
            return PipeReading(reader, pipe).report()
    except Unusable as error:
        return _unusable(reader, path, error)


class PipeReading(LogReading):
    """`_places` are the streams that begin as the pipe does and may end farther on in it, the
    nearest first.
    """

    def report(self) -> FileReport:
        look = self._log.read(LOOK)
        self._head = look[:HEAD]
        if not look:
            return self._report("unreadable" if self._log.note else "empty")
        self._record_size = record_size(self._reader.source.format, look)
        elsewhere = self._reader.elsewhere(self._log, self._head, self._family)
        known = [*self._reader.alike(self._family, self._head), *elsewhere]
        self._places = sorted(known, key=lambda stream: stream.offset)
        if refused := self._prepare(Start(), look, ()):
            return refused
        self._open(look)
        if not known and (alike_ := self._why_not_new()):
            return self._report("rewritten", alike_)
        chunks = chain([look], self._log.chunks())
        outcome = self._count(
            cut_at_places(
                split_at_headings(chunks) if self._documents else chunks,
                [p.offset for p in self._places],
            )
        )
        end = self._mark.offset + self._mark.open_size
        longer = [
            place for place in self._places if place.offset > end and self._begin.stream is None
        ]
        if copy := ends_early(self._head, longer):
            return self._report("copy", copy)
        return self._report(outcome or self._record() or self._outcome())

    def _why_not_new(self) -> str:
        """Why it may be a counted log that was edited: a pipe cannot be looked at before it is
        counted.
        """
        run = self._reader.run
        of = (
            None
            if run.copies_too
            else opens_like(run.batch, self._reader.source.name, self._opening)
        )
        if of is None:
            return ""
        return (
            f"it opens as {of.path} does, which was counted: edited, or another "
            "log? Read it from a file to find out"
        )

    def _count(self, chunks: Iterable[bytes]) -> Outcome | None:
        for chunk in chunks:
            self._feed(chunk)
            while self._places and self._places[0].offset <= self._mark.offset:
                self._pass(self._places.pop(0))
            if self._places:
                continue
            self._tell_invalid()
            if self._is_sized_otherwise(chunk) and (stopped := self._turn()):
                return stopped
            if self._is_full() and (stopped := self._go_on()):
                return stopped
        return None

    def _pass(self, place: Stream) -> None:
        here = self._stream()
        if (here.offset, here.tail) == (place.offset, place.tail):
            self._format = place.format or self._format
            self._begin_at(self._mark.start(place))

    def _record(self) -> Outcome | None:
        """At once: nobody can read it again."""
        stopped = super()._record()
        self._reader.settle()
        return stopped

    def _is_still_there(self) -> bool:
        return True


def cut_at_places(chunks: Iterable[bytes], places: Sequence[int]) -> Iterator[bytes]:
    """The same bytes, with an end of a piece at each of these places, which are in order."""
    position = 0
    for chunk in chunks:
        at = 0
        for end in places:
            if position + at < end < position + len(chunk):
                yield chunk[at : end - position]
                at = end - position
        yield chunk[at:]
        position += len(chunk)


def _unusable(reader: Reader, path: str, error: Unusable) -> FileReport:
    return FileReport(reader.source.name, path_text(path), "unreadable", str(error))


def _nothing(reports: Sequence[FileReport]) -> NoData:
    tried = first_few(describe_unread(reports), between="; ")
    return NoData(
        "reading the access logs",
        f"none of them could be read: {tried}" if reports else "no source is set",
        kept="what was counted before stands",
        advice="check the paths and formats of [[ingest.source]] and the rights on the logs",
    )


def _give_freed_memory_back() -> None:
    """From now on, memory that is freed goes back to the system, where the C library can do so.

    Without this, glibc keeps ever larger blocks in ever more pools, one for each thread: a run
    takes half as much again as it holds. Arrow's own pool keeps as much beside it: 30 MiB of what
    two logs at once had written.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)

"""One log, read segment by segment from where the store says to its last whole line.

Takes a Reader and a log of its source. Returns a FileReport; each segment leaves its counts on the
way. A file is looked at where its streams say they ended. One that nobody knows is compared with
logs that open alike (rewritten_logs.py). Does not read pipes: read_logs.py does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain

import numpy as np

from flex.errors import BadInput, NoData
from flex.model.log_reading import Segment, Stream
from flex_logs_ingest.counts.signature import signature
from flex_logs_ingest.files.document_root import Documents
from flex_logs_ingest.files.find_and_unpack_logs import (
    BEING_PACKED,
    CHUNK,
    LEFT_BEHIND,
    PACKING_PAUSE,
    Log,
    has_plain_beside,
    path_text,
)
from flex_logs_ingest.files.pipes import Pipe
from flex_logs_ingest.formats import LOOK, going_on, layout_of, record_size
from flex_logs_ingest.lines.headings import heading_of, split_at_headings
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.reading.log_identity import (
    HEAD,
    Mark,
    Start,
    place,
    place_at,
    segment_id,
    start,
)
from flex_logs_ingest.reading.report import (
    FileReport,
    Outcome,
    added_lines,
    added_reasons,
    few_samples,
)
from flex_logs_ingest.reading.rewritten_logs import (
    KnownLines,
    Opening,
    copies,
    copy_is_counted,
    edited_note,
    find,
    opening,
)
from flex_logs_ingest.reading.run_state import Reader
from flex_logs_ingest.reading.small_logs import Ahead
from flex_logs_ingest.scan.segment_scan import CLASSES, Counts, Scanner, new_scanner
from flex_logs_ingest.scan.site_rules import SiteRule

# Chunks with anything in them that are searched for a format, where the beginning does not tell it.
# A guess.
FARTHER = 64
# Bytes at the end of each such chunk that are looked at alone, because the next lines may begin
# there. A guess.
LAST = 2**11
# What the note of a log begins with that was not read to its end, as the run was over.
TIME_OVER = "the time was over"
# Hours that a reading lists at most. A guess.
MOST_HOURS = 4096


class LogReading(ABC):
    """What files and pipes have in common: counting a segment, recording it, saying what became of
    it.
    """

    # Set by `_prepare`, before anything is counted.
    _rule: SiteRule
    _begin: Start
    _scanner: Scanner
    _mark: Mark
    _documents: Documents | None
    # What was found out about the log before its turn.
    _ahead = Ahead()

    def __init__(self, reader: Reader, log: Log | Pipe) -> None:
        self._reader = reader
        self._log = log
        self._path = path_text(log.path)
        self._family = reader.family(log.path)
        self._head = b""
        self._format = ""
        # Where a log names its columns, those in force where it is now.
        self._goes_on = ""
        # How long each record of a log is, where records have no line ends.
        self._record_size = 0
        self._started = reader.run.clock()
        self._counted: list[Segment] = []
        self._opening = Opening()

    @abstractmethod
    def report(self) -> FileReport: ...

    @abstractmethod
    def _is_still_there(self) -> bool: ...

    def _prepare(self, begin: Start, look: bytes, later: Iterable[bytes]) -> FileReport | None:
        """None when everything is known that is needed to count from there; `later` may tell the
        format as well.
        """
        rule = self._reader.rule_of(self._log.path)
        if rule is None:
            return self._report(
                "unknown site",
                f"its name does not match site_pattern {self._reader.source.site.pattern!r}",
            )
        self._rule = rule
        try:
            self._format = self._reader.format_of(look, later, begin.stream, self._ahead.format)
            self._begin_at(begin)
        except (BadInput, NoData) as error:
            return self._report("unknown format", f"{error}; {error.advice}")
        return None

    def _begin_at(self, begin: Start) -> None:
        run = self._reader.run
        self._begin, self._mark = begin, Mark(begin, self._head, self._record_size)
        self._documents = self._reader.documents(self._layout())
        if self._ahead.counted and not begin.stream:
            self._scanner = self._ahead.counted.scanner()
            return
        self._scanner = self._new_scanner(run.sample_limit, keep_bad=run.invalid is not None)

    def _layout(self) -> Layout:
        unsized = bool(self._reader.source.document_root)
        return layout_of(self._format, unsized=unsized, begun=self._begin.stream is not None)

    def _new_scanner(self, sample_limit: int = 0, *, keep_bad: bool = False) -> Scanner:
        first_byte = self._begin.offset
        return new_scanner(
            self._layout(), self._rule, sample_limit, first_byte=first_byte, keep_bad=keep_bad
        )

    def _open(self, look: bytes) -> None:
        """Remember how the log opens. To be called while the reading begins where the log does."""
        self._opening = (
            self._ahead.counted.opening
            if self._ahead.counted
            else opening(look, self._new_scanner(), self._record_size)
        )

    def _feed(self, chunk: bytes) -> None:
        self._scanner.feed(chunk)
        self._mark.feed(chunk)
        self._reader.tell(self._path, self._log, chunk)

    def _is_full(self) -> bool:
        return self._scanner.memory >= self._reader.run.memory

    def _go_on(self) -> Outcome | None:
        """Record the segment and begin the next. None when that went well, else why reading stops
        here.
        """
        if stopped := self._record():
            return stopped
        self._begin = self._mark.start(self._stream())
        self._format = self._goes_on or self._format
        return None

    def _is_sized_otherwise(self, piece: bytes) -> bool:
        """Whether the columns that it names say how many bytes were sent, and those before did not,
        or the reverse.
        """
        heading = heading_of(piece)
        if (
            self._documents is None
            or not heading
            or not (format_ := going_on(self._format, heading))
        ):
            return False
        return layout_of(format_, unsized=True).unsized != self._documents.unsized

    def _turn(self) -> Outcome | None:
        """As `_go_on`, with other columns from the next line on."""
        if stopped := self._go_on():
            return stopped
        self._begin_at(self._begin)
        return None

    def _record(self) -> Outcome | None:
        """Files, then the store. None when that went well, else why reading stops here."""
        self._tell_invalid()
        counts = self._scanner.finish()
        assert counts.pending == self._mark.open_size, (
            "scanner and mark disagree where the last whole line ends"
        )
        self._goes_on = going_on(self._format, counts.heading)
        if self._mark.offset == self._begin.offset:
            return None
        if not self._is_still_there():
            return "changed"
        stream = self._stream()
        segment = self._segment(stream, counts)
        if not self._reader.keep(segment, stream, self._begin.stream, counts, self._documents):
            return "copy"
        self._counted.append(segment)
        return None

    def _tell_invalid(self) -> None:
        if self._reader.run.invalid:
            self._reader.run.invalid.add(self._path, self._scanner.take_bad())

    def _stream(self) -> Stream:
        return self._mark.stream(self._family, self._path, self._goes_on)

    def _segment(self, stream: Stream, counts: Counts) -> Segment:
        first_day, last_day = _days(counts, self._reader.run.read_at)
        return Segment(
            id=segment_id(self._begin, stream),
            source=self._reader.source.name,
            node=self._reader.source.node,
            path=self._path,
            format=self._format,
            first_byte=self._begin.offset,
            last_byte=stream.offset,
            first_day=first_day,
            last_day=last_day,
            first_time=counts.first_time,
            last_time=counts.last_time,
            lines=tuple(counts.lines.items()),
            reasons=tuple((name, number) for name, number in counts.reasons.items() if number),
            samples=counts.bad,
            hours=answers_by_hour(counts),
            read_at=self._reader.run.read_at,
            begins=place(self._begin.stream),
            ends=place(stream),
            signature=signature(counts),
            opening="" if self._begin.stream else self._opening.hash,
        )

    def _outcome(self) -> Outcome:
        return "read" if self._counted else "nothing new"

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
            reasons=added_reasons(self._counted),
            samples=few_samples(self._counted),
            first_time=min(
                (segment.first_time for segment in self._counted if segment.first_time), default=0
            ),
            last_time=max((segment.last_time for segment in self._counted), default=0),
            seconds=self._reader.run.clock() - self._started,
            damaged=bool(self._log.note),
        )


class FileReading(LogReading):
    def __init__(self, reader: Reader, log: Log, ahead: Ahead) -> None:
        super().__init__(reader, log)
        self._file = log
        self._ahead = ahead
        # Whether the run was over before the log was.
        self._is_cut = False

    def _report(self, outcome: Outcome, note: str = "") -> FileReport:
        if self._is_cut:
            note = f"{TIME_OVER}, so only a part of it was read"
        report = super()._report(outcome, note)
        if not report.damaged or not has_plain_beside(self._file.path):
            return report
        left = self._reader.run.read_at - self._file.status.st_mtime_ns // 10**9
        if left > PACKING_PAUSE:
            return replace(report, note=f"{report.note}; {LEFT_BEHIND}")
        return replace(report, note=f"{report.note}; {BEING_PACKED}", damaged=False)

    def report(self) -> FileReport:
        log, reader = self._file, self._reader
        if not reader.run.copies_too and reader.is_finished(log):
            return self._report("nothing new")
        look = log.read(LOOK)
        self._head = look[:HEAD]
        if not look:
            return self._report("unreadable" if log.note else "empty")
        with reader.run.apart.alone(self._head):
            return self._new(look)

    def _new(self, look: bytes) -> FileReport:
        log, reader = self._file, self._reader
        begin = start(
            log, self._head, reader.alike(self._family, self._head), reader.heads(self._family)
        )
        if begin.copy:
            return self._report("copy", begin.copy)
        if not begin.stream:
            begin = self._elsewhere() or begin
        self._record_size = record_size(reader.source.format, look)
        if begin.stream and reader.run.copies_too and (report := self._count_copy(look)):
            return report
        first = log.read(CHUNK) if log.seek(begin.offset) else b""
        if self._holds_nothing_whole(first):
            reader.finish(log, begin.stream)
            return self._report("nothing new")
        if refused := self._prepare(begin, look, chain([first], self._farther())):
            return refused
        if begin.stream is None:
            self._open(look)
        with (
            reader.run.apart.alone(self._opening.hash.encode())
            if self._opening.hash
            else nullcontext()
        ):
            return self._counted_behind(self._find_earlier_counts())

    def _find_earlier_counts(self) -> KnownLines | None:
        """What was counted of this log before it was edited."""
        run = self._reader.run
        if not self._opening.hash or run.copies_too:
            return None
        return find(
            self._file,
            run.batch,
            self._reader.source.name,
            self._opening,
            self._mark,
            self._new_scanner,
            run.memory,
        )

    def _counted_behind(self, edited: KnownLines | None) -> FileReport:
        """Count what is new in the log, behind what was counted before it was edited."""
        if edited and edited.mark and not edited.few:
            self._refuse(edited.of, edited.mark, edited.heading)
        elif edited and not edited.few:
            return self._report("rewritten", edited_note(edited.of.path, edited.lines))
        if not self._file.seek(self._begin.offset):
            return self._report("nothing new")
        outcome = self._count(self._file.chunks())
        if not edited or outcome not in ("read", "nothing new"):
            return self._report(outcome)
        if edited.few:
            return self._report(
                outcome, f"it may be {edited.of.path}, edited since: too few lines to tell"
            )
        new = sum(number for segment in self._counted for _, number in segment.lines)
        return self._report("rewritten", edited_note(edited.of.path, edited.lines, new))

    def _refuse(self, of: Segment, mark: Mark, heading: bytes) -> None:
        """Record that lines up to there are those of another reading: with counts of nothing."""
        stream = mark.stream(self._family, self._path, going_on(self._format, heading))
        nothing = self._new_scanner().finish()
        refused = replace(
            self._segment(stream, nothing),
            id=segment_id(self._begin, stream, copy=True),
            copy_of=of.id,
            lines=tuple((name, 0) for name in CLASSES),
        )
        self._reader.keep(refused, stream, None, nothing, None)
        self._format = stream.format or self._format
        self._begin_at(mark.start(stream))

    def _count_copy(self, look: bytes) -> FileReport | None:
        """Count what was taken for lines of another log; None where nothing was."""
        if refused := self._prepare(Start(), look, ()):
            return refused
        self._open(look)
        segments, source = self._reader.run.batch, self._reader.source.name
        for copy in copies(segments, source, self._opening):
            if place_at(self._file, self._head, copy.last_byte) != copy.ends:
                continue
            if copy_is_counted(segments, copy):
                return None
            streams = [
                each
                for each in self._reader.alike(self._family, self._head)
                if each.offset < copy.last_byte
            ]
            self._begin_at(start(self._file, self._head, streams, ()))
            self._file.seek(self._begin.offset)
            return self._report(
                self._count(_first_bytes(self._file.chunks(), copy.last_byte - self._begin.offset))
            )
        return None

    def _farther(self) -> Iterator[bytes]:
        """What comes behind a beginning that tells no format: a hole of NULs, as long as it is, or
        some rubbish.
        """
        left = FARTHER
        for chunk in self._file.chunks():
            if chunk.strip(b"\0"):
                left -= 1
                yield chunk if chunk.startswith(b"\0") else chunk.partition(b"\n")[2]
                yield chunk[-LAST:].partition(b"\n")[2]
            if not left or self._reader.run.is_over():
                return

    def _elsewhere(self) -> Start | None:
        streams = self._reader.elsewhere(self._file, self._head, self._family)
        begin = start(self._file, self._head, streams, ())
        return begin if begin.stream else None

    def _holds_nothing_whole(self, first: bytes) -> bool:
        if self._record_size:
            return len(first) < self._record_size
        return b"\n" not in first and len(first) < CHUNK

    def _count(self, chunks: Iterable[bytes]) -> Outcome:
        in_time = self._while_in_time(chunks)
        for chunk in split_at_headings(in_time) if self._documents else in_time:
            self._feed(chunk)
            self._tell_invalid()
            if self._is_sized_otherwise(chunk) and (stopped := self._turn()):
                return stopped
            if self._is_full() and (stopped := self._go_on()):
                return stopped
        if stopped := self._record():
            return stopped
        if not self._file.is_plain and not self._is_cut:
            self._reader.finish(self._file, self._stream())
        return self._outcome()

    def _while_in_time(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The first chunk in any case, so that something of each log counts."""
        for number, chunk in enumerate(chunks):
            if number and self._reader.run.is_over():
                self._is_cut = True
                return
            yield chunk

    def _is_still_there(self) -> bool:
        return self._file.begins_with(self._head)


def _first_bytes(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The first so many bytes."""
    for chunk in chunks:
        yield chunk[:size]
        size -= len(chunk)
        if size <= 0:
            return


def _days(counts: Counts, read_at: int) -> tuple[int, int]:
    """The first and the last day it tells of; that of the reading where no line says its time."""
    hours, _ = counts.hourly_answers()
    if len(hours):
        return int(hours[0]) // 24, int(hours[-1]) // 24
    if counts.last_time:
        return counts.first_time // 86400, counts.last_time // 86400
    return read_at // 86400, read_at // 86400


def answers_by_hour(counts: Counts) -> tuple[tuple[int, int], ...]:
    """Answers in each hour; the busiest ones of a log that claims to reach over years."""
    hours, answers = counts.hourly_answers()
    if len(hours) <= MOST_HOURS:
        return tuple(zip(hours.tolist(), answers.tolist(), strict=True))
    busiest = np.sort(np.argsort(-answers, kind="stable")[:MOST_HOURS])
    return tuple(zip(hours[busiest].tolist(), answers[busiest].tolist(), strict=True))

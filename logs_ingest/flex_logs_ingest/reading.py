"""One log, while it is read: from where the store says, stretch by stretch, to its last whole line.

In goes a Reader and a log of its source, out comes a FileReport; on the way each stretch leaves its counts. A file is
looked at where its streams say they ended. A pipe cannot be: it is counted from its beginning, and wherever a stream
turns out to end in it, what was counted up to there is forgotten. So a pipe needs no room on disk, and one that brings
what was counted before counts nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from flex.domain import Segment, Stream
from flex.errors import BadInput, NoData
from flex_logs_ingest.documents import Documents
from flex_logs_ingest.formats import going_on, layout_of, record_size
from flex_logs_ingest.headings import at_headings, heading_of
from flex_logs_ingest.pipe import Pipe
from flex_logs_ingest.report import FileReport, Outcome, added_lines, added_reasons, few_samples
from flex_logs_ingest.run import Reader
from flex_logs_ingest.scan import Counts, Scanner, new_scanner
from flex_logs_ingest.sites import SiteRule
from flex_logs_ingest.sources import CHUNK, Log, shown
from flex_logs_ingest.stream import HEAD, Mark, Start, alike, ends_early, place, segment_id, start

# How much of a log the search for its format sees.
LOOK = 2**16
# How many chunks that hold anything are looked at for a format, where the beginning tells none.
FARTHER = 64
# So much of the end of each is looked at alone, where what comes next may begin.
LAST = 2**11
MOST_HOURS = 4096


class _Reading(ABC):
    """What files and pipes have in common: counting a stretch, recording it, saying what became of it."""

    # Set by `_prepare`, before anything is counted.
    _rule: SiteRule
    _begin: Start
    _scanner: Scanner
    _mark: Mark
    _documents: Documents | None

    def __init__(self, reader: Reader, log: Log | Pipe) -> None:
        self._reader = reader
        self._log = log
        self._path = shown(log.path)
        self._family = reader.family(log.path)
        self._head = b""
        self._format = ""
        # Of a log that names its columns, those in force where it is now.
        self._goes_on = ""
        # Of a log whose records have no line ends, how long each of them is.
        self._record_size = 0
        self._started = reader.run.clock()
        self._counted: list[Segment] = []

    @abstractmethod
    def report(self) -> FileReport: ...

    @abstractmethod
    def _is_still_there(self) -> bool: ...

    def _prepare(self, begin: Start, look: bytes, later: Iterable[bytes]) -> FileReport | None:
        """None when everything is known that is needed to count from there; `later` may tell the format as well."""
        rule = self._reader.source.site.of_file(self._log.path)
        if rule is None:
            return self._report("unknown site", f"its name is not as {self._reader.source.site.pattern!r} wants it")
        self._rule = rule
        try:
            self._format = self._reader.format_of(look, later, begin.stream)
            self._begin_at(begin)
        except (BadInput, NoData) as error:
            return self._report("unknown format", f"{error}; {error.advice}")
        return None

    def _begin_at(self, begin: Start) -> None:
        run = self._reader.run
        self._begin, self._mark = begin, Mark(begin, self._head, self._record_size)
        layout = layout_of(
            self._format, unsized=bool(self._reader.source.document_root), begun=begin.stream is not None
        )
        self._documents = self._reader.documents(layout)
        self._scanner = new_scanner(
            layout,
            self._rule,
            run.sample_limit,
            first_byte=begin.offset,
            keep_bad=run.invalid is not None,
        )

    def _feed(self, chunk: bytes) -> None:
        self._scanner.feed(chunk)
        self._mark.feed(chunk)
        self._reader.tell(self._path, self._log, chunk)

    def _is_full(self) -> bool:
        return self._scanner.memory >= self._reader.run.memory

    def _go_on(self) -> Outcome | None:
        """Record the stretch and begin the next. None when that went well, else why reading stops here."""
        if stopped := self._record():
            return stopped
        self._begin = self._mark.start(self._stream())
        self._format = self._goes_on or self._format
        return None

    def _is_sized_otherwise(self, piece: bytes) -> bool:
        """Whether the columns that it names say how many bytes were sent, and those before did not, or the reverse."""
        heading = heading_of(piece)
        if self._documents is None or not heading or not (format_ := going_on(self._format, heading)):
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
        assert counts.pending == self._mark.open_size, "scanner and mark disagree where the last whole line ends"
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
            hours=by_hour(counts),
            read_at=self._reader.run.read_at,
            begins=place(self._begin.stream),
            ends=place(stream),
        )

    def _done(self) -> Outcome:
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
            first_time=min((segment.first_time for segment in self._counted if segment.first_time), default=0),
            last_time=max((segment.last_time for segment in self._counted), default=0),
            seconds=self._reader.run.clock() - self._started,
        )


class FileReading(_Reading):
    def __init__(self, reader: Reader, log: Log) -> None:
        super().__init__(reader, log)
        self._file = log

    def report(self) -> FileReport:
        log, reader = self._file, self._reader
        if reader.is_finished(log):
            return self._report("nothing new")
        look = log.read(LOOK)
        self._head = look[:HEAD]
        if not look:
            return self._report("unreadable" if log.note else "empty")
        with reader.run.apart.alone(self._head):
            return self._new(look)

    def _new(self, look: bytes) -> FileReport:
        log, reader = self._file, self._reader
        begin = start(log, self._head, reader.streams(self._family), reader.heads(self._family))
        if begin.copy:
            return self._report("copy", begin.copy)
        if not begin.stream:
            begin = self._elsewhere() or begin
        self._record_size = record_size(reader.source.format, look)
        first = log.read(CHUNK) if log.seek(begin.offset) else b""
        if self._holds_nothing_whole(first):
            reader.finish(log, begin.stream)
            return self._report("nothing new")
        refused = self._prepare(begin, look, chain([first], self._farther()))
        if refused or not log.seek(begin.offset + len(first)):
            return refused or self._report("nothing new")
        return self._report(self._count(chain([first], log.chunks())))

    def _farther(self) -> Iterator[bytes]:
        """What comes behind a beginning that tells no format: a hole of NULs, as long as it is, or some rubbish."""
        left = FARTHER
        for chunk in self._file.chunks():
            if chunk.strip(b"\0"):
                left -= 1
                yield chunk if chunk.startswith(b"\0") else chunk.partition(b"\n")[2]
                yield chunk[-LAST:].partition(b"\n")[2]
            if not left:
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
        for chunk in at_headings(chunks) if self._documents else chunks:
            self._feed(chunk)
            self._tell_invalid()
            if self._is_sized_otherwise(chunk) and (stopped := self._turn()):
                return stopped
            if self._is_full() and (stopped := self._go_on()):
                return stopped
        if stopped := self._record():
            return stopped
        self._reader.finish(self._file, self._stream())
        return self._done()

    def _is_still_there(self) -> bool:
        return self._file.begins_with(self._head)


class PipeReading(_Reading):
    """`_places` are the streams that begin as the pipe does and may end farther on in it, the nearest first."""

    def report(self) -> FileReport:
        look = self._log.read(LOOK)
        self._head = look[:HEAD]
        if not look:
            return self._report("unreadable" if self._log.note else "empty")
        self._record_size = record_size(self._reader.source.format, look)
        elsewhere = self._reader.elsewhere(self._log, self._head, self._family)
        known = alike(self._head, [*self._reader.streams(self._family), *elsewhere])
        self._places = sorted(known, key=lambda stream: stream.offset)
        if refused := self._prepare(Start(), look, ()):
            return refused
        chunks = chain([look], self._log.chunks())
        outcome = self._count(cut(at_headings(chunks) if self._documents else chunks, [p.offset for p in self._places]))
        end = self._mark.offset + self._mark.open_size
        longer = [place for place in self._places if place.offset > end and self._begin.stream is None]
        if copy := ends_early(self._head, longer):
            return self._report("copy", copy)
        return self._report(outcome or self._record() or self._done())

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

    def _is_still_there(self) -> bool:
        return True


def cut(chunks: Iterable[bytes], places: Sequence[int]) -> Iterator[bytes]:
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


def _days(counts: Counts, read_at: int) -> tuple[int, int]:
    """The first and the last day it tells of; that of the reading where no line says its time."""
    hours, _ = counts.by_hour()
    if len(hours):
        return int(hours[0]) // 24, int(hours[-1]) // 24
    if counts.last_time:
        return counts.first_time // 86400, counts.last_time // 86400
    return read_at // 86400, read_at // 86400


def by_hour(counts: Counts) -> tuple[tuple[int, int], ...]:
    """Answers in each hour; the busiest ones of a log that claims to reach over years."""
    hours, answers = counts.by_hour()
    busiest = np.sort(np.argsort(-answers, kind="stable")[:MOST_HOURS])
    return tuple(zip(hours[busiest].tolist(), answers[busiest].tolist(), strict=True))

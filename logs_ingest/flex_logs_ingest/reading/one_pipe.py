"""One pipe, read from its beginning.

Takes a Reader and a pipe. Returns a FileReport. Does not go back, because nobody can in a pipe: it
counts from the beginning, and wherever a known stream turns out to end, it forgets what it counted
up to there. So a pipe needs no room on disk, and one that brings what was counted before counts
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from flex.model.log_reading import Stream
from flex_logs_ingest.formats import LOOK, record_size
from flex_logs_ingest.lines.headings import at_headings
from flex_logs_ingest.reading.identity import HEAD, Start, ends_early
from flex_logs_ingest.reading.one_log import LogReading
from flex_logs_ingest.reading.report import FileReport, Outcome
from flex_logs_ingest.reading.rewritten_logs import opens_like


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
            cut(
                at_headings(chunks) if self._documents else chunks, [p.offset for p in self._places]
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

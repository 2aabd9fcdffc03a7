"""Readings that are recorded together: small logs share one wait for the disk and one transaction.

Takes readings whose counts are written and not yet on disk. Has the same effect as recording each
alone: first all of their files are whole and on disk, then the store hears of them. Until then this
answers for them what the store is asked. When a run is killed before the store has heard, none of
them counts, and their logs are read again.

Does not make one reading depend on another. Where the store refuses one, the others are recorded
alone, in their order, up to the refused one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from flex.errors import FlexError
from flex.model.log_reading import Segment, Stream
from flex.ports import Segments
from flex.traffic import continued_logs
from flex_logs_ingest.counts import partials

# Readings that wait at most. Chosen on 3,000 logs of 6 kB: with more, each takes no less time.
READINGS = 512
# Bytes of logs that wait at most: a killed run has to read them again. A guess.
_LOG_BYTES = 2**26
# Bytes of memory that waiting readings take at most. A guess.
_MEMORY = 2**22
# Bytes of memory that one waiting reading takes, beside its hours and samples. A guess.
_READING = 4_000
# Bytes of memory for each of its hours. A guess.
_HOUR = 200
# Bytes of memory for each of its samples. A guess.
_SAMPLE = 1_000


class Batch:
    """What waits to be recorded. `most` readings at a time; one thread at a time adds and settles.

    `known` is what the store holds already: it is not asked for openings that nothing there has.

    `refused` are those that somebody else had recorded when it was their turn.
    """

    def __init__(
        self,
        segments: Segments,
        directory: Path,
        known: Iterable[Segment],
        most: int = READINGS,
    ) -> None:
        self._openings = _openings(known)
        self.refused: list[Segment] = []
        self._segments = segments
        self._directory = directory
        self._most = most
        self._waiting: list[tuple[Segment, Stream, Stream | None]] = []
        self._bytes = self._memory = 0
        self._failed: BaseException | None = None

    def add(self, segment: Segment, stream: Stream, replaces: Stream | None) -> None:
        """To be recorded, its counts being written (partials.begin). Raises what `settle` does."""
        self._waiting.append((segment, stream, replaces))
        self._openings |= _openings([segment])
        self._bytes += segment.last_byte - segment.first_byte
        self._memory += (
            _READING + _HOUR * len(segment.hours) + _SAMPLE * len(segment.samples)
        )
        if (
            len(self._waiting) >= self._most
            or self._bytes >= _LOG_BYTES
            or self._memory >= _MEMORY
        ):
            self.settle()

    def settle(self) -> None:
        """Record all that waits. Raises NotWritten, and what the store raises; what is not recorded
        is read again.
        """
        if self._failed:
            raise self._failed
        if not self._waiting:
            return
        try:
            partials.finish(
                self._directory, [segment.id for segment, _, _ in self._waiting]
            )
            self._record()
        except BaseException as error:
            # What was lost here may be what a later reading was held against, and a failed sync is
            # not tried again.
            self._failed = error
            raise
        self._waiting, self._bytes, self._memory = [], 0, 0

    def settle_what_can_be(self) -> None:
        """When a run ends early: what can still be recorded need not be read again."""
        with suppress(FlexError):
            self.settle()

    def with_opening(self, opening: str, first_time: int) -> tuple[Segment, ...]:
        """As the store has it and will have it."""
        if self._openings.isdisjoint((opening, first_time)):
            return ()
        waiting = continued_logs.with_opening(self._now(), opening, first_time)
        return _each_once(waiting, self._segments.with_opening(opening, first_time))

    def behind(self, places: Collection[str]) -> tuple[Segment, ...]:
        waiting = continued_logs.behind(self._now(), places)
        return _each_once(waiting, self._segments.behind(places))

    def _now(self) -> list[Segment]:
        """Looked at before the store: what is recorded meanwhile is in both, and not in neither."""
        return [segment for segment, _, _ in self._waiting]

    def _record(self) -> None:
        try:
            known = self._segments.record_all(self._waiting)
            self.refused += [
                segment for segment, _, _ in self._waiting if segment.id in known
            ]
        except FlexError:
            if len(self._waiting) == 1:
                raise
            for reading in self._waiting:
                if not self._segments.record(*reading):
                    self.refused.append(reading[0])


def _openings(segments: Iterable[Segment]) -> set[str | int]:
    """How their logs open: the hash, or the time of those that have none."""
    return {each.opening or each.first_time for each in segments if not each.first_byte}


def _each_once(
    waiting: Iterable[Segment], stored: Iterable[Segment]
) -> tuple[Segment, ...]:
    found = {segment.id: segment for segment in (*waiting, *stored)}
    return tuple(found[id_] for id_ in sorted(found))

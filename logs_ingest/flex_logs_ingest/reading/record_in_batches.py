"""Readings that are recorded together: small logs share files, one wait for the disk and one
transaction.

Takes readings and their counts. Has the same effect as recording each alone: first all of their
files are whole and on disk, then the store hears of them. Until then this answers for them what the
store is asked. When a run is killed before the store has heard, none of them counts, and their logs
are read again.

Does not make one reading depend on another. Where the store refuses one, the others are recorded
alone, in their order, up to the refused one, each with files of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from flex.errors import FlexError
from flex.model.log_reading import Segment, Stream
from flex.ports import Segments
from flex.traffic import reading_chains
from flex_logs_ingest.counts import count_files, shared_count_files
from flex_logs_ingest.files.document_root import Documents
from flex_logs_ingest.scan.segment_scan import Counts
from flex_logs_ingest.scan.site_rules import UNKNOWN

# Readings that wait at most. Chosen on 3,000 logs of 6 kB: with more, each takes no less time.
READINGS = 512
# Bytes of logs that wait at most: a killed run has to read them again. A guess.
_LOG_BYTES = 2**26
# Bytes of memory that waiting readings take at most. A guess.
_MEMORY = 2**23
# Bytes of memory that one waiting reading takes, beside its counts, hours and samples. A guess.
_READING = 4_000
# Bytes of memory for each of its hours. A guess.
_HOUR = 200
# Bytes of memory for each of its samples. A guess.
_SAMPLE = 1_000
# Bytes of a log, unpacked, up to which its counts share files with others: larger ones gain little.
# A guess.
SMALL = 2**17
# Bytes of memory that the counts of a log take for each of its own, until they are in shared files.
# A guess.
_HELD = 3


@runtime_checkable
class _Sharing(Protocol):
    """A store that is told where counts are. One that sends the files of each reading away is
    not.
    """

    def together(self) -> AbstractContextManager[None]: ...
    def move_counts(self, segments: Collection[str], files: str) -> None: ...


class _KnownError(Exception):
    """One of the readings was recorded by somebody else, so files with its counts are of no use."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """`counts` of a reading that may share files, of which nothing is written yet."""

    segment: Segment
    stream: Stream
    replaces: Stream | None
    counts: Counts | None = None

    @property
    def reading(self) -> tuple[Segment, Stream, Stream | None]:
        return self.segment, self.stream, self.replaces


class Batch:
    """What waits to be recorded. `most` readings at a time; one thread at a time adds and settles.

    `known` is what the store holds already: it is not asked for openings that nothing there has.

    `refused` are those that somebody else had recorded when it was their turn.
    """

    def __init__(
        self, segments: Segments, directory: Path, known: Iterable[Segment], most: int = READINGS
    ) -> None:
        self._openings = _openings(known)
        self.refused: list[Segment] = []
        self._segments = segments
        self._directory = directory
        self._most = most
        self._can_share = most > 1 and isinstance(segments, _Sharing)
        self._waiting: list[_Waiting] = []
        self._bytes = self._memory = 0
        self._failed: BaseException | None = None

    def shares(self, segment: Segment, counts: Counts, documents: Documents | None) -> bool:
        """Whether its counts go into files with others. What is kept beside the counts of one
        reading alone is in files of its own.
        """
        scanned = counts.found
        return (
            self._can_share
            and segment.last_byte - segment.first_byte <= SMALL
            and documents is None
            and not scanned["strangers"]
            and UNKNOWN not in scanned["sites"]
        )

    def add(
        self,
        segment: Segment,
        stream: Stream,
        replaces: Stream | None,
        counts: Counts | None = None,
    ) -> None:
        """To be recorded; the counts are given where they are to share files, and else they are
        being written (partials.begin). Raises what `settle` does.
        """
        self._waiting.append(_Waiting(segment, stream, replaces, counts))
        self._openings |= _openings([segment])
        size = segment.last_byte - segment.first_byte
        self._bytes += size
        self._memory += (
            _READING
            + _HOUR * len(segment.hours)
            + _SAMPLE * len(segment.samples)
            + (_HELD * size if counts else 0)
        )
        if len(self._waiting) >= self._most or self._bytes >= _LOG_BYTES or self._memory >= _MEMORY:
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
        waiting = reading_chains.segments_with_opening(self._now(), opening, first_time)
        return _each_once(waiting, self._segments.with_opening(opening, first_time))

    def behind(self, places: Collection[str]) -> tuple[Segment, ...]:
        waiting = reading_chains.segments_beginning_at(self._now(), places)
        return _each_once(waiting, self._segments.behind(places))

    def _now(self) -> list[Segment]:
        """Looked at before the store: what is recorded meanwhile is in both, and not in neither."""
        return [each.segment for each in self._waiting]

    def _record(self) -> None:
        shared = self._write()
        try:
            known = self._record_together(shared)
            self.refused += [each.segment for each in self._waiting if each.segment.id in known]
        except (FlexError, _KnownError):
            if len(self._waiting) == 1:
                raise
            self._record_alone(shared)

    def _write(self) -> dict[str, list[str]]:
        """All files, on disk. Which readings share those of each id."""
        shared: dict[str, list[str]] = {}
        for readings in _groups(self._waiting):
            ids = [id_ for id_, _ in readings]
            if len(ids) == 1:
                count_files.begin(self._directory, *readings[0])
            else:
                files = shared_count_files.id_of(ids)
                count_files.begin_shared(self._directory, files, readings)
                shared[files] = ids
        sharing = {id_ for ids in shared.values() for id_ in ids}
        own = [each.segment.id for each in self._waiting]
        count_files.finish(self._directory, [*shared, *(id_ for id_ in own if id_ not in sharing)])
        return shared

    def _record_together(self, shared: Mapping[str, Sequence[str]]) -> frozenset[str]:
        """What was known already. Raises _KnownError, and stores none, where files that are shared
        hold some of that.
        """
        readings = [each.reading for each in self._waiting]
        if not isinstance(self._segments, _Sharing) or not shared:
            return self._segments.record_all(readings)
        with self._segments.together():
            known = self._segments.record_all(readings)
            for files, ids in shared.items():
                if not known.isdisjoint(ids):
                    raise _KnownError
                self._segments.move_counts(ids, files)
        return known

    def _record_alone(self, shared: Mapping[str, Sequence[str]]) -> None:
        """Files that they share hold counts of what is refused, too: each gets files of its own."""
        sharing = {id_ for ids in shared.values() for id_ in ids}
        for each in self._waiting:
            if each.segment.id in sharing and each.counts:
                count_files.begin(self._directory, each.segment.id, each.counts)
        if sharing:
            count_files.finish(self._directory, sorted(sharing))
        for each in self._waiting:
            if not self._segments.record(*each.reading):
                self.refused.append(each.segment)
        if shared:
            count_files.remove(self._directory, shared)


def _groups(waiting: Iterable[_Waiting]) -> list[list[tuple[str, Counts]]]:
    """Those that may share files: apart those whose lines say which name was asked for, and those
    of which nobody knows that. Readings of one last day are added up or deleted on the same day.

    In order of their ids: whichever was read first, the files are the same.
    """
    groups: dict[tuple[bool, int], list[tuple[str, Counts]]] = {}
    for each in sorted(waiting, key=lambda reading: reading.segment.id):
        if each.counts:
            group = each.counts.others is not None, each.segment.last_day
            groups.setdefault(group, []).append((each.segment.id, each.counts))
    return list(groups.values())


def _openings(segments: Iterable[Segment]) -> set[str | int]:
    """How their logs open: the hash, or the time of those that have none."""
    return {each.opening or each.first_time for each in segments if not each.first_byte}


def _each_once(waiting: Iterable[Segment], stored: Iterable[Segment]) -> tuple[Segment, ...]:
    by_id = {segment.id: segment for segment in (*waiting, *stored)}
    return tuple(by_id[id_] for id_ in sorted(by_id))

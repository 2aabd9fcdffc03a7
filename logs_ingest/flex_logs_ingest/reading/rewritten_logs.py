"""Whether a log that nobody knows by its bytes was counted before, and edited since.

Takes a new log, which is read once for this, and what the store says about logs that open as it
does. Returns how far it is one of them. Does not store anything.

Addresses are masked when a log is rotated: every line is another one then, and counts for the same.
The new log is an old one when its first lines, as many as were counted there, give the same lines
of each class, the same first and last second, the same answers in each hour and the same signature
(counts/signature.py). Logs of a few lines are alike by chance, so they are never taken for one
another.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from flex.model.log_reading import Segment
from flex_logs_ingest.counts.signature import signature, signature_of_all
from flex_logs_ingest.files.find_and_unpack_logs import Log
from flex_logs_ingest.reading.log_identity import Mark
from flex_logs_ingest.scan.count_small_logs import first_lines
from flex_logs_ingest.scan.segment_scan import Counts, Scanner

# Answers that tell one log from another. A guess: a monitor that asks for the same twice makes two
# answers alike.
ENOUGH = 10
# The same without a signature, which readings of older versions do not have: times and numbers
# alone are alike sooner. A guess.
ENOUGH_UNSIGNED = 100
# Logs that open alike and are compared one after the other; more than one is rare. A guess.
_CANDIDATES = 16

NewScanner = Callable[[], Scanner]


class Openings(Protocol):
    """What is asked of the readings so far, those that wait to be recorded among them."""

    def with_opening(self, opening: str, first_time: int) -> tuple[Segment, ...]: ...
    def behind(self, places: Collection[str]) -> tuple[Segment, ...]: ...


@dataclass(frozen=True, slots=True)
class Opening:
    """A hash of what the first answer of a log counts for, and its second. "" where there is
    none.
    """

    hash: str = ""
    time: int = 0


@dataclass(frozen=True, slots=True)
class KnownLines:
    """`lines` of the log are those of the readings up to `of`, which end where `mark` is; `heading`
    names the columns of what follows there. Without a mark the log ends before that: it is a cut
    copy. With `few` lines they may be alike by chance.
    """

    of: Segment
    lines: int
    mark: Mark | None = None
    heading: bytes = b""
    few: bool = False


@dataclass(frozen=True, slots=True)
class _Sum:
    """What some lines of a log counted for."""

    lines: tuple[int, ...]
    first: int
    last: int
    hours: Counter[int]
    signature: str

    @property
    def answers(self) -> int:
        return sum(self.hours.values())


def opening(look: bytes, scanner: Scanner, record: int) -> Opening:
    """The opening of a log that begins with these bytes."""
    for line in first_lines(look, record):
        scanner.feed(line)
        counts = scanner.finish()
        if counts.lines["counted"] or counts.lines["other_status"]:
            return opening_of(counts)
    return Opening()


def opening_of(first: Counts) -> Opening:
    """The opening of a log whose first answer counts for this."""
    words = (str(first.first_time), signature(first), str(tuple(first.lines.values())))
    return Opening(hashlib.sha256("\0".join(words).encode()).hexdigest()[:40], first.first_time)


def copies(segments: Openings, source: str, opened: Opening) -> list[Segment]:
    """What of this source was taken for edited copies of counted logs, and opens so."""
    return [each for each in _first(segments, source, opened) if each.copy_of]


def copy_is_counted(segments: Openings, copy: Segment) -> bool:
    """Whether somebody said that it is no copy, and it was counted since."""
    return any(
        reading.ends == copy.ends for readings in _alike(segments, copy) for reading in readings
    )


def original_of(segments: Openings, copy: Segment) -> tuple[Segment, int] | None:
    """The last of the readings that had its lines before, and how many they are; None where that is
    not known.
    """
    for readings in _alike(segments, copy):
        lines = 0
        for reading in readings:
            lines += sum(number for _, number in reading.lines)
            if reading.id == copy.copy_of:
                return reading, lines
    return None


def _alike(segments: Openings, copy: Segment) -> Iterator[Iterator[Segment]]:
    """The readings of each log that opens as it does and was counted."""
    first = _first(segments, copy.source, Opening(copy.opening))
    copied = {each.copy_of: each.ends for each in first if each.copy_of}
    return (_readings(segments, each, copied) for each in first if not each.copy_of)


def edited_note(path: str, lines: int, new: int = 0) -> str:
    """What is said of a log whose first lines were counted before it was edited; `new` ones are
    behind them.
    """
    which = f"its first {lines:,} lines" if new else f"its {lines:,} lines"
    note = f"{which} are those of {path}, edited since they were counted, and are not counted again"
    return note + (f"; {new:,} behind them are new" if new else "")


def find(
    log: Log,
    segments: Openings,
    source: str,
    opened: Opening,
    begin: Mark,
    scanner: NewScanner,
    room: int,
) -> KnownLines | None:
    """The log of this source that it is, of several the one with most lines; `begin` is the mark
    where it begins.

    The counts of a log take about `room` bytes of memory at most.
    """
    if not opened.hash:
        return None
    first = _first(segments, source, opened)
    copied = {each.copy_of: each.ends for each in first if each.copy_of}
    matches = []
    for each in [each for each in first if not each.copy_of][:_CANDIDATES]:
        readings = tuple(_readings(segments, each, copied))
        if same := _Comparison(log, begin, scanner, room).compare_readings(readings):
            matches.append(same)
    return max(matches, key=lambda match: (not match.few, match.lines), default=None)


def opens_like(segments: Openings, source: str, opened: Opening) -> Segment | None:
    """A counted log, with enough answers to be told from others, whose first answer counts for the
    same.
    """
    for first in _first(segments, source, opened) if opened.hash else ():
        readings = () if first.copy_of else _readings(segments, first, {})
        if sum(number for reading in readings for _, number in reading.hours) >= ENOUGH:
            return first
    return None


def _first(segments: Openings, source: str, opened: Opening) -> list[Segment]:
    return [
        each for each in segments.with_opening(opened.hash, opened.time) if each.source == source
    ]


def _readings(segments: Openings, first: Segment, copied: dict[str, str]) -> Iterator[Segment]:
    """The readings of one log in order; what was read on in an edited copy of it goes on behind its
    own.
    """
    seen = set[str]()
    waiting = [first]
    while waiting:
        reading = waiting.pop(0)
        if reading.id in seen:
            return
        seen.add(reading.id)
        yield reading
        places = [reading.ends, copied.get(reading.id, "")]
        following = [each for place in places if place for each in segments.behind([place])]
        waiting = [each for each in following if each.source == first.source][:1]


class _Comparison:
    """One log, read from its beginning, beside the readings of another."""

    def __init__(self, log: Log, begin: Mark, scanner: NewScanner, room: int) -> None:
        self._log = log
        self._mark = begin.copy()
        self._scanner = scanner()
        self._room = room
        self._heading = b""

    def compare_readings(self, readings: Sequence[Segment]) -> KnownLines | None:
        self._log.seek(0)
        pieces = _Lines(self._log.chunks(), self._mark.record)
        ours = _sum_of(())
        theirs = _sum_of(())
        same: Segment | None = None
        for reading in readings:
            new = self._count(pieces.take_lines(sum(number for _, number in reading.lines)))
            before = theirs
            theirs = _both(theirs, _sum_of((reading,)))
            ours = _both(ours, new)
            if sum(ours.lines) < sum(theirs.lines):
                return self._cut(reading, new, before)
            if not _is_same(ours, theirs):
                return None
            same = reading
        if same is None:
            return None
        return KnownLines(
            same,
            sum(ours.lines),
            self._mark,
            self._heading,
            few=theirs.answers < (ENOUGH if theirs.signature else ENOUGH_UNSIGNED),
        )

    def _cut(self, reading: Segment, new: _Sum, before: _Sum) -> KnownLines | None:
        """The log ends within this reading: what is there may be its beginning."""
        if not sum(new.lines) and not before.answers:
            return None
        theirs = dict(reading.hours)
        whole = sorted(new.hours)[:-1]
        if any(number > theirs.get(hour, 0) for hour, number in new.hours.items()):
            return None
        if any(new.hours[hour] != theirs[hour] for hour in whole):
            return None
        sure = before.answers + sum(new.hours[hour] for hour in whole)
        few = sure < ENOUGH or (len(whole) < 2 and before.answers < ENOUGH)
        return KnownLines(reading, sum(before.lines) + sum(new.lines), few=few)

    def _count(self, pieces: Iterable[bytes]) -> _Sum:
        """What the pieces count for, which end with a line."""
        total = _sum_of(())
        for piece in pieces:
            self._scanner.feed(piece)
            self._mark.feed(piece)
            if self._scanner.memory >= self._room:
                total = _both(total, _sum_of_counts(self._scanner.finish()))
        counts = self._scanner.finish()
        self._heading = counts.heading
        return _both(total, _sum_of_counts(counts))


class _Lines:
    """The whole lines of a log, so many at a time."""

    def __init__(self, chunks: Iterator[bytes], record: int) -> None:
        self._chunks = chunks
        self._record = record
        self._rest = b""

    def take_lines(self, number: int) -> Iterator[bytes]:
        """Pieces with so many lines, or all that there are; what follows the last of these is
        left.
        """
        while number > 0:
            piece = self._rest or next(self._chunks, b"")
            self._rest = b""
            if not piece:
                return
            size, ended = self._first(piece, number)
            self._rest = piece[size:]
            number -= ended
            yield piece[:size]

    def _first(self, piece: bytes, number: int) -> tuple[int, int]:
        """How long the first so many lines of the piece are, and how many of them end in it."""
        if self._record:
            return self._first_records(piece, number)
        ended = piece.count(b"\n")
        if ended <= number:
            return (piece.rfind(b"\n") + 1 if ended == number else len(piece)), ended
        end = 0
        for _ in range(number):
            end = piece.find(b"\n", end) + 1
        return end, number

    def _first_records(self, piece: bytes, number: int) -> tuple[int, int]:
        """Chunks may end within a record."""
        missing = number * self._record - self._begun
        size = min(len(piece), missing)
        ended, self._begun = divmod(self._begun + size, self._record)
        return size, ended

    _begun = 0


def _is_same(ours: _Sum, theirs: _Sum) -> bool:
    signed = not theirs.signature or ours.signature == theirs.signature
    numbers = ours.lines == theirs.lines and ours.hours == theirs.hours
    return signed and numbers and (ours.first, ours.last) == (theirs.first, theirs.last)


def _sum_of(readings: Sequence[Segment]) -> _Sum:
    """The sum of one reading, or of no reading at all."""
    if not readings:
        return _Sum((0, 0, 0, 0), 0, 0, Counter(), signature_of_all(()))
    (reading,) = readings
    lines = tuple(number for _, number in reading.lines)
    return _Sum(
        lines,
        reading.first_time,
        reading.last_time,
        Counter(dict(reading.hours)),
        reading.signature,
    )


def _sum_of_counts(counts: Counts) -> _Sum:
    hours, answers = counts.hourly_answers()
    of_hours = Counter(dict(zip(hours.tolist(), answers.tolist(), strict=True)))
    return _Sum(
        tuple(counts.lines.values()),
        counts.first_time,
        counts.last_time,
        of_hours,
        signature(counts),
    )


def _both(first_sum: _Sum, other: _Sum) -> _Sum:
    return _Sum(
        tuple(a + b for a, b in zip(first_sum.lines, other.lines, strict=True)),
        min(filter(None, (first_sum.first, other.first)), default=0),
        max(first_sum.last, other.last),
        first_sum.hours + other.hours,
        signature_of_all((first_sum.signature, other.signature)),
    )

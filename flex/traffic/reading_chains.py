"""Readings of one log, one after the other: which of them begin a log, and which continue another
one.

Takes Segments. Returns those of them that were asked for, in order of id. Does not store anything.
In a Segment

- `begins` is the `ends` of the reading that it continues, "" at the beginning of a log.
- `after` is the reading that the same machine sent before this one, "" where it sent none or that
  is not known.
- `signature` is a sum over all that was counted, "" in readings of older versions. Equal counts
  have equal sums, and the sums of two readings add up (flex_logs_ingest/counts/signature.py).
- `opening` is a hash of what the first answer of a log counts for. The first reading of a log has
  it.
- `copy_of` is the reading up to which the lines of the log were counted before they were edited.
  These lines count for nothing in this reading. "" in every other reading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from flex.model.log_reading import Segment


def segments_with_opening(
    segments: Iterable[Segment], opening: str, first_time: int
) -> tuple[Segment, ...]:
    """Those from the beginning of a log that opens so; where that was not noted, those that begin
    at that time.
    """
    return _sort_segments(
        each for each in segments if each.first_byte == 0 and _opens(each, opening, first_time)
    )


def segments_beginning_at(
    segments: Iterable[Segment], places: Collection[str]
) -> tuple[Segment, ...]:
    """Those that go on at these places."""
    return _sort_segments(each for each in segments if each.begins in places)


def _opens(segment: Segment, opening: str, first_time: int) -> bool:
    return segment.opening == opening if segment.opening else segment.first_time == first_time


def _sort_segments(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    return tuple(sorted(segments, key=lambda each: each.id))

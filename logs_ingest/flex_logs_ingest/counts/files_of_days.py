"""Which files hold the counts of which days: those of each reading, or the sums that they were
added up to.

Takes the store's Segments and days. Returns ids of files (partials.py). Does not look at any file.
"""

from __future__ import annotations

from flex.errors import NoData
from flex.model.log_reading import Segment
from flex.ports import Segments


def files(segments: Segments, first_day: int, last_day: int) -> list[str]:
    """All that hold counts of these days. Raises NoData when some of them were deleted."""
    found = files_left(segments, first_day, last_day)
    moved = segments.moved_counts()
    gone = [
        each
        for each in segments.segments(first_day, last_day)
        if not moved.get(each.id, each.id)
    ]
    if gone:
        raise _deleted_error(gone[0])
    return found


def files_left(segments: Segments, first_day: int, last_day: int) -> list[str]:
    """Those that are still there, each once."""
    moved = segments.moved_counts()
    found = (
        moved.get(each.id, each.id) for each in segments.segments(first_day, last_day)
    )
    return sorted({one for one in found if one})


def with_sample(segments: Segments, first_day: int, last_day: int) -> list[Segment]:
    """Readings whose counts are in files of their own: sums have no sample."""
    moved = segments.moved_counts()
    return [
        each for each in segments.segments(first_day, last_day) if each.id not in moved
    ]


def _deleted_error(segment: Segment) -> NoData:
    return NoData(
        f"counts of {segment.path}",
        "they were deleted, as older ones than ingest.keep_days are",
        kept="nothing was changed",
        advice="ask for later days; a larger ingest.keep_days keeps counts longer from now on",
    )

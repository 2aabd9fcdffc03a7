"""Which files hold the counts of which days: those of each reading, those that small readings
share, or the sums that they were added up to.

Takes the store's Segments and days. Returns ids of files (count_files.py). Does not look at any
file.

The readings are asked for first and then where their counts are: what is recorded, or moved, in
between is found where it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from flex.errors import NoData
from flex.model.log_reading import Segment
from flex.ports import Segments
from flex_logs_ingest.counts.shared_count_files import is_shared


def files(segments: Segments, first_day: int, last_day: int) -> list[str]:
    """All that hold counts of these days. Raises NoData when some of them were deleted."""
    readings = segments.segments(first_day, last_day)
    moved = segments.moved_counts()
    gone = [each for each in readings if not moved.get(each.id, each.id)]
    if gone:
        raise _deleted_error(gone[0])
    return _files_of(readings, moved)


def files_left(segments: Segments, first_day: int, last_day: int) -> list[str]:
    """Those that are still there, each once."""
    readings = segments.segments(first_day, last_day)
    return _files_of(readings, segments.moved_counts())


def _files_of(readings: Iterable[Segment], moved: Mapping[str, str]) -> list[str]:
    file_ids = {moved.get(each.id, each.id) for each in readings}
    return sorted(file_ids - {""})


def readings_with_sample(
    segments: Segments, first_day: int, last_day: int
) -> dict[str, list[Segment]]:
    """Readings by the files that hold their samples, their own or shared ones: sums have no
    sample.
    """
    readings = segments.segments(first_day, last_day)
    moved = segments.moved_counts()
    by_file = defaultdict(list)
    for each in readings:
        files = moved.get(each.id, each.id)
        if each.id not in moved or is_shared(files):
            by_file[files].append(each)
    return dict(by_file)


def _deleted_error(segment: Segment) -> NoData:
    return NoData(
        f"counts of {segment.path}",
        "they were deleted, as older ones than ingest.keep_days are",
        advice="ask for later days; a larger ingest.keep_days keeps counts longer from now on",
    )

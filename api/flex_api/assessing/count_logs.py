"""Logs of any known format, counted once in a folder that goes again.

Takes files. Returns what was counted, what became of each file, and how sites were told apart.
Nothing of it outlives the folder. Logs are counted by the host that their lines name. Those whose
lines name none are counted by a site in their own name; where these are one alone, by the first
directories of their paths. Does not judge what was counted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flex.errors import NoData
from flex.model.log_reading import Segment
from flex.model.period import LAST_DAY, Period
from flex.site_names_in_words import first_few
from flex.store import MemoryStore
from flex_api.assessing.find_logs import site_in_name
from flex_api.in_words import amounts
from flex_logs_ingest.files.find_and_unpack_logs import Source, path_text
from flex_logs_ingest.reading.one_log import TIME_OVER
from flex_logs_ingest.reading.read_logs import FAILED, FileReport, ingest
from flex_logs_ingest.scan.site_rules import SiteRule

# Days that are looked at: a week has every kind of day.
DAYS = 7
# Accesses that are kept of the logs: they are replayed some ten times. A guess.
MOST_ACCESSES = 1_000_000
# Bytes of files that are read before the clock is looked at again. A guess.
BATCH = 256 * 2**20
# Why no line counts of a file that could be read.
WITHOUT_LINES = {
    "copy": "another file has the same lines",
    "nothing new": "another file has all of its lines",
    "rewritten": "its lines are like those of another file",
    "empty": "it has no line",
    "changed": "it was changed while it was read",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

BY_HOST = "the host that each line names"
BY_NAME = "the names of the logs, as the lines name no host"
BY_DIRECTORY = "the first directories of the paths, as neither lines nor logs name a host"


@dataclass(frozen=True, slots=True)
class Counted:
    """`period` is the week with most requests; `left` are files for which there was no time."""

    store: MemoryStore
    folder: Path
    period: Period
    reports: tuple[FileReport, ...]
    sites_by: tuple[str, ...]
    left: int
    first_day: int
    last_day: int


def count(
    files: Sequence[str],
    folder: Path,
    *,
    log_format: str = "auto",
    seconds: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    at_a_time: int = BATCH,
) -> Counted:
    """The newest files first, so many bytes of them at a time, and no more once the seconds are
    over (0: all of them). A file that is read then ends where it is.

    Raises NoData where no line could be counted.
    """
    store, begun = MemoryStore(), clock()
    reports: list[FileReport] = []
    ways: Counter[str] = Counter()
    left = 0

    def is_over() -> bool:
        return bool(seconds) and clock() - begun >= seconds

    for number, batch in enumerate(_batches(files, at_a_time)):
        if number and is_over():
            left += len(batch)
            continue
        reports += _read(batch, store, folder, log_format, ways, is_over)
    segments = store.segments(0, LAST_DAY)
    if not any(hours for segment in segments for hours in segment.hours):
        raise _nothing(reports)
    first, last, period = _busiest_week(segments)
    return Counted(store, folder, period, tuple(reports), tuple(ways), left, first, last)


def _batches(files: Sequence[str], at_a_time: int) -> Iterator[list[str]]:
    """From the newest to the oldest. Logs that are rotated copies of each other may come apart:
    what was counted once is known all the same.
    """
    batch: list[str] = []
    room = at_a_time
    for path in reversed(files):
        batch.append(path)
        room -= _size(path)
        if room <= 0:
            yield batch
            batch, room = [], at_a_time
    if batch:
        yield batch


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _read(
    files: Sequence[str],
    store: MemoryStore,
    folder: Path,
    log_format: str,
    ways: Counter[str],
    is_over: Callable[[], bool],
) -> list[FileReport]:
    """By hosts first; what has none by its own name."""
    source = Source("logs", (), "cluster", SiteRule(), log_format, files=tuple(files))
    reports = _ingest([source], store, folder, is_over)
    if any(report.outcome == "read" for report in reports):
        ways[BY_HOST] += 1
    # Reports have paths as they can be printed.
    paths = {path_text(path): path for path in files}
    nameless = [paths[report.path] for report in reports if report.outcome == "unknown format"]
    if not nameless:
        return reports
    again = {
        report.path: report
        for report in _ingest(
            _make_sources_by_name(nameless, log_format, ways), store, folder, is_over
        )
    }
    return [again.get(report.path, report) for report in reports]


def _make_sources_by_name(
    files: Sequence[str], log_format: str, ways: Counter[str]
) -> list[Source]:
    """A source for each site that the names of logs speak of."""
    by_site: dict[str, list[str]] = {}
    for path in files:
        by_site.setdefault(site_in_name(path_text(path)), []).append(path)
    ways[BY_DIRECTORY if len(by_site) == 1 else BY_NAME] += 1
    return [
        Source(
            f"logs of {site}",
            (),
            "cluster",
            SiteRule(directory=True) if len(by_site) == 1 else SiteRule(fixed=site),
            log_format,
            files=tuple(paths),
        )
        for site, paths in sorted(by_site.items())
    ]


def _ingest(
    sources: Sequence[Source], store: MemoryStore, folder: Path, is_over: Callable[[], bool]
) -> list[FileReport]:
    try:
        return list(ingest(sources, store, folder, sample_limit=MOST_ACCESSES, is_over=is_over))
    except NoData:
        # Of which files, and why, is asked again: the error tells it as one sentence.
        return [
            FileReport(source.name, path_text(path), "unknown format", "no line could be read")
            for source in sources
            for path in source.files
        ]


def _busiest_week(segments: Sequence[Segment]) -> tuple[int, int, Period]:
    """The first and the last day with answers, and the days in a row with most of them: a clock
    that is years off makes no week of its own.
    """
    of_day: Counter[int] = Counter()
    for segment in segments:
        for hour, answers in segment.hours:
            of_day[hour // 24] += answers
    days = sorted(day for day, answers in of_day.items() if answers)
    best = max(days, key=lambda end: (sum(of_day[end - back] for back in range(DAYS)), end))
    begin = next(day for day in days if day > best - DAYS)
    start = _EPOCH + timedelta(days=begin)
    return days[0], days[-1], Period(start, _EPOCH + timedelta(days=best + 1))


def cut_files(reports: Sequence[FileReport]) -> list[FileReport]:
    """Those that were not read to their end, for the time was over."""
    return [report for report in reports if report.note.startswith(TIME_OVER)]


def failed_files(reports: Sequence[FileReport]) -> list[FileReport]:
    """Those that no line was counted of though they may be logs."""
    return [report for report in reports if report.outcome in FAILED]


def _nothing(reports: Sequence[FileReport]) -> NoData:
    why = [f"{report.path}: {report.note or report.outcome}" for report in reports]
    return NoData(
        f"counting {amounts.count(len(reports), 'file')}",
        first_few(why, between="; "),
        kept="nothing was written",
        advice="name access logs; if their format is not known, say with --format how "
        "their lines are written: a name, or the server's directive",
    )

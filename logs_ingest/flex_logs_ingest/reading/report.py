"""What became of the files of a run, as values.

Does not read anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from flex.model.log_reading import BadLine, Segment
from flex.site_names_in_words import first_of_files
from flex_logs_ingest.scan.malformed_lines import REASONS
from flex_logs_ingest.scan.segment_scan import CLASSES

Outcome = Literal[
    "read",
    "nothing new",
    "copy",
    "rewritten",
    "empty",
    "changed",
    "unreadable",
    "unknown format",
    "unknown site",
    "nothing matches",
]

FAILED: tuple[Outcome, ...] = ("unreadable", "unknown format", "unknown site", "nothing matches")
# Malformed lines of each reason that are shown of a file or a source. A guess.
SAMPLES = 3


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file. `size` is what it takes on disk, `new_bytes` what was new in it,
    unpacked.

    `note` gives the reason of an outcome that is not the usual one. One that is `damaged` could not
    be unpacked to its end: what is in front of that counts. Times are 0 when no line was new.
    `seconds` is how long the reading took.
    """

    source: str
    path: str
    outcome: Outcome
    note: str = ""
    format: str = ""
    packing: str = ""
    size: int = 0
    new_bytes: int = 0
    lines: tuple[tuple[str, int], ...] = tuple((name, 0) for name in CLASSES)
    reasons: tuple[tuple[str, int], ...] = ()
    samples: tuple[BadLine, ...] = ()
    first_time: int = 0
    last_time: int = 0
    seconds: float = 0.0
    damaged: bool = False


def needs_look(report: FileReport) -> bool:
    """Whether lines of it are not counted because it could not be read whole."""
    return report.outcome in FAILED or report.damaged


def describe_unread(reports: Iterable[FileReport]) -> list[str]:
    """Return the files with why they were not read; where many have one reason, it is told once."""
    of_reason: dict[str, list[str]] = {}
    for report in reports:
        reason = report.note or report.outcome
        of_reason.setdefault(reason, []).append(report.path or report.source)
    return [f"{first_of_files(paths)}: {reason}" for reason, paths in of_reason.items()]


def subtract_refused(report: FileReport, refused: Iterable[Segment]) -> FileReport:
    """The report without those of its readings that somebody else had counted meanwhile."""
    of_file = [each for each in refused if (each.source, each.path) == (report.source, report.path)]
    if not of_file:
        return report
    fewer = dict(added_lines(of_file))
    size = sum(each.last_byte - each.first_byte for each in of_file)
    lines = tuple((name, number - fewer.get(name, 0)) for name, number in report.lines)
    return replace(report, outcome="copy", new_bytes=report.new_bytes - size, lines=lines)


def added_lines(segments: Iterable[Segment]) -> tuple[tuple[str, int], ...]:
    """Lines by class, every class named."""
    total = dict.fromkeys(CLASSES, 0)
    for segment in segments:
        for name, number in segment.lines:
            total[name] = total.get(name, 0) + number
    return tuple(total.items())


def added_reasons(segments: Iterable[Segment]) -> tuple[tuple[str, int], ...]:
    """Malformed lines by reason, those there are."""
    total = dict.fromkeys(REASONS, 0)
    for segment in segments:
        for name, number in segment.reasons:
            total[name] = total.get(name, 0) + number
    return tuple((name, number) for name, number in total.items() if number)


def few_samples(segments: Iterable[Segment]) -> tuple[BadLine, ...]:
    """The first few of each reason, in the order of the segments."""
    kept: list[BadLine] = []
    times: dict[str, int] = {}
    for sample in (sample for segment in segments for sample in segment.samples):
        times[sample.reason] = times.get(sample.reason, 0) + 1
        if times[sample.reason] <= SAMPLES:
            kept.append(sample)
    return tuple(kept)

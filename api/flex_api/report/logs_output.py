"""What was read of logs, as output models. Does not compute anything but sums and rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from flex.errors import FlexError
from flex.traffic.quality import Hole
from flex_api import ingest_only
from flex_api.facts import core_to_output_models
from flex_api.report import write_reports
from flex_api.schemas.log_verbs_output import (
    ArrivalRow,
    BadLineRow,
    ImportOutput,
    IngestOutput,
    InvalidRow,
    LogRow,
    MissingRow,
    ParcelsRow,
    RateRow,
)
from flex_logs_ingest.cpu.read_cgroups import Wrong
from flex_logs_ingest.formats import layout_of
from flex_logs_ingest.parcels.parcel_intake import Arrival
from flex_logs_ingest.reading.malformed_lines_file import Invalid
from flex_logs_ingest.reading.read_logs import FileReport


def ingest_output(
    files: Sequence[FileReport],
    invalid: Invalid | None = None,
    shipped_from: Path | None = None,
    wrong: Sequence[Wrong] = (),
    next_step: str = "",
) -> IngestOutput:
    of_source: dict[str, list[FileReport]] = {}
    bad: Counter[str] = Counter()
    for file in files:
        of_source.setdefault(file.source, []).append(file)
        bad.update(dict(file.reasons))
    return IngestOutput(
        files=[_file(file) for file in files],
        sources=[_rate(name, theirs) for name, theirs in sorted(of_source.items())],
        new_bytes=sum(file.new_bytes for file in files),
        lines=write_reports.lines(files),
        bad_lines=dict(bad),
        invalid=InvalidRow(
            path=str(invalid.path), written=invalid.written, left_out=invalid.left_out
        )
        if invalid
        else None,
        parcels=_parcels(shipped_from) if shipped_from else None,
        no_cpu=[f"{each.pattern}: {each.why}" for each in wrong],
        next_step=next_step,
    )


def _file(file: FileReport) -> LogRow:
    return LogRow.like(
        file,
        lines=dict(file.lines),
        outcome=f"{file.outcome}: {file.note}" if file.note else file.outcome,
        bad_lines=dict(file.reasons),
        bad_samples=[BadLineRow.like(sample) for sample in file.samples],
        last_line=core_to_output_models.moment(file.last_time),
        first_line=core_to_output_models.moment(file.first_time),
        says_times=_says_times(file.format),
    )


def _says_times(format_: str) -> bool | None:
    """None where nothing can be known: no format was found, or its file is gone."""
    try:
        return layout_of(format_, unsized=True).says_times if format_ else None
    except FlexError:
        return None


def _rate(name: str, files: Sequence[FileReport]) -> RateRow:
    seconds = sum(file.seconds for file in files)
    new_bytes = sum(file.new_bytes for file in files)
    lines = sum(write_reports.lines(files).values())
    return RateRow(
        source=name,
        files=len(files),
        new_bytes=new_bytes,
        lines=lines,
        seconds=seconds,
        bytes_per_second=new_bytes / seconds if seconds else 0.0,
        lines_per_second=lines / seconds if seconds else 0.0,
    )


def _parcels(directory: Path) -> ParcelsRow:
    number, size = ingest_only.waiting(directory)
    return ParcelsRow(
        directory=str(ingest_only.outbox_directory(directory)), parcels=number, bytes=size
    )


def import_output(taken: Sequence[Arrival], missing: Sequence[Hole]) -> ImportOutput:
    return ImportOutput(
        parcels=[ArrivalRow.like(arrival, parcel_bytes=arrival.size) for arrival in taken],
        taken=sum(arrival.outcome == "taken" for arrival in taken),
        lines=sum(arrival.lines for arrival in taken if arrival.outcome == "taken"),
        missing=[
            MissingRow(source=hole.source, log=hole.path, before_byte=hole.until or None)
            for hole in missing
        ],
    )

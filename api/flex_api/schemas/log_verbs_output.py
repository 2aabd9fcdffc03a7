"""What the verbs for logs print with -o json. verbs_output.py publishes it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from flex_api.schemas.output_base import Output, Part


class BadLineRow(Part):
    """`offset` counts from the beginning of the log, unpacked."""

    reason: str
    offset: int
    text: str
    path: str = Field("", description="its log, where that is not said beside it")


class LogRow(Part):
    source: str
    path: str
    format: str
    outcome: str
    new_bytes: int
    lines: dict[str, int]
    bad_lines: dict[str, int]
    bad_samples: list[BadLineRow]
    last_line: datetime | None
    first_line: datetime | None = None
    says_times: bool | None = Field(
        None,
        description="whether lines of its format can say how long an answer took; none "
        "where no line was read",
    )


class RateRow(Part):
    """How fast a source was read."""

    source: str
    files: int
    new_bytes: int
    lines: int
    seconds: float
    bytes_per_second: float
    lines_per_second: float


class InvalidRow(Part):
    path: str
    written: int
    left_out: int


class ParcelsRow(Part):
    """What waits to be shipped."""

    directory: str
    parcels: int
    bytes: int


class IngestOutput(Output):
    """`invalid` is there when a file of malformed lines was asked for, `parcels` for parcels."""

    files: list[LogRow]
    sources: list[RateRow]
    new_bytes: int
    lines: dict[str, int]
    bad_lines: dict[str, int]
    invalid: InvalidRow | None = None
    parcels: ParcelsRow | None = None
    no_cpu: list[str] = Field(
        [], description="cgroups of [[ingest.cpu]] whose processor time is not known, and why"
    )
    next_step: str = Field(
        "",
        description="until there is a plan, the command that makes one, or that says what is in "
        "its way",
    )


class ArrivalRow(Part):
    path: str
    outcome: Literal["taken", "known", "refused"]
    note: str
    source: str
    log: str
    parcel_bytes: int
    log_bytes: int
    lines: int


class MissingRow(Part):
    """Some of the log before this byte was read where it is, and the parcel of it has not arrived.

    Without a byte it is known only that a parcel was made before that of this log, and has not
    arrived.
    """

    source: str
    log: str
    before_byte: int | None


class ImportOutput(Output):
    """`missing` is what these parcels go on behind; `flex data` shows all that is."""

    parcels: list[ArrivalRow]
    taken: int
    lines: int
    missing: list[MissingRow]


class FindingRow(Part):
    """What is wrong with logs, by which setting, how much that allows, and how much there is."""

    rule: str
    state: Literal["ok", "warn", "bad"]
    said: str
    limit: str
    actual: str


class QualityRow(Part):
    """The logs of one source, or of all sources of a node. `hours_silent` are spans of hours that
    should have had answers.
    """

    name: str
    node: str
    state: Literal["ok", "warn", "bad"]
    coverage_ratio: float
    hours_heard: int
    hours_expected: int
    hours_silent: list[str]
    last_line: datetime | None
    lines: dict[str, int]
    bad_lines: dict[str, int]
    bad_samples: list[BadLineRow]
    findings: list[FindingRow]


class UnreadRow(Part):
    """A file that the last reading of its source could not use: why, and what to do."""

    source: str
    path: str
    outcome: str
    note: str
    next_step: str


class DataOutput(Output):
    period_start: datetime
    period_end: datetime
    nodes: list[QualityRow]
    sources: list[QualityRow]
    unread: list[UnreadRow]

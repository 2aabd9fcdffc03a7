"""The counts in a parcel, compared with what the parcel says about itself, as if an enemy had made
it.

Takes a segment and the three Parquet files of a parcel. Returns Counts that could have been counted
here: sorted, of the right types, each sum that of the segment. Raises Unsound, which says what is
wrong. Does not know whether the log says so; a node can only lie about its own traffic.

The first look at a table is taken in a process of its own, with limits of memory and time that the
system keeps. So whatever a few bytes unfold to, and whatever a reader of them does wrong, ends
there.
"""

from __future__ import annotations

import os
import resource
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flex.errors import BadTable
from flex.frame_schemas import HOURS, PARTIAL, SAMPLE, Schema
from flex.model.log_reading import Segment
from flex_logs_ingest.lines import service_time
from flex_logs_ingest.lines.field_meanings import LARGEST, LAST_TIME, MOST, PATH_LIMIT
from flex_logs_ingest.parcels.manifest import Unsound
from flex_logs_ingest.reading.one_log import answers_by_hour
from flex_logs_ingest.scan.counts_as_columns import (
    LEVEL,
    Columns,
    ColumnTables,
    Ints,
    OtherCount,
    ScannedColumns,
    hours_table,
)
from flex_logs_ingest.scan.malformed_lines import REASONS
from flex_logs_ingest.scan.segment_scan import CLASSES, Counts

TOO_MUCH = "it takes too much memory or time to look at, or breaks what looks at it"
# Characters of an error: a sentence, and no more. A guess.
_LONGEST_ERROR = 400


# Bytes of one table, unpacked. A reading ends when it holds 64 MiB of counts; as columns none of
# its tables takes four times that.
ROOM = 2**28
# Rows of one table. With 16 bytes for each, so many do not fit into the 64 MiB of a reading.
MOST_ROWS = 2**22
# Hours of sites that have nothing but processor time. A guess.
MOST_USED = 2**20
# Microseconds of processor in an hour: of four thousand of them.
MOST_CPU = 3600 * 4096 * 1_000_000
# Bytes of a site's name and of a path; longer ones are never counted.
LONGEST = {"site": 255, "target": PATH_LIMIT}
# Rows that are unfolded at a time while nobody knows how much they hold. A guess.
FEW_ROWS = 1024
# Seconds of processor time for one table. A table of 4 million rows takes some seconds.
SECONDS = 60
# Bytes of a text in a footer, and things in a list: a hundred times as many as the tables of a
# reading have.
FOOTER = {"thrift_string_size_limit": 2**20, "thrift_container_size_limit": 2**17}
# Characters of a reader's own error that are quoted. A guess.
QUOTED = 200
# Levels of nesting in a footer. A guess.
DEEPEST = 32

Flags = npt.NDArray[np.bool_]


def counts_of(segment: Segment, files: Sequence[BinaryIO], cpu: int = 0) -> Counts:
    """`cpu` are the microseconds of processor that come with it."""
    lines = dict(segment.lines)
    partial, _ = _table(files[0], PARTIAL, lines["counted"])
    answers = lines["counted"] + lines["other_status"]
    hours, _ = _table(files[1], HOURS, answers + (MOST_USED if cpu else 0))
    sample, level = _table(files[2], SAMPLE, lines["counted"])
    _check_partial(partial, segment)
    _check_hours(hours, segment)
    _check_cpu(hours, cpu)
    _check_days(hours, partial)
    _check_sample(sample, level, partial)
    counts = Counts(_as_found(segment, partial, hours, sample, level))
    _need(answers_by_hour(counts) == segment.hours, "its hours are not those it says")
    return counts


def _as_found(
    segment: Segment, partial: pd.DataFrame, hours: pd.DataFrame, sample: pd.DataFrame, level: int
) -> ScannedColumns:
    """What the loop would have handed over."""
    sites, numbers = np.unique(hours["site"].to_numpy(dtype=object), return_inverse=True)
    names: list[str] = sites.tolist()
    number_of = {name: number for number, name in enumerate(names)}
    targets: list[str] = partial["target"].tolist()
    rows = Columns(
        day=_ints(partial["day"]),
        site=_ints(partial["site"].map(number_of)),
        text="".join(targets).encode(),
        offsets=np.cumsum([0, *map(len, targets)], dtype=np.int64),
        requests=_ints(partial["requests"]),
        bytes=_ints(partial["bytes"]),
        size=_ints(partial["size"]),
        last=_ints(partial["last"]),
        sample_time=_ints(sample["time"]),
        sample_row=_ints(sample["target"]),
        sample_level=_ints(sample["level"]),
    )
    of_hours = {name: _ints(hours[name]) for name in HOURS.columns if name != "site"}
    of_hours = {"site": numbers.astype(np.int64), **of_hours}
    # What the loop counts are answers.
    answered = {name: of[of_hours["requests"] > 0] for name, of in of_hours.items()}
    lines, reasons = dict(segment.lines), dict(segment.reasons)
    return ScannedColumns(
        sites=names,
        hour_site=answered["site"],
        hour=answered["hour"],
        hour_requests=answered["requests"],
        hour_bytes=answered["bytes"],
        hour_timed=answered["timed"],
        hour_service=answered["service_us"],
        level=level,
        lines=[lines[name] for name in CLASSES],
        reasons=[reasons.get(name, 0) for name in REASONS],
        bad=[],
        strangers=[],
        others=None,
        heading=b"",
        first_time=segment.first_time,
        last_time=segment.last_time,
        pending=0,
        tables=ColumnTables(rows, hours_table(of_hours, names), names, level),
    )


def _ints(column: pd.Series) -> Ints:
    return column.to_numpy(dtype=np.int64)


def _table(file: BinaryIO, schema: Schema, most: int) -> tuple[pd.DataFrame, int]:
    """The frame, and the level that the file's metadata name. Every row stands for at least one
    line.
    """
    content = file.read()
    if wrong := look_within_limits(lambda: _unfit(content, schema, most), ROOM, SECONDS):
        raise Unsound(f"its {schema.name}: {wrong}")
    try:
        with pq.ParquetFile(pa.BufferReader(content), **FOOTER) as parquet:
            frame = parquet.read().to_pandas()
            # Who lacks a later column has nothing of it.
            frame = frame.assign(**{name: 0 for name in schema.later if name not in frame.columns})[
                list(schema.columns)
            ]
            frame = schema.check(frame)
            level = int((parquet.metadata.metadata or {}).get(LEVEL.encode(), b"0"))
    except BadTable as error:
        raise Unsound(f"{error!s:.{QUOTED}}") from error
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise Unsound(f"its {schema.name} cannot be read: {error!s:.{QUOTED}}") from error
    if not 0 <= level <= DEEPEST:
        raise Unsound(f"the level of its {schema.name} is {level!s:.{QUOTED}}")
    return frame, level


def _unfit(content: bytes, schema: Schema, most: int) -> str:
    """Why the table is not to be read whole; "" where it may be. A few bytes can stand for very
    many.

    What a footer says of sizes is not so because it says so: rows are unfolded a few at a time, and
    measured.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        with pq.ParquetFile(pa.BufferReader(content), pre_buffer=False, **FOOTER) as parquet:
            named = parquet.schema_arrow.names
            if named != [
                name for name in schema.columns if name not in schema.later or name in named
            ]:
                return f"the columns are {parquet.schema_arrow.names!r:.{QUOTED}}"
            if parquet.metadata.num_rows > min(most, MOST_ROWS):
                return "there are more than its lines can make"
            room = 0
            for batch in parquet.iter_batches(FEW_ROWS, use_threads=False):
                room += batch.nbytes
                if wrong := _too_large(batch, schema, room):
                    return wrong
    except MemoryError:
        return TOO_MUCH
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        return f"they cannot be read: {error!s:.{QUOTED}}"
    return ""


def _too_large(batch: pa.RecordBatch, schema: Schema, room: int) -> str:
    if room > ROOM:
        return "they are more than a reading holds"
    for name in [name for name, kind in schema.columns.items() if kind == "str"]:
        column = batch.column(name)
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return f"its column {name} is {column.type!s:.{QUOTED}}"
        if (pc.max(pc.binary_length(column)).as_py() or 0) > LONGEST[name]:
            return f"a {name} of it is too long"
    return ""


def _check_partial(table: pd.DataFrame, segment: Segment) -> None:
    _need(_ascending(table, ("day", "site", "target")), "its counts are not in order")
    _need(table["site"].str.fullmatch("[ -~]{1,255}").all(), "a site of it is no name")
    _need(table["target"].str.fullmatch("/[!-~]*").all(), "a target of it is none")
    _need((table["target"].str.len() <= PATH_LIMIT).all(), "a target of it is too long")
    _need((table["requests"] > 0).all(), "a target of it was never asked for")
    _need((table["size"] <= LARGEST).all(), "a size of it is none")
    _need((table["last"] // 86400 == table["day"]).all(), "a last access is of another day")
    _need((table["last"] <= segment.last_time).all(), "a last access is later than its last line")
    _need(_total(table["bytes"]) <= MOST, "its bytes are more than there are")
    _need(
        _total(table["requests"]) == dict(segment.lines)["counted"],
        "its requests are not its counted lines",
    )


def _check_hours(hours: pd.DataFrame, segment: Segment) -> None:
    lines = dict(segment.lines)
    _need(_ascending(hours, ("site", "hour")), "its hours are not in order")
    _need((hours["hour"] <= LAST_TIME // 3600).all(), "an hour of it is none")
    _need(_total(hours["bytes"]) <= MOST, "the bytes of its hours are more than there are")
    _need(
        (hours["timed"] <= hours["requests"]).all(),
        "more answers of its hours took a time than there were",
    )
    # One after the other: the longest times all answers may be more than 64 bits hold.
    _need(
        (hours["service_us"] // service_time.LONGEST <= hours["timed"]).all()
        and (hours["service_us"][hours["timed"] == 0] == 0).all(),
        "the times of its hours are longer than answers can take",
    )
    _need(_total(hours["service_us"]) <= MOST, "its times are more than there are")
    answers = lines["counted"] + lines["other_status"]
    _need(_total(hours["requests"]) == answers, "the requests of its hours are not its answers")
    if len(hours):
        days = int(hours["hour"].min()) // 24, int(hours["hour"].max()) // 24
        _need(days == (segment.first_day, segment.last_day), "its days are not those of its hours")


def _check_cpu(hours: pd.DataFrame, cpu: int) -> None:
    _need(_total(hours["cpu_us"]) == cpu, "its processor time is not what it says")
    _need((hours["cpu_us"] <= MOST_CPU).all(), "an hour of it has more processor time")
    idle = hours[hours["requests"] == 0]
    _need((idle["cpu_us"] > 0).all() and (idle["bytes"] == 0).all(), "an hour of it has nothing")
    _need(hours["site"].str.fullmatch("[ -~]{1,255}").all(), "a site of it is no name")


def _check_days(hours: pd.DataFrame, partial: pd.DataFrame) -> None:
    """What targets were asked for and sent on a day is part of what their site was."""
    keys = ["site", "day"]
    whole = hours.assign(day=hours["hour"] // 24).groupby(keys)[["requests", "bytes"]].sum()
    part = partial.groupby(keys)[["requests", "bytes"]].sum()
    _need(part.index.isin(whole.index).all(), "a target is of a site or a day that had no answers")
    _need(
        (part <= whole.loc[part.index]).to_numpy().all(), "targets of it are more than their sites"
    )


def check_names(counts: Counts, names: Sequence[OtherCount] | None) -> None:
    """What came to a site on a day by other names is part of what came to it."""
    if not names:
        return
    table = pd.DataFrame(names, columns=["site", "name", "day", "requests", "bytes"])
    _need(_ascending(table, ("site", "name", "day")), "its names are not in order")
    _need((table["requests"] > 0).all(), "nothing came by a name of it")
    _need(
        max(_total(table["requests"]), _total(table["bytes"])) <= MOST,
        "its names add up to more than there is",
    )
    hours, keys = counts.hours, ["site", "day"]
    whole = hours.assign(day=hours["hour"] // 24).groupby(keys)[["requests", "bytes"]].sum()
    part = table.groupby(keys)[["requests", "bytes"]].sum()
    _need(
        part.index.isin(whole.index).all(), "a name of it is of a site or a day that had no answers"
    )
    _need(
        (part <= whole.loc[part.index]).to_numpy().all(),
        "more came by names of it than to their sites",
    )


def _check_sample(sample: pd.DataFrame, level: int, rows: pd.DataFrame) -> None:
    target = sample["target"].to_numpy()
    _need((target < len(rows)).all(), "an access of its sample is to no target")
    _need(sample["level"].between(level, DEEPEST).all(), "a level of its sample is none")
    day, last = rows["day"].to_numpy()[target], rows["last"].to_numpy()[target]
    _need(
        (sample["time"].to_numpy() // 86400 == day).all(),
        "an access of its sample is of another day",
    )
    _need(
        (sample["time"].to_numpy() <= last).all(), "an access of its sample is later than the last"
    )
    times = np.bincount(target, minlength=len(rows))
    _need(
        (times <= rows["requests"].to_numpy()).all(),
        "its sample has more accesses than were counted",
    )


def _ascending(table: pd.DataFrame, key: Sequence[str]) -> bool:
    """Whether each row's key is larger than the one before."""
    if len(table) < 2:
        return True
    larger: Flags = np.zeros(len(table) - 1, dtype=bool)
    equal: Flags = ~larger
    for name in key:
        column = table[name].to_numpy(dtype=object if table[name].dtype == "str" else None)
        larger |= equal & (column[1:] > column[:-1])
        equal &= column[1:] == column[:-1]
    return bool(larger.all())


def _total(column: pd.Series) -> int:
    """Exact, whatever the numbers: 64 bits may not hold the sum of what somebody made up."""
    return sum(column.tolist())


def _need(holds: object, otherwise: str) -> None:
    if not holds:
        raise Unsound(otherwise)


def look_within_limits(look: Callable[[], str], room: int, seconds: int) -> str:
    """Return what `look` says in a process of its own, which may take so many bytes beside those
    that this process has, and so many seconds of a processor.
    """
    to_read, to_write = os.pipe()
    with warnings.catch_warnings():
        # Python warns of forks beside threads; the child starts none, and waits for no lock of
        # theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(to_read)
        _look(look, room, seconds, to_write)
    os.close(to_write)
    with os.fdopen(to_read, "rb") as pipe:
        reason = pipe.read()
    _, status = os.waitpid(child, 0)
    return reason.decode() if os.waitstatus_to_exitcode(status) == 0 else TOO_MUCH


def _look(look: Callable[[], str], room: int, seconds: int, to: int) -> None:
    """Does not come back: nothing of this process may be tidied up twice."""
    try:
        _limit(room, seconds)
        os.write(to, look()[:_LONGEST_ERROR].encode())
        os._exit(0)
    finally:
        os._exit(1)


def _limit(room: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    data = int(pages[5]) * resource.getpagesize() + room
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = data if hard == resource.RLIM_INFINITY else min(data, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))

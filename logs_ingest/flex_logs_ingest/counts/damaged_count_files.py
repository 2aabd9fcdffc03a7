"""Counts that are gone or damaged, set aside: files without rows take their place, and nights go
on.

Takes the file that cannot be read. Returns the files that were kept under other names. Does not
read the log again: what those files counted is lost.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from flex.errors import BadInput
from flex.frame_schemas import HOURS, PARTIAL, SAMPLE
from flex_logs_ingest.counts.count_files import hold_directory, not_written, sync
from flex_logs_ingest.counts.shared_count_files import is_shared
from flex_logs_ingest.scan.counts_as_columns import LEVEL

KINDS = {"files": PARTIAL, "hours": HOURS, "sample": SAMPLE}


def set_aside(path: Path) -> list[Path]:
    """All files of that reading, or of those that share them, under their new names. Raises
    BadInput for what are no counts, NotWritten.
    """
    segment, _, kind = path.name.removesuffix(".parquet").partition(".")
    if kind not in KINDS or path.suffix != ".parquet":
        raise BadInput(
            f"setting {path} aside",
            "this is no file of counts",
            advice="name the file that the error named, such as partials/0123....files.parquet",
        )
    try:
        with hold_directory(path.parent):
            return [aside for name in KINDS if (aside := _replace(path.parent, segment, name))]
    except OSError as error:
        raise not_written(path.parent, error, "files that were set aside stay so") from error


def _replace(directory: Path, segment: str, kind: str) -> Path | None:
    """The name that the file got; None where it was gone."""
    path = directory / f"{segment}.{kind}.parquet"
    aside = path.with_name(f"{path.name}.damaged")
    there = path.exists()
    if there:
        path.replace(aside)
    unfinished = path.with_name(f"{path.name}.part")
    empty = pa.Table.from_pandas(KINDS[kind].empty(), preserve_index=False)
    if kind == "sample" and is_shared(segment):
        empty = empty.append_column("reading", pa.array([], pa.int64()))
    pq.write_table(empty.replace_schema_metadata({LEVEL: "0"}), unfinished)
    sync(unfinished)
    unfinished.replace(path)
    return aside if there else None

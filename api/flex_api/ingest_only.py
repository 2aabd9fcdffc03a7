"""Reads logs on the machine where they are, without the controller's database. The counts leave as
parcels.

Everything is in one directory: `out` has the parcels to ship, `state.db` how far each log was read,
`counts` what is being counted. Does not write anywhere else and does not ask the controller.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from flex.errors import NotWritten
from flex.store import migrate, open_store
from flex_logs_ingest.counts import count_files
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.parcels.pack_parcels import ENDING, Outbox
from flex_logs_ingest.reading import read_logs
from flex_logs_ingest.reading.malformed_lines_file import Invalid
from flex_logs_ingest.reading.read_logs import FileReport, Progress

# How many accesses of each reading a prediction replays: more would be most of what is shipped.
SAMPLE = 20_000


def ingest(
    sources: Sequence[Source],
    directory: Path,
    now: datetime,
    progress: Progress,
    invalid: Invalid | None,
    copies_too: bool = False,
) -> tuple[FileReport, ...]:
    """Raises NotWritten when the directory takes no more, and what read.ingest raises."""
    with count_files.hold_directory(directory):
        url = f"sqlite:///{directory.absolute() / 'state.db'}"
        migrate.upgrade(url)
        with open_store(url) as store:
            counts = directory / "counts"
            return read_logs.ingest(
                sources,
                Outbox(store, counts, out(directory)),
                counts,
                sample_limit=SAMPLE,
                progress=progress,
                invalid=invalid,
                read_at=int(now.timestamp()),
                copies_too=copies_too,
            )


def out(directory: Path) -> Path:
    return directory / "out"


def waiting(directory: Path) -> tuple[int, int]:
    """How many parcels there are to ship, and their bytes."""
    try:
        sizes = [path.stat().st_size for path in out(directory).glob(f"*{ENDING}")]
    except OSError as error:
        raise NotWritten(
            f"looking for parcels in {out(directory)}",
            error.strerror or str(error),
            kept="what was read is kept",
            advice="look whether the directory is still there",
        ) from error
    return len(sizes), sum(sizes)

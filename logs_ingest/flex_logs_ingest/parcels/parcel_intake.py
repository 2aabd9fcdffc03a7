"""Parcels that arrived at the controller, taken into its store: each once and checked whole, or
refused with a reason.

Takes paths of parcels, the central store, the directory of counts and the sources that may send.
Returns an Arrival for each. Does not use any of a parcel before all of it was checked.
counts/count_files.py writes its counts anew, so no sent file ever stands where the controller's own
files stand.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from flex.errors import BadInput
from flex.model.log_reading import Segment
from flex.model.period import LAST_DAY
from flex.ports import CentralSegments
from flex.why_file_unreadable import why_unreadable
from flex_logs_ingest.counts import count_files, count_files_of_days
from flex_logs_ingest.files.find_and_unpack_logs import path_text
from flex_logs_ingest.parcels.manifest import Manifest, Unsound, manifest
from flex_logs_ingest.parcels.pack_parcels import ENDING
from flex_logs_ingest.parcels.parcel_check import ROOM, check_names, counts_of

# Bytes of the first line of a parcel. A guess.
LONGEST_LINE = 2**20
# Bytes of a whole parcel. What is in it takes less packed than not.
LARGEST = ROOM
# Characters of the reason why a parcel was refused: a line or two, whatever is in the parcel. A
# guess.
_LONGEST_NOTE = 400


@dataclass(frozen=True, slots=True)
class Arrival:
    """What became of one parcel. `known` ones were taken before or are counted already. Refused
    ones say no segment.
    """

    path: str
    outcome: Literal["taken", "known", "refused"]
    note: str = ""
    size: int = 0
    segment: Segment | None = None

    @property
    def source(self) -> str:
        return self.segment.source if self.segment else ""

    @property
    def log(self) -> str:
        return self.segment.path if self.segment else ""

    @property
    def log_bytes(self) -> int:
        return self.segment.last_byte - self.segment.first_byte if self.segment else 0

    @property
    def lines(self) -> int:
        return sum(number for _, number in self.segment.lines) if self.segment else 0


def take(
    paths: Iterable[Path],
    segments: CentralSegments,
    directory: Path,
    allowed: Collection[tuple[str, str]],
    *,
    known_too: bool = False,
) -> tuple[Arrival, ...]:
    """Take the parcels at these paths, or in the directories at them; `allowed` are (source, node).

    Where its counts are known, only the first line of a parcel is looked at, unless those are to be
    checked as well: a copy that is damaged is refused then.

    Raises BadInput for a path that is not there, Busy while another run reads into the directory,
    NotWritten when it takes no more; what was taken until then stays taken.
    """
    parcels = [parcel for path in paths for parcel in _parcels(path)]
    with count_files.hold_directory(directory):
        known = {segment.id for segment in segments.segments(0, LAST_DAY)}
        count_files.clear(directory, count_files_of_days.files_left(segments, 0, LAST_DAY))
        return tuple(
            _take(path, segments, directory, allowed, known, known_too) for path in parcels
        )


def _parcels(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise BadInput(
            f"parcels at {path}",
            "there is nothing of that name",
            kept="nothing was taken",
            advice="name parcels, or the directory they arrive in",
        )
    if path.is_dir():
        yield from sorted(
            inside for inside in path.rglob(f"*{ENDING}") if not inside.name.startswith(".")
        )
    else:
        yield path


def _take(
    path: Path,
    segments: CentralSegments,
    directory: Path,
    allowed: Collection[tuple[str, str]],
    known: set[str],
    known_too: bool,
) -> Arrival:
    try:
        with _open(path) as file:
            size = os.fstat(file.fileno()).st_size
            header = manifest(_first_line(file))
            segment = header.reading.segment
            _refuse_strangers(segment.source, segment.node, allowed)
            outcome: Literal["taken", "known"] = "known"
            is_new = segment.id not in known
            contents = _contents(file, header) if is_new or known_too else ()
            if is_new:
                counts = counts_of(segment, contents, header.cpu)
                check_names(counts, header.names)
                count_files.write(
                    directory,
                    segment.id,
                    counts,
                    strangers=dict(header.strangers),
                    others=header.names,
                )
                taken = segments.adopt(segment, header.reading.stream, header.reading.replaces)
                outcome = "taken" if taken else "known"
                known.add(segment.id)
    except (OSError, Unsound) as error:
        why = why_unreadable(error) if isinstance(error, OSError) else str(error)
        return Arrival(str(path), "refused", path_text(why)[:_LONGEST_NOTE])
    return Arrival(str(path), outcome, size=size, segment=segment)


def _open(path: Path) -> BinaryIO:
    """Without O_NONBLOCK, a pipe left among the parcels would stop everything."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
        os.close(descriptor)
        raise Unsound(
            "it is not a regular file" if not stat.S_ISREG(status.st_mode) else "it is too large"
        )
    return os.fdopen(descriptor, "rb")


def _first_line(file: BinaryIO) -> bytes:
    line = file.readline(LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise Unsound("it is cut, or no parcel")
    return line


def _refuse_strangers(source: str, node: str, allowed: Collection[tuple[str, str]]) -> None:
    if (source, node) not in allowed:
        raise Unsound(
            f"no source {source!r:.100} of {node!r:.100} with shipped = true is in the settings"
        )


def _contents(file: BinaryIO, header: Manifest) -> tuple[io.BytesIO, ...]:
    left = os.fstat(file.fileno()).st_size - file.tell()
    if sum(size for size, _ in header.files) != left:
        raise Unsound("it is cut, or has more in it than it says")
    contents = tuple(file.read(size) for size, _ in header.files)
    whole = all(
        len(content) == size for content, (size, _) in zip(contents, header.files, strict=True)
    )
    if not whole or file.read(1):
        raise Unsound("it is cut, or has more in it than it says")
    for content, (_, checksum) in zip(contents, header.files, strict=True):
        if hashlib.sha256(content).hexdigest() != checksum:
            raise Unsound("it is damaged: a checksum is another")
    return tuple(map(io.BytesIO, contents))

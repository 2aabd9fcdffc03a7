"""Reads logs on the machine where they are, without the controller's database. The counts leave as
parcels.

Everything is in one directory: `out` has the parcels to ship, `state.db` how far each log was read,
`counts` what is being counted, `cpu.json` what the cgroups of sites used since the last time. Does
not write anywhere else and does not ask the controller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from flex.errors import NotWritten
from flex.store import migrate, open_store
from flex_logs_ingest.counts import count_files
from flex_logs_ingest.cpu import read_cgroups
from flex_logs_ingest.cpu.cpu_since_last_time import CpuSinceLastTime
from flex_logs_ingest.cpu.read_cgroups import Counter, Naming, Pattern, Wrong
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.parcels.pack_parcels import ENDING, Outbox
from flex_logs_ingest.reading import read_logs
from flex_logs_ingest.reading.malformed_lines_file import Invalid
from flex_logs_ingest.reading.read_logs import FileReport, Progress

# What differs each time that the machine is started.
BOOT = Path("/proc/sys/kernel/random/boot_id")
# How many accesses of each reading a prediction replays: more would be most of what is shipped.
SAMPLE = 20_000


@dataclass(frozen=True, slots=True)
class Cpu:
    """What cgroups said, and what is wrong with patterns. `boot` differs each time that the machine
    is started.
    """

    counters: tuple[Counter, ...]
    wrong: tuple[Wrong, ...]
    patterns: tuple[str, ...]
    boot: str


def ingest(
    sources: Sequence[Source],
    directory: Path,
    now: datetime,
    progress: Progress,
    invalid: Invalid | None,
    copies_too: bool = False,
    cpu: Cpu | None = None,
) -> tuple[FileReport, ...]:
    """Raises NotWritten when the directory takes no more, and what read.ingest raises."""
    with count_files.hold_directory(directory):
        used = _count_cpu(directory, cpu, now) if cpu else None
        url = f"sqlite:///{directory.absolute() / 'state.db'}"
        migrate.upgrade(url)
        with open_store(url) as store:
            counts = directory / "counts"
            reports = read_logs.ingest(
                sources,
                Outbox(store, counts, outbox_directory(directory), used),
                counts,
                sample_limit=SAMPLE,
                progress=progress,
                invalid=invalid,
                read_at=int(now.timestamp()),
                copies_too=copies_too,
            )
        if used:
            used.save()
        return reports


def read_cpu(patterns: Sequence[Pattern], naming: Naming) -> Cpu:
    """What the cgroups of sites say now."""
    counters, wrong = read_cgroups.read(patterns, naming)
    try:
        boot = BOOT.read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return Cpu(counters, wrong, tuple(map(repr, patterns)), boot)


def _count_cpu(directory: Path, cpu: Cpu, now: datetime) -> CpuSinceLastTime:
    used = CpuSinceLastTime(directory / "cpu.json")
    used.count(cpu.counters, cpu.patterns, now.timestamp(), cpu.boot)
    return used


def outbox_directory(directory: Path) -> Path:
    return directory / "out"


def waiting(directory: Path) -> tuple[int, int]:
    """How many parcels there are to ship, and their bytes."""
    try:
        sizes = [path.stat().st_size for path in outbox_directory(directory).glob(f"*{ENDING}")]
    except OSError as error:
        raise NotWritten(
            f"looking for parcels in {outbox_directory(directory)}",
            error.strerror or str(error),
            kept="what was read is kept",
            advice="look whether the directory is still there",
        ) from error
    return len(sizes), sum(sizes)

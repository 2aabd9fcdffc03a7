"""Real logs, made ready to be measured: one plain log for each set of a folder.

Takes the folder that the variable TRACES names, with a folder for each set. Returns the sets that
are large enough to measure, unpacked and joined. Joined, because many small files would measure
opening and syncing. Does not use logs that FLEX refuses (no bytes in the line, no log at all).
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from flex.errors import FlexError
from flex_logs_ingest.files.find_and_unpack_logs import Log, Unusable
from flex_logs_ingest.formats import detect, layout_of

LEAST_LINES = 100_000
LOOK = 2**16


@dataclass(frozen=True, slots=True)
class RealLog:
    name: str
    path: Path
    format: str

    @property
    def site(self) -> str:
        """A name for its site, where its lines have none."""
        return "" if "vhost" in layout_of(self.format).fields else "one.example"


def logs(
    traces: Path, folder: Path, only: Container[str] | None = None, least: int = LEAST_LINES
) -> Iterator[RealLog]:
    """The large sets, or only these of them, each as one plain log in the folder."""
    for directory in sorted(path for path in traces.iterdir() if path.is_dir()):
        if only is not None and directory.name not in only:
            continue
        joined = folder / f"{directory.name}.log"
        if _join(directory, joined) >= least:
            with Log(str(joined)) as log:
                yield RealLog(directory.name, joined, detect(log.read(LOOK)))
        else:
            joined.unlink()


def _join(directory: Path, joined: Path) -> int:
    """How many lines the new log has."""
    lines = 0
    with joined.open("wb") as file:
        for path in sorted(path for path in directory.rglob("*") if path.is_file()):
            if content := _content(path):
                lines += content.count(b"\n")
                file.write(content)
    return lines


def _content(path: Path) -> bytes:
    """All of a log, nothing of what is none."""
    try:
        with Log(str(path)) as log:
            content = b"".join(log.chunks())
        detect(content[:LOOK])
    except (FlexError, Unusable):
        return b""
    return content if content.endswith(b"\n") else content + b"\n"

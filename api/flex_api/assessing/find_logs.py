"""Which files somebody means who names logs on the command line, and whose each may be.

Takes paths: files, folders, patterns, pipes, "-". Returns files in a fixed order, the newest last,
and what was passed over. Does not look into a file: what is no log shows when it is read.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flex.errors import NoData
from flex.why_file_unreadable import why_unreadable

# Files of one call. Beyond that the report would say nothing clearer. A guess.
MOST_FILES = 200_000
STANDARD_INPUT = "-"
# What rotation and packing add to a name: .1, -20260301, .gz.
_ROTATED = re.compile(r"(?:[.-]\d{1,10})?(?:\.(?:gz|bz2|xz|zst))?$")
# Words that are in names of logs and name no site.
_WORDS = re.compile(
    r"(?:^|[._-])(?:access|ssl|other|vhosts?|combined|requests?|log|txt|json|tls|http|https)"
    r"(?=$|[._-])"
)
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]")


@dataclass(frozen=True, slots=True)
class Found:
    """`passed_over` says of what was named why it is no file."""

    files: tuple[str, ...]
    passed_over: tuple[str, ...]


def find(named: Sequence[str]) -> Found:
    """Raises NoData where no file is there at all."""
    files, passed = [], []
    for path in named:
        paths, why = _files_of(path)
        files += paths
        passed += why
    ordered = sorted(dict.fromkeys(files), key=_age)[-MOST_FILES:]
    if len(ordered) < len(set(files)):
        passed.append(f"of {len(set(files)):,} files only the newest {MOST_FILES:,}")
    if not ordered:
        raise NoData(
            f"access logs in {', '.join(named[:3]) or 'nothing'}",
            "; ".join(passed[:3]) or "no file was named",
            kept="nothing was written",
            advice="name access logs, a folder that has some, or a pattern such as "
            "'/var/log/apache2/*access.log*'; - reads standard input",
        )
    return Found(tuple(ordered), tuple(passed))


def _files_of(path: str) -> tuple[list[str], list[str]]:
    if path == STANDARD_INPUT:
        return [path], []
    if Path(path).is_dir():
        passed: list[str] = []
        paths = sorted(_walk_regular_files(path, passed))
        return paths, passed or ([] if paths else [f"{path}: no file is in it"])
    if os.path.lexists(path):
        return [path], []
    # Path has no pattern that begins at the root and may be of any depth.
    matching = sorted(glob.glob(path))  # noqa: PTH207
    paths = [candidate for candidate in matching if not Path(candidate).is_dir()]
    return paths, [] if paths else [f"{path}: there is no such file"]


def _walk_regular_files(folder: str, passed: list[str]) -> Iterator[str]:
    """Regular files of the folder and those below. Links to folders are not followed: they may lead
    round in a circle.
    """

    def unreadable(error: OSError) -> None:
        passed.append(f"{error.filename}: {why_unreadable(error)}")

    for place, _, names in os.walk(folder, onerror=unreadable):
        for name in names:
            path = Path(place, name)
            if path.is_file():
                yield str(path)


def _age(path: str) -> tuple[float, str]:
    """Files that were written last come last; what has no time is newest."""
    try:
        return Path(path).stat().st_mtime, path
    except OSError:
        return float("inf"), path


def site_in_name(path: str) -> str:
    """The site that a log's name speaks of: a host in the name of the file or of a folder above it,
    else the folder or the file itself.
    """
    if path == STANDARD_INPUT:
        return "standard-input"
    parts = [_plain(Path(path).name), *map(str.lower, Path(path).parts[-2:-5:-1])]
    for part in parts:
        if host := _HOST.search(part):
            return host[0]
    return next((part for part in (parts[0], *parts[1:]) if part.strip("/.")), "log")


def _plain(name: str) -> str:
    """Without what rotation, packing and habit put around the name of a site."""
    return _WORDS.sub("", _ROTATED.sub("", name.lower())).strip("._-")

"""True sizes of targets, from the files of a document root on this machine.

Takes the tables that one reading left on disk, sorted by day, site and target. Returns them with
the sizes of files. A log says how large an answer was, perhaps compressed, or nothing at all; the
file is what a node keeps in memory.

A target is looked up once a day, and only below the root: what links or dots lead out of it counts
as missing. For a directory, its index file counts. Where there is no file, the size stays what the
log said, which is 0 where the log says none.

A log without sizes counted its full answers instead of bytes (lines/layout.py). There each full
answer has the size of the file, every other answer (304, 206, errors) has no bytes, and the hours
of a day share its bytes by their full answers.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from flex_logs_ingest.lines.field_meanings import MOST
from flex_logs_ingest.scan.counts_as_columns import integers

Ints = npt.NDArray[np.int64]
SiteDay = tuple[str, int]

# What servers send for a directory; the first that is there.
INDEXES = (
    b"index.html",
    b"index.htm",
    b"index.php",
    b"default.htm",
    b"Default.htm",
    b"default.aspx",
)
SITE = "{site}"
# Directories whose real place is remembered: neighbouring targets lie in the same one. A guess.
_REMEMBERED = 4096
# Rows of a row group. A guess.
_GROUP = 2**16
# The size of a file that is not there.
_MISSING = -1


@dataclass(frozen=True, slots=True)
class Documents:
    """Where the files of a log's sites are; `{site}` in the root stands for the name of each.
    `unsized` is the log.
    """

    root: str
    unsized: bool = False

    def is_there(self) -> bool:
        """Sizes of a root that is not mounted would all be missing."""
        return Path(self.root.partition(SITE)[0] or "/").is_dir()

    def resize(self, files: Path, hours: Path) -> None:
        """Write the two tables of a reading anew, each whole and on disk before it takes the old
        one's place.

        Raises OSError. To be called once, before anything knows of the reading.
        """
        bytes_of: Counter[SiteDay] = Counter()
        with _rewrite_in_place(files) as (file, keep):
            for group in range(file.num_row_groups):
                sized = self._add_sizes(file.read_row_group(group))
                keep(sized)
                bytes_of.update(_bytes_of(sized))
        if self.unsized:
            with _rewrite_in_place(hours) as (file, keep):
                keep(_share_bytes(file.read(), bytes_of))

    def _add_sizes(self, table: pa.Table) -> pa.Table:
        file_sizes = np.fromiter(
            self._sizes(table["site"].to_pylist(), table["target"].to_pylist()),
            np.int64,
            len(table),
        )
        size = np.where(file_sizes == _MISSING, table["size"].to_numpy(), file_sizes)
        if not self.unsized:
            return _set_columns(table, size=size)
        known = np.maximum(file_sizes, 0)
        answers = table["bytes"].to_numpy()
        sent = np.where(known > MOST // np.maximum(answers, 1), MOST, answers * known)
        return _set_columns(table, size=known, bytes=sent)

    def _sizes(self, sites: Iterable[str], targets: Iterable[str]) -> Iterator[int]:
        trees: dict[str, _Tree] = {}
        for site, target in zip(sites, targets, strict=True):
            if site not in trees:
                trees.clear()
                trees[site] = _Tree(self._root_of(site))
            yield trees[site].size(target)

    def _root_of(self, site: str) -> bytes:
        # A site is what somebody wrote into a request: it names one directory, and never one above.
        name = "" if "/" in site or site in (".", "..") else site
        return os.fsencode(self.root.replace(SITE, name)) if name or SITE not in self.root else b""


class _Tree:
    """The files of one site. An empty root has none."""

    def __init__(self, root: bytes) -> None:
        self._root = os.path.realpath(root) if root else b""
        self._real = lru_cache(_REMEMBERED)(os.path.realpath)

    def size(self, target: str) -> int:
        path = unquote_to_bytes(target)
        if not self._root or b"\0" in path:
            return _MISSING
        names = INDEXES if path.endswith(b"/") else (b"",)
        sizes = (self._file(self._root + path + name) for name in names)
        return next((size for size in sizes if size != _MISSING), _MISSING)

    def _file(self, path: bytes) -> int:
        directory, _, name = path.rpartition(b"/")
        try:
            place = self._real(directory) + b"/" + name
            status = os.lstat(place)
            if stat.S_ISLNK(status.st_mode):
                place = os.path.realpath(place)
                status = os.lstat(place)
        except (OSError, ValueError):
            return _MISSING
        inside = place.startswith(self._root.rstrip(b"/") + b"/")
        return status.st_size if inside and stat.S_ISREG(status.st_mode) else _MISSING


def _bytes_of(files: pa.Table) -> dict[SiteDay, int]:
    sums = files.group_by(["site", "day"]).aggregate([("bytes", "sum")])
    return {(row["site"], row["day"]): row["bytes_sum"] for row in sums.to_pylist()}


def _share_bytes(hours: pa.Table, bytes_of: Counter[SiteDay]) -> pa.Table:
    """The hours with their share of the bytes of their site's day, in proportion to their full
    answers.
    """
    days = (hours["hour"].to_numpy() // 24).tolist()
    keys: list[SiteDay] = list(zip(hours["site"].to_pylist(), days, strict=True))
    answers: list[int] = hours["bytes"].to_pylist()
    total, until = Counter[SiteDay](), Counter[SiteDay]()
    for key, number in zip(keys, answers, strict=True):
        total[key] += number
    shares = []
    for key, number in zip(keys, answers, strict=True):
        # Rounded at their borders, the shares of a day's hours add up to its bytes.
        before = bytes_of[key] * until[key] // max(total[key], 1)
        until[key] += number
        shares.append(bytes_of[key] * until[key] // max(total[key], 1) - before)
    return _set_columns(hours, bytes=np.array(shares, dtype=np.int64))


def _set_columns(table: pa.Table, **columns: Ints) -> pa.Table:
    for name, values in columns.items():
        table = table.set_column(
            table.column_names.index(name), table.schema.field(name), integers(values)
        )
    return table


@contextmanager
def _rewrite_in_place(path: Path) -> Iterator[tuple[pq.ParquetFile, Callable[[pa.Table], None]]]:
    """The file, and what writes the one that takes its place."""
    unfinished = path.with_name(f"{path.name}.part")
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        delta = (
            {"column_encoding": {"target": "DELTA_BYTE_ARRAY"}} if "target" in schema.names else {}
        )
        with pq.ParquetWriter(
            unfinished, schema, compression="zstd", use_dictionary=["site"], **delta
        ) as writer:
            yield file, lambda table: writer.write_table(table, row_group_size=_GROUP)
    with unfinished.open("rb+") as written:
        os.fsync(written.fileno())
    unfinished.replace(path)

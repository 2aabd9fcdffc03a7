"""What one run, and the reading of one of its sources, remember: what the store holds, and what is
known beside it.

Does not read a line: one_log.py and read_logs.py do.

A log may have been counted under another name: as one of another source, or of a site that has
another name now. Rotation can carry a log into the glob of another source, and an alias renames the
site that a log's name says; what was counted stays counted. Content alone does not tell: two
servers that only ever heard from the same monitor have the very same lines. A stream belongs to
another log as long as the file that it was last seen in is there and still begins as it did. Where
that was in another folder, or a pipe brought it, its first 4 KiB have to be the same, or its node.

Packed logs that were read to their end are listed, so that nobody unpacks them again to learn that
nothing is new. Two files are the same when device, inode, size and time of change are. A file is
skipped only as long as the store holds the very stream that its reading left, so a lost, stale or
foreign list costs time, never a line.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from flex.errors import BadInput, NoData
from flex.model.log_reading import Segment, Stream
from flex.model.period import LAST_DAY
from flex.ports import Segments
from flex_logs_ingest.counts import count_files
from flex_logs_ingest.files.document_root import Documents
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source, Unusable
from flex_logs_ingest.files.pipes import Pipe
from flex_logs_ingest.formats import add_columns, detect
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.reading.log_identity import HEAD, digest, farthest_first
from flex_logs_ingest.reading.malformed_lines_file import Invalid
from flex_logs_ingest.reading.record_in_batches import READINGS, SMALL, Batch
from flex_logs_ingest.reading.which_in_parallel import ReadApart
from flex_logs_ingest.scan.segment_scan import Counts

Streams = dict[str, Stream]

_FINISHED_FILE = "finished.json"


def load_finished_files(directory: Path) -> Streams:
    """Return the streams by file: none when there is no list, or one that cannot be read."""
    try:
        listed = json.loads((directory / _FINISHED_FILE).read_bytes())
        return {key: Stream(**fields) for key, fields in listed.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def save_finished_files(directory: Path, finished: Streams) -> None:
    unfinished = directory / f"{_FINISHED_FILE}.part"
    # The counts are safe already: a list that cannot be written is no reason to fail.
    with contextlib.suppress(OSError):
        unfinished.write_text(json.dumps({key: asdict(finished[key]) for key in sorted(finished)}))
        unfinished.replace(directory / _FINISHED_FILE)


def file_key(log: Log) -> str:
    status = log.status
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"


class StreamsByHead:
    """Streams, found by what a log begins with, in as many steps as there are sizes of heads,
    however many streams there are.
    """

    def __init__(self, streams: Iterable[Stream] = ()) -> None:
        self._by_head: dict[tuple[int, str], list[Stream]] = {}
        self._sizes: list[int] = []
        for stream in streams:
            self._add(stream)

    def __contains__(self, stream: Stream) -> bool:
        return stream in self._by_head.get(_head_key(stream), ())

    def replace(self, old: Stream | None, new: Stream) -> None:
        """What is new takes the place of the old one, where that is there."""
        for stream in (old, new):
            if stream and stream in self:
                self._by_head[_head_key(stream)].remove(stream)
        self._add(new)

    def begin_as(self, head: bytes) -> list[Stream]:
        """Streams that began as this log does, those read farthest first."""
        sizes = self._sizes[: bisect_right(self._sizes, len(head))]
        streams: list[Stream] = []
        for key in zip(sizes, _digests(head, sizes), strict=True):
            streams += self._by_head.get(key, ())
        return farthest_first(streams)

    def _add(self, stream: Stream) -> None:
        key = _head_key(stream)
        if key not in self._by_head:
            self._by_head[key] = []
            place = bisect_right(self._sizes, stream.head_size)
            if not place or self._sizes[place - 1] != stream.head_size:
                insort(self._sizes, stream.head_size)
        self._by_head[key].append(stream)


def _head_key(stream: Stream) -> tuple[int, str]:
    return stream.head_size, stream.head


def _digests(head: bytes, sizes: Sequence[int]) -> Iterator[str]:
    """What the first bytes have, so many of them each time; the sizes are in order."""
    hashed, at = hashlib.sha256(), 0
    for size in sizes:
        if size == len(head):
            yield digest(head)
        else:
            hashed.update(head[at:size])
            at = size
            yield hashed.hexdigest()


def may_continue(log: Log, stream: Stream, source: Source) -> bool:
    """Whether this file, which the source reads, may be where the log of the stream is now."""
    if _is_same_file(log, stream.path):
        return True
    folder, last = Path(log.path).absolute().parent, Path(stream.path).absolute()
    near = last.parent == folder or any(fnmatch(str(last), glob) for glob in source.globs)
    return (near or may_continue_anywhere(stream, source)) and not _is_there(stream)


def may_continue_anywhere(stream: Stream, source: Source) -> bool:
    """Whether what begins alike may be the same wherever it is: it is long enough, or comes from
    the same node.
    """
    return stream.head_size == HEAD or stream.source.partition(":")[0] == source.node


def _is_same_file(log: Log, path: str) -> bool:
    try:
        there = Path(path).stat()
    except OSError:
        return False
    return (log.status.st_dev, log.status.st_ino) == (there.st_dev, there.st_ino)


def _is_there(stream: Stream) -> bool:
    """Whether the log is where it was last seen, packed or not."""
    try:
        with Log(stream.path) as log:
            return digest(log.read(stream.head_size)) == stream.head
    except Unusable:
        return False


@dataclass(frozen=True, slots=True)
class Step:
    """How far a run has come in one file, and in all files of its source: bytes as they are on
    disk, and new lines.

    A size is 0 where nobody knows it, as of a pipe.
    """

    source: str
    path: str
    done: int
    size: int
    source_done: int
    source_size: int
    source_lines: int


Progress = Callable[[Step], None]


def never() -> bool:
    """A run has all the time that it takes."""
    return False


@dataclass(slots=True)
class ReadingRun:
    """What the sources of one run share. `known` follows what the store holds; `read_at` is when
    the run is made.
    """

    segments: Segments
    directory: Path
    sample_limit: int
    memory: int
    read_at: int
    progress: Progress | None = None
    invalid: Invalid | None = None
    apart: ReadApart = field(default_factory=lambda: ReadApart(1))
    clock: Callable[[], float] = time.monotonic
    # Whether lines are counted although they look like those of another log, edited.
    copies_too: bool = False
    # Whether whoever waits for the run has waited long enough: then each log ends where it is.
    is_over: Callable[[], bool] = never
    # How many readings are recorded together at most.
    together: int = READINGS
    # Bytes of a log up to which it is looked at together with others.
    small: int = SMALL
    batch: Batch = field(init=False)
    known: set[str] = field(init=False)
    finished_before: Streams = field(init=False)
    finished: Streams = field(init=False, default_factory=dict)
    # The families of logs that were read: see Reader.family.
    families: set[str] = field(init=False, default_factory=set)
    # Which source has read each file, by device and inode.
    claimed: dict[tuple[int, int], str] = field(init=False, default_factory=dict)

    # All streams there are, once a file does not go on with a stream of its own source.
    elsewhere: StreamsByHead | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        # Each takes room beside its counts, to read and to write them: four take as much as one
        # with all the counts.
        self.memory //= self.apart.workers * (self.apart.workers + 1) // 2
        stored = self.segments.segments(0, LAST_DAY)
        self.batch = Batch(self.segments, self.directory, stored, self.together)
        self.known = {segment.id for segment in stored}
        self.finished_before = load_finished_files(self.directory)

    def save_finished(self) -> None:
        """Files of other logs than those that were read are as finished as they were."""
        others = {
            key: stream
            for key, stream in self.finished_before.items()
            if stream.source not in self.families
        }
        save_finished_files(self.directory, others | self.finished)


class Reader:
    """One source, while it is read. What its streams are follows what the store holds.

    `size` is what all its files take on disk. Several files may be read at the same time.
    """

    def __init__(self, source: Source, run: ReadingRun) -> None:
        self.source = source
        self.run = run
        # The rule for one of its files, None where its name does not say the site.
        self.rule_of = cache(source.site.rule_finder())
        self._streams: dict[str, StreamsByHead] = {}
        self._heads: dict[str, list[bytes]] = {}
        self.size = self._lines = self._read = 0
        # How far each file was read.
        self._done: dict[str, int] = {}

    def family(self, path: str) -> str:
        """Logs of one family are told apart by what they contain alone.

        Where the name of a file says its site, the logs of each site are a family: two sites that
        only ever heard from the same monitor have the very same lines.
        """
        site = self.rule_of(path) if self.source.site.pattern else None
        family = f"{self.source.name}:{site.fixed}" if site else self.source.name
        self.run.families.add(family)
        return family

    def alike(self, family: str, head: bytes) -> list[Stream]:
        """The streams of the family that began as this log does, those read farthest first."""
        with self.run.apart.serial():
            return self._streams_of_family(family).begin_as(head)

    def _streams_of_family(self, family: str) -> StreamsByHead:
        if family not in self._streams:
            streams = self.run.segments.streams_of([family])
            self._streams[family] = StreamsByHead(streams)
        return self._streams[family]

    def look_up(self) -> None:
        """The streams of all its logs that were looked at, in one question; no more logs are looked
        at.
        """
        for heads in self._heads.values():
            heads.sort()
        by_family: dict[str, list[Stream]] = {family: [] for family in self._heads}
        for stream in self.run.segments.streams_of(by_family):
            by_family[stream.source].append(stream)
        self._streams = {family: StreamsByHead(streams) for family, streams in by_family.items()}

    def heads(self, family: str) -> Sequence[bytes]:
        """The first bytes of all its logs that are there now, in order."""
        return self._heads.get(family, ())

    def look_at(self, path: str, head: bytes) -> None:
        self._heads.setdefault(self.family(path), []).append(head)

    def elsewhere(self, log: Log | Pipe, head: bytes, family: str) -> list[Stream]:
        """Return the streams of other families and sources that the log may continue."""
        with self.run.apart.serial():
            if self.run.elsewhere is None:
                self.run.batch.settle()
                every = self.run.segments.every_stream()
                self.run.elsewhere = StreamsByHead(every)
            streams = [each for each in self.run.elsewhere.begin_as(head) if each.source != family]
        if isinstance(log, Pipe):
            return [each for each in streams if may_continue_anywhere(each, self.source)]
        return [each for each in streams if may_continue(log, each, self.source)]

    def refuse_claimed(self, log: Log) -> None:
        """A log belongs to one source: read for two of them, every line would count twice. Raises
        Unusable.
        """
        claimed = self.run.claimed.get(_inode(log), self.source.name)
        if claimed != self.source.name:
            raise Unusable(
                f"the source {claimed} has read it; a log belongs to one source, so mend the globs"
            )

    def claim(self, log: Log) -> None:
        """From now on it belongs to this source: one that could not read it leaves it to the
        others.
        """
        self.run.claimed[_inode(log)] = self.source.name

    def format_of(
        self, look: bytes, later: Iterable[bytes], stream: Stream | None, ahead: str = ""
    ) -> str:
        """Told by how a log that names its columns went on, else by its first lines, else by later
        ones. `ahead` is what the first lines tell, where somebody has asked them.
        """
        if (
            stream
            and stream.format
            and self.source.format in ("auto", stream.format.partition(" ")[0])
        ):
            return stream.format
        if self.source.format != "auto":
            return add_columns(self.source.format, look)
        if ahead:
            return ahead
        unsized = bool(self.source.document_root)
        try:
            return detect(look, unsized=unsized)
        except (BadInput, NoData) as error:
            refused = error
        for part in later:
            try:
                return detect(part, unsized=unsized)
            except (BadInput, NoData):
                continue
        raise refused

    def documents(self, layout: Layout) -> Documents | None:
        """Where sizes come from, if not from the lines of this layout alone. Raises Unusable when
        it is not there.
        """
        root = self.source.document_root
        if not root:
            return None
        documents = Documents(root, layout.unsized)
        if not documents.is_there():
            raise Unusable(
                f"the sizes of its targets are not known: there is no document_root {root}"
            )
        return documents

    def tell(self, path: str, log: Log | Pipe, chunk: bytes) -> None:
        self.run.apart.check()
        if self.run.progress:
            done, lines = log.read_on_disk, chunk.count(b"\n")
            with self.run.apart.serial():
                self._lines += lines
                self._come(path, done)
                self.run.progress(
                    Step(self.source.name, path, done, log.size, self._read, self.size, self._lines)
                )

    def tell_done(self, path: str, size: int) -> None:
        with self.run.apart.serial():
            self._come(path, size)

    def _come(self, path: str, done: int) -> None:
        self._read += done - self._done.get(path, 0)
        self._done[path] = done

    def keep(
        self,
        segment: Segment,
        stream: Stream,
        replaces: Stream | None,
        counts: Counts,
        documents: Documents | None,
    ) -> bool:
        """Whether it was not counted yet; then it is, as soon as its batch is recorded
        (record_in_batches.py).
        """
        if segment.id in self.run.known:
            return False
        shares = self.run.batch.shares(segment, counts, documents)
        if not shares:
            count_files.begin(self.run.directory, segment.id, counts, documents)
        with self.run.apart.serial():
            self.run.known.add(segment.id)
            if self.run.elsewhere:
                self.run.elsewhere.replace(replaces, stream)
            self._streams_of_family(stream.source).replace(replaces, stream)
            self.run.batch.add(segment, stream, replaces, counts if shares else None)
        return True

    def settle(self) -> None:
        """What was kept so far is recorded when this returns. Raises NotWritten, Busy."""
        with self.run.apart.serial():
            self.run.batch.settle()

    def is_finished(self, log: Log) -> bool:
        stream = None if log.is_plain else self.run.finished_before.get(file_key(log))
        if stream is None or not self._has(stream, self.family(log.path)):
            return False
        self.finish(log, stream)
        return True

    def _has(self, stream: Stream, family: str) -> bool:
        with self.run.apart.serial():
            return stream in self._streams_of_family(family)

    def finish(self, log: Log, stream: Stream | None) -> None:
        if stream and not log.is_plain and not log.note:
            self.run.finished[file_key(log)] = stream


def _inode(log: Log) -> tuple[int, int]:
    return log.status.st_dev, log.status.st_ino

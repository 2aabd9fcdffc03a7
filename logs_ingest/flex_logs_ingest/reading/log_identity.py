"""Which log a file is, and how much of it has been counted.

Takes the first bytes of a file and the streams of its source. Returns the stream that the file
continues, or that it is a new one, or that it is a cut copy of one that was counted. A log is known
by its contents: names and inodes change with every rotation, contents only grow. Does not count,
and does not store anything.

What contents cannot tell: two logs of one source with the very same bytes are one log. A cut copy
of less than 4 KiB is known as one only while the log it was taken from is there. Logs of different
sites that may begin with the same line in the same second belong into different sources, or need
names that say their site.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache

from flex.model.log_reading import Stream
from flex_logs_ingest.files.find_and_unpack_logs import Log

# Bytes at the beginning of a log by which it is known again. A guess.
HEAD = 4096
# Bytes before the place where the last reading ended, which are compared too. A guess.
TAIL = 4096


@dataclass(frozen=True, slots=True)
class Start:
    """Where to begin reading: after what `stream` counted, with `tail` before that place, or at 0.

    What is a `copy` of something is not read at all; the text says of what.
    """

    stream: Stream | None = None
    tail: bytes = b""
    copy: str = ""

    @property
    def offset(self) -> int:
        return self.stream.offset if self.stream else 0


class Mark:
    """The end of the last whole line so far, or of the last whole `record`, and what finds that
    place again.

    `open` is the end of what was fed behind it, up to 4 KiB, and `open_size` how much that is in
    all.
    """

    def __init__(self, start: Start, head: bytes, record: int = 0) -> None:
        self.offset = start.offset
        self._record = record
        self._head = head[: min(start.offset, HEAD)]
        self._tail = start.tail
        self.open = b""
        self.open_size = 0

    @property
    def record(self) -> int:
        """How long each record is, 0 where a record is a line."""
        return self._record

    def copy(self) -> Mark:
        """One that is where this one is, and goes on by itself."""
        return copy(self)

    def feed(self, chunk: bytes) -> None:
        self._head += chunk[: HEAD - len(self._head)]
        end = self._end(chunk)
        if end > 0:
            self.offset += self.open_size + end
            self._tail = _last(self._tail, self.open, chunk[max(end - TAIL, 0) : end])
            self.open, self.open_size = b"", 0
        self.open = _last(self.open, chunk[end:])
        self.open_size += len(chunk) - end

    def _end(self, chunk: bytes) -> int:
        """Where the last line ends in it, 0 when none does."""
        if not self._record:
            return chunk.rfind(b"\n") + 1
        return max(len(chunk) - (self.open_size + len(chunk)) % self._record, 0)

    def start(self, stream: Stream) -> Start:
        """To go on behind the last whole line; the stream is that of this mark."""
        return Start(stream, self._tail)

    def stream(self, source: str, path: str, format_: str = "") -> Stream:
        head = self._head[: self.offset]
        return Stream(
            source, digest(head), len(head), self.offset, digest(self._tail), path, format_
        )


# A log's head is asked for several times on the way.
@lru_cache(16)
def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def place(stream: Stream | None) -> str:
    """Where it ends, as a name: that of no other place in any log. "" where there is no stream, at
    the beginning.
    """
    if stream is None:
        return ""
    return digest(f"{stream.head} {stream.offset} {stream.tail}".encode())[:40]


def place_at(log: Log, head: bytes, offset: int) -> str:
    """The place in this log, which begins with `head`; "" where it is shorter."""
    tail = _tail_at(log, offset)
    if tail is None:
        return ""
    head = head[: min(offset, HEAD)]
    return place(Stream("", digest(head), len(head), offset, digest(tail), log.path))


def segment_id(start: Start, stream: Stream, *, copy: bool = False) -> str:
    """The same bytes of the same log always get the same name, so what a killed run wrote is
    written over.

    A reading that only says that they are a `copy` has another.
    """
    words = (
        stream.source,
        stream.head,
        str(start.offset),
        str(stream.offset),
        stream.tail,
        *(["copy"] if copy else []),
    )
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:40]


def start(log: Log, head: bytes, alike: Sequence[Stream], heads: Sequence[bytes]) -> Start:
    """Where counting goes on in this log, which begins as the streams that are `alike`, those read
    farthest first; `heads` are the first bytes of all logs of the source that are there now, in
    order.
    """
    longer = []
    for stream in alike:
        tail = _tail_at(log, stream.offset)
        if tail is not None and digest(tail) == stream.tail:
            return Start(stream, tail)
        if tail is None:
            longer.append(stream)
    if copy := ends_early(head, longer):
        return Start(copy=copy)
    if len(head) < HEAD and _begins_another(head, heads):
        return Start(copy="it is the beginning of a longer log beside it")
    return Start()


def _begins_another(head: bytes, heads: Sequence[bytes]) -> bool:
    """Whether one of these, which are in order, goes on behind it: it is next in order then."""
    place = bisect_right(heads, head)
    return place < len(heads) and heads[place].startswith(head)


def ends_early(head: bytes, longer: Sequence[Stream]) -> str:
    """Why a log is a cut copy that begins as these streams do, and ends before they were read to;
    "" when it is none.

    A log that was truncated and began anew has other times in its first lines. One that has the
    same 4 KiB but ends earlier is a copy still being written, or cut. Only the NULs left by a
    writer that did not notice the truncation look alike every time.
    """
    if not longer or not head.strip(b"\0"):
        return ""
    return f"it begins like {longer[0].path} did, and ends before what was counted there"


def _tail_at(log: Log, offset: int) -> bytes | None:
    """The up to 4 KiB before the offset; None when the log is shorter."""
    size = min(offset, TAIL)
    if not log.seek(offset - size):
        return None
    tail = log.read(size)
    return tail if len(tail) == size else None


def farthest_first(streams: Iterable[Stream]) -> list[Stream]:
    return sorted(streams, key=lambda stream: (-stream.offset, stream.tail))


def _last(*parts: bytes) -> bytes:
    return b"".join(parts)[-TAIL:]

"""Logs that were counted under another name: as a log of another source, or of a site that has
another name now.

Takes a log that continues no stream of its own, and another stream that begins as it does. Returns
whether it may continue that one instead. Rotation can carry a log into the glob of another source,
and an alias renames the site that a log's name says; what was counted stays counted.

Does not go by content alone: two servers that only ever heard from the same monitor have the very
same lines. A stream belongs to another log as long as the file that it was last seen in is there
and still begins as it did. Where that was in another folder, or a pipe brought it, its first 4 KiB
have to be the same, or its node.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from flex.model.log_reading import Stream
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source, Unusable
from flex_logs_ingest.reading.identity import HEAD, digest


def may_be(log: Log, stream: Stream, source: Source) -> bool:
    """Whether this file, which the source reads, may be where the log of the stream is now."""
    if _is_same_file(log, stream.path):
        return True
    folder, last = Path(log.path).absolute().parent, Path(stream.path).absolute()
    near = last.parent == folder or any(fnmatch(str(last), glob) for glob in source.globs)
    return (near or may_be_piped(stream, source)) and not _is_there(stream)


def may_be_piped(stream: Stream, source: Source) -> bool:
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

"""Streams, found by what a log begins with.

Takes streams, and the first bytes of a log. Returns those streams that began as the log does. Takes
as long for one log as there are sizes of heads, however many streams there are: thousands of logs
are one after the other looked for among thousands.

Does not decide which of them the log goes on with: identity.py does.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence

from flex.model.log_reading import Stream
from flex_logs_ingest.reading.identity import digest, farthest_first


class StreamsByHead:
    def __init__(self, streams: Iterable[Stream] = ()) -> None:
        self._by_head: dict[tuple[int, str], list[Stream]] = {}
        self._sizes: list[int] = []
        for stream in streams:
            self._add(stream)

    def __contains__(self, stream: Stream) -> bool:
        return stream in self._by_head.get(_key(stream), ())

    def replace(self, old: Stream | None, new: Stream) -> None:
        """What is new takes the place of the old one, where that is there."""
        for stream in (old, new):
            if stream and stream in self:
                self._by_head[_key(stream)].remove(stream)
        self._add(new)

    def begin_as(self, head: bytes) -> list[Stream]:
        """Streams that began as this log does, those read farthest first."""
        sizes = self._sizes[: bisect_right(self._sizes, len(head))]
        found: list[Stream] = []
        for key in zip(sizes, _digests(head, sizes), strict=True):
            found += self._by_head.get(key, ())
        return farthest_first(found)

    def _add(self, stream: Stream) -> None:
        key = _key(stream)
        if key not in self._by_head:
            self._by_head[key] = []
            place = bisect_right(self._sizes, stream.head_size)
            if not place or self._sizes[place - 1] != stream.head_size:
                insort(self._sizes, stream.head_size)
        self._by_head[key].append(stream)


def _key(stream: Stream) -> tuple[int, str]:
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

"""What can be found out about small logs before their turn, many of them at a time: each of the
steps below costs as much as scanning a few kilobytes when it is done for one log alone.

Takes the paths of the logs of a reader, in the order in which they are read. Returns of each one
its bytes in memory, its format, how it opens, and what it counts for from its beginning on. Looks
at a few at a time, so that what waits takes little memory.

Does not decide whether a log counts, from where on, or that it cannot be read: one_log.py does, of
these logs as of any other. A log that is unusual in any way (it is not there, packed, binary, long,
of no known format, it changes while it is read) is left to that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

from flex import native_or_python
from flex.errors import FlexError
from flex_logs_ingest.files.find_and_unpack_logs import PACKINGS, Log
from flex_logs_ingest.files.small_log_in_memory import HeldLog, Seen
from flex_logs_ingest.formats import LOOK, add_columns, layout_of, record_size, usual_formats
from flex_logs_ingest.lines.layout import Layout
from flex_logs_ingest.reading.log_identity import HEAD
from flex_logs_ingest.reading.rewritten_logs import Opening, opening_of
from flex_logs_ingest.reading.run_state import Reader
from flex_logs_ingest.scan.count_small_logs import Foreseen, Task, count_logs
from flex_logs_ingest.scan.segment_scan import Counts, Scanner, says_site
from flex_logs_ingest.scan.site_rules import SiteRule

# Logs that are looked at together at most. Chosen on 3,000 logs of 6 kB: with 64 they take 6 % more
# CPU. With more, the first ones are waited for.
_TOGETHER = 256
# Bytes of logs that are looked at together at most. A guess.
_BYTES = 2**20
_MAGICS = [magic for packing in PACKINGS.values() for magic in packing.magics]

# A file as it was when it was opened (device, inode, size, nanoseconds of the last change) and its
# bytes.
Look = tuple[int, int, int, int, bytes]


def reference_look_at_logs(
    paths: Sequence[str],
    magics: Sequence[bytes],
    flags: int,
    most: int,
    whole: bool,
    head: int,
    _threads: int,
) -> list[Look | None]:
    """So many first bytes of each log that is not packed; with `whole`, all of one that has no
    more. None where anything about it is unusual.

    `flags` are added to those of os.open. A log still has the same `head` after it was read whole.
    """
    return [_look(path, tuple(magics), flags, most, whole, head) for path in paths]


def _look(
    path: str, magics: tuple[bytes, ...], flags: int, most: int, whole: bool, head: int
) -> Look | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (whole and status.st_size > most):
            return None
        text = _read(descriptor, most + whole)
        if whole and (len(text) > most or not _is_still(descriptor, text, head)):
            return None
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if text.startswith(magics):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, text


def _read(descriptor: int, size: int) -> bytes:
    parts = []
    while size and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _is_still(descriptor: int, text: bytes, head: int) -> bool:
    """A log may be truncated while it is read."""
    same = os.pread(descriptor, min(head, len(text)), 0) == text[:head]
    return same and os.fstat(descriptor).st_size >= len(text)


_look_at_logs = native_or_python.pick("look_at_logs", reference_look_at_logs)


def heads(paths: Sequence[str], threads: int) -> list[Look | None]:
    """The first bytes of each of these logs."""
    return _look_at_logs(paths, _MAGICS, os.O_NONBLOCK, HEAD, False, HEAD, threads)


@dataclass(frozen=True, slots=True)
class CountedAhead:
    """What a log says that is read from its beginning on, all of its bytes."""

    opening: Opening
    counts: Counts
    memory: int
    size: int

    def scanner(self) -> Scanner:
        return Scanner(Foreseen(self.counts.found, self.memory, self.size))


@dataclass(frozen=True, slots=True)
class Ahead:
    """What was found out about a log before its turn: `format` is what its first bytes tell, ""
    where nobody asked them or they tell nothing.
    """

    format: str = ""
    counted: CountedAhead | None = None


_Step = dict[str, tuple[Log, Ahead]]


class SmallLogs:
    """Small logs of a reader, by the order in which they are read: each path with its size."""

    def __init__(self, reader: Reader, logs: Sequence[tuple[str, int]]) -> None:
        self._reader = reader
        self._steps = list(_steps(logs))
        self._step_of = {path: number for number, step in enumerate(self._steps) for path in step}
        self._made: dict[int, _Step] = {}
        self._lock = Lock()

    def open(self, path: str) -> tuple[Log, Ahead]:
        """Each of them once, in about this order. Raises Unusable."""
        number = self._step_of.get(path)
        if number is None:
            return Log(path), Ahead()
        with self._lock:
            if number not in self._made:
                self._made[number] = _look_ahead(self._reader, self._steps[number])
            opened = self._made[number].pop(path, None)
        return opened or (Log(path), Ahead())


def _steps(logs: Sequence[tuple[str, int]]) -> Iterator[list[str]]:
    step: list[str] = []
    left = _BYTES
    for path, size in logs:
        if step and (size > left or len(step) == _TOGETHER):
            yield step
            step, left = [], _BYTES
        step.append(path)
        left -= size
    if step:
        yield step


def _look_ahead(reader: Reader, paths: Sequence[str]) -> _Step:
    most, threads = reader.run.small, reader.run.apart.workers
    looks = _look_at_logs(paths, _MAGICS, os.O_NONBLOCK, most, True, HEAD, threads)
    texts = {path: look[4] for path, look in zip(paths, looks, strict=True) if look and look[4]}
    ahead = _found_out(reader, texts)
    step: _Step = {}
    for path, look in zip(paths, looks, strict=True):
        if look and look[4]:
            log = HeldLog(path, Seen(*look[:4]), look[4])
            step[path] = log, ahead.get(path, Ahead())
    return step


def _found_out(reader: Reader, texts: dict[str, bytes]) -> dict[str, Ahead]:
    if reader.run.copies_too or reader.source.document_root:
        return {}
    known = {path: reader.alike(reader.family(path), text[:HEAD]) for path, text in texts.items()}
    more = {
        path: text
        for path, text in texts.items()
        if b"\n" in text and not (known[path] and known[path][0].offset == len(text))
    }
    formats = dict(zip(more, _formats(reader, more), strict=True))
    new = {path: more[path] for path in formats if formats[path] and not known[path]}
    counted = {} if reader.run.invalid else _count_texts(reader, new, formats)
    return {path: Ahead(format_, counted.get(path)) for path, format_ in formats.items()}


def _count_texts(
    reader: Reader, texts: dict[str, bytes], formats: dict[str, str]
) -> dict[str, CountedAhead]:
    run = reader.run
    layouts: dict[str, Layout] = {}
    rules: dict[str, SiteRule] = {}
    for path in texts:
        rule = reader.rule_of(path)
        if rule and _can_count(formats[path], rule, layouts):
            rules[path] = rule
    numbers = {format_: number for number, format_ in enumerate(layouts)}
    tasks: list[Task] = [
        (texts[path], numbers[formats[path]], rule) for path, rule in rules.items()
    ]
    every = [*layouts.values()]
    told = count_logs(tasks, every, run.sample_limit, LOOK, run.apart.workers)
    counted: dict[str, CountedAhead] = {}
    for path, (first, whole, memory) in zip(rules, told, strict=True):
        if memory < run.memory:
            opening = opening_of(Counts(first)) if first else Opening()
            size = len(texts[path])
            counted[path] = CountedAhead(opening, Counts(whole), memory, size)
    return counted


def _formats(reader: Reader, texts: dict[str, bytes]) -> list[str]:
    """The format of each log; "" where that is for others to say."""
    heads = [text[:LOOK] for text in texts.values()]
    named = reader.source.format
    if named == "auto":
        return usual_formats(heads, reader.run.apart.workers)
    return ["" if record_size(named, head) else add_columns(named, head) for head in heads]


def _can_count(format_: str, rule: SiteRule, layouts: dict[str, Layout]) -> bool:
    """Whether lines of it can be counted by this rule; then its layout is among the `layouts`."""
    try:
        layout = layouts.get(format_) or layout_of(format_)
    except FlexError:
        return False
    if not says_site(layout, rule):
        return False
    layouts.setdefault(format_, layout)
    return True

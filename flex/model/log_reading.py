"""The reading of a log: how far it has been read, what was counted, and which lines were bad."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stream:
    """How far one log has been read, known by what it contains and not by its name.

    `head` is the hash of the first `head_size` bytes (at most 4 KiB, decompressed), `tail` the hash
    of the up to 4 KiB before `offset`. The path is where it was last seen: a hint for people, never
    an identity. A log that names its columns itself goes on by those in force at the offset, and
    they are in `format`; other logs have none here.
    """

    source: str
    head: str
    head_size: int
    offset: int
    tail: str
    path: str
    format: str = ""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A malformed line: where it begins in its log (unpacked), what is wrong with it, and its first
    text.
    """

    offset: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Segment:
    """What one reading of one stream counted; its tables are in the files of the same id, or where
    the store says that they are.

    `lines` counts by class: counted, other_status, no_request, malformed; `reasons` the malformed
    ones by what is wrong with them; `hours` the answers in each hour since 1970. Where no line says
    its time, the days are that of `read_at`.
    """

    id: str
    source: str
    node: str
    path: str
    format: str
    first_byte: int
    last_byte: int
    first_day: int
    last_day: int
    first_time: int
    last_time: int
    lines: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...] = ()
    samples: tuple[BadLine, ...] = ()
    hours: tuple[tuple[int, int], ...] = ()
    read_at: int = 0
    begins: str = ""
    ends: str = ""
    after: str = ""
    signature: str = ""
    opening: str = ""
    copy_of: str = ""

"""Which lines are of which layout: the search for a log's format asks this for every layout that
it knows, of each log.

Takes layouts, and the first lines of a log. Returns for each layout the numbers of the lines that
are of it. Does not count, and does not decide which format the log is in: the formats package does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from flex import native_or_python
from flex_logs_ingest.lines.extract import HEADING, Texts, extractor
from flex_logs_ingest.lines.field_values import STATUSES, number, seconds
from flex_logs_ingest.lines.layout import Layout


class ReferenceFitting:
    """What the layouts are is worked out once, for all logs."""

    def __init__(self, layouts: Sequence[Layout]) -> None:
        self._layouts = layouts

    def of(self, lines: Sequence[bytes]) -> list[list[int]]:
        """The numbers of the lines that are of each layout."""
        return [_fitting(layout, lines) for layout in self._layouts]

    def promising(
        self, heads: Sequence[bytes], most: int, sure: Sequence[bool], _threads: int
    ) -> list[list[list[int]]]:
        """As `of` for each of these beginnings of logs, of which so many lines are looked at.

        A layout has no lines there that has less than half as many as one of the `sure` behind it.
        """
        return [_with_hope(self.of(first_lines(head, most)), sure) for head in heads]


def _with_hope(found: list[list[int]], sure: Sequence[bool]) -> list[list[int]]:
    most = 0
    for place in reversed(range(len(found))):
        if len(found[place]) * 2 < most:
            found[place] = []
        if sure[place]:
            most = max(most, len(found[place]))
    return found


def _fitting(layout: Layout, lines: Sequence[bytes]) -> list[int]:
    extract = extractor(layout)
    found = ((i, line, extract(line)) for i, line in enumerate(lines))
    return [
        i
        for i, line, texts in found
        if texts is not None and texts is not HEADING and _says_all(texts, line)
    ]


def _says_all(texts: Texts, line: bytes) -> bool:
    vhost, time, _, status, sent = texts
    if vhost and line.startswith(vhost + b" - "):
        # What stands before the empty identity is a client, and behind it a user whose name holds a
        # space.
        return False
    return seconds(time) is not None and number(sent) is not None and status in STATUSES


def first_lines(head: bytes, most: int) -> list[bytes]:
    """The first whole lines, without what is no part of them; of a log without a whole line, its
    beginning.
    """
    whole, newline, cut = head.rpartition(b"\n")
    lines = (whole if newline else cut).split(b"\n", most)[:most]
    if b"\0" not in head and b"\r" not in head:
        return [line for line in lines if line]
    stripped = (line.lstrip(b"\0").rstrip(b"\r") for line in lines)
    return [line for line in stripped if line]


_new_fitting = native_or_python.pick("Fitting", ReferenceFitting)


class Fits:
    """How many lines are of each of these layouts."""

    def __init__(self, layouts: Mapping[str, Layout]) -> None:
        self._shapes = {name: layout.shape for name, layout in layouts.items()}
        self._sure = [layout.shape is None for layout in layouts.values()]
        self._fitting = _new_fitting([*layouts.values()])

    def of(self, lines: list[bytes]) -> dict[str, Fit]:
        """By the names of the layouts, in their order."""
        numbers = self._fitting.of(lines)
        of_layouts = zip(self._shapes.items(), numbers, strict=True)
        return {name: Fit(shape, lines, found) for (name, shape), found in of_layouts}

    def usual(self, heads: Sequence[bytes], most: int, threads: int) -> list[str]:
        """For each of these beginnings of logs, of which so many lines are looked at, the first
        layout of half as many lines as are of the one that has most. "" where less than a tenth of
        the lines are of that one.
        """
        found = self._fitting.promising(heads, most, self._sure, threads)
        return [
            self._first_with_half(head, numbers, most)
            for head, numbers in zip(heads, found, strict=True)
        ]

    def _first_with_half(
        self, head: bytes, numbers: Sequence[list[int]], limit: int
    ) -> str:
        lines = first_lines(head, limit)
        fits = {
            name: Fit(shape, lines, found)
            for (name, shape), found in zip(self._shapes.items(), numbers, strict=True)
            if found
        }
        most = most_of(tuple(fits.values()))
        if not most or most * 10 < len(lines):
            return ""
        return next(name for name, fit in fits.items() if fit.is_half(most))


def _has(
    shape: re.Pattern[bytes], lines: Sequence[bytes], numbers: Sequence[int], least: int
) -> bool:
    """Whether so many of these lines have the shape."""
    others = len(numbers) - least
    for place in numbers:
        others -= shape.search(lines[place]) is None
        if others < 0:
            return False
    return True


class Fit:
    """How many of the lines are of a layout. The layout's shape is looked for as late as can be,
    for it takes long.
    """

    def __init__(
        self,
        shape: re.Pattern[bytes] | None,
        lines: Sequence[bytes],
        found: list[int],
    ) -> None:
        self._shape = shape
        self._lines = lines
        self._numbers = found

    @property
    def at_most(self) -> int:
        return len(self._numbers)

    @property
    def is_sure(self) -> bool:
        """Whether `at_most` is how many they are."""
        return self._shape is None

    def is_half(self, most: int) -> bool:
        """Whether they are at least half as many as the most."""
        if self.at_most * 2 < most or self._shape is None:
            return self.at_most * 2 >= most
        return _has(self._shape, self._lines, self._numbers, (most + 1) // 2)

    def count(self) -> int:
        if self._shape is not None:
            lines = self._lines
            self._numbers = [
                number for number in self._numbers if self._shape.search(lines[number])
            ]
            self._shape = None
        return len(self._numbers)


def most_of(fits: Sequence[Fit]) -> int:
    """How many lines the one has that has most."""
    most = max((fit.at_most for fit in fits if fit.is_sure), default=0)
    for fit in fits:
        if fit.at_most > most:
            most = max(most, fit.count())
    return most

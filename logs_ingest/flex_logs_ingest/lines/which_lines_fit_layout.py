"""Which lines are of which layout: the search for a log's format asks this for every layout that
it knows, of each log.

Takes layouts, and the first lines of a log. Returns for each layout the numbers of the lines that
are of it. Does not count, and does not decide which format the log is in: the formats package does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from flex import native_or_python
from flex_logs_ingest.lines.field_cutter import HEADING, Texts, extractor
from flex_logs_ingest.lines.field_meanings import STATUSES, number, seconds
from flex_logs_ingest.lines.layout import Layout


class ReferenceFitting:
    """What the layouts are is worked out once, for all logs."""

    def __init__(self, layouts: Sequence[Layout]) -> None:
        self._layouts = layouts

    def of(self, lines: Sequence[bytes]) -> list[list[int]]:
        """The numbers of the lines that are of each layout."""
        return [_fitting(layout, lines) for layout in self._layouts]

    def first_with_half(
        self, heads: Sequence[bytes], most: int, sure: Sequence[bool], _threads: int
    ) -> list[int | None]:
        """For each of these beginnings of logs, of which so many lines are looked at, the number of
        the first layout of half as many lines as are of the one that has most; -1 where less than a
        tenth of the lines are of that one.

        None where that depends on a layout that is not `sure`.
        """
        return [self._first_with_half(first_lines(head, most), sure) for head in heads]

    def _first_with_half(self, lines: Sequence[bytes], sure: Sequence[bool]) -> int | None:
        counts = [len(numbers) for numbers in self.of(lines)]
        most = max((size for size, is_sure in zip(counts, sure, strict=True) if is_sure), default=0)
        hopeful = [place for place, size in enumerate(counts) if size and size * 2 >= most]
        if not all(sure[place] for place in hopeful):
            return None
        return hopeful[0] if most and most * 10 >= len(lines) else -1


def _fitting(layout: Layout, lines: Sequence[bytes]) -> list[int]:
    extract, ends = extractor(layout), _end_of(layout.ends)
    extracted = ((i, line, extract(line)) for i, line in enumerate(lines) if ends(line))
    return [
        i
        for i, line, texts in extracted
        if texts is not None and texts is not HEADING and _says_all(texts, line)
    ]


@cache
def _end_of(ends: bytes) -> Callable[[bytes], object]:
    """What says whether a line ends so."""
    if not ends:
        return bool
    parts = map(re.escape, ends.split(b"#"))
    return re.compile(rb"(\d+|-)".join(parts) + rb"\Z").search


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

    def fit_by_layout(self, lines: list[bytes]) -> dict[str, Fit]:
        """By the names of the layouts, in their order."""
        numbers = self._fitting.of(lines)
        of_layouts = zip(self._shapes.items(), numbers, strict=True)
        return {name: Fit(shape, lines, line_numbers) for (name, shape), line_numbers in of_layouts}

    def usual(self, heads: Sequence[bytes], most: int, threads: int) -> list[str]:
        """For each of these beginnings of logs, of which so many lines are looked at, the first
        layout of half as many lines as are of the one that has most. "" where less than a tenth of
        the lines are of that one.
        """
        numbers = self._fitting.first_with_half(heads, most, self._sure, threads)
        names = [*self._shapes, ""]
        return [
            self._layout_by_shapes(head, most) if number is None else names[number]
            for head, number in zip(heads, numbers, strict=True)
        ]

    def _layout_by_shapes(self, head: bytes, limit: int) -> str:
        lines = first_lines(head, limit)
        fits = self.fit_by_layout(lines)
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
        self, shape: re.Pattern[bytes] | None, lines: Sequence[bytes], numbers: list[int]
    ) -> None:
        self._shape = shape
        self._lines = lines
        self._numbers = numbers

    @property
    def upper_bound(self) -> int:
        return len(self._numbers)

    @property
    def is_sure(self) -> bool:
        """Whether `upper_bound` is how many they are."""
        return self._shape is None

    def is_half(self, most: int) -> bool:
        """Whether they are at least half as many as the most."""
        if self.upper_bound * 2 < most or self._shape is None:
            return self.upper_bound * 2 >= most
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
    most = max((fit.upper_bound for fit in fits if fit.is_sure), default=0)
    for fit in fits:
        if fit.upper_bound > most:
            most = max(most, fit.count())
    return most

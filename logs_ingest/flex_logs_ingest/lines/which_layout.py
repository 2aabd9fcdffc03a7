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


_new_fitting = native_or_python.pick("Fitting", ReferenceFitting)


class Fits:
    """How many lines are of each of these layouts."""

    def __init__(self, layouts: Mapping[str, Layout]) -> None:
        self._shapes = {name: layout.shape for name, layout in layouts.items()}
        self._fitting = _new_fitting([*layouts.values()])

    def of(self, lines: list[bytes]) -> dict[str, Fit]:
        """By the names of the layouts, in their order."""
        numbers = self._fitting.of(lines)
        of_layouts = zip(self._shapes.items(), numbers, strict=True)
        return {name: Fit(shape, lines, found) for (name, shape), found in of_layouts}


class Fit:
    """How many of the lines are of a layout. The layout's shape is looked for as late as can be,
    for it takes long.
    """

    def __init__(
        self, shape: re.Pattern[bytes] | None, lines: Sequence[bytes], found: list[int]
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
        return self.at_most * 2 >= most and self.count() * 2 >= most

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
    most = max(fit.at_most for fit in fits if fit.is_sure)
    for fit in fits:
        if fit.at_most > most:
            most = max(most, fit.count())
    return most

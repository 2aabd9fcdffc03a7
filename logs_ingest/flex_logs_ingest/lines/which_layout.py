"""Which lines are of a layout: the search for a log's format asks this for each layout that it
knows.

Takes a layout and the first lines of a log. Returns the numbers of the lines that are of it. Does
not count, and does not decide which format the log is in: the formats package does.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex import engine
from flex_logs_ingest.lines.extract import HEADING, Texts, extractor
from flex_logs_ingest.lines.field_values import STATUSES, number, seconds
from flex_logs_ingest.lines.layout import Layout


def reference_fitting(layout: Layout, lines: Sequence[bytes]) -> list[int]:
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


_fitting = engine.pick("fitting", reference_fitting)


class Fit:
    """How many of the lines are of a layout. The layout's shape is looked for as late as can be,
    for it takes long.
    """

    def __init__(self, layout: Layout, lines: Sequence[bytes]) -> None:
        self._shape = layout.shape
        self._lines = lines
        self._numbers = _fitting(layout, lines)

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

"""What is counted for each target, by the number of its row.

Takes accesses in the order of the log. Returns columns. Accesses wait in arrays and are added up
many at once, so that no row needs an object of its own. Does not know which row is of which target.
"""

from __future__ import annotations

from array import array

import numpy as np

from flex_logs_ingest.lines.field_meanings import MOST
from flex_logs_ingest.scan.counts_as_columns import Ints

# Accesses that are added up at once. So many of the largest size that one can have do not add up to
# more than a count holds.
_AT_ONCE = 2**18
# Rows that there is room for at first. A guess.
_FEWEST = 1024


class Tally:
    """`number`, `size`, `full` and `time` are the waiting accesses: the row, the bytes, the same
    where they are all of the target and else 0, the second. Nobody holds on to these arrays.
    """

    def __init__(self) -> None:
        self.number, self.size, self.full, self.time = (array("q") for _ in range(4))
        self.levels = array("b")
        self.level = 0
        self.sample_row, self.sample_time = array("q"), array("q")
        self.requests, self.largest, self.last = (
            np.zeros(_FEWEST, dtype=np.int64) for _ in range(3)
        )
        self.bytes = np.zeros(_FEWEST, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self.levels)

    def new(self, level: int) -> int:
        """The number of a new row; accesses to it are in the sample while its level is high
        enough.
        """
        self.levels.append(level)
        return len(self.levels) - 1

    def settle(self) -> None:
        """Add up what waits."""
        waiting = [np.asarray(column) for column in (self.number, self.size, self.full, self.time)]
        self.number, self.size, self.full, self.time = (array("q") for _ in range(4))
        self._grow()
        for start in range(0, len(waiting[0]), _AT_ONCE):
            self._add(*(column[start : start + _AT_ONCE] for column in waiting))

    def _add(self, number: Ints, size: Ints, full: Ints, time: Ints) -> None:
        np.add.at(self.requests, number, 1)
        np.add.at(self.bytes, number, size.astype(np.uint64))
        self.bytes[number] = np.minimum(self.bytes[number], np.uint64(MOST))
        np.maximum.at(self.largest, number, full)
        np.maximum.at(self.last, number, time)
        if self.level:
            kept = np.asarray(self.levels)[number] >= self.level
            number, time = number[kept], time[kept]
        self.sample_row.frombytes(number.tobytes())
        self.sample_time.frombytes(time.tobytes())

    def _grow(self) -> None:
        missing = len(self.levels) - len(self.requests)
        if missing > 0:
            more = max(missing, len(self.requests))
            self.requests, self.largest, self.last, self.bytes = (
                np.concatenate([column, np.zeros(more, dtype=column.dtype)])
                for column in (self.requests, self.largest, self.last, self.bytes)
            )

    def thin(self, limit: int) -> None:
        """Keep every second target of the sample as long as it is too large."""
        while len(self.sample_row) > limit:
            self.level += 1
            row, time = np.asarray(self.sample_row), np.asarray(self.sample_time)
            kept = np.asarray(self.levels)[row] >= self.level
            self.sample_row, self.sample_time = (
                array("q", row[kept].tobytes()),
                array("q", time[kept].tobytes()),
            )

"""Malformed lines: how many for each reason, a few of each to look at, and all of them on request.

Takes lines and what is wrong with them, as the scan meets them. Returns counts, samples and lines.
Does not decide what is malformed. The native engine does the same.
"""

from __future__ import annotations

# What is wrong with a line: the first of these that applies. The line is longer than 1 MiB; it does
# not have the fields of its format; it has no byte count, no status, no time in the place where its
# format has it.
REASONS = ("too_long", "no_fields", "no_bytes", "no_status", "no_time")
# The places of the reasons above.
TOO_LONG = 0
NO_FIELDS = 1
NO_BYTES = 2
NO_STATUS = 3
NO_TIME = 4

# Lines of each reason that are kept as samples. A guess.
KEPT = 3
# Bytes of a sample. A guess.
WIDTH = 200
# Bytes of a line, where all malformed lines are kept. A guess.
MOST = 2**16

# Where the line begins, the number of its reason, its text.
Bad = tuple[int, int, bytes]


class Malformed:
    """`samples` are in the order of the log. With `all_of_them`, every line waits to be taken."""

    def __init__(self, all_of_them: bool) -> None:
        self.counts = [0] * len(REASONS)
        self.samples: list[Bad] = []
        self._all_of_them = all_of_them
        self._waiting: list[Bad] = []

    def add(self, start: int, reason: int, line: bytes) -> None:
        if self.counts[reason] < KEPT:
            self.samples.append((start, reason, line[:WIDTH]))
        if self._all_of_them:
            self._waiting.append((start, reason, line[:MOST]))
        self.counts[reason] += 1

    def take(self) -> list[Bad]:
        """The lines since the last call."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def take_found(self) -> tuple[list[int], list[Bad]]:
        """The counts and the samples since the last call."""
        taken = self.counts, self.samples
        self.counts, self.samples = [0] * len(REASONS), []
        return taken

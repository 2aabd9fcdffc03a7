"""What came to sites by other names of theirs, while a log is read: name by name and day by day.

In go answers to requests one by one, by way of the sums that they are added to; out come all sums
in order. The native scan does the same. Which name is which site's is for sites.py, how the sums
are kept for othernames.py.
"""

from __future__ import annotations

from flex_logs_ingest.lines.field_values import MOST
from flex_logs_ingest.scan.columns import OtherCount

# Requests and bytes.
Sums = list[int]


class Others:
    def __init__(self) -> None:
        self._sums: dict[tuple[str, str, int], Sums] = {}

    def __len__(self) -> int:
        return len(self._sums)

    def sums(self, site: str, name: str, day: int) -> Sums:
        return self._sums.setdefault((site, name, day), [0, 0])

    def sorted_counts(self) -> list[OtherCount]:
        """In order of sites, names and days."""
        ordered = sorted(self._sums.items())
        return [
            (*key, requests, min(sent, MOST))
            for key, (requests, sent) in ordered
            if requests
        ]

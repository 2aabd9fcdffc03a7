"""Requests that called a site by another of its names, added up by name and day while a log is
read.

Takes answers to requests one by one: the caller adds to the sums it gets here. Returns all sums in
order. Does not decide which name belongs to which site (site_rules.py does), nor how the sums are
kept (counts/file_of_counts_by_other_names.py). The native scan does the same.
"""

from __future__ import annotations

from flex_logs_ingest.lines.field_values import MOST
from flex_logs_ingest.scan.counts_as_columns import OtherCount

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
        return [(*key, requests, min(sent, MOST)) for key, (requests, sent) in ordered if requests]

"""Every site with its traffic and its nodes, as columns that are sorted, filtered and shown a page
at a time.

Takes profiles and a partition of a hundred thousand rows or more. Returns the rows of a page. The
columns are made once for each profile and each partition in force, so a page costs no more than its
own rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from flex.frame_schemas import PROFILES
from flex.model.period import Period
from flex.placing.problem import Ints

MEASURED = tuple(name for name in PROFILES.columns if name != "site")
# Fields of a row that go by another name than what was measured.
COLUMNS = {
    "working_set_bytes": "working_set",
    "service_seconds": "service_us",
    "cpu_seconds": "cpu_us",
}


@dataclass(frozen=True, slots=True)
class SiteFilter:
    """What of the sites is asked for; what is left out is no condition."""

    name: str = ""
    node: str = ""
    replicated: bool | None = None
    at_least: int = 0
    among: frozenset[str] | None = None
    not_among: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class Catalogue:
    """Rows are in order of site; `first` says where each site's nodes begin in `nodes`."""

    period: Period | None
    sites: np.ndarray
    columns: dict[str, Ints]
    nodes: np.ndarray
    first: Ints
    orders: dict[str, Ints] = field(default_factory=dict)

    def nodes_of(self, row: int) -> list[str]:
        return [str(node) for node in self.nodes[self.first[row] : self.first[row + 1]]]

    def row_of(self, site: str) -> int | None:
        at = int(np.searchsorted(self.sites, site))
        return at if at < len(self.sites) and self.sites[at] == site else None

    def measures(self, row: int) -> dict[str, int]:
        return {name: int(column[row]) for name, column in self.columns.items()}

    def order(self, by: str) -> Ints:
        """All rows by a field, equal ones by name; made once."""
        if by not in self.orders:
            down, name = by.startswith("-"), by.removeprefix("-")
            rows = np.arange(len(self.sites))
            if name == "site":
                self.orders[by] = rows[::-1] if down else rows
            else:
                values = self._values(name)
                self.orders[by] = np.argsort(-values if down else values, kind="stable")
        return self.orders[by]

    def mask(self, what: SiteFilter) -> np.ndarray:
        """For each row whether it is asked for."""
        kept = np.ones(len(self.sites), dtype=bool)
        replicas = np.diff(self.first)
        if what.replicated is not None:
            kept &= (replicas > 1) == what.replicated
        if what.at_least:
            kept &= self.columns["access_bytes"] >= what.at_least
        if what.node:
            kept &= np.isin(
                np.arange(len(kept)),
                np.repeat(np.arange(len(kept)), replicas)[self.nodes == what.node],
            )
        if what.among is not None:
            kept &= self._mask_of_sites(what.among)
        if what.not_among:
            kept &= ~self._mask_of_sites(what.not_among)
        if what.name:
            part = what.name.casefold()
            kept &= np.fromiter(
                (part in site.casefold() for site in self.sites), dtype=bool, count=len(kept)
            )
        return kept

    def page(
        self, what: SiteFilter, by: str, limit: int, after: tuple[int, str] | None
    ) -> tuple[list[int], bool]:
        """The rows behind the one that has this value and this name, and whether there are more."""
        ordered = self.order(by)
        begin = 0 if after is None else self._first_place_behind(ordered, by, *after)
        kept = self.mask(what)[ordered[begin:]] if what != SiteFilter() else None
        rest = ordered[begin:] if kept is None else ordered[begin:][kept]
        return rest[:limit].tolist(), len(rest) > limit

    def value(self, row: int, by: str) -> int:
        name = by.removeprefix("-")
        return 0 if name == "site" else int(self._values(name)[row])

    def _values(self, name: str) -> Ints:
        return np.diff(self.first) if name == "replicas" else self.columns[COLUMNS.get(name, name)]

    def _first_place_behind(self, ordered: Ints, by: str, value: int, site: str) -> int:
        down, name = by.startswith("-"), by.removeprefix("-")
        if name == "site":
            side = "left" if down else "right"
            # `side` is one of two words.
            at = int(np.searchsorted(self.sites, site, side=side))  # type: ignore[call-overload]
            return len(self.sites) - at if down else at
        values = self._values(name)[ordered]
        ranked, sought = (-values, -value) if down else (values, value)
        low, high = (int(np.searchsorted(ranked, sought, side=side)) for side in ("left", "right"))
        return low + int(np.searchsorted(self.sites[ordered[low:high]], site, side="right"))

    def _mask_of_sites(self, sites: Collection[str]) -> np.ndarray:
        kept = np.zeros(len(self.sites), dtype=bool)
        for site in sites:
            if (row := self.row_of(site)) is not None:
                kept[row] = True
        return kept


def catalogue(
    kept: tuple[Period, pd.DataFrame, pd.DataFrame] | None, partition: pd.DataFrame
) -> Catalogue:
    """Sites of the profiles and of the partition; who is only in one of them asks nothing, or is
    nowhere.
    """
    profiles = kept[1] if kept else PROFILES.empty()
    names = profiles["site"].to_numpy(dtype=object)
    placed = partition["site"].to_numpy(dtype=object)
    sites = _union(names, placed)
    rows = np.searchsorted(sites, names)
    columns = {
        name: _spread(profiles[name].to_numpy(dtype=np.int64), rows, len(sites))
        for name in MEASURED
    }
    counts = (
        np.bincount(np.searchsorted(sites, placed), minlength=len(sites))
        if len(placed)
        else np.zeros(len(sites))
    )
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    # A partition is sorted by site and node, as `sites` is by site: its rows stand where `first`
    # says.
    return Catalogue(
        kept[0] if kept else None, sites, columns, partition["node"].to_numpy(dtype=object), first
    )


def _union(names: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.array(sorted({*names.tolist(), *others.tolist()}), dtype=object)


def _spread(values: Ints, rows: Sequence[int] | np.ndarray, size: int) -> Ints:
    column: Ints = np.zeros(size, dtype=np.int64)
    column[rows] = values
    return column

"""Nodes that sites give up without getting others, in few words: an adoption may give up five nodes
of each site at once.

Takes moves. Returns sentences and rows for people, with one row for all moves that have the same
reason. Does not change `-o json` and the API, which have each move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rich.table import Table

from flex.site_names_in_words import first_few
from flex_api.in_words import amounts
from flex_api.in_words.terminal_tables import grid

# Where more sites give nodes up for one reason, there is one row for them.
SITES = 3
# So many rows are shown in a terminal; `-o json` has every move.
MOST_MOVES = 20
# So many nodes are named in a row.
NODES = 6


class Moved(Protocol):
    """What a move and its models have in common."""

    @property
    def site(self) -> str: ...
    @property
    def source(self) -> str | None: ...
    @property
    def target(self) -> str | None: ...
    @property
    def cold_bytes(self) -> int: ...
    @property
    def reason(self) -> str: ...


class Foretold(Protocol):
    @property
    def policy(self) -> str: ...
    @property
    def miss_ratio(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Row:
    """One move, or what many sites give up for one reason. `site` is the only one, "" where they
    are several.
    """

    sites: str
    source: str
    target: str
    cold_bytes: int
    reason: str
    site: str = ""


def table(rows: Sequence[Moved]) -> Table:
    drawn, groups = grid("site", "from", "to", "cold>", "why"), group(rows)
    for row in groups[:MOST_MOVES]:
        drawn.add_row(row.sites, row.source, row.target, amounts.size(row.cold_bytes), row.reason)
    if len(groups) > MOST_MOVES:
        drawn.add_row(f"and {len(groups) - MOST_MOVES} more", "", "", "", "")
    return drawn


def group(moves: Sequence[Moved]) -> list[Row]:
    """Moves to other nodes first, as they are; then what is given up, by reason."""
    rows = [
        Row(move.site, move.source or "-", move.target, move.cold_bytes, move.reason, move.site)
        for move in moves
        if move.target
    ]
    reasons: dict[str, list[Moved]] = {}
    for move in moves:
        if not move.target:
            reasons.setdefault(move.reason, []).append(move)
    for reason, gone in reasons.items():
        rows += _rows(reason, gone)
    return rows


def _rows(reason: str, gone: Sequence[Moved]) -> list[Row]:
    of_site: dict[str, list[str]] = {}
    for move in gone:
        of_site.setdefault(move.site, []).append(move.source or "-")
    if len(of_site) <= SITES:
        return [
            Row(site, ", ".join(nodes), "-", 0, reason, site) for site, nodes in of_site.items()
        ]
    nodes = Counter(move.source or "-" for move in gone)
    named = [f"{node} ({count:,})" for node, count in sorted(nodes.items())]
    return [
        Row(
            f"{len(of_site):,} sites, such as {next(iter(of_site))}",
            first_few(named, NODES),
            "-",
            0,
            reason,
        )
    ]


def sentence(moves: Sequence[Moved], base: str, *, done: bool) -> str:
    """The sentence for a plan that only gives nodes up, "" for any other plan. A plan without a
    `base` adopts what was in DNS before it.
    """
    if not moves or any(move.target for move in moves):
        return ""
    number = len({move.site for move in moves})
    sites, replicas = (amounts.count(number, "site"), amounts.count(len(moves), "replica"))
    needless = f"{replicas} that {'it does' if number == 1 else 'they do'} not need"
    if base:
        return f"{sites} {'gave' if done else 'would give'} up {needless}"
    return (
        f"{sites} adopted, {needless} given up"
        if done
        else f"{sites} would be adopted and give up {needless}"
    )


def misses(forecasts: Iterable[Foretold]) -> str:
    """What it buys: predicted misses 23 % to 5.4 %. Nothing where that is not known, or stays as it
    is.
    """
    of = {forecast.policy: amounts.share(forecast.miss_ratio) for forecast in forecasts}
    before, after = of.get("before"), of.get("after")
    return f", predicted misses {before} to {after}" if before and after and before != after else ""

"""All other names of sites for the terminal and for pages.

Takes rows of sites. Returns tables and sentences. Does not ask anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from flex.site_names_in_words import first_few
from flex_api.in_words.terminal_tables import grid
from flex_api.schemas.sites_and_wishes import LearnedRow, NameRow, SiteRow
from flex_api.schemas.verbs_output import ProposalRow

# What a table calls the ways of a name to move.
MOVES: Mapping[str, str] = {
    "dns": "moves, in DNS",
    "cname": "moves, as a CNAME",
    "doors": "moves, by doors",
    "stays": "stays behind",
    "no_address": "no address of its own",
    "unknown": "not known",
}
# Places of one name that a line has.
PLACES = 2


def count(row: SiteRow) -> str:
    """How many other names a site has, for a column."""
    return "?" if row.names is None else f"{len(row.names):,}"


def places_of_name(rows: Sequence[LearnedRow]) -> str:
    """Where a name was learned."""
    return first_few([_place(row) for row in rows], PLACES, "; ")


def _place(row: LearnedRow) -> str:
    if row.source in ("settings", "www"):
        return row.where
    return f"ingest.{row.source}: {row.where}"


def names(console: Console, row: SiteRow) -> None:
    """The other names of one site, each with where it was learned and whether it moves."""
    if row.names:
        table = grid("other name", "learned from", "with the site")
        for name in row.names:
            table.add_row(name.name, places_of_name(name.learned), MOVES[name.moves])
        console.print(table)
    for line in remarks(row):
        console.print(line)


def remarks(row: SiteRow) -> Iterator[str]:
    if row.names_not_known:
        yield f"Its other names are not known: {row.names_not_known}."
    elif not row.names:
        yield "No other name of it is known."
    yield from (f"{name.name}: {name.why}." for name in left_behind(row))


def left_behind(row: SiteRow) -> list[NameRow]:
    return [name for name in row.names or () if name.moves in ("stays", "unknown")]


def proposals(console: Console, rows: Sequence[ProposalRow]) -> None:
    """Lines that can be pasted into a file of other names, and what speaks for each."""
    if not rows:
        return
    what = "1 name plainly belongs" if len(rows) == 1 else f"{len(rows):,} names plainly belong"
    console.print(
        f"{what} to a site. Nothing is done with that. If you know it to be so, put these "
        "lines into ingest.aliases_file: visitors can send any name, and a server answers "
        "those that it does not know with a site of its own."
    )
    for row in rows:
        reasons = "; ".join(evidence.said for evidence in row.evidence)
        console.print(f"{row.line}  # {reasons}", soft_wrap=True)

"""The tables of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def grid(*headings: str) -> Table:
    """A plain table; a heading that ends in > is a column of numbers."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        right = heading.endswith(">")
        table.add_column(
            heading.removesuffix(">"), justify="right" if right else "left", overflow="fold"
        )
    return table

"""What a dry run would do, in words for people."""

from __future__ import annotations

from rich.console import Console

from flex_api.in_words import amounts, grouped_moves_text, results_in_terminal
from flex_api.schemas.nodes_and_jobs import NodesOutput
from flex_api.schemas.what_if_output import PreviewRow


def nodes(console: Console, output: NodesOutput) -> None:
    results_in_terminal.nodes(console, output)
    preview(console, output.preview)


def preview(console: Console, row: PreviewRow | None) -> None:
    """Nothing where there is none: a note says why."""
    if row is None:
        return
    console.print(_headline(row))
    if row.items:
        console.print(grouped_moves_text.table(row.items))
    for note in row.notes:
        console.print(f"  note: {note}")


def _headline(row: PreviewRow) -> str:
    anyhow = f" (without it {row.moves_without:,})" if row.moves_without else ""
    worst = (
        f"worst node {row.worst_node} {amounts.share(row.worst_ratio)} off in {row.worst_resource}"
    )
    return (
        f"Then {amounts.count(row.sites, 'site')} would move in "
        f"{amounts.count(row.moves, 'move')}{anyhow}, "
        f"{amounts.size(row.cold_bytes)} cold; {worst}, "
        f"{amounts.share(row.worst_ratio_without)} without it."
    )

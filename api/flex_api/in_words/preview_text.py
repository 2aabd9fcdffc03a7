"""What a dry run would do, in words for people."""

from __future__ import annotations

from rich.console import Console

from flex_api.in_words import amounts, grouped_moves_text, results_in_terminal
from flex_api.schemas.nodes_holders_jobs_freezes import NodesOutput
from flex_api.schemas.what_if_output import PreviewRow


def nodes(console: Console, output: NodesOutput) -> None:
    results_in_terminal.nodes(console, output)
    preview(console, output.preview)


def preview(console: Console, found: PreviewRow | None) -> None:
    """Nothing where there is none: a note says why."""
    if found is None:
        return
    console.print(_headline(found))
    if found.items:
        console.print(grouped_moves_text.table(found.items))
    for note in found.notes:
        console.print(f"  note: {note}")


def _headline(found: PreviewRow) -> str:
    anyhow = f" (without it {found.moves_without:,})" if found.moves_without else ""
    worst = (
        f"worst node {found.worst_node} {amounts.share(found.worst_ratio)} off in "
        f"{found.worst_resource}"
    )
    return (
        f"Then {amounts.count(found.sites, 'site')} would move in "
        f"{amounts.count(found.moves, 'move')}{anyhow}, "
        f"{amounts.size(found.cold_bytes)} cold; {worst}, "
        f"{amounts.share(found.worst_ratio_without)} without it."
    )

"""Moves of sites as text for a terminal.

Takes what `flex moves` prints. Prints it. Does not read anything.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from flex.model.site_moves import FOREVER, PRINTED
from flex_api.in_words import amounts
from flex_api.in_words.terminal_tables import grid
from flex_api.schemas.site_moves import MovesOutput, ReadyOutput, SiteMoveRow, StageRow

if TYPE_CHECKING:
    from rich.console import Console


def moves(console: Console, output: MovesOutput) -> None:
    if not output.items:
        console.print(
            "No site was moved by commands ([[move.hook]]). `flex plan show` lists the moves of a "
            "plan.",
            markup=False,
        )
        return
    table = grid("site", "from", "to", "state", "begun", "stages", "why")
    for move in output.items:
        table.add_row(
            move.site,
            move.source,
            move.target,
            move.state,
            amounts.when(move.begun),
            stages_in_words(move),
            why(move, printed=True),
        )
    console.print(table)


def stages_in_words(move: SiteMoveRow) -> str:
    told = list(map(stage_in_words, move.stages))
    if move.waited_seconds is not None:
        told.append(wait_in_words(move))
    return ", ".join(told) or "none"


def wait_in_words(move: SiteMoveRow) -> str:
    """Empty where nobody had to wait."""
    if move.waited_seconds is None:
        return ""
    return f"requests waited {amounts.span(timedelta(seconds=move.waited_seconds))}"


def took(move: SiteMoveRow) -> str:
    """Until it was decided; a dash while it is not."""
    return amounts.span(move.ended - move.begun) if move.ended else "-"


def stage_in_words(run: StageRow) -> str:
    name = run.stage if run.hook == run.stage else f"{run.stage} ({run.hook})"
    took = f" in {amounts.span(run.ended - run.begun)}" if run.ended else ""
    tries = f", {amounts.count(run.tries, 'try', 'tries')}" if run.tries > 1 else ""
    return f"{name} {run.state}{took if run.state == 'done' else ''}{tries}"


def is_cause(move: SiteMoveRow, run: StageRow) -> bool:
    """Whether the site stayed, or waits, for what came of this command."""
    is_told = move.reason.startswith(f"{run.stage} ({run.hook}):")
    return run.state in ("failed", "undoing") or is_told


def why(move: SiteMoveRow, *, printed: bool = False) -> str:
    """With what the command `printed` for which the site stayed, where nobody says it beside."""
    reason, told = move.reason, list[str]()
    if printed:
        told = [run.said for run in move.stages if run.said and is_cause(move, run)]
    if told:
        reason = reason.replace(f"; {PRINTED}", "")
    reason = "; ".join([reason, *(cause for cause in told if cause not in reason)])
    if move.rests_until is None:
        return reason
    until = (
        f"rests until `flex moves again {move.site}`"
        if move.rests_until >= FOREVER
        else f"rests {amounts.until_text(move.rests_until)}"
    )
    return f"{reason}; {until}"


def ready(console: Console, output: ReadyOutput) -> None:
    if not output.items:
        console.print("No other node is active, so none was asked.", markup=False)
        return
    table = grid("site", "node", "ready", "why, or what to know")
    for row in output.items:
        note = row.why or "; ".join(row.remarks)
        answer = "yes" if row.ready else "no" if row.complete else "not known"
        table.add_row(row.site, row.node, answer, note)
    console.print(table)

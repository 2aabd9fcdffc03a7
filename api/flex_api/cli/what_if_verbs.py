"""The verbs that ask and change nothing: what-if, the frontier, two partitions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput
from flex_api import which_names_are_sites
from flex_api.cli import local_or_server
from flex_api.cli.common import PlanId, context, split_names
from flex_api.cli.night_verbs import plan_app
from flex_api.in_words import amounts, forecast_text, grouped_moves_text, results_in_terminal
from flex_api.in_words.terminal_tables import grid

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from flex_api.schemas.what_if_output import DiffOutput, FrontierOutput, PointRow, WhatIfOutput

# Characters of the longest bar. Chosen by eye, for a terminal of 80 columns.
BAR = 40
# Points of the frontier that are printed; of more, every so many-th. A guess: about a screen.
MOST = 20


# What is supposed.
More = Annotated[
    int, typer.Option(min=0, max=1000, help="this many more nodes, each like the others")
]
Without = Annotated[str, typer.Option(help="without these nodes: n1,n2")]
Ram = Annotated[float, typer.Option(help="memory of every node, times this")]
Growth = Annotated[float, typer.Option(help="all sites larger by this share, such as 0.2")]
Times = Annotated[
    list[str] | None,
    typer.Option(metavar="SITE=K", help="a site with K times as many visitors; may be repeated"),
]
Tolerance = Annotated[float | None, typer.Option(help="another aim, such as 0.05")]
MaxMoves = Annotated[int | None, typer.Option(min=0, help="at most this many moves")]
Frontier = Annotated[
    bool, typer.Option("--frontier", help="also show what more moves would improve")
]
Other = Annotated[str, typer.Argument(metavar="PLAN", help="the partition in force when left out")]


def add_to(app: typer.Typer) -> None:
    app.command()(whatif)
    app.add_typer(plan_app, name="plan", invoke_without_command=True)


def whatif(
    ctx: typer.Context,
    more: More = 0,
    without: Without = "",
    ram: Ram = 1.0,
    growth: Growth = 0.0,
    times: Times = None,
    tolerance: Tolerance = None,
    max_moves: MaxMoves = None,
    frontier: Frontier = False,
) -> None:
    """Show what FLEX would do with other nodes, memory or visitors. It stores nothing and asks no
    name server.
    """
    from flex.planning.what_if import Supposition

    call_context = context(ctx)
    lost = split_names(without)
    wanted = Supposition(more, lost, ram, growth, _times(times or ()), tolerance, max_moves)
    output = local_or_server.questions(call_context).what_if(wanted, frontier=frontier)
    call_context.show(output, lambda console: _show_what_if(console, output))


@plan_app.command("frontier")
def plan_frontier(ctx: typer.Context) -> None:
    """What more moves would buy: the least imbalance for each number of them, from none to a new
    partition.
    """
    call_context = context(ctx)
    output = local_or_server.questions(call_context).frontier()
    call_context.show(output, lambda console: _show_frontier(console, output))


@plan_app.command("diff")
def plan_diff(ctx: typer.Context, one: PlanId, other: Other = "current") -> None:
    """What differs between the partitions of two plans, site by site."""
    call_context = context(ctx)
    output = local_or_server.questions(call_context).difference(one, other)
    call_context.show(output, lambda console: _show_diff(console, output))


def _times(given: Sequence[str]) -> dict[str, float]:
    factors = {}
    for each in given:
        site, _, number = each.rpartition("=")
        try:
            factors[which_names_are_sites.site_name(site)] = float(number)
        except ValueError as error:
            raise BadInput(
                f"--times {each}",
                "this is no site with a number",
                advice="write --times shop.example=3",
            ) from error
    return factors


def _show_what_if(console: Console, output: WhatIfOutput) -> None:
    console.print(_headline(output))
    for note in output.notes:
        console.print(f"  note: {note}")
    if output.moves:
        console.print()
        console.print(grouped_moves_text.table(output.moves))
    console.print()
    console.print(results_in_terminal.loads(output.before, output.after))
    console.print()
    forecast_text.show_comparison(console, output.forecasts)
    if output.frontier:
        console.print()
        console.print(_points(output.frontier))


def _headline(output: WhatIfOutput) -> str:
    moved = len({move.site for move in output.moves})
    room = ""
    if output.forecasts:
        busy = amounts.share(output.forecasts[0].busiest_utilisation_ratio)
        served = output.forecasts[0].operations_per_second
        room = (
            f"; the busiest node works {busy} of its busiest hour, and all could serve "
            f"{served:,.0f} requests a second"
        )
    return (
        f"{amounts.count(moved, 'site')} would move, {amounts.size(output.cold_bytes)} "
        "cold; worst node "
        f"{amounts.share(output.after.worst_ratio)} off (without moves "
        f"{amounts.share(output.before.worst_ratio)})"
        f"{room}."
    )


def _show_frontier(console: Console, output: FrontierOutput) -> None:
    console.print(_points(output.items))
    broken = (
        ""
        if output.in_force_keeps_wishes
        else ", and not every site is where it should be, on as many nodes as it should be"
    )
    worst_now = amounts.share(output.in_force_worst_ratio)
    if output.base:
        console.print(f"In force: worst node {worst_now} off{broken}.")
    else:
        console.print("No partition is in force yet.")
    if output.plan:
        worst = amounts.share(output.plan_worst_ratio or 0.0)
        moves = amounts.count(output.plan_moves or 0, "move")
        console.print(f"Plan {output.plan}: {moves}, worst node {worst} off.")
    aim, trigger = (amounts.share(output.tolerance_ratio), amounts.share(output.trigger_ratio))
    console.print(f"The aim is {aim}; nothing moves within {trigger}.")
    for note in output.notes:
        console.print(f"note: {note}")


def _points(points: Sequence[PointRow]) -> Table:
    table = grid("moves>", "worst node off>", "")
    most = max((point.worst_ratio for point in points), default=0.0) or 1.0
    shown = points if len(points) <= MOST else [*points[:: -(-len(points) // MOST)], points[-1]]
    for point in shown:
        table.add_row(
            f"{point.moves:,}",
            amounts.share(point.worst_ratio),
            "#" * round(BAR * point.worst_ratio / most),
        )
    return table


def _show_diff(console: Console, output: DiffOutput) -> None:
    worst = (
        f"worst node {amounts.share(output.one_worst_ratio)} off and "
        f"{amounts.share(output.other_worst_ratio)}"
    )
    differ = f"{len(output.items):,} of {amounts.count(output.sites, 'site')} differ"
    console.print(f"{output.one} and {output.other}: {differ}; {worst}.")
    table = grid("site", output.one, output.other)
    for row in output.items:
        table.add_row(row.site, ", ".join(row.one) or "-", ", ".join(row.other) or "-")
    if output.items:
        console.print(table)

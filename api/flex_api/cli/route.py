"""The verbs about routing replicated sites: show, config."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flex.errors import BadSetting
from flex.steer import delivery, haproxy
from flex.steer.pool import Pool
from flex.steer.program import Program, program
from flex_api import steering
from flex_api.cli.common import context
from flex_api.cli.night import opened
from flex_api.route_schemas import MemberRow, RouteConfigOutput, RoutedRow, RouteOutput
from flex_api.text import grid

route_app = typer.Typer(
    help="How requests for replicated sites find the replica that has them in memory.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(route_app, name="route")


@route_app.command("show")
def route_show(ctx: typer.Context) -> None:
    """The sites on several nodes, their members, and by what their requests are spread."""
    found = context(ctx)
    with opened(found) as here:
        rows = [_row(pool) for pool in steering.pools(here.settings, here.store)]
        output = RouteOutput(on=here.settings.routing.on, items=rows)
    found.show(output, lambda console: _print(console, output))


@route_app.command("config")
def route_config(
    ctx: typer.Context,
    node: Annotated[str, typer.Argument(metavar="NODE")],
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="write them there, once HAProxy has checked them")
    ] = None,
) -> None:
    """What a node's HAProxy is to do: its configuration, and the map of host names beside it.

    Members keep their places of the configuration that is in DIR. A HAProxy on this machine checks the new one; what it
    refuses is not written. Reading it anew is for the node to do: systemctl reload haproxy.
    """
    found = context(ctx)
    checker = _checker() if to else None
    with opened(found) as here:
        files = steering.files(here.settings, here.store, node, _before(to))
    changed = delivery.put(files, to, checker) if to else False
    output = RouteConfigOutput(
        node=node,
        directory=str(to or ""),
        changed=changed,
        checked_by=".".join(map(str, checker.version)) if checker else "",
        files=files,
    )
    found.show(output, lambda console: _print_files(console, output))


def _checker() -> Program | None:
    """None where the configuration is for another machine, and this one has no HAProxy."""
    try:
        return program()
    except BadSetting:
        return None


def _before(to: Path | None) -> str:
    try:
        return (to / haproxy.CONFIGURATION).read_text(encoding="ascii") if to else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _row(pool: Pool) -> RoutedRow:
    limits = pool.limits
    return RoutedRow(
        site=pool.site,
        hosts=list(pool.hosts),
        policy=pool.policy,
        low=limits.low,
        high=limits.high,
        hold_seconds=limits.hold,
        admitted=limits.admitted(len(pool.members)) if limits.admission else 0,
        members=[
            MemberRow(node=member.node, address=member.address, server=f"s{member.bit}") for member in pool.members
        ],
    )


def _print(console: Console, output: RouteOutput) -> None:
    if not output.on:
        console.print("Requests are not routed: [routing] on = false. These sites would be:", markup=False)
    table = grid("site", "policy", "low>", "high>", "at a time>", "members")
    for row in output.items:
        limits = str(row.low), str(row.high), str(row.admitted or "any")
        table.add_row(row.site, row.policy, *limits, ", ".join(member.node for member in row.members))
    console.print(table if output.items else "No site is on several nodes.")


def _print_files(console: Console, output: RouteConfigOutput) -> None:
    if not output.directory:
        for name, text in output.files.items():
            console.print(f"# {name}", markup=False)
            console.print(text, markup=False, soft_wrap=True, highlight=False)
        return
    if not output.changed:
        console.print(f"{output.directory} has it already.", markup=False)
        return
    checked = (
        f"checked by HAProxy {output.checked_by}" if output.checked_by else "not checked: there is no HAProxy here"
    )
    console.print(f"The configuration of {output.node} is written to {output.directory}, {checked}.", markup=False)

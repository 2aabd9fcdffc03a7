"""The verb `flex onboard`: settings from what a machine hosts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flex_api.cli.common import Context, Format, context, now
from flex_api.cli.local_only import only_here


def add_to(app: typer.Typer) -> None:
    app.command()(onboard)


@only_here("it reads and writes files of this machine")
def onboard(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="where the settings go")],
    tree: Annotated[
        Path,
        typer.Option(
            help="the root of the machine's files: this machine's own, or a copy of a node's"
        ),
    ] = Path("/"),
    vhosts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="files of nginx or Apache to read instead of what is there; may be repeated",
        ),
    ] = None,
    node: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE",
            help="a node: its name or address in DNS, or n1=192.0.2.11; may be repeated",
        ),
    ] = None,
    ram: Annotated[
        str | None, typer.Option(help="the memory of each node to keep files in")
    ] = None,
    logs: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="where the logs of each node are, with {node} for its name"
        ),
    ] = None,
    primary: Annotated[
        str | None, typer.Option(help="the primary name server of the zones, host or host:port")
    ] = None,
    key_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="a TSIG key that may transfer the zones")
    ] = None,
    resolver: Annotated[
        str, typer.Option(help="whom to ask what visitors see; this machine's resolver")
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="ask nothing, and take what was found")
    ] = False,
    every_site: Annotated[bool, typer.Option("--every-site", help="a line for each site")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="look and ask, and write nothing")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="write over settings that are there")
    ] = False,
) -> None:
    """Write settings by what is there: sites, nodes, logs and zones.

    Reads the files of cPanel, Plesk, ISPConfig, DirectAdmin or HestiaCP, else those of nginx and
    Apache, and asks DNS. It asks you five questions at most; each is an option, too. It says of
    every site whether DNS can move it, only doors can, or nothing can, and why. It writes the
    settings, in mode shadow, with a list of sites and one of other names, and nothing else. It
    runs nothing that it finds, and follows no link out of the folders that it reads.
    """
    from flex_api.in_words import onboard_text
    from flex_api.onboarding.onboard import Wanted, onboard

    call_context = context(ctx)
    wanted = Wanted(
        folder,
        tree,
        tuple(vhosts or ()),
        None if node is None else tuple(node),
        ram,
        logs,
        primary,
        key_file,
        resolver,
        dry_run,
        replace,
    )
    ask = _ask if _is_somebody_there(call_context) and not yes else None
    output = onboard(wanted, now(), ask, call_context.say)
    call_context.show(
        output,
        lambda console: console.print(
            "\n".join(onboard_text.lines(output, every=every_site)), markup=False, highlight=False
        ),
    )


def _is_somebody_there(call_context: Context) -> bool:
    return call_context.output is Format.TABLE and sys.stdin.isatty()


def _ask(question: str, otherwise: str) -> str:
    """Enter takes what is in the brackets; - stands for none."""
    return str(typer.prompt(question, default=otherwise, show_default=bool(otherwise)))

"""The verb `flex assess`: what FLEX would bring, from logs alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flex.errors import BadInput
from flex_api.cli.common import context, now
from flex_api.cli.local_only import only_here

# Bytes of memory below which no cache can be predicted. A guess.
LEAST_RAM = 2**20


def add_to(app: typer.Typer) -> None:
    app.command()(assess)


@only_here("it reads logs of this machine, and needs no installation")
def assess(
    ctx: typer.Context,
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="access logs of all nodes, rotated and packed ones too; a folder, a "
            "pattern, a pipe, or - for standard input",
        ),
    ],
    nodes: Annotated[int, typer.Option(min=1, max=256, help="how many nodes serve them")] = 4,
    ram: Annotated[str, typer.Option(help="the memory of each node to keep files in")] = "12 GiB",
    log_format: Annotated[
        str, typer.Option("--format", help="of the logs: a name, or the server's own directive")
    ] = "auto",
    report: Annotated[
        Path | None, typer.Option(help="the HTML file to write; else flex-assess.html here")
    ] = None,
    zone: Annotated[
        list[Path] | None,
        typer.Option(
            "--zone",
            metavar="FILE",
            help="a zone's master file, to say which sites DNS can move; may be repeated",
        ),
    ] = None,
    seconds: Annotated[
        int,
        typer.Option(
            min=0,
            max=86400,
            help="leave out the oldest logs that there is no time for; 0 reads all",
        ),
    ] = 60,
) -> None:
    """Say what FLEX would bring your cluster, from its logs alone.

    It needs no settings, no database and no rights, and changes nothing. It replays the busiest
    week of the logs for round robin, for FLEX and for the best there could be, and writes the
    answer as one HTML file with a picture of who would serve what. Old logs are fine.
    """
    from flex_api.assessing.assess_logs import Wanted, assess
    from flex_api.in_words import assess_text

    call_context = context(ctx)
    wanted = Wanted(tuple(logs), nodes, _bytes(ram), log_format, seconds, report, tuple(zone or ()))
    output = assess(wanted, now())
    call_context.show(
        output,
        lambda console: console.print(
            "\n".join(assess_text.lines(output)), markup=False, highlight=False
        ),
    )


def _bytes(ram: str) -> int:
    from pydantic import TypeAdapter, ValidationError

    from flex_api.settings.quantities import Size

    try:
        size = TypeAdapter(Size).validate_python(ram)
    except ValidationError as error:
        raise _bad_ram(ram, "wanted a size such as '12 GiB' or '64 MB'") from error
    if size < LEAST_RAM:
        raise _bad_ram(ram, "that is less than 1 MiB")
    return size


def _bad_ram(ram: str, why: str) -> BadInput:
    return BadInput(
        f"nodes with {ram[:40]!r} of memory",
        why,
        kept="nothing was read or written",
        advice="say it as --ram '12 GiB'",
    )

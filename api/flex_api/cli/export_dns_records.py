"""The verb `flex export`: what FLEX would write to DNS, for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from flex.errors import NotWritten
from flex_api.cli import local_or_server
from flex_api.cli.common import context, write
from flex_api.facts import plan_by_zone
from flex_dns.exports import ENDINGS, EXPORTS


def add_to(app: typer.Typer) -> None:
    app.command()(export)


def export(
    ctx: typer.Context,
    form: Annotated[str, typer.Argument(metavar="FORMAT", help=", ".join(EXPORTS))],
    plan_id: Annotated[
        str, typer.Argument(metavar="[PLAN]", help="the id of a plan; the latest when left out")
    ] = "",
    zone: Annotated[list[str] | None, typer.Option(help="this zone only; may be repeated")] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="write a file for each zone into this folder")
    ] = None,
) -> None:
    """Print the records of a plan for another tool. nsupdate gets its changes, with what they
    require.
    """
    plan_by_zone.refuse_unknown(form)
    call_context = context(ctx)
    by = local_or_server.exports(call_context)
    if to is None:
        write(text := by.together(form, plan_id, zone or ()))
        if not text.strip():
            typer.echo("flex: by this plan no zone of dns.zones changes", err=True)
        return
    for path in _write(form, by.export_zones(form, plan_id, zone or ()), to):
        call_context.say(f"wrote {path}")


def _write(form: str, texts: Mapping[str, str], folder: Path) -> list[Path]:
    paths = {zone: folder / f"{zone}{ENDINGS.get(form, form)}" for zone in texts}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for zone, text in texts.items():
            paths[zone].write_text(text, encoding="utf-8")
    except OSError as error:
        raise NotWritten(
            f"writing the records of each zone to {folder}",
            str(error.strerror or error),
            kept="DNS is as it was; some of the files may be there",
            advice="choose a folder you may write to",
        ) from error
    return list(paths.values())

"""The verb `flex export`: what FLEX would write to DNS, for other tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flex.errors import BadInput, NoData, NotWritten
from flex.model.plan import Plan
from flex_api.cli.common import context, only_here
from flex_api.cli.open_installation import open_world
from flex_api.wiring import World
from flex_api.wishes import export_plan
from flex_dns.exports import ENDINGS, EXPORTS, Wanted


def add_to(app: typer.Typer) -> None:
    app.command()(export)


@only_here("it reads the plans of this machine's database")
def export(
    ctx: typer.Context,
    form: Annotated[str, typer.Argument(metavar="FORMAT", help=", ".join(EXPORTS))],
    plan_id: Annotated[
        str,
        typer.Argument(
            metavar="[PLAN]", help="the id of a plan; the latest when left out"
        ),
    ] = "",
    zone: Annotated[
        list[str] | None, typer.Option(help="this zone only; may be repeated")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="write a file for each zone into this folder"),
    ] = None,
) -> None:
    """Print the records of a plan for another tool. nsupdate gets its changes, with what they
    require.
    """
    if form not in EXPORTS:
        raise _bad(
            f"exporting as {form!r}",
            f"there are {', '.join(EXPORTS)}",
            "name one of them",
        )
    found = context(ctx)
    with open_world(found) as here:
        wanted = export_plan.zones(here, _plan_to_export(here, plan_id), zone or ())
        wanted = (
            export_plan.with_controller(here, wanted) if form == "nsupdate" else wanted
        )
    if to is None:
        sys.stdout.write(_together(form, wanted))
        return
    for path in _write(form, wanted, to):
        found.say(f"wrote {path}")


def _together(form: str, wanted: Sequence[Wanted]) -> str:
    """A zone's file takes no names of another zone."""
    if form == "zone" and len(wanted) > 1:
        answer = f"the plan has {len(wanted)} of them, and a zone's file holds one"
        raise _bad(
            "the lines of a zone",
            answer,
            "name one with --zone, or write a file for each with --to DIR",
        )
    return EXPORTS[form](wanted)


def _write(form: str, wanted: Sequence[Wanted], folder: Path) -> list[Path]:
    paths = [
        folder / f"{one.zone_plan.zone}{ENDINGS.get(form, form)}" for one in wanted
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, one in zip(paths, wanted, strict=True):
            path.write_text(EXPORTS[form]([one]), encoding="utf-8")
    except OSError as error:
        raise NotWritten(
            f"writing the records of each zone to {folder}",
            str(error.strerror or error),
            kept="DNS is as it was; some of the files may be there",
            advice="choose a folder you may write to",
        ) from error
    return paths


def _plan_to_export(here: World, plan_id: str) -> Plan:
    if plan_id:
        return here.store.plan(plan_id)
    latest = here.store.plans(1)
    if not latest:
        raise NoData(
            "the latest plan",
            "there is none",
            kept="nothing was printed",
            advice="make one with `flex plan`",
        )
    return latest[0]


def _bad(asked: str, answer: str, advice: str) -> BadInput:
    return BadInput(asked, answer, kept="nothing was printed", advice=advice)

"""The verb `flex export`: what FLEX would say in DNS, for other tools."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flex import cycle as cycles
from flex.domain import Cycle
from flex.errors import BadInput, NoData
from flex_api.cli.common import context
from flex_api.cli.night import opened
from flex_api.wiring import World
from flex_dns.exports import EXPORTS, Wanted, wanted


def add_to(app: typer.Typer) -> None:
    app.command()(export)


def export(
    ctx: typer.Context,
    form: Annotated[str, typer.Argument(metavar="FORMAT", help=", ".join(EXPORTS))],
    plan_id: Annotated[str, typer.Argument(metavar="[PLAN]", help="none for the latest")] = "",
) -> None:
    """Print the records of a plan for another tool. nsupdate gets its changes, with what they require."""
    if form not in EXPORTS:
        raise BadInput(
            f"exporting as {form!r}",
            f"there are {', '.join(EXPORTS)}",
            kept="nothing was printed",
            advice="name one of them",
        )
    with opened(context(ctx)) as here:
        cycle = _chosen(here, plan_id)
        sys.stdout.write(EXPORTS[form](_zones(here, cycle)))


def _chosen(here: World, plan_id: str) -> Cycle:
    if plan_id:
        return here.store.cycle(plan_id)
    latest = here.store.cycles(1)
    if not latest:
        raise NoData("the latest plan", "there is none", kept="nothing was printed", advice="make one with `flex plan`")
    return latest[0]


def _zones(here: World, cycle: Cycle) -> list[Wanted]:
    dns = here.settings.dns
    said = cycles.wanted(cycle, here.store.placement_of(cycle.id), here.nodes, dns.ttl)
    return [wanted(one, said[one.zone], here.settings.owner, dns.ttl) for one in cycle.plans]

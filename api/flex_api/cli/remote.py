"""The verbs that a FLEX server does for us: `flex --server URL --token-file FILE ...`, with the same options.

Neither settings nor database are looked at here. A verb that is not among these works on the server's own machine only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from flex.errors import BadInput, Unknown
from flex_api import client as clients
from flex_api import desk_text, text, words
from flex_api.cli.common import Context, DryRun, Format, NodeName, PlanId, Reason, SiteName, context, listed, moment
from flex_api.client import Client
from flex_api.night_schemas import FreezeOutput, NodesOutput, PinOutput
from flex_api.rest_schemas import (
    ApplyGiven,
    ApprovalGiven,
    DrainGiven,
    FreezeGiven,
    JobShown,
    PinGiven,
    PinShown,
    PlanGiven,
    RollbackGiven,
)
from flex_api.schemas import PlanOutput, PlansOutput, RunsOutput, SitesOutput

HELP = "What a FLEX server does for us: --server URL --token-file FILE before the verb. The token says what we may do."

app = typer.Typer(name="flex", help=HELP, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
sites_app = typer.Typer(help="Sites and pins.", no_args_is_help=True, rich_markup_mode=None)
nodes_app = typer.Typer(help="Nodes.", no_args_is_help=True, rich_markup_mode=None)
plan_app = typer.Typer(help="Make a plan and show it.", rich_markup_mode=None)
for _name, _part in {"sites": sites_app, "nodes": nodes_app}.items():
    app.add_typer(_part, name=_name)
app.add_typer(plan_app, name="plan", invoke_without_command=True)


@dataclass(frozen=True, slots=True)
class Asked:
    context: Context
    client: Client


@app.callback()
def options(
    ctx: typer.Context,
    server: Annotated[str, typer.Option(help="such as https://flex.example.net")] = "",
    token_file: Annotated[Path | None, typer.Option(help="the file that holds the token, and nothing else")] = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="for people or for programs")] = Format.TABLE,
    no_color: Annotated[bool, typer.Option("--no-color", help="also: NO_COLOR in the environment")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="errors only")] = False,
) -> None:
    found = context(ctx)
    found.output, found.quiet, found.color = output, quiet, not no_color
    found.remote = clients.client(server, _token(token_file))


def _token(path: Path | None) -> str:
    """Never an argument: those are seen by everybody on the machine. Raises BadInput."""
    if path is None:
        raise _bad("--server without --token-file", "nobody would know who asks", "name the file with the token")
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(f"--token-file {path}", str(error), "put the token there, readable for you alone") from error


def _bad(asked: str, answer: str, advice: str) -> BadInput:
    return BadInput(asked, answer, kept="nothing was asked", advice=advice)


def _asked(ctx: typer.Context) -> Asked:
    found = context(ctx)
    assert isinstance(found.remote, Client), "the callback makes it"
    return Asked(found, found.remote)


@sites_app.command("list")
def sites_list(ctx: typer.Context) -> None:
    """Every site, busiest first."""
    asked = _asked(ctx)
    output = SitesOutput(period_start=None, period_end=None, items=list(asked.client.sites()))
    asked.context.show(output, lambda console: text.sites(console, output))


@sites_app.command("show")
def sites_show(ctx: typer.Context, site: SiteName) -> None:
    """One site: what it asks of its nodes, and where it is."""
    asked = _asked(ctx)
    output = SitesOutput(period_start=None, period_end=None, items=[asked.client.site(site)])
    asked.context.show(output, lambda console: text.sites(console, output))


@sites_app.command("pin")
def sites_pin(
    ctx: typer.Context,
    site: SiteName,
    nodes: Annotated[str, typer.Option(help="must be on all of these: n1,n2")] = "",
    min_replicas: Annotated[int, typer.Option(min=1)] = 1,
    max_replicas: Annotated[int, typer.Option(min=0)] = 0,
    not_on: Annotated[str, typer.Option(help="must be on none of these")] = "",
    together: Annotated[str, typer.Option(help="on the same nodes as these sites")] = "",
    apart: Annotated[str, typer.Option(help="no two of it and these sites share a node")] = "",
    weight: Annotated[float, typer.Option(help="count it as so many times as large as it is")] = 1.0,
    sla: Annotated[str, typer.Option("--class", help="count it as one of this class")] = "",
    since: Annotated[str, typer.Option(metavar="TIME")] = "",
    until: Annotated[str, typer.Option(metavar="TIME")] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Say where a site is to be, where not, on how many nodes and with which others, from the next plan on."""
    asked = _asked(ctx)
    wanted = PinGiven(
        nodes=listed(nodes),
        not_on=listed(not_on),
        together=listed(together),
        apart=listed(apart),
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        weight=weight,
        sla=sla,
        since=moment("--since", since),
        until=moment("--until", until),
        reason=reason,
    )
    try:
        _, tag = asked.client.pin(site)
    except Unknown:
        tag = ""
    _show_pin(asked, asked.client.put_pin(site, wanted, tag, dry_run=dry_run), pinned=True, dry_run=dry_run)


@sites_app.command("unpin")
def sites_unpin(ctx: typer.Context, site: SiteName, reason: Reason = "") -> None:
    """Take a pin back."""
    asked = _asked(ctx)
    pin, tag = asked.client.pin(site)
    asked.client.drop_pin(site, tag, reason)
    _show_pin(asked, pin, pinned=False, dry_run=False)


def _show_pin(asked: Asked, pin: PinShown, *, pinned: bool, dry_run: bool) -> None:
    values: dict[str, Any] = pin.model_dump(exclude={"holds"})
    output = PinOutput(pinned=pinned, dry_run=dry_run, **values)
    asked.context.show(output, lambda console: desk_text.pin(console, output))


@nodes_app.command("list")
def nodes_list(ctx: typer.Context) -> None:
    """Every node, its state and its load under the partition in force."""
    _show_nodes(_asked(ctx), [])


@nodes_app.command("drain")
def nodes_drain(
    ctx: typer.Context,
    node: NodeName,
    deadline: Annotated[str, typer.Option(metavar="TIME", help="empty by then")] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Move everything off a node with the next plans; it goes on serving until then."""
    asked = _asked(ctx)
    given = DrainGiven(deadline=moment("--deadline", deadline), reason=reason)
    _show_nodes(asked, asked.client.drain(node, given, asked.client.node(node)[1], dry_run=dry_run).notes)


@nodes_app.command("undrain")
def nodes_undrain(ctx: typer.Context, node: NodeName, reason: Reason = "") -> None:
    """Give a node sites again, from the next plan on."""
    asked = _asked(ctx)
    _show_nodes(asked, asked.client.undrain(node, asked.client.node(node)[1], reason).notes)


def _show_nodes(asked: Asked, notes: list[str]) -> None:
    output = NodesOutput(items=list(asked.client.nodes()), notes=notes)
    asked.context.show(output, lambda console: text.nodes(console, output))


@plan_app.callback()
def plan(ctx: typer.Context, reason: Reason = "") -> None:
    """Make a plan from the logs that the server read, and show it. DNS is read, never written."""
    if not ctx.invoked_subcommand:
        asked = _asked(ctx)
        _show_result(asked, asked.client.make_plan(PlanGiven(reason=reason)))


@plan_app.command("list")
def plan_list(ctx: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20) -> None:
    """The latest plans, newest first."""
    asked = _asked(ctx)
    output = PlansOutput(items=[row for row, _ in zip(asked.client.plans(), range(limit), strict=False)])
    asked.context.show(output, lambda console: text.plans(console, output))


@plan_app.command("show")
def plan_show(ctx: typer.Context, plan_id: PlanId) -> None:
    """One plan whole, with the changes in DNS."""
    asked = _asked(ctx)
    _show_plan(asked, asked.client.plan(plan_id)[0], diff=True)


@plan_app.command("discard")
def plan_discard(ctx: typer.Context, plan_id: PlanId, reason: Reason = "") -> None:
    """Put a plan aside; it can not be applied any more."""
    asked = _asked(ctx)
    found, tag = asked.client.plan(plan_id)
    asked.client.discard(found.id, tag, reason)
    _show_plan(asked, asked.client.plan(found.id)[0])


@app.command()
def approve(ctx: typer.Context, plan_id: PlanId, reason: Reason = "") -> None:
    """Say yes to a plan as it is."""
    _decide(ctx, plan_id, "approve", reason)


@app.command()
def reject(ctx: typer.Context, plan_id: PlanId, reason: Reason = "") -> None:
    """Say no to a plan: it can not be applied any more."""
    _decide(ctx, plan_id, "reject", reason)


def _decide(ctx: typer.Context, plan_id: str, decision: Literal["approve", "reject"], reason: str) -> None:
    asked = _asked(ctx)
    found, _ = asked.client.plan(plan_id)
    _show_plan(asked, asked.client.decide(found.id, ApprovalGiven(decision=decision, reason=reason)))


@app.command()
def apply(
    ctx: typer.Context,
    plan_id: PlanId,
    force: Annotated[list[str] | None, typer.Option(metavar="RULE", help="go over this limit")] = None,
    reason: Reason = "",
) -> None:
    """Push a plan to the name server and check the answers. It is applied as it was shown, or refused."""
    asked = _asked(ctx)
    found, _ = asked.client.plan(plan_id)
    given = ApplyGiven(force=tuple(force or ()), reason=reason)
    _show_result(asked, asked.client.apply(found.id, found.digest, given))


@app.command()
def rollback(
    ctx: typer.Context,
    to: Annotated[str, typer.Option(metavar="PLAN", help="the partition of this plan; none for the one before")] = "",
    reason: Reason = "",
) -> None:
    """Make a plan back to an earlier partition, to be applied like any other."""
    asked = _asked(ctx)
    _show_result(asked, asked.client.rollback(RollbackGiven(to=to, reason=reason)))


@app.command()
def freeze(ctx: typer.Context, until: Annotated[str, typer.Option(metavar="TIME")] = "", reason: Reason = "") -> None:
    """Stop all changes in DNS."""
    asked = _asked(ctx)
    _, tag = asked.client.freeze()
    asked.client.put_freeze(FreezeGiven(until=moment("--until", until), reason=reason), tag)
    _show_freeze(asked)


@app.command()
def thaw(ctx: typer.Context, reason: Reason = "") -> None:
    """End a freeze."""
    asked = _asked(ctx)
    asked.client.thaw(asked.client.freeze()[1], reason)
    _show_freeze(asked)


def _show_freeze(asked: Asked) -> None:
    found, _ = asked.client.freeze()
    output = FreezeOutput(dry_run=False, **found.model_dump())
    until = f" until {words.when(output.until)}" if output.until else ""
    said = f"Changes are frozen{until}." if output.frozen else "Changes are free."
    asked.context.show(output, lambda console: console.print(said, markup=False))


@app.command()
def history(ctx: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20) -> None:
    """The latest runs, newest first."""
    asked = _asked(ctx)
    output = RunsOutput(items=[row for row, _ in zip(asked.client.runs(), range(limit), strict=False)])
    asked.context.show(output, lambda console: text.runs(console, output))


def _show_result(asked: Asked, job: JobShown) -> None:
    """The plan that came of a job. Raises what the job failed with."""
    ended = asked.client.followed(job, asked.context.say)
    plan_id = ended.result.rpartition("/")[2]
    if ended.state == "done":
        _show_plan(asked, asked.client.plan(plan_id)[0])
    else:
        asked.context.say(f"The job {ended.id} was {ended.state}: {ended.stage}")


def _show_plan(asked: Asked, output: PlanOutput, *, diff: bool = False) -> None:
    asked.context.show(output, lambda console: text.plan(console, output, diff=diff))

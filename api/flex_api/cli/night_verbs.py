"""The verbs of a night: plan, apply, rollback, verify, run, report, history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput, NoData, Unreachable, Unverified
from flex_api.cli import is_started_by_timer, local_or_server, progress_bar
from flex_api.cli.common import (
    Context,
    DryRun,
    Limit,
    PlanId,
    Reason,
    TakeBack,
    author,
    context,
    now,
    write,
)
from flex_api.cli.local_only import AsOf, only_here
from flex_api.cli.open_installation import open_world
from flex_api.facts import check_proof_of_plan
from flex_api.in_words import results_in_terminal
from flex_api.report import page
from flex_api.settings import quantities

if TYPE_CHECKING:
    from flex_api.night.recovery import Way
    from flex_api.schemas.verbs_output import PlanOutput, VerifyOutput

Forced = Annotated[
    list[str] | None,
    typer.Option(
        "--force",
        metavar="RULE",
        help="make the plan although this rule of [profile] or [safety] forbids it; "
        "may be repeated",
    ),
]
Wait = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="wait up to so long, such as 10m, while another run is at work; then end with 23",
    ),
]
Detailed = Annotated[
    bool, typer.Option("--detailed-exitcode", help="exit 10 when there is something to change")
]


class ReportFormat(StrEnum):
    HTML = "html"
    JSON = "json"
    MARKDOWN = "md"


ReportForm = Annotated[ReportFormat, typer.Option("--format", help="html, json or md")]

plan_app = typer.Typer(
    help="Make a plan and show it. Nothing changes in DNS.", rich_markup_mode=None
)


def add_to(app: typer.Typer) -> None:
    for verb in (apply, rollback, verify, run, report, status, history):
        app.command()(verb)


@plan_app.callback()
def plan(
    ctx: typer.Context,
    as_of: AsOf = None,
    detailed_exitcode: Detailed = False,
    diff: Annotated[bool, typer.Option(help="also show each change in DNS")] = False,
    force: Forced = None,
    take_back: TakeBack = None,
    reason: Reason = "",
) -> None:
    """Make a plan from the logs read so far and show it. DNS is read, never written."""
    if ctx.invoked_subcommand:
        return
    call_context = context(ctx)
    plan_output = local_or_server.plans(call_context, as_of).make(
        force or (), take_back or (), reason
    )
    if plan_output is None:
        return
    show(call_context, plan_output, diff=diff)
    if detailed_exitcode and (plan_output.moves or any(zone.changes for zone in plan_output.zones)):
        raise typer.Exit(10)


@plan_app.command("list")
def plan_list(ctx: typer.Context, limit: Limit = 20) -> None:
    """The latest plans, newest first."""
    call_context = context(ctx)
    output = local_or_server.plans(call_context).every(limit)
    call_context.show(output, lambda console: results_in_terminal.plans(console, output))


@plan_app.command("show")
def plan_show(
    ctx: typer.Context,
    plan_id: Annotated[
        str,
        typer.Argument(
            metavar="PLAN", help="its id or the beginning of it; the newest when left out"
        ),
    ] = "",
) -> None:
    """Show one plan with its changes in DNS."""
    call_context = context(ctx)
    by = local_or_server.plans(call_context)
    newest = [] if plan_id else by.every(1).items
    if not (plan_id or newest):
        raise NoData("the newest plan", "there is none yet", advice="`flex plan` makes one")
    show(call_context, by.one(plan_id or newest[0].id), diff=True)


@plan_app.command("verify-proof")
@only_here("the proof stays in the database of that machine")
def plan_verify_proof(
    ctx: typer.Context,
    plan_id: PlanId,
    to: Annotated[
        Path | None, typer.Option(help="also write the proof there as JSON, for another checker")
    ] = None,
) -> None:
    """Check the proof that a plan has as few moves as can be. No solver is asked."""
    call_context = context(ctx)
    with open_world(call_context) as here:
        plan = here.store.plan(plan_id)
        proof = here.store.proof_of(plan.id)
    if to is not None and proof is not None:
        page.put(json.dumps(proof), to)
    output = check_proof_of_plan.check_proof_of(plan, proof)
    call_context.show(output, lambda console: results_in_terminal.proof(console, output))


@plan_app.command("discard")
def plan_discard(
    ctx: typer.Context, plan_id: PlanId, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Put a plan aside. It cannot be applied any more."""
    call_context = context(ctx)
    show(
        call_context, local_or_server.plans(call_context).discard(plan_id, reason, dry_run=dry_run)
    )


def apply(
    ctx: typer.Context,
    plan_id: Annotated[
        str,
        typer.Argument(
            metavar="PLAN", help="the id of a plan or the beginning of it; the latest when left out"
        ),
    ] = "",
    checksum: Annotated[str, typer.Option(help="refuse unless the plan's digest begins so")] = "",
    force: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help="apply the plan although this rule forbids it; may be repeated"
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="finish what an interrupted run began")
    ] = False,
    abandon: Annotated[
        bool,
        typer.Option(
            "--abandon",
            help="give up what an interrupted run began; what DNS says becomes the "
            "partition in force",
        ),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="take back what an interrupted run began")
    ] = False,
    by_hand: Annotated[
        bool,
        typer.Option(
            "--by-hand",
            help="the plan is in DNS already: send none of it, and check every name server",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would be sent")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="wait until no resolver has an old answer any more")
    ] = False,
    as_of: AsOf = None,
    reason: Reason = "",
) -> None:
    """Send a plan to the name server and check the answers. It is applied as it was shown, or
    refused.
    """
    call_context = context(ctx)
    ways: dict[Way, bool] = {"resume": resume, "undo": undo, "abandon": abandon}
    _refuse_two(
        {**{f"--{way}": given for way, given in ways.items()}, "--by-hand": by_hand}, plan_id
    )
    by = local_or_server.plans(call_context, as_of)
    if dry_run:
        show(call_context, by.to_apply(plan_id), diff=True)
        return
    for way, given in ways.items():
        if given:
            _show_ended(call_context, by.end(way, reason))
            return
    done = by.apply(plan_id, checksum, force or (), reason, by_hand=by_hand)
    if done is None:
        return
    show(call_context, done)
    if wait and done.old_answers_until:
        progress_bar.count_down(call_context.progress, done.old_answers_until)


def _show_ended(call_context: Context, plans: Sequence[PlanOutput]) -> None:
    for plan in plans:
        show(call_context, plan)
    if not plans:
        call_context.show_nothing("No plan was being applied; there is nothing to finish.")


def _refuse_two(ways: Mapping[str, bool], plan_id: str) -> None:
    """Raises BadParameter where it is said twice what is to become of which plan."""
    given = [name for name, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise typer.BadParameter(f"{given[1]} goes not with {given[0]}")
    if plan_id and given and given != ["--by-hand"]:
        raise typer.BadParameter(f"{given[0]} is about what was begun, and takes no plan")


def rollback(
    ctx: typer.Context,
    to: Annotated[
        str,
        typer.Option(
            metavar="PLAN",
            help="go back to the partition of this plan; the one before when left out",
        ),
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="make and show the plan, apply nothing")
    ] = False,
    force: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help="apply the plan although this rule forbids it; may be repeated"
        ),
    ] = None,
    as_of: AsOf = None,
    reason: Reason = "",
) -> None:
    """Go back to an earlier partition. This makes an ordinary plan, and applies it under the same
    rules.
    """
    call_context = context(ctx)
    plan_output = local_or_server.plans(call_context, as_of).go_back(
        to, force or (), reason, dry_run=dry_run
    )
    if plan_output:
        show(call_context, plan_output, diff=dry_run)


def verify(ctx: typer.Context, detailed_exitcode: Detailed = False) -> None:
    """Compare DNS with the partition in force. Every name server is asked for every name, and, with
    doors for all sites, every node by what its doors go.

    A secondary that is behind its primary is told so, and has `dns.settle` to follow. Exits 32 when
    a server says something else, when doors go by something else, or when sites are on nodes that
    are gone and could not be checked; 30 when a server does not answer and the others agree.
    """
    call_context = context(ctx)
    output = local_or_server.look(call_context).verification()
    call_context.show(
        output, lambda console: results_in_terminal.show_verification(console, output)
    )
    exit_as(output, detailed=detailed_exitcode)


def exit_as(output: VerifyOutput, *, detailed: bool) -> None:
    if output.drift and detailed:
        raise typer.Exit(10)
    if output.drift or output.not_checked or not output.doors_agree:
        raise typer.Exit(Unverified.exit_code)
    if not all(server.agrees for server in output.servers):
        # Nothing differs as far as anybody answered.
        raise typer.Exit(Unreachable.exit_code)


@only_here("a server has a timer that runs its nights")
def run(ctx: typer.Context, as_of: AsOf = None, force: Forced = None, wait: Wait = "0s") -> None:
    """Run the whole night: all steps, one after the other.

    Ingest, profile, plan, apply within the limits of [safety], verify, report.
    """
    from flex_api.facts import core_to_output_models
    from flex_api.night import nightly
    from flex_api.schemas.verbs_output import RunOutput

    call_context, waits = context(ctx), _time_of("--wait", wait)
    with open_world(call_context, as_of) as here:
        night = nightly.run(
            here,
            force or (),
            author="" if is_started_by_timer.is_started_by_timer() else author(),
            waits=waits,
        )
        stored = here.store.run_of(night.run.id)
    output = RunOutput(
        run=core_to_output_models.run_row(stored),
        plan=core_to_output_models.plan_output(night.plan),
        report=str(night.report),
    )
    call_context.show(
        output,
        lambda console: results_in_terminal.plan(
            console, core_to_output_models.plan_output(night.plan)
        ),
    )
    call_context.say(f"\nReport: {night.report}")
    if night.exit_code:
        raise typer.Exit(night.exit_code)


def _time_of(option: str, typed: str) -> timedelta:
    try:
        return quantities.span(typed)
    except ValueError as error:
        raise BadInput(
            f"{option} {typed!r:.100}",
            str(error),
            kept="nothing was begun",
            advice="give a number and a unit: s, m, h, d or w",
        ) from error


def report(
    ctx: typer.Context,
    plan_id: Annotated[
        str, typer.Argument(metavar="PLAN", help="the id of a plan; the latest when left out")
    ] = "",
    to: Annotated[Path | None, typer.Option(help="write to this file")] = None,
    pdf: Annotated[
        bool,
        typer.Option(
            "--pdf",
            help="as PDF beside it, too, printed by Chromium; with --server into the file of --to",
        ),
    ] = False,
    form: ReportForm = ReportFormat.HTML,
) -> None:
    """Write the report of a plan. HTML is one file that opens anywhere; JSON and Markdown go to
    standard output, and with --server HTML does.
    """
    call_context = context(ctx)
    document = local_or_server.look(call_context).report(plan_id, form.value, to, pdf=pdf)
    if isinstance(document, Path):
        _show_path(call_context, document)
    else:
        deliver(call_context, document, to)


def _show_path(call_context: Context, path: Path) -> None:
    from flex_api.schemas.verbs_output import ReportOutput

    call_context.show(ReportOutput(path=str(path)), lambda console: console.print(str(path)))


def deliver(call_context: Context, told: str | bytes, to: Path | None) -> None:
    """A report of any form where it was asked for. Raises BadInput for a printed one that has no
    file.
    """
    if to is None:
        write(_text(told))
        return
    page.put(told, to)
    _show_path(call_context, to)


def _text(told: str | bytes) -> str:
    if isinstance(told, bytes):
        raise BadInput(
            "--pdf without --to",
            "PDF is no text",
            kept="nothing was written",
            advice="say --to FILE",
        )
    return told


def status(ctx: typer.Context) -> None:
    """Show how the cluster is, and what waits for somebody. It tells what is known already of
    nodes, the last run and DNS: no name server is asked and no log is read.
    """
    call_context = context(ctx)
    output = local_or_server.look(call_context).status()
    call_context.show(output, lambda console: results_in_terminal.status(console, output, now()))


def history(
    ctx: typer.Context,
    limit: Limit = 20,
    long: Annotated[bool, typer.Option("--long", help="all that a run said")] = False,
) -> None:
    """List the latest runs. Each says how it ended, what moved, how good the predictions were."""
    call_context = context(ctx)
    output = local_or_server.look(call_context).runs(limit)
    call_context.show(output, lambda console: results_in_terminal.runs(console, output, whole=long))


def show(call_context: Context, plan: PlanOutput, *, diff: bool = False) -> None:
    call_context.show(plan, lambda console: results_in_terminal.plan(console, plan, diff=diff))
    if plan.old_answers_until and plan.old_answers_until > now():
        call_context.say(results_in_terminal.countdown(plan.old_answers_until, now()))

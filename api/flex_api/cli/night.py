"""The verbs of a night: plan, apply, rollback, verify, run, report, history."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flex.errors import BadInput, NoData, Unreachable, Unverified
from flex.loop.pending import WAITING
from flex.model.nightly_run import Run
from flex.model.plan import Plan
from flex_api.cli.common import (
    Context,
    DryRun,
    Reason,
    TakeBack,
    author,
    context,
    now,
    write,
)
from flex_api.cli.open_installation import open_world
from flex_api.cli.progress_bar import count_down
from flex_api.cli.timers import is_started_by_timer
from flex_api.known import present, verifying
from flex_api.night import (
    applying,
    approving,
    finishing,
    giving_up,
    nightly,
    permission,
    rules,
    undoing,
)
from flex_api.night.leases import lease
from flex_api.night.steps import Steps
from flex_api.report import paper, reporting
from flex_api.report.page import put
from flex_api.schemas.verbs import (
    PlanOutput,
    ReportOutput,
    RunOutput,
    RunsOutput,
    VerifyOutput,
)
from flex_api.told import text
from flex_api.wiring import World

AsOf = Annotated[
    datetime | None,
    typer.Option(
        "--as-of",
        formats=[
            "%Y-%m-%dT%H:%M:%S",
            "%Y-%m-%dT%H:%M:%SZ",
            "%Y-%m-%dT%H:%M",
            "%Y-%m-%dT%H:%MZ",
            "%Y-%m-%d",
        ],
        help="act as if it were this time (UTC, with or without a Z), to try old logs",
    ),
]
Forced = Annotated[
    list[str] | None,
    typer.Option(
        "--force",
        metavar="RULE",
        help="make the plan although this rule of [profile] or [safety] forbids it; may be repeated",
    ),
]
NOT_KEPT = "a dry run: this plan was shown and not kept"
Detailed = Annotated[
    bool,
    typer.Option(
        "--detailed-exitcode", help="exit 10 when there is something to change"
    ),
]


class ReportFormat(StrEnum):
    HTML = "html"
    JSON = "json"
    MARKDOWN = "md"


ReportForm = Annotated[ReportFormat, typer.Option("--format", help="html, json or md")]

plan_app = typer.Typer(
    help="Make a plan and show it. Nothing changes in DNS.",
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    for verb in (apply, rollback, verify, run, report, history):
        app.command()(verb)
    app.add_typer(plan_app, name="plan", invoke_without_command=True)


@plan_app.callback()
def plan(
    ctx: typer.Context,
    as_of: AsOf = None,
    detailed_exitcode: Detailed = False,
    diff: bool = False,
    force: Forced = None,
    take_back: TakeBack = None,
    reason: Reason = "",
) -> None:
    """Make a plan from the logs read so far and show it. DNS is read, never written."""
    if ctx.invoked_subcommand:
        return
    found = context(ctx)
    with open_world(found, as_of, reason=reason) as here, lease(here, "plan") as held:
        permission.refuse_half_applied(here, "making a plan")
        nightly.learn(here, force or ())
        plan = nightly.propose(
            here, force or (), author=author(), take_back=take_back or ()
        ).plan
        held.concerns(plan)
    show(found, plan, diff=diff)
    if detailed_exitcode and (plan.changes or plan.moves):
        raise typer.Exit(10)


@plan_app.command("list")
def plan_list(
    ctx: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20
) -> None:
    """The latest plans, newest first."""
    found = context(ctx)
    with open_world(found) as here:
        output = present.plans_output(here.store.plans(limit), here.store.in_force())
    found.show(output, lambda console: text.plans(console, output))


@plan_app.command("show")
def plan_show(
    ctx: typer.Context, plan_id: Annotated[str, typer.Argument(metavar="PLAN")]
) -> None:
    """Show one plan with its changes in DNS."""
    found = context(ctx)
    with open_world(found) as here:
        plan = here.store.plan(plan_id)
    show(found, plan, diff=True)


@plan_app.command("discard")
def plan_discard(
    ctx: typer.Context,
    plan_id: Annotated[str, typer.Argument(metavar="PLAN")],
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Put a plan aside. It cannot be applied any more."""
    found = context(ctx)
    with (
        open_world(found, reason=reason) as here,
        nullcontext() if dry_run else lease(here, "discard"),
    ):
        plan = approving.discard(here, plan_id, reason, dry_run=dry_run)
    show(found, plan)


def apply(
    ctx: typer.Context,
    plan_id: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="the id of a plan or the beginning of it; the latest when left out",
        ),
    ] = "",
    checksum: Annotated[
        str, typer.Option(help="refuse unless the plan's digest begins so")
    ] = "",
    force: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="apply the plan although this rule forbids it; may be repeated",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="finish what an interrupted run began")
    ] = False,
    abandon: Annotated[
        bool,
        typer.Option(
            "--abandon",
            help="give up what an interrupted run began; what DNS says becomes the partition in force",
        ),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="take back what an interrupted run began")
    ] = False,
    by_hand: Annotated[
        bool,
        typer.Option(
            "--by-hand",
            help="the plan is in DNS already: send nothing, and check every name server",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would be sent")
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="wait until no resolver has an old answer any more"
        ),
    ] = False,
    as_of: AsOf = None,
    reason: Reason = "",
) -> None:
    """Send a plan to the name server and check the answers. It is applied as it was shown, or
    refused.
    """
    found = context(ctx)
    _refuse_two(
        {
            "--resume": resume,
            "--undo": undo,
            "--abandon": abandon,
            "--by-hand": by_hand,
        },
        plan_id,
    )
    with open_world(found, as_of, reason=reason) as here:
        if dry_run:
            show(found, _plan_to_apply(here, plan_id), diff=True)
            return
        if resume or abandon or undo:
            _end(found, here, "resume" if resume else "undo" if undo else "abandon")
            return
        wanted = _plan_to_apply(here, plan_id)
        with lease(here, "apply") as held:
            held.concerns(wanted)
            rules.refuse_unknown(force or (), "applying a plan")
            step = Steps(here, held.run)
            way = (
                applying.accept
                if by_hand
                else partial(applying.apply, enters=step.enter)
            )
            plan = step.through(
                lambda: way(here, wanted.id, force=force or [], checksum=checksum),
                _became,
            )
    show(found, plan)
    if wait and plan.old_answers_until:
        count_down(found.progress, plan.old_answers_until)


def _refuse_two(ways: Mapping[str, bool], plan_id: str) -> None:
    """Raises BadParameter where it is said twice what is to become of which plan."""
    given = [name for name, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise typer.BadParameter(f"{given[1]} goes not with {given[0]}")
    if plan_id and given and given != ["--by-hand"]:
        raise typer.BadParameter(
            f"{given[0]} is about what was begun, and takes no plan"
        )


def _end(found: Context, here: World, way: str) -> None:
    """Whatever an interrupted run left half applied comes to an end, one way or another."""
    begun = here.store.plans(state="applying")
    with lease(here, way) as held:
        for plan in begun:
            held.concerns(plan)
        step = Steps(here, held.run)
        ways = {
            "resume": partial(
                step.through,
                lambda: finishing.finish(here, step.enter),
                lambda _: "done",
            ),
            "undo": partial(step, way, lambda: undoing.take_back(here), ", ".join),
            "abandon": partial(step, way, lambda: giving_up.give_up(here), ", ".join),
        }
        ways[way]()
        ended = [here.store.plan(plan.id) for plan in begun]
    for plan in ended:
        show(found, plan)
    if not begun:
        found.show_nothing("No plan was being applied; there is nothing to finish.")


def _became(plan: Plan) -> str:
    return plan.state


def _plan_to_apply(here: World, plan_id: str) -> Plan:
    """Where none is named it is what a killed run began, else the latest that can be applied still."""
    if plan_id:
        return here.store.plan(plan_id)
    in_force = here.store.in_force()
    waiting = [
        one
        for one in here.store.plans()
        if one.state in WAITING and one.base == in_force
    ]
    found = (*here.store.plans(state="applying"), *waiting)
    if not found:
        raise NoData(
            "the plan to apply",
            "none waits",
            kept="nothing was changed",
            advice="make one with `flex plan`",
        )
    return found[0]


def _latest(here: World) -> Plan:
    latest = here.store.plans(1)
    if not latest:
        raise NoData(
            "the latest plan",
            "there is none",
            kept="nothing was changed",
            advice="make one with `flex plan`",
        )
    return latest[0]


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
    force: Annotated[list[str] | None, typer.Option(metavar="RULE")] = None,
    as_of: AsOf = None,
    reason: Reason = "",
) -> None:
    """Go back to an earlier partition. This makes an ordinary plan, under the same rules."""
    found = context(ctx)
    rules.refuse_unknown(force or (), "going back")
    if dry_run:
        with open_world(found, as_of) as here:
            permission.refuse_half_applied(here, "making a plan back")
            made = nightly.way_back(here, nightly.earlier(here.store, to)).plan
        # Shown only: a plain `flex apply` must never carry out what somebody merely looked at.
        show(
            found,
            replace(made, state="discarded", author=author(), message=NOT_KEPT),
            diff=True,
        )
        return
    with (
        open_world(found, as_of, reason=reason) as here,
        lease(here, "rollback") as held,
    ):
        permission.refuse_half_applied(here, "making a plan back")
        plan = nightly.go_back(
            here, nightly.earlier(here.store, to), author=author()
        ).plan
        held.concerns(plan)
        step = Steps(here, held.run)
        plan = step.through(
            lambda: applying.apply(here, plan.id, force=force or [], enters=step.enter),
            _became,
        )
    show(found, plan)


def verify(ctx: typer.Context, detailed_exitcode: Detailed = False) -> None:
    """Compare DNS with the partition in force. Every name server is asked for every name.

    A secondary that is behind its primary is told so, and has `dns.settle` to follow. Exits 32 when
    a server says something else, or when sites are on nodes that are gone and could not be checked;
    30 when a server does not answer and the others agree.
    """
    found = context(ctx)
    with open_world(found) as here:
        patience = here.settings.dns.settle.total_seconds()
        output = present.verify_output(verifying.verify(here, patience))
    found.show(output, lambda console: text.show_verification(console, output))
    exit_as(output, detailed=detailed_exitcode)


def exit_as(output: VerifyOutput, *, detailed: bool) -> None:
    if output.drift and detailed:
        raise typer.Exit(10)
    if output.drift or output.not_checked:
        raise typer.Exit(Unverified.exit_code)
    if not all(server.agrees for server in output.servers):
        # Nothing differs as far as anybody answered.
        raise typer.Exit(Unreachable.exit_code)


def run(ctx: typer.Context, as_of: AsOf = None, force: Forced = None) -> None:
    """Run the whole night: all steps, one after the other.

    Ingest, profile, plan, apply within the limits of [safety], verify, report.
    """
    found = context(ctx)
    with open_world(found, as_of) as here:
        night = nightly.run(
            here, force or (), author="" if is_started_by_timer() else author()
        )
        stored = next(run for run in here.store.runs() if run.id == night.run.id)
    output = RunOutput(
        run=present.run_row(stored),
        plan=present.plan_output(night.plan),
        report=str(night.report),
    )
    found.show(
        output, lambda console: text.plan(console, present.plan_output(night.plan))
    )
    found.say(f"\nReport: {night.report}")
    if night.exit_code:
        raise typer.Exit(night.exit_code)


def report(
    ctx: typer.Context,
    plan_id: Annotated[
        str,
        typer.Argument(
            metavar="PLAN", help="the id of a plan; the latest when left out"
        ),
    ] = "",
    to: Annotated[Path | None, typer.Option(help="write to this file")] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="as PDF beside it, too, printed by Chromium")
    ] = False,
    form: ReportForm = ReportFormat.HTML,
) -> None:
    """Write the report of a plan. HTML is one file that opens anywhere; JSON and Markdown go to
    standard output.
    """
    found = context(ctx)
    with open_world(found) as here:
        plan = here.store.plan(plan_id) if plan_id else _latest(here)
        if form is not ReportFormat.HTML:
            deliver(found, reporting.report_text(here, plan, form), to)
            return
        path = reporting.write(here, plan, to)
    if pdf:
        path = paper.print_pdf(path, path.with_suffix(".pdf"))
    found.show(ReportOutput(path=str(path)), lambda console: console.print(str(path)))


def deliver(found: Context, told: str | bytes, to: Path | None) -> None:
    """A report of any form where it was asked for. Raises BadInput for a printed one that has no
    file.
    """
    if to is None:
        write(_text(told))
        return
    put(told, to)
    found.show(ReportOutput(path=str(to)), lambda console: console.print(str(to)))


def _text(told: str | bytes) -> str:
    if isinstance(told, bytes):
        raise BadInput(
            "--pdf without --to",
            "PDF is no text",
            kept="nothing was written",
            advice="say --to FILE",
        )
    return told


def history(
    ctx: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20
) -> None:
    """List the latest runs. Each says how it ended, what moved, how good the predictions were."""
    found = context(ctx)
    with open_world(found) as here:
        runs = here.store.runs(limit)
        output = RunsOutput(
            items=[present.run_row(run, _plan_of(here, run)) for run in runs]
        )
    found.show(output, lambda console: text.runs(console, output))


def _plan_of(here: World, run: Run) -> Plan | None:
    return here.store.plan(run.plan) if run.plan else None


def show(found: Context, plan: Plan, *, diff: bool = False) -> None:
    output: PlanOutput = present.plan_output(plan)
    found.show(output, lambda console: text.plan(console, output, diff=diff))
    if plan.old_answers_until and plan.old_answers_until > now():
        found.say(text.countdown(plan.old_answers_until, now()))

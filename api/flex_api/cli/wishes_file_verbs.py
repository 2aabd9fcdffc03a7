"""The verbs that keep what people decided as a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput, FlexError, Held, Infeasible, Unknown
from flex.model.wish import Pin
from flex_api.cli import local_or_server
from flex_api.cli.common import Context, Format, author, context, now, write

if TYPE_CHECKING:
    from rich.console import Console

    from flex_api.schemas.standing_decisions import Decisions, DifferenceRow
    from flex_api.wishes.decisions_file import Difference

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="a file that `flex wishes export` wrote")
]

wishes_app = typer.Typer(
    help="Keep what people decided as a file. It has wishes, nodes out of service, and a freeze.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(wishes_app, name="wishes")


@wishes_app.command("export")
def wishes_export(ctx: typer.Context) -> None:
    """Print all of it as TOML, always in the same order: for version control, or for the day when
    the database is lost.
    """
    from flex_api.schemas.standing_decisions import DecisionsOutput
    from flex_api.wishes import decisions_file

    call_context = context(ctx)
    decided = _decisions_now(call_context)
    if call_context.output is Format.JSON:
        output = DecisionsOutput(wish=[*decided.wish], node=[*decided.node], freeze=decided.freeze)
        call_context.show(output, lambda _: None)
    else:
        # Also with -q: it is the result.
        write(decisions_file.text(decided))


@wishes_app.command("diff")
def wishes_diff(
    ctx: typer.Context,
    file: File,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="10 where anything differs")
    ] = False,
) -> None:
    """Show in what a file differs from what is decided now."""
    from flex_api.schemas.standing_decisions import DifferencesOutput

    call_context = context(ctx)
    rows = [difference.row() for difference in _differences(call_context, file)]
    call_context.show(DifferencesOutput(items=rows, carried_out=0), partial(_print, rows))
    if rows and detailed_exitcode:
        raise typer.Exit(10)


@wishes_app.command("apply")
def wishes_apply(ctx: typer.Context, file: File) -> None:
    """Decide what a file has, and take back what it does not have, as the verb for each does. What
    is refused is left as it is, and the rest is carried out.

    A node is taken down by `flex nodes down` alone, and up by `flex nodes up`.
    """
    from flex_api.schemas.standing_decisions import DifferencesOutput

    call_context = context(ctx)
    rows: list[DifferenceRow] = []
    refused: list[FlexError] = []
    for difference in _differences(call_context, file):
        why = ""
        try:
            if not difference.why_left:
                _carry_out(call_context, difference, f"as {file.name} has it")
        except (BadInput, Unknown, Infeasible, Held) as error:
            refused.append(error)
            why = error.answer
        rows.append(difference.row(why))
    done = sum(not row.left for row in rows)
    call_context.show(DifferencesOutput(items=rows, carried_out=done), partial(_print, rows))
    call_context.say(f"{done} of {len(rows)} carried out." if rows else "Nothing differs.")
    if refused:
        first = refused[0]
        raise type(first)(
            f"deciding what {file} has: {first.asked}",
            first.answer,
            kept=f"{done} of {len(rows)} differences were carried out, {len(refused)} refused",
            advice=f"{first.advice}; then apply the file again",
        )


def _decisions_now(call_context: Context) -> Decisions:
    from flex_api.schemas.standing_decisions import (
        Decisions,
        FreezeDecided,
        NodeDecided,
        WishDecided,
    )
    from flex_api.wishes import decisions_file

    freeze = local_or_server.freezing(call_context).now()
    every = local_or_server.nodes(call_context).every().items
    decided = Decisions(
        wish=tuple(
            WishDecided.model_validate(row.model_dump(exclude={"author", "holds"}))
            for row in local_or_server.sites(call_context).wishes()
        ),
        node=tuple(
            NodeDecided(node=row.node, state=row.state, deadline=row.deadline, reason=row.reason)
            for row in every
            if row.state != "active"
        ),
        freeze=FreezeDecided(until=freeze.until, reason=freeze.reason) if freeze.frozen else None,
    )
    return decisions_file.drop_ended(decided, now())


def _differences(call_context: Context, file: Path) -> list[Difference]:
    from flex_api.wishes import decisions_file

    decided = _decisions_now(call_context)
    wanted = decisions_file.drop_ended(decisions_file.read(file), now())
    return decisions_file.differences(decided, wanted)


def _carry_out(call_context: Context, difference: Difference, reason: str) -> None:
    from flex_api.schemas.standing_decisions import FreezeDecided, NodeDecided, WishDecided

    match difference.wanted or difference.now:
        case WishDecided():
            _wish(call_context, difference, reason)
        case NodeDecided():
            nodes = local_or_server.nodes(call_context)
            if isinstance(difference.wanted, NodeDecided):
                ends, why = difference.wanted.deadline, difference.wanted.reason
                nodes.drain(difference.of, ends, why, dry_run=False)
            else:
                nodes.undrain(difference.of, reason, dry_run=False)
        case _:
            freezing = local_or_server.freezing(call_context)
            if isinstance(difference.wanted, FreezeDecided):
                freezing.freeze(difference.wanted.until, difference.wanted.reason, dry_run=False)
            else:
                freezing.thaw(reason, dry_run=False)


def _wish(call_context: Context, difference: Difference, reason: str) -> None:
    from flex_api.schemas.standing_decisions import WishDecided

    sites, now, wanted = local_or_server.sites(call_context), difference.now, difference.wanted
    pin = Pin(**dict(wanted), author=author()) if wanted else None
    assert now is None or isinstance(now, WishDecided)
    # A wish with an end would come on top of the one without, which is to go.
    replaces = bool(pin and pin.until and not pin.campaign and now and now.until is None)
    if pin and replaces:
        sites.pin(pin, dry_run=True)
    if now and (replaces or not pin):
        sites.unpin(now.site, now.campaign, reason, dry_run=False)
    if pin:
        sites.pin(pin, dry_run=False)


def _print(rows: Sequence[DifferenceRow], console: Console) -> None:
    for row in rows:
        sign = "~" if row.now and row.wanted else "+" if row.wanted else "-"
        decision = f"{row.wanted} (now: {row.now})" if sign == "~" else row.wanted or row.now
        left = f"; left as it is: {row.left}" if row.left else ""
        name = " ".join(filter(None, [row.kind, row.of]))
        console.print(f"{sign} {name}: {decision}{left}")

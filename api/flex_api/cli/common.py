"""What all verbs share: the global options, one way to print, one way to fail."""

from __future__ import annotations

import os
import pwd
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput, FlexError
from flex_api.cli import is_started_by_timer
from flex_api.settings import file as config

if TYPE_CHECKING:
    # What shows tables, and what asks a server: not every verb does either.
    from rich.console import Console

    from flex_api.client import Client
    from flex_api.schemas.output_base import Output
    from flex_api.settings.file import Settings


def _clean(given: str) -> str:
    """Text that databases keep and terminals show, as the API takes it too. Raises BadInput."""
    if not given:
        return given
    from flex_api.schemas.request_and_list_base import CLEAN, LONGEST_TEXT

    if len(given) > LONGEST_TEXT or not re.fullmatch(CLEAN, given):
        raise BadInput(
            f"the text {given[:40]!r}",
            f"it holds control characters, or is longer than {LONGEST_TEXT}",
            advice="write it on one line, in plain text",
        )
    return given


# Options and arguments that mean the same everywhere.
Reason = Annotated[
    str, typer.Option(callback=_clean, help="the reason, which is kept in the audit log")
]
Campaign = Annotated[
    str,
    typer.Option(
        callback=_clean,
        metavar="NAME",
        help="the name of a campaign: a wish on top of the permanent one",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="check it, change nothing")]
TakeBack = Annotated[
    list[str] | None,
    typer.Option(
        "--take-back",
        metavar="SITE",
        help="say in DNS again what FLEX said there, though somebody else changed "
        "it; may be repeated",
    ),
]
SiteName = Annotated[str, typer.Argument(metavar="SITE", help="the name of a site")]
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="the name of a node")]
PlanId = Annotated[str, typer.Argument(metavar="PLAN", help="its id or the beginning of it")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="show at most this many, the newest")]


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


def write(told: str) -> None:
    """To standard output as it is."""
    sys.stdout.write(told)
    sys.stdout.flush()


@dataclass(slots=True)
class Context:
    """The global options of one call. Settings are read when a verb first asks for them."""

    config: Path | None = None
    output: Format = Format.TABLE
    quiet: bool = False
    color: bool = True
    remote: Client | None = None
    _settings: Settings | None = field(default=None, repr=False)

    @property
    def path(self) -> Path:
        return config.config_path(self.config)

    @property
    def settings(self) -> Settings:
        if self._settings is None:
            self._settings = config.load(self.path)
        return self._settings

    @property
    def console(self) -> Console:
        """Where results go. Without a terminal there is no colour and no line is cut."""
        return self._console(
            width=None if sys.stdout.isatty() else 200, soft_wrap=not sys.stdout.isatty()
        )

    @property
    def progress(self) -> Console | None:
        """Where progress goes: only to a person's terminal."""
        if not sys.stderr.isatty() or self.quiet or self.output is not Format.TABLE:
            return None
        return self._console(stderr=True)

    def _console(
        self, *, stderr: bool = False, width: int | None = None, soft_wrap: bool = False
    ) -> Console:
        """What is printed is shown as it is: `[ingest]` is no markup, nor has an address `::100:` a
        picture in it.
        """
        from rich.console import Console

        return Console(
            stderr=stderr,
            width=width,
            soft_wrap=soft_wrap,
            no_color=None if self.color else True,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def say(self, line: str) -> None:
        """A line of the running story, for people only."""
        if self.output is Format.TABLE and not self.quiet:
            self.console.print(line)

    def show_nothing(self, line: str) -> None:
        """Where there is no result: a line for people, and for programs what JSON has for it."""
        if self.output is Format.JSON:
            write("null\n")
        self.say(line)

    def show(self, output: Output, table: Callable[[Console], None]) -> None:
        """The result, as the caller wants it."""
        if self.output is Format.JSON:
            write(output.model_dump_json(indent=2) + "\n")
        elif not self.quiet:
            table(self.console)


def context(ctx: typer.Context) -> Context:
    call_context = ctx.obj
    assert isinstance(call_context, Context), "the application's callback makes it"
    return call_context


def now() -> datetime:
    return datetime.now(UTC)


def moment_in_range(option: str, given: datetime) -> datetime:
    """A moment that a person wrote, in UTC. Raises BadInput for one so far away that no calendar
    can count from it.
    """
    from flex_api.schemas.request_and_list_base import EARLIEST, LATEST

    moment = given if given.tzinfo else given.replace(tzinfo=UTC)
    if not EARLIEST <= moment < LATEST:
        raise BadInput(
            f"{option} {given.isoformat()}",
            f"it is not between {EARLIEST:%Y-%m-%d} and {LATEST:%Y-%m-%d}",
            advice="write a moment between these, such as 2026-12-01T06:00",
        )
    return moment.astimezone(UTC)


def moment(option: str, given: str) -> datetime | None:
    """What an option says, None where it says nothing. Raises BadInput for what is no moment."""
    if not given:
        return None
    try:
        return moment_in_range(option, datetime.fromisoformat(given))
    except ValueError as error:
        advice = "write it as 2026-12-01T06:00Z"
        raise BadInput(f"{option} {given}", str(error), advice=advice) from error


def split_names(names: str) -> tuple[str, ...]:
    """What stands between commas: n1, n2."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def author() -> str:
    """The user who gives the order, by the name in the system: who signed in, also where sudo or
    runuser runs the command as FLEX's own user. Where the kernel does not say who signed in, it is
    the user as whom the command runs.
    """
    user = is_started_by_timer.signed_in(is_started_by_timer.PROC, os.getpid())
    if user == is_started_by_timer.NOBODY:
        user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def fail(error: FlexError, output: Format) -> int:
    """Say it once, on standard error, and give the exit code from the table."""
    if output is Format.JSON:
        from flex_api.schemas.output_base import ErrorOutput, StopRow

        problem = ErrorOutput(
            error=error.slug,
            exit_code=error.exit_code,
            asked=error.asked,
            answer=error.answer,
            unchanged=error.kept,
            next_step=error.advice,
            stops=[
                StopRow(
                    rule=stop.rule,
                    limit=stop.limit,
                    actual=stop.actual,
                    said=stop.said,
                    override=stop.way_past,
                )
                for stop in error.stops
            ],
        )
        sys.stderr.write(problem.model_dump_json(indent=2) + "\n")
    else:
        sys.stderr.write(f"flex: {error}\n  unchanged: {error.kept}\n  next: {error.advice}\n")
    return error.exit_code


def crash(error: BaseException, output: Format) -> int:
    """A bug: keep the traceback in a file of the user's own, and say where it is."""
    import tempfile
    import traceback

    descriptor, name = tempfile.mkstemp(prefix="flex-crash-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("".join(traceback.format_exception(error)))
    fault = FlexError(
        "this is a fault in FLEX itself",
        type(error).__name__,
        kept="a change that was being made is finished or undone by the next `flex run`",
        advice=f"report it with the file {name}",
    )
    return fail(fault, output)

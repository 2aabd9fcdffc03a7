"""The command line, `flex`. Only this package prints, and only here do errors become exit codes.

The module of a verb is loaded when somebody asks for the verb; `flex --help` loads none. Such a
module names what the verb works with and loads little of it before the verb runs (see
flex_api/__init__.py): help and errors come at once, and a person who takes a dead node out of DNS
does not wait for what other verbs need.

Who reads standard output or standard error may go away, as `head` does; that is no error. FLEX and
the libraries that it prints with each report a broken pipe in their own way; here all of them raise
OutputUnread.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn, TextIO

import typer
from typer._click.core import Command
from typer._click.exceptions import ClickException, UsageError

# Typer does not say that it exports this.
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.core import TyperGroup
from typer.main import get_group

from flex.errors import BadInput, FlexError, Misused
from flex_api.cli.common import Context, Format, crash, fail
from flex_api.cli.verb_groups import FIRST, VERBS, VerbGroups

HELP = """
Decide which node of a web-hosting cluster serves which site, and publish that in DNS.

Every night FLEX reads the access logs and measures the load of each site. It looks for a
partition that balances the nodes and moves few sites. It sends the changed addresses to the name
server, checks the answers and writes a report.
"""

EXIT_CODES = """
Exit codes: 0 done, or nothing to do. 1 a fault in FLEX. 2 wrong usage. 3 settings or input that
cannot be used. 10 drift or changes found (only with --detailed-exitcode). 20 logs too old or
missing, or no plan or partition yet. 21 wishes that cannot be met. 22 waits for approval, or over a
limit. 23 another run is at work, or changes are frozen. 24 a folder cannot be written. 25 the
database failed. 26 not allowed. 27 the FLEX server, or HAProxy, does not answer. 30 DNS refused or
unreachable, nothing changed. 31 some of a plan is applied. 32 applied, but the name servers
disagree. 33 a dead node is out of DNS, except for sites that stay with their content, or names that
FLEX may not change. 130, 143 interrupted. 137: the run was killed
(only in `flex history`).

Results go to standard output, errors to standard error. With -o json an error is one object
(docs/schemas/error.json); standard output is then empty, or holds the whole result that the exit
code is about.

Words such as fair share, cold, at rest and given up are explained in
docs/reference/glossary.md, and on the page /glossary.
"""

MORE = f"""
{len(VERBS) - len(FIRST)} more verbs: flex help all. One of them: flex help VERB.
What the exit codes mean, and where results and errors go: flex help exit-codes.
"""

UNTOUCHED = "nothing was read or changed"
# Objects made before the collector looks for circles among them. A plan of ten thousand sites is
# hundreds of thousands, none of them in a circle, and looking through them at Python's own pace
# takes a third of the time of such a verb.
COLLECTED_AFTER = 400_000


def application() -> TyperGroup:
    app = typer.Typer(
        name="flex",
        cls=VerbGroups,
        help=HELP,
        epilog=MORE,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(options)
    return get_group(app)


def options(
    ctx: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", help="settings file; else $FLEX_CONFIG, else /etc/flex/flex.toml"
        ),
    ] = None,
    output: Annotated[
        Format, typer.Option("--output", "-o", help="for people or for programs")
    ] = Format.TABLE,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="also: NO_COLOR in the environment")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="errors only")] = False,
    server: Annotated[
        str,
        typer.Option(
            help="send the verb to the FLEX server at this address, "
            "such as https://flex.example.net"
        ),
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(help="for --server: the file with the token")
    ] = None,
) -> None:
    context = ctx.obj
    assert isinstance(context, Context), "main makes it"
    context.config = config
    context.output = output
    context.quiet = quiet
    context.color = not no_color
    if server:
        from flex_api.cli.client_from_options import client_of

        context.remote = client_of(server, token_file)


def main() -> NoReturn:
    """The program: an interruption, too, ends at a safe point with its own exit code."""
    gc.set_threshold(COLLECTED_AFTER)
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    _wrap_output_streams()
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except OutputUnread:
        code = _drop_unread_output()
    # What is left goes with the process: Python would look through it all for circles first, for a
    # fifth of a second. But DuckDB takes what is not looked through for a fault, and says so.
    if "_duckdb" not in sys.modules:
        gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a verb; whatever happens, one clear message and an exit code from the table. Raises
    OutputUnread.
    """
    context = Context()
    # Typer's own set-up of completion comes with two options that `flex completion` replaces.
    completion_init()
    try:
        # Without its own ways to end: a code for an end before the verb's, nothing for its end.
        ended: object = application()(
            args=list(arguments), obj=context, prog_name="flex", standalone_mode=False
        )
        return ended if isinstance(ended, int) else 0
    except SystemExit as ended:
        return int(ended.code or 0)
    except typer.Abort:
        return 1
    except ClickException as error:
        return report_misuse(error, arguments)
    except FlexError as error:
        return fail(error, context.output)
    except OutputUnread:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or _is_ours(error.name):
            return crash(error, context.output)
        return fail(_not_here(error.name, arguments), context.output)
    # The last line of defence: a bug is reported, not shown.
    except Exception as error:  # noqa: BLE001
        return crash(error, context.output)
    return 0


def _is_ours(module: str) -> bool:
    return module.partition(".")[0].partition("_")[0] == "flex"


def _not_here(module: str, arguments: Sequence[str]) -> BadInput:
    return BadInput(
        f"flex {' '.join(arguments)}"[:200],
        f"the Python package {module} is not installed here",
        kept="what the verb had done before is kept",
        advice="a node has only what it needs to count logs and to follow orders for "
        "doors (flex-node): do this on the controller, or install flex-controller here",
    )


def report_misuse(error: ClickException, arguments: Sequence[str]) -> int:
    """What Typer could not read, as it says so, or as one problem where JSON is asked for: the
    context may not know.
    """
    if isinstance(error, UsageError) and "extra argument" in error.message and error.ctx:
        error.message += _options_besides(error.ctx.command)
    if not _asks_for_json(arguments):
        error.show()
        return error.exit_code
    command = f"flex {' '.join(arguments)}"[:200]
    return fail(
        Misused(command, error.format_message(), kept=UNTOUCHED, advice="see `flex help all`"),
        Format.JSON,
    )


def _options_besides(verb: Command) -> str:
    """Who writes a word too many mostly means the value of an option."""
    options = [
        each.opts[0]
        for each in verb.params
        if each.param_type_name == "option" and each.name not in ("output", "help", "dry_run")
    ]
    return f"; other values are given by options: {', '.join(options)}" if options else ""


def _asks_for_json(arguments: Sequence[str]) -> bool:
    pairs = pairwise([*arguments, ""])
    return any(
        (argument in ("-o", "--output") and value == Format.JSON)
        or argument in ("-ojson", "--output=json")
        for argument, value in pairs
    )


def _interrupt(number: int, _: FrameType | None) -> NoReturn:
    words = set(sys.argv[1:])
    # Who serves or simulates leaves no work that a run would take up.
    if words & {"serve", "follow"}:
        message = "stopped"
    elif words & {"simulate", "assess"}:
        message = "interrupted; nothing was kept"
    else:
        message = "interrupted; the next run takes the work up where it ended"
    sys.stderr.write(f"flex: {message}\n")
    sys.exit(128 + number)


class OutputUnread(Exception):
    """Who reads the output had enough of it before its end."""


class Piped(TextIOWrapper):
    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError as error:
            raise OutputUnread from error

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError as error:
            raise OutputUnread from error


def _wrap_output_streams() -> None:
    """Have standard output and standard error raise OutputUnread."""
    sys.stdout, sys.stderr = _pipe(sys.stdout), _pipe(sys.stderr)


def _pipe(stream: TextIO | None) -> TextIO:
    """What the caller closed leads nowhere."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, TextIOWrapper):
        return stream
    encoding, errors, by_line = stream.encoding, stream.errors, stream.line_buffering
    return Piped(stream.detach(), encoding, errors, line_buffering=by_line)


def _drop_unread_output() -> int:
    """Return the exit code of a program that a broken pipe ended. The rest goes nowhere."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OutputUnread:
            _lead_to_nowhere(stream)
    return 128 + signal.SIGPIPE


def _lead_to_nowhere(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    # What it still holds is written to nowhere, and not again when the program ends.
    with suppress(OutputUnread):
        stream.flush()

"""The verbs for logs: ingest, import, data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput
from flex.planning import missing_readings
from flex.site_names_in_words import first_few
from flex_api import ingest_only, site_cgroups, wiring
from flex_api.cli import local_or_server, progress_bar
from flex_api.cli.common import Context, Reason, context, now
from flex_api.cli.local_only import AsOf, argument_here, only_here, option_here
from flex_api.cli.open_installation import open_world
from flex_api.facts import choose_log_sources, log_files_not_read, logs_good_enough
from flex_api.in_words import amounts, results_in_terminal
from flex_api.night import leases, nightly
from flex_api.report import logs_output
from flex_logs_ingest.files import find_and_unpack_logs
from flex_logs_ingest.parcels import parcel_intake
from flex_logs_ingest.reading import malformed_lines_file
from flex_logs_ingest.scan import site_rules

if TYPE_CHECKING:
    from flex_api.facts.choose_log_sources import AskedSources
    from flex_api.ingest_only import Cpu
    from flex_api.settings.file import Settings
    from flex_logs_ingest.files.find_and_unpack_logs import Source
    from flex_logs_ingest.parcels.parcel_intake import Arrival
    from flex_logs_ingest.reading.malformed_lines_file import Invalid
    from flex_logs_ingest.reading.read_logs import FileReport

# Why a server does not take some of what is said of logs.
SOURCES_OF_SERVER = "a server reads the logs that its own settings name"
FILES_HERE = "it is a file of the machine that reads the logs"
# The largest size of the file of malformed lines, in MB. A guess.
INVALID_LIMIT = 100

Detailed = Annotated[
    bool,
    typer.Option("--detailed-exitcode", help="exit 20 when the logs are too bad to make a plan"),
]


def add_to(app: typer.Typer) -> None:
    app.command()(ingest)
    app.command("import")(import_)
    app.command()(data)


def ingest(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        argument_here(
            SOURCES_OF_SERVER,
            metavar="[FILE]...",
            help="read these files; - is standard input; all that is new in every "
            "source when left out",
        ),
    ] = None,
    source: Annotated[
        str, typer.Option(metavar="NAME", help="this source of the settings: n1 or n1:example.org")
    ] = "",
    node: Annotated[
        str, option_here(SOURCES_OF_SERVER, help="the files are logs of this node")
    ] = "",
    site: Annotated[str, option_here(SOURCES_OF_SERVER, help="and of this site")] = "",
    format_: Annotated[
        str, option_here(SOURCES_OF_SERVER, "--format", help="and in this format, or auto")
    ] = "",
    invalid: Annotated[
        Path | None,
        option_here(FILES_HERE, metavar="FILE", help="write every malformed line to this file"),
    ] = None,
    invalid_limit: Annotated[
        int, option_here(FILES_HERE, metavar="MB", min=1, help="the largest size of that file")
    ] = INVALID_LIMIT,
    partials_only: Annotated[
        Path | None,
        option_here(
            FILES_HERE,
            metavar="DIR",
            help="count beside the logs, without the database: parcels go to DIR/out",
        ),
    ] = None,
    count_copies: Annotated[
        bool,
        option_here(
            SOURCES_OF_SERVER,
            "--count-copies",
            help="count FILE also where it was taken for a counted log that was edited",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        option_here(
            "a server says how much it read, not of which files",
            "--verbose",
            help="a row for every file",
        ),
    ] = False,
    reason: Reason = "",
) -> None:
    """Read what is new in the access logs. Every line is counted once, however often this runs.

    A log is known by what it contains, so a file, a packed copy of it and a pipe that brings it
    count once. So does a file whose addresses were masked after it was read: `flex data` shows it,
    and --count-copies counts it all the same.

    With --server it reads what is new in the sources of the server, and waits for that.
    """
    call_context = context(ctx)
    asked_sources = choose_log_sources.AskedSources(tuple(files or ()), source, node, site, format_)
    if call_context.remote:
        from flex_api.cli.on_a_server import read_new_logs as there

        output, unread = there.read_logs(call_context, call_context.remote, source, reason)
        call_context.show(output, lambda console: console.print(there.line(output)))
        if unread:
            raise unread
        return
    if count_copies and not files:
        raise _no_copies()
    cpu, next_step = None, ""
    with _invalid(invalid, invalid_limit) as bad:
        if partials_only:
            cpu = _cpu(call_context)
            reports = _ingest_partials_only(
                call_context, asked_sources, partials_only, bad, count_copies, cpu
            )
        else:
            with open_world(call_context, reason=reason) as here, leases.lease(here, "ingest"):
                chosen_ = _choose_sources_in_settings(asked_sources, here.settings)
                if count_copies:
                    here.store.note(
                        "ingest.count-copies",
                        ", ".join(map(find_and_unpack_logs.path_text, asked_sources.files)),
                        None,
                        None,
                    )
                reports = nightly.ingest(here, chosen_, bad, count_copies)
                next_step = logs_good_enough.first_plan(here.settings, here.store, here.clock())
    read = logs_output.ingest_output(
        reports, bad, partials_only, cpu.wrong if cpu else (), next_step
    )
    call_context.show(
        read, lambda console: results_in_terminal.ingest(console, read, every=verbose)
    )
    if unread := log_files_not_read.error_of_unread(
        reports, set(map(find_and_unpack_logs.path_text, files or ()))
    ):
        raise unread


def _choose_sources_in_settings(
    asked_sources: AskedSources, settings: Settings
) -> tuple[Source, ...]:
    if not asked_sources.files:
        return choose_log_sources.choose(asked_sources, wiring.sources(settings))
    source = choose_log_sources.source_of_files(
        asked_sources, wiring.sources(settings), wiring.site_names(settings)
    )
    nodes = [section.name for section in settings.node]
    if source.node not in nodes:
        raise BadInput(
            f"logs of {source.node!r}",
            f"the nodes are {', '.join(nodes) or 'none'}",
            kept="nothing was read",
            advice="name one of them, or add it to the settings",
        )
    return (source,)


def _no_copies() -> BadInput:
    return BadInput(
        "--count-copies",
        "this option is about files, and none is named",
        kept="nothing was read",
        advice="name the files: `flex data` shows those that were taken for copies",
    )


def _ingest_partials_only(
    call_context: Context,
    asked_sources: AskedSources,
    directory: Path,
    invalid: Invalid | None,
    count_copies: bool,
    cpu: Cpu | None,
) -> tuple[FileReport, ...]:
    """A machine with nothing but logs needs no settings when the command line says what they
    are.
    """
    with progress_bar.following(call_context.progress) as told:
        return ingest_only.ingest(
            _choose_sources_on_machine(call_context, asked_sources),
            directory,
            now(),
            told,
            invalid,
            count_copies,
            cpu,
        )


def _cpu(call_context: Context) -> Cpu | None:
    """None where no settings name cgroups of sites."""
    if not call_context.path.exists() or not call_context.settings.ingest.cpu:
        return None
    site_of = wiring.site_names(call_context.settings).naming()
    return ingest_only.read_cpu(
        site_cgroups.patterns(call_context.settings.ingest.cpu),
        lambda name: site_of(name.encode()),
    )


def _choose_sources_on_machine(
    call_context: Context, asked_sources: AskedSources
) -> tuple[Source, ...]:
    if asked_sources.files and asked_sources.node and not call_context.path.exists():
        return (choose_log_sources.source_of_files(asked_sources, (), site_rules.SiteRule()),)
    every = wiring.sources(call_context.settings)
    return (
        (
            choose_log_sources.source_of_files(
                asked_sources, every, wiring.site_names(call_context.settings)
            ),
        )
        if asked_sources.files
        else choose_log_sources.choose(asked_sources, every)
    )


@contextmanager
def _invalid(path: Path | None, megabytes: int) -> Iterator[Invalid | None]:
    if path is None:
        yield None
        return
    with malformed_lines_file.Invalid(path, megabytes * 10**6) as file:
        yield file


@only_here("parcels are files of the machine that takes them in")
def import_(
    ctx: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="parcels, or directories they arrive in")
    ],
    node: Annotated[str, typer.Option(help="refuse parcels of another node")] = "",
    delete: Annotated[
        bool, typer.Option("--delete", help="remove each parcel that is in the database")
    ] = False,
) -> None:
    """Import counts that were made on another machine. They are those of
    `flex ingest --partials-only`. A parcel counts once, however often it
    comes.

    Each parcel is checked whole before it is used. A damaged one is refused, the others are taken.
    """
    call_context = context(ctx)
    with open_world(call_context) as here, leases.lease(here, "import"):
        allowed = _sources_allowed(here.settings, node)
        # What is to be removed is looked at first: nobody could send it again.
        taken = parcel_intake.take(
            paths, here.store, here.settings.ingest.directory, allowed, known_too=delete
        )
        missing = missing_readings.holes(
            [arrival.segment for arrival in taken if arrival.segment], here.store
        )
    if delete:
        _delete(taken)
    output = logs_output.import_output(taken, missing)
    call_context.show(output, lambda console: results_in_terminal.arrivals(console, output))
    if refused := [arrival for arrival in taken if arrival.outcome == "refused"]:
        raise _refusal(refused)


def _sources_allowed(settings: Settings, node: str) -> set[tuple[str, str]]:
    """Sources whose logs are not read here: of those that are, a parcel would count twice."""
    shipped = {
        (source.name, source.node) for source in wiring.sources(settings) if not source.globs
    }
    return {pair for pair in shipped if node in ("", pair[1])}


def _delete(taken: Sequence[Arrival]) -> None:
    for arrival in taken:
        if arrival.outcome != "refused":
            Path(arrival.path).unlink(missing_ok=True)


def _refusal(refused: Sequence[Arrival]) -> BadInput:
    told = [f"{arrival.path}: {arrival.note}" for arrival in refused]
    return BadInput(
        "taking in parcels",
        f"{amounts.count(len(refused), 'parcel')} of them cannot be taken: "
        f"{first_few(told, between='; ')}",
        kept="none of these was used; the others were taken",
        advice="send it again from DIR/out where it was made, or look into who sends it",
    )


def data(
    ctx: typer.Context,
    as_of: AsOf = None,
    detailed_exitcode: Detailed = False,
    damaged: Annotated[
        Path | None,
        option_here(
            FILES_HERE,
            "--set-aside",
            metavar="FILE",
            help="set counts aside that cannot be read, and go on without them",
        ),
    ] = None,
) -> None:
    """Show how far the logs can be trusted. For each source and node: what is missing, malformed,
    late or misdated.
    """
    call_context = context(ctx)
    output = local_or_server.logs(call_context, as_of).data(damaged)
    call_context.show(output, lambda console: results_in_terminal.data(console, output))
    if detailed_exitcode and any(node.state == "bad" for node in output.nodes):
        raise typer.Exit(20)

"""The verbs for an installation: demo, init, doctor, config, db, serve, completion, version."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput
from flex.refuse_root import ACCOUNT
from flex.store import migrate
from flex_api import (
    check_files_in_settings,
    first_files,
    paths_in_systemd_units,
    primary_instructions,
)
from flex_api import doctor as checking
from flex_api.cli import local_or_server
from flex_api.cli.common import Context, Format, context, now, write
from flex_api.cli.local_only import all_only_here, only_here
from flex_api.in_words import results_in_terminal
from flex_api.settings import file as config

if TYPE_CHECKING:
    from flex_api.schemas.name_server_config import ConfigServersOutput
    from flex_api.schemas.verbs_output import ConfigCheckOutput, ConfigShowOutput, InitOutput
    from flex_api.version_of_flex import Versions

config_app = typer.Typer(
    help="Check and show the settings.", no_args_is_help=True, rich_markup_mode=None
)
db_app = typer.Typer(
    help="Create, upgrade and back up the database.", no_args_is_help=True, rich_markup_mode=None
)

# How a comment begins.
COMMENTS = {"named": "//", "knot": "#"}
# Why a server does not do what is about a file of settings.
OUR_FILE = "it is about the settings file of this machine"
SHELLS = ("bash", "zsh", "fish")


def add_to(app: typer.Typer) -> None:
    for verb in (demo, init, doctor, serve, completion, version):
        app.command()(verb)
    app.add_typer(config_app, name="config")
    app.add_typer(db_app, name="db")


@only_here("it makes a cluster of its own on this machine")
def demo(
    ctx: typer.Context,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="work in this new folder; in a temporary one when left out"),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(help="the seed of the made-up cluster: the same seed makes the same cluster"),
    ] = 14,
    stays_up: Annotated[
        bool,
        typer.Option(
            "--serve",
            help="then keep the cluster up until Ctrl-C: pages to open, a name server "
            "that answers, logs that grow in faster time, nodes that can be killed",
        ),
    ] = False,
    doors: Annotated[
        bool,
        typer.Option(
            "--doors",
            help="then lead visitors by the doors of real HAProxies, on loopback: a site "
            "moves and a node dies, and every node is asked before DNS changes",
        ),
    ] = False,
) -> None:
    """Try FLEX on a made-up cluster. Two nights on a private BIND, in under a minute."""
    from flex.routing.haproxy_program import program
    from flex_api import demo as story

    call_context = context(ctx)
    if doors and stays_up:
        raise BadInput(
            "a demo with --doors and --serve",
            "it shows doors, or it stays up",
            kept="nothing was written",
            advice="leave one of them out",
        )
    # Where HAProxy is missing nothing is begun.
    haproxy = program() if doors else None
    folder = directory or _fresh()
    output = story.run(folder, seed, call_context.say, now(), haproxy, stays_up=stays_up)
    call_context.show(output, lambda console: console.print(f"\nReport: {output.report}"))


def _fresh() -> Path:
    """Started by root, the name server runs as another user, who must be able to pass through."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="flex-demo-"))
    folder.chmod(0o711)
    return folder


@only_here("it writes files on this machine")
def init(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="a folder, made where there is none")
    ],
) -> None:
    """Write the first files of an installation.

    Commented settings, a key, the name server's side of it and systemd units. Nothing is
    overwritten.
    """
    from flex_api.schemas.verbs_output import InitOutput

    call_context = context(ctx)
    written, kept = first_files.write(folder)
    output = InitOutput(written=[str(path) for path in written], kept=[str(path) for path in kept])
    call_context.show(output, lambda _: _say_init(call_context, output, folder))


def _by_account(folder: Path) -> str:
    """What stands before a command whose files are for the services' account."""
    is_for_services = not os.geteuid() and first_files.state_of(folder)
    return f"runuser -u {ACCOUNT} -- " if is_for_services else ""


def _say_init(call_context: Context, output: InitOutput, folder: Path) -> None:
    for path in output.written:
        call_context.say(f"wrote {path}")
    for path in output.kept:
        call_context.say(f"kept  {path}, which was there")
    if why := paths_in_systemd_units.trouble(
        paths_in_systemd_units.program(),
        folder.absolute() / first_files.SETTINGS,
        paths_in_systemd_units.python(),
    ):
        call_context.say(f"look at this: {why}")
    call_context.say(
        f"\nNext: edit {folder / 'flex.toml'}, then `{_by_account(folder)}flex --config "
        f"{folder / 'flex.toml'} db upgrade` and `… doctor`.\n"
        "`… config named` prints named.conf.flex for the zones of your settings, `… "
        "config knot` the same for Knot DNS."
    )


def doctor(
    ctx: typer.Context,
    long: Annotated[bool, typer.Option("--long", help="what each check found")] = False,
) -> None:
    """Check everything a night needs; nothing is changed. With --server, the server checks what it
    has.
    """
    call_context = context(ctx)
    output = local_or_server.installation(call_context).doctor()
    call_context.show(
        output,
        lambda console: results_in_terminal.checks(console, output.checks, whole=long),
    )
    if any(check.state == "fail" for check in output.checks):
        raise typer.Exit(3)


@config_app.command("check")
@only_here(OUR_FILE)
def config_check(ctx: typer.Context) -> None:
    """Show everything that is wrong with the settings file."""
    call_context = context(ctx)
    output = _looked_over(call_context)
    call_context.show(output, lambda _: _say_problems(call_context, output))
    if output.problems:
        raise typer.Exit(3)


def _looked_over(call_context: Context) -> ConfigCheckOutput:
    """The file by itself, and then the files and logs that it names."""
    from flex_api.schemas.verbs_output import ConfigCheckOutput

    if problems := list(config.problems(call_context.path)):
        return ConfigCheckOutput(file=str(call_context.path), problems=problems, remarks=[])
    return ConfigCheckOutput(
        file=str(call_context.path),
        problems=list(
            check_files_in_settings.problems(
                call_context.settings, config.names_without_credentials(call_context.path)
            )
        ),
        remarks=list(
            check_files_in_settings.remarks(
                call_context.settings, config.names_without_credentials(call_context.path)
            )
        ),
    )


def _say_problems(call_context: Context, output: ConfigCheckOutput) -> None:
    for problem in output.problems:
        call_context.say(f"{output.file}: {problem}")
    for remark in output.remarks:
        call_context.say(f"{output.file}: look at this: {remark}")
    if not output.problems:
        call_context.say(f"{output.file}: good")


@config_app.command("show")
def config_show(ctx: typer.Context) -> None:
    """Show every setting in force, and whether the file or the default sets it."""
    call_context = context(ctx)
    output = local_or_server.installation(call_context).settings_in_force()
    call_context.show(output, lambda _: _say_settings(call_context, output))


def _say_settings(call_context: Context, output: ConfigShowOutput) -> None:
    for name, value in config.flat(output.settings).items():
        origin = "default" if name in output.defaults else "file"
        call_context.say(f"{name} = {json.dumps(value)}   # {origin}")


Zones = Annotated[
    list[str] | None,
    typer.Option("--zone", metavar="ZONE", help="only these zones; all of dns.zones when left out"),
]


@config_app.command("named")
@only_here(OUR_FILE)
def config_named(ctx: typer.Context, zone: Zones = None) -> None:
    """What BIND has to be told of FLEX's zones, for each primary of the settings.

    Keys, rights and clauses, from the settings in force, with the reasons beside them, and without
    secrets. A zone that is there already keeps its clause, and gets what is new in this one.
    """
    _show_servers(context(ctx), "named", zone or ())


@config_app.command("knot")
@only_here(OUR_FILE)
def config_knot(ctx: typer.Context, zone: Zones = None) -> None:
    """The same for Knot DNS (3.2 or newer). The secrets of the keys are yours to fill in."""
    _show_servers(context(ctx), "knot", zone or ())


def _show_servers(call_context: Context, kind: str, zones: Sequence[str]) -> None:
    from flex_api.schemas.name_server_config import ConfigServersOutput, ServerPart

    configurations = primary_instructions.configurations(
        call_context.settings, kind, checking.names_to_change(call_context.settings), zones
    )
    output = ConfigServersOutput(
        items=[
            ServerPart(
                server=configuration.server,
                zones=[*configuration.zones],
                asked=[*configuration.asked],
                text=configuration.text,
            )
            for configuration in configurations
        ]
    )
    call_context.show(output, lambda _: _print_servers(output, COMMENTS[kind]))


def _print_servers(output: ConfigServersOutput, mark: str) -> None:
    """As it is: to be pasted, or written to a file that the name server includes."""
    for part in output.items:
        if len(output.items) > 1:
            typer.echo(f"{mark} For the name server {part.server} alone:")
        if unknown := sorted({*part.zones} - {*part.asked}):
            typer.echo(
                f"{mark} {part.server} did not say what serves {', '.join(unknown)}: "
                "the usual names are denied."
            )
        typer.echo(part.text)


@config_app.command("schema")
@only_here("it is about the settings that the FLEX of this machine knows")
def config_schema() -> None:
    """The JSON Schema of the settings file."""
    typer.echo(json.dumps(config.Settings.model_json_schema(), indent=2))


@db_app.command("upgrade")
def db_upgrade(
    ctx: typer.Context,
    backup_to: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="copy a database that is older into this folder before it is changed",
        ),
    ] = None,
    only_existing: Annotated[
        bool, typer.Option("--only-existing", help="make no database where there is none")
    ] = False,
) -> None:
    """Create the database, or upgrade it to this version. It is safe to run again.

    Without a copy that it asked for, the database stays as it is.
    """
    call_context = context(ctx)
    url = call_context.settings.database.url
    if not only_existing or migrate.is_there(url):
        copy = migrate.copy_before(url, backup_to, now()) if backup_to else None
        if copy:
            call_context.say(f"copied the database as it was to {copy}")
        migrate.upgrade(url)
    _show_database(call_context)


@db_app.command("status")
def db_status(ctx: typer.Context) -> None:
    """Which version the database has, and which this FLEX wants."""
    _show_database(context(ctx))


def _show_database(call_context: Context) -> None:
    from flex_api.schemas.verbs_output import DatabaseOutput

    revision, head = migrate.revision(call_context.settings.database.url)
    output = DatabaseOutput(revision=revision or "", head=head)
    state = "up to date" if revision == head else "run `flex db upgrade`"
    call_context.show(
        output, lambda console: console.print(f"{revision or 'no database'}: {state}")
    )


@db_app.command("backup")
def db_backup(
    ctx: typer.Context,
    to: Annotated[Path, typer.Argument(metavar="FILE", help="where the copy goes")],
) -> None:
    """Copy the database while it is in use: SQLite to a file like it, PostgreSQL by pg_dump."""
    call_context = context(ctx)
    migrate.backup(call_context.settings.database.url, to)
    call_context.say(f"wrote {to}")


@only_here("it is the server")
def serve(
    ctx: typer.Context,
    listen: Annotated[str, typer.Option(help="host:port; else api.listen of the settings")] = "",
) -> None:
    """Serve the pages and the API."""
    from flex_api import serving

    call_context = context(ctx)
    settings = call_context.settings
    if listen:
        api = settings.api.model_copy(update={"listen": listen})
        settings = settings.model_copy(update={"api": api})
    serving.serve(settings, call_context.say)


@only_here("it is about the shell of this machine")
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish")],
) -> None:
    """Print the completion script of a shell. Source it from the shell's start-up file."""
    # Typer does not say that it exports this.
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in SHELLS:
        raise BadInput(
            f"a completion script for {shell!r}",
            f"there are scripts for {', '.join(SHELLS)}",
            kept="nothing was printed",
            advice="name one of them",
        )
    typer.echo(get_completion_script(prog_name="flex", complete_var="_FLEX_COMPLETE", shell=shell))


def version(
    ctx: typer.Context, json: Annotated[bool, typer.Option("--json", help="as `-o json`")] = False
) -> None:
    """Show the versions of FLEX and of its libraries. With --server: of the server."""
    call_context = context(ctx)
    call_context.output = Format.JSON if json else call_context.output
    versions = local_or_server.installation(call_context).version()
    if call_context.output is Format.JSON:
        call_context.show(versions.output(), lambda _: None)
    elif not call_context.quiet:
        write(_version_lines(versions))


def _version_lines(versions: Versions) -> str:
    note = f"note: {versions.engine_note}\n" if versions.engine_note else ""
    return (
        f"flex {versions.version} ({versions.engine} loops, Python {versions.python}, "
        f"{versions.solver}, {versions.named})\n{note}"
    )


# At the end of the file, where every verb of the group is there.
all_only_here(db_app, "it is about the database of this machine")

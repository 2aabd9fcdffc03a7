"""The verbs of `flex`, in groups by what somebody wants to do.

Takes the name of a verb. Returns its command, for which its module is loaded. Which verbs there
are, and the line that says what each does, stand here: help, completion and a verb that there is
not load no module of a verb.

Adds to every verb the options that may stand before it or behind it. One that is given behind the
verb is in the context before the verb runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import core
from typer._click.core import Command
from typer._click.exceptions import UsageError
from typer._click.shell_completion import CompletionItem
from typer._click.utils import make_default_short_help
from typer._coercion import RuntimeParam, build_runtime_param
from typer.core import TyperGroup
from typer.main import get_command, get_group

from flex_api.cli.common import Format, context

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter
    from typer._click.formatting import HelpFormatter


class Verb(NamedTuple):
    """The module of this package that brings it, and the first sentence of its help."""

    module: str
    line: str

    def short(self, room: int) -> str:
        return make_default_short_help(self.line, room)


GROUPS: Mapping[str, Mapping[str, Verb]] = {
    "Try it and set it up": {
        "assess": Verb(
            "assess_verb", "Say what FLEX would bring your cluster, from its logs alone."
        ),
        "demo": Verb("installation_verbs", "Try FLEX on a made-up cluster."),
        "onboard": Verb(
            "onboard_verb", "Write settings by what is there: sites, nodes, logs and zones."
        ),
        "init": Verb("installation_verbs", "Write the first files of an installation."),
        "doctor": Verb("installation_verbs", "Check everything a night needs; nothing is changed."),
        "config": Verb("installation_verbs", "Check and show the settings."),
        "db": Verb("installation_verbs", "Create, upgrade and back up the database."),
    },
    "Every night": {
        "run": Verb("night_verbs", "Run the whole night: all steps, one after the other."),
        "ingest": Verb("ingest_verbs", "Read what is new in the access logs."),
        "import": Verb("ingest_verbs", "Import counts that were made on another machine."),
        "plan": Verb("what_if_verbs", "Make a plan and show it."),
        "apply": Verb("night_verbs", "Send a plan to the name server and check the answers."),
        "verify": Verb("night_verbs", "Compare DNS with the partition in force."),
        "report": Verb("night_verbs", "Write the report of a plan."),
    },
    "Decide about changes": {
        "approve": Verb("approve_and_freeze", "Approve a plan."),
        "reject": Verb("approve_and_freeze", "Reject a plan."),
        "rollback": Verb("night_verbs", "Go back to an earlier partition."),
        "freeze": Verb("approve_and_freeze", "Stop all changes in DNS."),
        "thaw": Verb("approve_and_freeze", "End a freeze."),
    },
    "Sites, nodes and routing": {
        "sites": Verb("sites", "List sites, and say where they may be."),
        "wishes": Verb(
            "wishes_file_verbs",
            "Keep what people decided as a file.",
        ),
        "move": Verb("site_move_verbs", "Move one site now."),
        "moves": Verb(
            "site_move_verbs",
            "List the commands that were run for sites that moved.",
        ),
        "ready": Verb(
            "site_move_verbs",
            "Ask nodes whether they are ready for sites.",
        ),
        "nodes": Verb("nodes", "List nodes; add, drain and remove them."),
        "route": Verb("route_verbs", "Route requests to the replica that has them in memory."),
        "dns": Verb("dns_verbs", "Show and change which controller writes the zones."),
    },
    "Look and compare": {
        "status": Verb(
            "night_verbs",
            "Show how the cluster is, and what waits for somebody.",
        ),
        "history": Verb("night_verbs", "List the latest runs."),
        "data": Verb("ingest_verbs", "Show how far the logs can be trusted."),
        "explain": Verb(
            "explain_verb", "Explain why a site moves or stays, and where else it could be."
        ),
        "files": Verb(
            "files_verb",
            "Show the files of a site: the most requested and the largest.",
        ),
        "whatif": Verb(
            "what_if_verbs", "Show what FLEX would do with other nodes, memory or visitors."
        ),
        "simulate": Verb("simulate", "Simulate routing policies on a model of a cluster."),
        "export": Verb("export_dns_records", "Print the records of a plan for another tool."),
    },
    "Serve others": {
        "serve": Verb("installation_verbs", "Serve the pages and the API."),
        "token": Verb(
            "tokens_and_audit", "Create, list and revoke tokens for the API and the pages."
        ),
        "audit": Verb("tokens_and_audit", "Show who changed what, when and why."),
    },
    "The program itself": {
        "help": Verb("help_verb", "Show all verbs, the exit codes, or the help of one verb."),
        "completion": Verb("installation_verbs", "Print the completion script of a shell."),
        "version": Verb(
            "installation_verbs",
            "Show the versions of FLEX and of its libraries.",
        ),
    },
}
VERBS: Mapping[str, Verb] = {
    name: verb for verbs in GROUPS.values() for name, verb in verbs.items()
}
# What somebody needs first, in about this order.
FIRST = (
    "assess", "demo", "onboard", "doctor", "plan", "apply",
    "status", "explain", "sites", "nodes", "rollback", "serve",
)  # fmt: skip
# What people type who know other tools, and the verbs that do it.
MEANT = {
    "cron": "run",
    "down": "nodes down",
    "drain": "nodes drain",
    "exclude": "sites exclude",
    "health": "status",
    "log": "data",
    "logs": "data",
    "overview": "status",
    "pin": "sites pin",
    "revert": "rollback",
    "runs": "history",
    "show": "plan show",
    "start": "serve",
    "undo": "rollback",
    "undrain": "nodes undrain",
    "unpin": "sites unpin",
    "up": "nodes up",
}
# Characters of a line beside a verb that the shell completes, as Typer has it.
COMPLETED = 45


class LoadedVerbs(Mapping[str, Command]):
    """Each is loaded when somebody asks for it."""

    def __getitem__(self, name: str) -> Command:
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


def add_global_options(verb: Command) -> None:
    output = _output_option()
    for each in (verb, *verbs_below(verb)):
        each.params.append(output)


def verbs_below(group: Command) -> Iterator[Command]:
    for verb in getattr(group, "commands", {}).values():
        yield verb
        yield from verbs_below(verb)


def _choose(ctx: typer.Context, wanted: Format | None) -> None:
    if wanted is not None:
        context(ctx).output = wanted


Output = Annotated[
    Format | None,
    typer.Option(
        "--output", "-o", callback=_choose, expose_value=False, help="for people or for programs"
    ),
]


def _alone(output: Output = None) -> None:
    """A verb of this option and nothing else: Typer makes of it what verbs are given."""


# To have Typer make it takes as long as to have it make a verb.
@cache
def _output_option() -> Parameter:
    donor = typer.Typer(add_completion=False)
    donor.command()(_alone)
    return get_command(donor).params[0]


@cache
def _load(name: str) -> Command:
    app = typer.Typer(rich_markup_mode=None)
    import_module(f"flex_api.cli.{VERBS[name].module}").add_to(app)
    # Of what it brings besides, nothing is made.
    app.registered_groups = [info for info in app.registered_groups if info.name == name]
    app.registered_commands = [
        info
        for info in app.registered_commands
        if name in (info.name, getattr(info.callback, "__name__", ""))
    ]
    verb = get_group(app).commands[name]
    add_global_options(verb)
    return verb


class PlainValue(RuntimeParam):
    """Typer has pydantic read every value, which takes longer to load than Typer itself. A value
    that is what it has to be needs no reading.
    """

    # Any: as in Typer.
    def _coerce_value(self, value: Any, param: Any, ctx: Context) -> Any:
        if type(value) is self.annotation and (not isinstance(value, str) or value.isascii()):
            return value
        return build_runtime_param(param.type_descriptor).coerce(value, param, ctx)


# Where Typer takes it from for each parameter, its own --help too.
core.build_runtime_param = lambda descriptor: PlainValue(  # type: ignore[attr-defined]
    descriptor.parameter_info, descriptor.annotation
)


class VerbGroups(TyperGroup):
    """Typer knows groups of verbs in its rich help only, and FLEX prints plain text."""

    # Any: as in TyperGroup.
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Typer adds no verbs to it.
        self.commands = LoadedVerbs()  # type: ignore[assignment]

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002  as in TyperGroup
        return list(VERBS)

    # Any: as in TyperGroup.
    def resolve_command(self, ctx: Context, args: list[str]) -> Any:
        if not ctx.resilient_parsing and (meant := MEANT.get(args[0])):
            raise UsageError(f"No such command {args[0]!r}. It is: flex {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        _list_verbs(formatter, "Verbs to begin with", {name: VERBS[name] for name in FIRST})

    def list_all_verbs(self, formatter: HelpFormatter) -> None:
        for heading, verbs in GROUPS.items():
            _list_verbs(formatter, heading, verbs)

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        verbs = [
            CompletionItem(name, help=verb.short(COMPLETED))
            for name, verb in VERBS.items()
            if name.startswith(incomplete)
        ]
        # TyperGroup's own would load each of them.
        return verbs + Command.shell_complete(self, ctx, incomplete)


def _list_verbs(formatter: HelpFormatter, heading: str, verbs: Mapping[str, Verb]) -> None:
    room = formatter.width - 6 - max(map(len, VERBS))
    with formatter.section(heading):
        formatter.write_dl([(name, verb.short(room)) for name, verb in verbs.items()])

"""The verbs of `flex --help` in groups, by what somebody wants to do.

Takes the verbs of an application. Returns its help with a heading above each group of verbs. Does
not say which module brings a verb: the application does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

GROUPS: Mapping[str, Sequence[str]] = {
    "Try it and set it up": (
        "assess",
        "demo",
        "onboard",
        "init",
        "doctor",
        "config",
        "db",
    ),
    "Every night": ("run", "ingest", "import", "plan", "apply", "verify", "report"),
    "Decide about changes": ("approve", "reject", "rollback", "freeze", "thaw"),
    "Sites, nodes and routing": (
        "sites",
        "move",
        "moves",
        "ready",
        "nodes",
        "route",
        "dns",
    ),
    "Look and compare": (
        "history",
        "data",
        "explain",
        "files",
        "whatif",
        "simulate",
        "export",
    ),
    "Serve others": ("serve", "token", "audit"),
    "The program itself": ("completion", "version"),
}


class VerbGroups(TyperGroup):
    """Typer knows groups of verbs in its rich help only, and FLEX prints plain text."""

    # It has the signature of the method that it replaces.
    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        shown = {name: verb for name, verb in self.commands.items() if not verb.hidden}
        room = formatter.width - 6 - max(map(len, shown), default=0)
        for heading, names in GROUPS.items():
            rows = [
                (name, shown[name].get_short_help_str(room))
                for name in names
                if name in shown
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

"""The verb that says why a site is where it is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from flex_api.cli import local_or_server
from flex_api.cli.common import SiteName, context
from flex_api.in_words import amounts, visitors_text

if TYPE_CHECKING:
    from rich.console import Console

    from flex_api.schemas.explain_output import ExplainOutput, OtherRow


def add_to(app: typer.Typer) -> None:
    app.command()(explain)


def explain(ctx: typer.Context, site: SiteName) -> None:
    """Explain why a site moves or stays, and where else it could be."""
    call_context = context(ctx)
    output = local_or_server.questions(call_context).explanation(site)
    call_context.show(output, lambda console: _show(console, output))


def _show(console: Console, output: ExplainOutput) -> None:
    asks = ", ".join(f"{name} {units:.1f} %" for name, units in output.asks_units.items())
    each = f", each of {output.replicas} replicas" if output.replicas > 1 else ""
    console.print(f"{output.site} asks{each}: {asks} of a mean node's fair share")
    for reason in output.reasons:
        console.print(reason)
    for line in visitors_text.visitor_lines(output, datetime.now(UTC)):
        console.print(line)
    for number, other in enumerate(output.others):
        console.print(f"{'next best' if not number else 'then'}: {_other(other)}")


def _other(other: OtherRow) -> str:
    outside = ", more than the tolerance" if other.outside else ""
    off = f"{100 * abs(other.off_ratio):.1f} % too {'much' if other.off_ratio > 0 else 'little'}"
    return (
        f"{other.target} instead of {other.source}: {other.node} would have {off} "
        f"{other.dimension}{outside}; {other.target} would read {amounts.size(other.cold_bytes)}"
    )

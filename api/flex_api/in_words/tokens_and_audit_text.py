"""Tokens, wishes and the audit log for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rich.console import Console

from flex_api.in_words import amounts, dry_run_text, wish_text
from flex_api.in_words.terminal_tables import grid
from flex_api.schemas.sites_and_wishes import PinOutput
from flex_api.schemas.tokens_and_audit import (
    AuditOutput,
    AuditVerifyOutput,
    TokenOutput,
    TokenRow,
    TokensOutput,
)


def tokens(console: Console, output: TokensOutput, now: datetime) -> None:
    table = grid("id", "name", "role", "by", "until", "last used", "state")
    for row in output.items:
        until = amounts.when(row.expires) if row.expires else ""
        used = amounts.when(row.last_used) if row.last_used else "never"
        table.add_row(row.id, row.name, row.role, row.author, until, used, _state(row, now))
    console.print(table if output.items else "No token yet: `flex token create NAME` makes one.")


def _state(row: TokenRow, now: datetime) -> str:
    if row.revoked:
        return "revoked"
    return "expired" if row.expires and row.expires <= now else ""


def audit(console: Console, output: AuditOutput) -> None:
    table = grid("#>", "time", "who", "what", "of", "why", "changed")
    for row in output.items:
        changed = ", ".join(_names_of_changed(row.before, row.after))
        table.add_row(
            str(row.number),
            amounts.when(row.time),
            row.actor,
            row.action,
            row.subject,
            row.reason,
            changed,
        )
    console.print(table if output.items else "Nothing was changed yet.")


def holds(console: Console, output: AuditVerifyOutput) -> None:
    console.print(f"{output.entries} entries hold. Last: {output.last}")


def show_revoked(console: Console, output: TokenOutput) -> None:
    console.print(f"{output.token.name} ({output.token.id}) opens nothing any more.")


def _names_of_changed(before: object, after: object) -> Iterator[str]:
    """The parts that differ; nothing of what was made or taken away. JSON has their values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            if before.get(name) != after.get(name):
                yield str(name).replace("_", " ")


def pin(console: Console, output: PinOutput) -> None:
    console.print(_pin_line(output))
    dry_run_text.preview(console, output.preview)
    for note in output.notes:
        console.print(f"  note: {note}")


def _pin_line(output: PinOutput) -> str:
    would = "would be " if output.dry_run else "is "
    if not output.pinned:
        of = f"the campaign {output.campaign} of " if output.campaign else ""
        return f"{of}{output.site} {would}{'over' if of else 'free again from the next plan on'}."
    since = (
        f"from {output.since:%Y-%m-%d %H:%M} UTC on" if output.since else "from the next plan on"
    )
    until = f" until {output.until:%Y-%m-%d %H:%M} UTC" if output.until else ""
    if output.excluded:
        return (
            f"{output.site} {would}left alone{until} {since}: its records stay, "
            "and it is in no partition."
        )
    to = f" to {', '.join(output.nodes)}" if output.nodes else ""
    phrases = wish_text.phrases(output)
    more = "".join(f", {each}" for name, each in phrases.items() if name != "nodes")
    campaign = f" by the campaign {output.campaign}" if output.campaign else ""
    return f"{output.site} {would}pinned{campaign}{to}{more}{until} {since}."

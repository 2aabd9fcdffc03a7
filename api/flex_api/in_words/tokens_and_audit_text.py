"""Tokens, wishes and the audit log for people."""

from __future__ import annotations

from collections.abc import Collection, Iterator
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

# Characters of a value that a line of the audit log has. A guess: more wraps the line.
SHORT = 24
# Moments of what is new, which the line says already, or nearly.
WHEN = ("created", "given", "made")


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
        changed = "; ".join(_changes(row.before, row.after, {row.subject, row.actor, row.reason}))
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


def _changes(before: object, after: object, told: Collection[str]) -> Iterator[str]:
    """Part by part but for what is told beside it, each cut to its first characters: JSON has all
    of it.
    """
    old, new = (value if isinstance(value, dict) else {} for value in (before, after))
    for name in {**old, **new}:
        was, now = old.get(name), new.get(name)
        if was == now or not (was or now) or (name in WHEN and not (old and new)):
            continue
        if name in ("author", "reason", "digest") or (
            not (old and new) and str(was or now) in told
        ):
            continue
        way = f"{_short(was)} → {_short(now)}" if old and new else _short(now or was)
        yield f"{str(name).replace('_', ' ')} {way}"


def _short(value: object) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    text = ", ".join(map(str, value)) if isinstance(value, list) else text
    text = "-" if value in (None, "", []) else text
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"


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

"""Tokens and the audit log as tables for people."""

from __future__ import annotations

import json

from rich.console import Console

from flex_api import words
from flex_api.desk_schemas import AuditOutput, TokensOutput
from flex_api.text import grid

# So much of a value fits on a line; the whole of it is in the JSON.
SHORT = 60


def tokens(console: Console, output: TokensOutput) -> None:
    table = grid("id", "name", "role", "by", "until", "last used", "state")
    for row in output.items:
        until = words.when(row.expires) if row.expires else ""
        used = words.when(row.last_used) if row.last_used else "never"
        table.add_row(row.id, row.name, row.role, row.author, until, used, "revoked" if row.revoked else "")
    console.print(table if output.items else "No token yet: `flex token create NAME` makes one.")


def audit(console: Console, output: AuditOutput) -> None:
    table = grid("#>", "time", "who", "what", "of", "why", "before", "after")
    for row in output.items:
        before, after = (_short(value) for value in (row.before, row.after))
        table.add_row(
            str(row.number), words.when(row.time), row.actor, row.action, row.subject, row.reason, before, after
        )
    console.print(table if output.items else "Nothing was changed yet.")


def _short(value: object) -> str:
    said = json.dumps(value, ensure_ascii=False)
    return said if len(said) <= SHORT else f"{said[:SHORT]}…"

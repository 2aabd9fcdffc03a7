"""What is said of tokens that open nothing any more."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from flex.model.roles_and_tokens import Token
from flex_api.in_words import tokens_and_audit_text
from flex_api.schemas.tokens_and_audit import TokensOutput, token_row

NOW, HOUR = datetime(2026, 3, 1, 2, 30, tzinfo=UTC), timedelta(hours=1)


@pytest.mark.parametrize(
    ("expires", "revoked", "said"),
    [
        (NOW + HOUR, None, ""),
        (None, None, ""),
        (NOW, None, "expired"),
        (NOW - HOUR, NOW, "revoked"),
        (NOW + HOUR, NOW, "revoked"),
    ],
)
def test_a_list_of_tokens_says_why_one_opens_nothing(
    expires: datetime | None, revoked: datetime | None, said: str
) -> None:
    token = Token(
        "t1", "nightly", "viewer", "", "anna", NOW - HOUR, expires=expires, revoked=revoked
    )
    console = Console(file=io.StringIO(), width=200)
    tokens_and_audit_text.tokens(console, TokensOutput(items=[token_row(token)]), NOW)
    assert isinstance(console.file, io.StringIO)
    written = console.file.getvalue()
    assert [word for word in ("expired", "revoked") if word in written] == ([said] if said else [])

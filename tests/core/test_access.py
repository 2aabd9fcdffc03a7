"""Who counts as one person: somebody, and whatever was made with his hands."""

from __future__ import annotations

from datetime import UTC, datetime

from flex.access import Token, one_person

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def token(name: str, author: str) -> Token:
    return Token(name, name, "admin", name, author, NOW)


TOKENS = [token("d", "anna"), token("b", "token:a"), token("a", "root"), token("c", "token:b")]


def test_the_tokens_that_somebody_made_and_those_that_these_made_are_all_him() -> None:
    assert one_person("token:a", TOKENS) == {"token:a", "token:b", "token:c"}
    assert one_person("root", TOKENS) == {"root", "token:a", "token:b", "token:c"}


def test_who_was_given_a_token_by_another_is_not_the_other() -> None:
    assert one_person("token:d", TOKENS) == {"token:d"}
    assert "anna" not in one_person("token:d", TOKENS)


def test_tokens_that_made_each_other_are_one() -> None:
    assert one_person("token:x", [token("x", "token:y"), token("y", "token:x")]) == {"token:x", "token:y"}

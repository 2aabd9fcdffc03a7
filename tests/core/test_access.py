"""Who counts as one person: somebody, whoever could come in under that name, and whatever that
person made.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from flex.model.roles_and_tokens import Token, one_person

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def token(name: str, author: str) -> Token:
    return Token(name, name, "admin", name, author, NOW)


TOKENS = [token("d", "anna"), token("b", "token:a"), token("a", "root"), token("c", "token:b")]


def test_the_tokens_that_somebody_made_and_those_that_these_made_are_all_him() -> None:
    assert one_person("root", TOKENS) == {"root", "token:a", "token:b", "token:c"}


@pytest.mark.parametrize("name", ["token:a", "token:b", "token:c"])
def test_whoever_made_the_token_that_somebody_shows_could_have_shown_it_too(name: str) -> None:
    assert one_person(name, TOKENS) == {"root", "token:a", "token:b", "token:c"}


def test_two_tokens_that_one_made_through_the_api_are_one_person() -> None:
    made = [token("x", "sso:anna"), token("y", "sso:anna"), token("z", "sso:bert")]
    assert one_person("token:x", made) == {"sso:anna", "token:x", "token:y"}


def test_two_tokens_that_were_made_on_the_server_are_two_people() -> None:
    made = [token("x", "local:root"), token("y", "local:root")]
    assert one_person("token:x", made) == {"local:root", "token:x"}


def test_tokens_that_made_each_other_are_one() -> None:
    assert one_person("token:x", [token("x", "token:y"), token("y", "token:x")]) == {
        "token:x",
        "token:y",
    }

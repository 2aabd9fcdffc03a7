"""The help of every verb says what each of its options and arguments is."""

from __future__ import annotations

from typing import Any

import pytest

from flex_api import cli
from tests.api.test_here_and_there import verbs

ROOT = cli.application()
VERBS = {"": ROOT, **dict(verbs(ROOT))}


@pytest.mark.parametrize("name", VERBS)
def test_every_option_and_argument_of_a_verb_is_explained(name: str) -> None:
    # Any: as in the other module.
    parameters: list[Any] = VERBS[name].params
    unexplained = [one.name for one in parameters if not (one.help or "").strip()]
    assert unexplained == []


def test_every_verb_says_what_it_does() -> None:
    assert [name for name, verb in VERBS.items() if not (verb.help or "").strip()] == []

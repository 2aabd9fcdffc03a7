"""What one process remembers of what it was asked for: little of what is large."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import flex_api
from flex.store import MemoryStore
from flex_api.web.cache_invalidation import OUTDATED_BY
from flex_api.web.cached_views import FEW, ROWS, Views


@pytest.fixture
def views() -> Views:
    return Views(MemoryStore())


def remembered(views: Views) -> list[str]:
    return list(views.held)


def read(views: Views, name: str, rows: int) -> str:
    return views.few(name, lambda: f"made for {name}", lambda _: rows)


def test_the_few_of_a_kind_that_were_read_last_are_remembered(views: Views) -> None:
    for number in range(FEW + 2):
        assert read(views, f"plan {number}", 1) == f"made for plan {number}"
    read(views, "placement 0", 1)
    assert remembered(views) == [*(f"plan {number}" for number in range(2, FEW + 2)), "placement 0"]


def test_of_large_ones_fewer_are_remembered_and_the_last_always(views: Views) -> None:
    for name, rows in (
        ("plan 1", ROWS // 3),
        ("plan 2", ROWS // 3),
        ("placement 1", ROWS),
        ("plan 3", ROWS // 2),
    ):
        read(views, name, rows)
    assert remembered(views) == ["plan 2", "placement 1", "plan 3"]
    read(views, "plan 4", 2 * ROWS)
    assert remembered(views) == ["placement 1", "plan 4"]


def test_every_remembered_answer_stands_in_the_register() -> None:
    """Each by its first word, and none that nobody asks for any more."""
    source = "".join(path.read_text() for path in Path(flex_api.__file__).parent.rglob("*.py"))
    named = set(re.findall(r'(?:views|self)\.(?:get_or_make|few)\(\s*f?"([\w-]+)', source))
    named |= set(re.findall(r'outdated_by\("([\w-]+)"\)', source))
    assert named == set(OUTDATED_BY)

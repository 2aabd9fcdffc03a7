"""Numbers and times as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex_api.in_words import amounts

if TYPE_CHECKING:
    from tests.api.conftest import Installation

ROOT = Path(__file__).parent.parent.parent
API = ROOT / "api" / "flex_api"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (999_960, "1.0 MB"),
        (412_300_000, "412 MB"),
        (4.1e9, "4.1 GB"),
    ],
)
def test_sizes(count: float, said: str) -> None:
    assert amounts.size(count) == said


@pytest.mark.parametrize(
    ("ratio", "said"), [(0.0412, "4.1 %"), (0.18, "18 %"), (0.0996, "10 %"), (0.0, "0.0 %")]
)
def test_shares(ratio: float, said: str) -> None:
    assert amounts.share(ratio) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(4.2, "4.2 s"), (42, "42 s"), (252, "4 m 12 s"), (7500, "2 h 5 m"), (266_400, "3 d 2 h")],
)
def test_spans(seconds: float, said: str) -> None:
    assert amounts.span(timedelta(seconds=seconds)) == said


def test_one_and_many() -> None:
    assert [amounts.count(1, "site"), amounts.count(12_000, "site")] == ["1 site", "12,000 sites"]


def test_the_past_and_the_future() -> None:
    then = datetime(2026, 3, 1, tzinfo=UTC)
    assert amounts.ago(then, then + timedelta(hours=2)) == "2 h 0 m ago"
    assert amounts.ago(then, then - timedelta(hours=2)) == "in 2 h 0 m"


@given(count=st.integers(min_value=0, max_value=10**15))
def test_a_size_never_takes_more_than_four_digits(count: int) -> None:
    number = amounts.size(count).split()[0]
    assert len(number.replace(".", "")) <= 4


def test_a_nodes_memory_is_never_said_in_the_unit_of_what_is_sent() -> None:
    """48 MiB of memory are 50 MB on the wire: whoever reads both takes them for two numbers."""
    said = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted([*API.rglob("*.py"), *API.rglob("*.html")])
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\bsize\([^()]*\bram|\bram\w*\s*\|\s*size\b", line)
    ]
    assert said == []


@pytest.mark.real
def test_a_nodes_memory_is_said_as_it_was_set(empty: Installation) -> None:
    assert 'ram = "8 MiB"' in empty.settings.read_text(encoding="utf-8")
    assert "8 MiB" in empty.flex("nodes", "list").out

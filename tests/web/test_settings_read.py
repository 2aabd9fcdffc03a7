"""Which settings a running server goes by: those of its start, and pages say when the file says
something else.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from flex_api.settings import file as config
from tests.web.scriptless import Browser

if TYPE_CHECKING:
    from pathlib import Path

    from tests.rest.conftest import Door

GOOD = """schema = 1
[[node]]
name = "n1"
addresses = ["192.0.2.11"]
ram = "1 GiB"
[cluster]
name = "shared-eu1"
"""
TOLD = "This server goes by the settings that it read"


@pytest.fixture
def of_file(door: Door, tmp_path: Path) -> Door:
    (tmp_path / "flex.toml").write_text(GOOD, encoding="utf-8")
    return replace(door, settings=config.load(tmp_path / "flex.toml"))


def test_the_file_and_when_it_was_read_are_named(of_file: Door, tmp_path: Path) -> None:
    admin = Browser(of_file, "admin")
    page = " ".join(re.sub(r"<[^>]*>", "", admin.get("/settings")).split())
    assert re.search(r"Read from \S+flex.toml \S+ .*when this server started", page)
    assert TOLD not in page
    (tmp_path / "flex.toml").write_text(GOOD, encoding="utf-8")
    assert TOLD not in admin.get("/audit"), "it says what it said"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (GOOD.replace("eu1", "eu2"), "flex.toml was changed since."),
        (GOOD + "[clutser]\n", "cannot be used as it is now: clutser: there is no such setting"),
        ("schema = ", "cannot be used as it is now: this is not TOML"),
        (None, "cannot be used as it is now: there is no such file"),
    ],
    ids=["another value", "an unknown key", "no TOML", "gone"],
)
def test_every_page_says_that_the_file_says_something_else(
    of_file: Door, tmp_path: Path, now: str | None, said: str
) -> None:
    admin = Browser(of_file, "admin")
    (tmp_path / "flex.toml").unlink() if now is None else (tmp_path / "flex.toml").write_text(
        now, encoding="utf-8"
    )
    for path in ("/", "/audit", "/settings"):
        page = re.sub(r"<[^>]*>", "", admin.get(path))
        assert TOLD in page, path
        assert said in page, path
    assert "shared-eu1" in page


def test_settings_of_no_file_are_never_old(door: Door) -> None:
    assert TOLD not in Browser(door, "admin").get("/settings")

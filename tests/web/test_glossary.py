"""The words that FLEX uses are explained: in docs, on a page that every page leads to, and where
help ends.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex_api import cli
from flex_api.in_words.terms_explained import TERMS, markdown
from tests.web.scriptless import Browser

if TYPE_CHECKING:
    from tests.rest.conftest import Door

ROOT = Path(__file__).parents[2]


def test_docs_say_what_the_page_says() -> None:
    assert (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8") == markdown()
    assert {"off its fair share", "at rest", "cold", "given up"} <= set(TERMS)


def test_the_help_leads_to_the_words() -> None:
    assert "docs/reference/glossary.md" in cli.EXIT_CODES


def test_every_page_leads_to_the_page_of_words(admin: Browser) -> None:
    assert 'href="/glossary"' in admin.get("/")
    page = admin.get("/glossary")
    assert re.findall(r"<dt[^>]*>([^<]+)</dt>", page) == list(TERMS)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/nodes", {"off its fair share"}),
        ("/site?name=s000.example.org&part=why", {"at rest", "given up", "off its fair share"}),
        ("/plans/PLAN?tab=kept", {"at rest", "stopped", "put off"}),
        ("/plans/PLAN?tab=moves", {"cold"}),
    ],
)
def test_words_lead_to_what_they_mean_where_they_stand(
    door: Door, admin: Browser, address: str, words: set[str]
) -> None:
    page = admin.get(address.replace("PLAN", door.store.in_force()))
    there = set(re.findall(r'<dt id="([^"]+)"', admin.get("/glossary")))
    linked = set(re.findall(r'href="/glossary#([^"]+)"', page))
    assert {word.replace(" ", "-") for word in words} <= linked <= there

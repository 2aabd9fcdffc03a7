"""The words that FLEX uses are explained: in docs, on a page that every page leads to, and where help ends."""

from __future__ import annotations

import re
from pathlib import Path

from flex_api import cli
from flex_api.told.glossary import TERMS, markdown
from tests.web.scriptless import Browser

ROOT = Path(__file__).parents[2]


def test_docs_say_what_the_page_says() -> None:
    assert (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8") == markdown()
    assert {"off its fair share", "at rest", "cold", "given up"} <= set(TERMS)


def test_the_help_leads_to_the_words() -> None:
    assert "docs/glossary.md" in cli.EXIT_CODES


def test_every_page_leads_to_the_page_of_words(admin: Browser) -> None:
    assert 'href="/glossary"' in admin.get("/")
    page = admin.get("/glossary")
    assert re.findall(r"<dt[^>]*>([^<]+)</dt>", page) == list(TERMS)

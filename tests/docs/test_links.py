"""Every link in the docs leads somewhere, and every page is in the menu."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.docs.pages import DOCS, ROOT, pages, read_by_people

# What names pages beside the pages themselves: code, settings that FLEX writes, scripts.
NAMES_PAGES = ("*.py", "*.rs", "*.toml", "*.yml", "*.html", "*.sh", "Makefile")
FOLDERS = (
    "alembic",
    "api",
    "bench",
    "deploy",
    "dns",
    "flex",
    "logs_ingest",
    "native",
    "solver",
    "tests",
)
A_PAGE = re.compile(r"\bdocs/[\w./-]+\.(?:md|json)\b")


def tokens(page: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        yield token
        yield from token.children or ()


def links(page: str) -> list[str]:
    found = [str(token.attrs.get("href") or token.attrs.get("src") or "") for token in tokens(page)]
    return [link for link in found if link and not re.match(r"[a-z]+:", link)]


def anchors(page: str) -> set[str]:
    """What can stand behind `#` in a link to this page: its headings, as MyST spells them."""
    made: Counter[str] = Counter()
    inside = list(MarkdownIt("commonmark").enable("table").parse(page))
    for opening, heading in pairwise(inside):
        if opening.type == "heading_open":
            text = "".join(child.content for child in heading.children or ())
            made[re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")] += 1
    return set(made)


def dead_links(name: str, page: str) -> list[str]:
    return [link for link in links(page) if not leads_somewhere(name, link)]


def leads_somewhere(name: str, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (ROOT / name).parent / path if path else ROOT / name
    if not target.exists():
        return False
    return not anchor or (
        target.suffix == ".md" and anchor in anchors(target.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("name", read_by_people())
def test_no_link_is_dead(name: str) -> None:
    assert dead_links(name, read_by_people()[name]) == []


def test_a_dead_link_is_found() -> None:
    page = (
        "[a](nowhere.md) [b](reference/dns.md#nowhere) [c](reference/dns.md)"
        " ![d](none.svg) [e](#none)"
    )
    assert dead_links("docs/index.md", page) == [
        "nowhere.md",
        "reference/dns.md#nowhere",
        "none.svg",
        "#none",
    ]
    assert len([link for page in pages().values() for link in links(page)]) > 100


def test_every_page_is_in_the_menu_once() -> None:
    menu = re.findall(
        r"^(\w[\w/-]+)$",
        "".join(re.findall(r"```\{toctree\}(.*?)```", pages()["docs/index.md"], re.DOTALL)),
        re.MULTILINE,
    )
    there = pages().keys() - {"docs/index.md"}
    assert Counter(f"docs/{entry}.md" for entry in menu) == Counter(there)


def naming_files() -> Iterator[Path]:
    for folder in FOLDERS:
        for pattern in NAMES_PAGES:
            yield from (
                path for path in (ROOT / folder).rglob(pattern) if "target" not in path.parts
            )
    yield from (ROOT / "Makefile", ROOT / "pyproject.toml")


def test_code_names_pages_where_they_are() -> None:
    """Settings, help, errors, alerts: who reads one of these looks where it says."""
    named = {
        (str(path.relative_to(ROOT)), page)
        for path in naming_files()
        if path.parent != Path(__file__).parent
        for page in A_PAGE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert [one for one in named if not (ROOT / one[1]).is_file()] == []


def test_the_docs_are_where_the_test_looks() -> None:
    assert DOCS.is_dir()

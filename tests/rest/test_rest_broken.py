"""Settings and files that cannot be used: every page and every address says so as the command line
does, and the pages that need none of them are there all the same.
"""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from flex.model.drains_and_freezes import NodeOrder
from flex_api.pages.frame import PAGES
from tests.rest.test_rest_contract import PLACES, method, named, routes
from tests.web.scriptless import BROWSER, SITE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.rest.conftest import Door

FAULT = "A fault in FLEX itself"
SOURCE = [{"glob": "/nowhere/n1.log", "node": "n1", "format": "combined"}]


def _bad_line(folder: Path) -> dict[str, object]:
    (folder / "sites").write_text(
        f"ok.example.org\n{'x' * 70}\u00fc..example.org\n", encoding="utf-8"
    )
    return {"ingest": {"sites_file": str(folder / "sites"), "source": SOURCE}}


def _other_encoding(folder: Path) -> dict[str, object]:
    (folder / "sites").write_bytes("b\u00fccher.example.org\n".encode("latin-1"))
    return {"ingest": {"sites_file": str(folder / "sites"), "source": SOURCE}}


def _missing(folder: Path) -> dict[str, object]:
    return {"ingest": {"sites_file": str(folder / "none"), "source": SOURCE}}


def _no_file(folder: Path) -> dict[str, object]:
    return {"ingest": {"sites_file": str(folder), "source": SOURCE}}


def _no_directory(folder: Path) -> dict[str, object]:
    (folder / "file").touch()
    return {
        "ingest": {"directory": str(folder / "file" / "partials"), "source": SOURCE},
        "report": {"dir": str(folder / "file" / "reports")},
    }


def _no_key(folder: Path) -> dict[str, object]:
    return {
        "dns": {
            "zones": ["example.org"],
            "key_file": str(folder / "none"),
            "transfer_key_file": str(folder),
        }
    }


BROKEN = {
    "a bad line": _bad_line,
    "another encoding": _other_encoding,
    "a missing file": _missing,
    "a folder for a file": _no_file,
    "a file for a folder": _no_directory,
    "a missing key": _no_key,
}
OF_SITES = ("a bad line", "another encoding", "a missing file", "a folder for a file")


@pytest.fixture(scope="module", params=BROKEN)
def broken(
    request: pytest.FixtureRequest,
    doors: Callable[..., Door],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Door]:
    from flex_api import wiring
    from flex_api.app import create_app

    door = doors(**BROKEN[request.param](tmp_path_factory.mktemp("broken")))
    if request.param == "a missing key":
        # The real name servers' client: the double in memory needs no key.
        door.app = create_app(
            door.settings, door.store, lambda: wiring.publisher(door.settings, door.store)
        )
    return request.param, door


@pytest.mark.slow(
    "a folder for a file", "a missing file", "a bad line", "another encoding", "a missing key"
)
def test_no_page_calls_it_a_fault_of_flex(broken: tuple[str, Door]) -> None:
    what, door = broken
    browser, plan = door.open("admin", headers=BROWSER), door.store.headlines()[0].id
    pages = [path for path, _, _ in PAGES] + [
        SITE,
        f"{SITE}&part=files",
        "/node?name=n1",
        "/plans/all",
        f"/plans/{plan}",
    ]
    pages += [
        "/what-if?ask=now",
        "/dns?ask=now",
        "/data?node=n1",
        "/search?q=n1",
        "/sites.csv",
        "/metrics",
        "/badge.svg",
    ]
    for page in pages:
        answer = browser.get(page)
        said = html.unescape(re.sub(r"<[^>]*>", "", answer.text))
        assert FAULT not in said, (page, said[-3000:])
        assert answer.status_code in (200, 502, 503, 507), (page, answer.status_code, said[-1500:])
        if answer.status_code != 200 and page not in ("/metrics", "/badge.svg"):
            assert "Nothing" in said or "nothing" in said or "stays" in said, page
    if what in OF_SITES:
        for page in ("/audit", "/settings", "/history", "/nodes"):
            answer = browser.get(page)
            assert (answer.status_code, "ingest.sites_file" in answer.text) == (200, True), (
                page,
                answer.text[-800:],
            )


def test_a_dead_node_is_in_the_metrics_whatever_cannot_be_read(broken: tuple[str, Door]) -> None:
    what, door = broken
    door.store.order_node(NodeOrder("n1", "down", datetime(2026, 3, 4, tzinfo=UTC)))
    answer = door.open("viewer").get("/metrics")
    assert answer.status_code == 200, answer.text
    assert re.search(r'^flex_node_dead_sites\{node="n1"\} [1-9]', answer.text, re.MULTILINE)
    missing = {
        part
        for part, value in re.findall(
            r'^flex_metrics_missing\{part="(\w+)"\} ([01])$', answer.text, re.MULTILINE
        )
        if value == "1"
    }
    assert missing == ({"logs"} if what in OF_SITES else set())
    comments = re.findall(r"^# missing: (.*)$", answer.text, re.MULTILINE)
    assert len(comments) == len(missing)
    assert all("ingest.sites_file" in said for said in comments), comments
    # Each line is one that Prometheus reads or passes over.
    assert all(re.fullmatch(r"#.*|\w+(\{.*\})? \S+", line) for line in answer.text.splitlines())


@pytest.mark.slow
def test_no_address_of_the_api_calls_it_a_fault_of_flex(broken: tuple[str, Door]) -> None:
    _, door = broken
    plans = [one.id for one in door.store.headlines()]
    for route in routes():
        path = route.path.format(**PLACES, plan=plans[0], partition=plans[-1])
        if path.endswith("/events"):
            continue
        answer = door.open("admin", headers={"If-Match": "*"}).request(method(route), path, json={})
        assert answer.status_code != 500, (named(route), answer.text)
        if answer.status_code >= 400:
            said = answer.json()
            assert said["code"] != "internal", named(route)
            assert {"detail", "unchanged", "next_step", "request_id"} <= set(said), (
                named(route),
                said,
            )

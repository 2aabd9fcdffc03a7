"""Names that visitors made up, from the line of a log to every page: markup, marks that turn text
around, 64 KB.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from flex.store import open_store
from flex_api import cli
from flex_api.app import create_app
from flex_api.settings import file as config
from flex_dns.wire.key import make_key
from tests.rest.conftest import still

NOW = datetime(2026, 3, 3, 9, tzinfo=UTC)
NAMES = {
    "markup": "<script>alert(1)</script>",
    "attribute": "\"onmouseover='alert(1)'x=\"",
    "template": "{{7*7}}{%raw%}",
    "turned": "abc\u202etxt.exe",
    "isolated": "\u2066\u2067\u2068",
    "controls": "a\x01\x1b[31mred",
    "address": "javascript:alert(1)",
    "formula": "=cmd|'/C calc'!A0",
    "large": "x" * 65_000,
}
TURNING = tuple(chr(mark) for mark in (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
LARGEST = 300_000


def log() -> bytes:
    """Each name as a site's directory and as a file, with an agent of the same kind."""
    lines = []
    for number, name in enumerate(NAMES.values()):
        for spelled in (name.encode(), quote(name, safe="").encode()):
            for path in (b"/" + spelled + b"/index.html", b"/shop/" + spelled):
                agent = name.replace('"', "'").encode()[:300]
                lines += [
                    b'192.0.2.9 - - [02/Mar/2026:%02d:%02d:00 +0000] "GET %s '
                    b'HTTP/1.1" 200 %d "-" "%s"\n'
                    % (hour, number, path.replace(b" ", b"%20"), 1000 + number, agent)
                    for hour in range(24)
                ]
    return b"".join(lines) + b"192.0.2.9 <img src=x onerror=alert(1)> \xe2\x80\xae broken\n" * 30


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    (tmp_path / "access.log").write_bytes(log())
    (tmp_path / "flex.key").touch(mode=0o600)
    (tmp_path / "flex.key").write_text(make_key("flex").clause(), encoding="utf-8")
    nodes = "".join(
        f'[[node]]\nname = "n{at}"\naddresses = ["192.0.2.{at}"]\nram = "8 MiB"\n' for at in (1, 2)
    )
    (tmp_path / "flex.toml").write_text(
        f'schema = 1\n{nodes}[cluster]\nname = "shared"\n[auth]\nanonymous = "admin"\n'
        "[api]\nrequests_per_second = 0\n[profile]\nmax_malformed = "
        '1.0\n[dns]\nkey_file = "flex.key"\n'
        f'[[ingest.source]]\nglob = "{tmp_path}/access.log"\nnode = "n1"\nformat = '
        '"combined"\nsite_by = "directory"\n',
        encoding="utf-8",
    )
    for verb in (["db", "upgrade"], ["ingest"], ["plan", "--as-of", "2026-03-03T02:17:00"]):
        assert cli.run(["--config", str(tmp_path / "flex.toml"), "-q", *verb]) == 0, verb
    found = config.load(tmp_path / "flex.toml")
    app = create_app(found, open_store(found.database.url), clock=lambda: NOW, ticks=still)
    return TestClient(app, headers={"Accept": "text/html"}, raise_server_exceptions=False)


def test_no_name_does_anything_on_any_page(client: TestClient) -> None:
    sites = client.get("/api/v1/sites?limit=1000").json()["items"]
    assert len(sites) > len(NAMES)
    plan = client.get("/api/v1/plans").json()["items"][0]["id"]
    pages = [
        "/",
        "/sites",
        "/nodes",
        "/node?name=n1",
        "/data",
        "/history",
        "/audit",
        "/routing",
        "/settings",
        "/dns",
    ]
    pages += [f"/plans/{plan}?tab={tab}" for tab in ("moves", "dns", "kept")] + [
        f"/api/v1/reports/{plan}"
    ]
    pages += [
        f"/site?name={quote(one['site'], safe='')}&part=files"
        for one in sites
        if len(one["site"]) < 4_000
    ]
    pages += [
        f"/search?q={quote(name[:200], safe='')}" for name in NAMES.values() if name.isprintable()
    ]
    for page in pages:
        answer = client.get(page)
        assert answer.status_code == 200, (page[:200], answer.text[:500])
        text = answer.text
        assert len(answer.content) < LARGEST, page
        for harm in (
            "<script>alert",
            "<img src=x",
            "onmouseover='alert",
            'href="javascript:',
            "49{",
        ):
            assert harm not in text, (page, harm)
        assert not [mark for mark in (*TURNING, "\x1b", "\x01") if mark in text], page


@pytest.mark.slow
def test_a_table_that_a_spreadsheet_opens_has_no_formula(client: TestClient) -> None:
    rows = client.get("/sites.csv").text.splitlines()
    assert not [row for row in rows if row.startswith(("=", "+", "@", '"='))]


@pytest.mark.slow
def test_a_name_too_long_for_an_address_is_refused_in_words(client: TestClient) -> None:
    answer = client.get(f"/site?name={'x' * 65_000}")
    assert answer.status_code == 422
    assert "Bad input" in answer.text

"""What is printed for people is shown as it is: names and settings are chosen by others, and some
look like markup.
"""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from flex_api.cli.common import Context
from flex_api.cli.progress_bar import following
from flex_api.in_words import results_in_terminal, tokens_and_audit_text
from flex_api.schemas.tokens_and_audit import AuditOutput, AuditRow
from flex_api.schemas.verbs_output import CheckRow
from flex_logs_ingest.reading.run_state import Step

ODD = [
    "add an [[ingest.source]] for each node",
    "set [dns]",
    "[::1]:53",
    "2001:db8:100::100:",
    "[red]late[/red]",
    "[/]",
]


@pytest.mark.parametrize("said", ODD)
def test_a_line_is_shown_as_it_is(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Context().say(said)
    assert capsys.readouterr().out == f"{said}\n"


@pytest.mark.parametrize("said", ODD)
def test_a_table_shows_its_cells_as_they_are(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    row = CheckRow(name="logs", state="warn", detail=said, advice=said)
    results_in_terminal.checks(Context().console, [row], whole=False)
    assert capsys.readouterr().out.splitlines() == [f"warn logs: {said}", f"     {said}"]


@pytest.mark.parametrize("name", ["access[1].log", "[red]late.log", "a[bold].log"])
def test_the_line_of_progress_shows_the_name_of_a_log_as_it_is(name: str) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    with following(console) as told:
        told(Step("web", f"/var/log/{name}", 1, 2, 1, 2, 1))
    assert isinstance(console.file, io.StringIO)
    assert f"web: {name}" in console.file.getvalue()


def test_what_is_well_is_one_line_that_counts_it_or_each_where_all_is_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ("disk", "logs of n1", "logs of n2")
    rows = [CheckRow(name=name, state="ok", detail="port 80", advice="") for name in names]
    results_in_terminal.checks(Context().console, rows, whole=False)
    assert capsys.readouterr().out == "3 checks ok (`--long` has each): disk, logs of 2\n"
    results_in_terminal.checks(Context().console, rows, whole=True)
    assert capsys.readouterr().out.splitlines() == [f"ok {name}: port 80" for name in names]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"nodes": ["n2"], "weight": 1.0}, {"nodes": ["n3"], "weight": 1.0}, "nodes n2 → n3"),
        (None, {"site": "shop", "nodes": ["n2"], "until": None, "author": "bob"}, "nodes n2"),
        ({"node": "shop", "state": "draining"}, None, "state draining"),
        ({"state": "x" * 30}, {"state": ""}, f"state {'x' * 24}… → -"),
        ("a word", None, ""),
    ],
)
def test_a_change_is_said_part_by_part_without_what_stands_beside_it(
    before: object, after: object, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = AuditRow(
        number=1, time=datetime(2026, 3, 1, tzinfo=UTC), actor="bob", action="it", subject="shop",
        reason="", request="", before=before, after=after, previous="", hash="",
    )  # fmt: skip
    tokens_and_audit_text.audit(Console(width=200), AuditOutput(items=[row]))
    assert capsys.readouterr().out.splitlines()[1].partition("shop")[2].strip() == said

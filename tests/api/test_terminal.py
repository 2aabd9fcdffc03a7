"""What is printed for people is shown as it is: names and settings are chosen by others, and some
look like markup.
"""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from flex_api.cli.common import Context
from flex_api.cli.progress_bar import following
from flex_api.in_words import results_in_terminal
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

"""Options that every verb takes, before it and behind it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from flex_api import cli
from flex_api.cli import everywhere, remote

if TYPE_CHECKING:
    import typer


@pytest.mark.parametrize("app", [cli.app, remote.app], ids=["here", "remote"])
def test_every_verb_takes_the_form_of_its_output(app: typer.Typer) -> None:
    verbs = list(everywhere.below(everywhere.command(app)))
    assert len(verbs) > 10
    assert [verb.name for verb in verbs if sum("-o" in option.opts for option in verb.params) != 1] == []


@pytest.mark.parametrize("said", [("-o", "json", "version"), ("version", "-o", "json"), ("version", "--json")])
def test_the_form_is_the_same_wherever_it_is_said(said: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(said) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


def test_what_is_said_behind_the_verb_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["-o", "json", "version", "-o", "table"]) == 0
    assert not capsys.readouterr().out.startswith("{")

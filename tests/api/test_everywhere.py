"""Options that every verb takes, before it and behind it."""

from __future__ import annotations

import json

import pytest

from flex_api import cli
from flex_api.cli import verb_groups
from flex_api.cli.verb_groups import FIRST, GROUPS, VERBS


def test_every_verb_takes_the_form_of_its_output() -> None:
    verbs = list(verb_groups.verbs_below(cli.application()))
    assert len(verbs) > 10
    assert [
        verb.name for verb in verbs if sum("-o" in option.opts for option in verb.params) != 1
    ] == []


@pytest.mark.parametrize("name", VERBS)
def test_help_says_of_a_verb_what_the_verb_says_of_itself(name: str) -> None:
    verb = cli.application().commands[name]
    assert VERBS[name].line == verb.get_short_help_str(1000)


def test_every_verb_stands_in_one_group() -> None:
    assert sum(map(len, GROUPS.values())) == len(VERBS)


def test_help_lists_every_verb_and_a_verb_that_there_is_not_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["help", "all"]) == 0
    listed = capsys.readouterr().out
    assert [verb for verb in VERBS if f"\n  {verb} " not in listed] == []
    assert cli.run(["--help"]) == 0
    first = capsys.readouterr().out
    assert {verb for verb in VERBS if f"\n  {verb} " in first} == set(FIRST)
    assert f"{len(VERBS) - len(FIRST)} more verbs" in first
    assert cli.run(["nodse"]) == 2
    assert "nodes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "Verbs to begin with:"),
        (("exit-codes",), "Exit codes: 0 done"),
        (("nodes", "drain"), "Usage: flex nodes drain "),
        (("plan",), "Usage: flex plan "),
    ],
)
def test_help_tells_of_one_verb_as_the_verb_does(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["help", *words]) == 0
    helped = capsys.readouterr().out
    assert told in helped
    if "exit-codes" not in words:
        assert cli.run([*words, "--help"]) == 0
        assert capsys.readouterr().out == helped


@pytest.mark.parametrize("words", [("nix",), ("nodes", "nix"), ("apply", "nix"), ("logs",)])
def test_help_of_what_is_no_verb_is_wrong_usage(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["help", *words]) == 2
    assert f"No such command {words[-1]!r}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "said", [("-o", "json", "version"), ("version", "-o", "json"), ("version", "--json")]
)
def test_the_form_is_the_same_wherever_it_is_said(
    said: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(said) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


def test_what_is_said_behind_the_verb_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["-o", "json", "version", "-o", "table"]) == 0
    assert not capsys.readouterr().out.startswith("{")

"""A verb is the same on this machine and with `--server`: one definition, and a side that cannot do
it says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flex_api import cli
from flex_api.cli.local_only import OF_A_VERB, OF_AN_OPTION

# Nobody listens there: whoever asks ends with AWAY.
NOWHERE = "http://127.0.0.1:1"
AWAY = 27
# The exit codes of a refusal. `flex route` has had 3 since before the others.
REFUSED = {2, 3}
# What a verb needs, and what an option is given, by the name of the parameter or by its metavar.
GIVEN = {
    "addresses": "192.0.2.9",
    "ram": "8 MiB",
    "reason": "because",
    "role": "viewer",
    "shell": "bash",
    "site": "a.example",
    "times": "a.example=2",
    "as_of": "2027-01-01",
    "tolerance": "0.05",
    "TIME": "2027-01-01",
}
# `flex whatif --ram` is a factor. Rules are looked at before a plan is made that goes back.
GIVEN_TO_A_VERB = {
    ("whatif", "ram"): "1.5",
    ("report", "form"): "html",
    ("rollback", "force"): "freeze",
    ("move", "force"): "freeze",
    ("moves", "state"): "open",
    ("export", "form"): "hosts",
    ("files", "sort"): "bytes",
}
# A change of a node says what of it.
BESIDES = {"nodes set": ("--capacity", "2")}
# A reason is a sentence of its own, not a word.
WORDS_OF_A_REASON = 4


def verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Any: the command objects of the library below Typer have no public types."""
    inner = getattr(command, "commands", {})
    if path and (not inner or command.invoke_without_command):
        yield " ".join(path), command
    for name, verb in inner.items():
        yield from verbs(verb, (*path, name))


VERBS = dict(verbs(cli.application()))


def value(verb: str, parameter: Any) -> str:
    name = parameter.name
    given = GIVEN_TO_A_VERB.get((verb, name)) or GIVEN.get(name)
    return given or GIVEN.get(parameter.metavar or "", "1")


def needed(verb: str) -> list[str]:
    """The arguments and options without which it is not understood."""
    words = list(BESIDES.get(verb, ()))
    for parameter in VERBS[verb].params:
        if parameter.required and parameter.param_type_name == "argument":
            words.append(value(verb, parameter))
        elif parameter.required:
            words += [parameter.opts[0], value(verb, parameter)]
    return words


def given_words(verb: str, parameter: Any) -> list[str]:
    """As somebody writes it on the command line."""
    if parameter.param_type_name == "argument":
        return [value(verb, parameter)]
    name: str = parameter.opts[0]
    return [name] if parameter.is_flag else [name, value(verb, parameter)]


def ask(tmp_path: Path, *words: str) -> int:
    token = tmp_path / "token"
    token.write_text("flex_x", encoding="utf-8")
    return cli.run(["--server", NOWHERE, "--token-file", str(token), *words])


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_asks_the_server_or_says_why_it_does_not(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, works_here_only, why = VERBS[verb].help.partition(OF_A_VERB)
    code = ask(tmp_path, *verb.split(), *needed(verb))
    said = capsys.readouterr().err
    if works_here_only:
        assert code in REFUSED
        assert len(why.split()) >= WORDS_OF_A_REASON
        assert why.strip().rstrip(".") in " ".join(said.split())
        assert "--server" in said
    else:
        assert code == AWAY, said


OPTIONS = [
    (verb, option)
    for verb, command in VERBS.items()
    if OF_A_VERB not in command.help
    for option in command.params
    if not option.required and option.opts[0] not in ("-o", "--output")
]


@pytest.mark.parametrize(
    ("verb", "option"), OPTIONS, ids=[f"{verb} {one.opts[0]}" for verb, one in OPTIONS]
)
def test_an_option_is_taken_with_a_server_or_says_that_it_is_not(
    verb: str, option: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = given_words(verb, option)
    code = ask(tmp_path, *verb.split(), *needed(verb), *words)
    said = " ".join(capsys.readouterr().err.split())
    _, works_here_only, why = (option.help or "").partition(OF_AN_OPTION)
    if works_here_only:
        assert code == 2
        assert f"{words[0]} with --server" in said or "FILE with --server" in said
        assert len(why.split()) >= WORDS_OF_A_REASON
        assert why in said
    else:
        assert code == AWAY, said


def test_there_is_one_definition_of_each_verb() -> None:
    assert len(VERBS) == len(set(VERBS)) > 40

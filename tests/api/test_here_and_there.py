"""A verb is the same on this machine and with `--server`: one definition, and a side that cannot do
it says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flex_api import cli
from flex_api.cli import global_options
from flex_api.cli.common import NOT_THERE

# Nobody listens there: whoever asks ends with AWAY.
NOWHERE = "http://127.0.0.1:1"
AWAY = 27
# The exit codes of a refusal. `flex route` has had 3 since before the others.
REFUSED = {2, 3}
WHY = "Not with --server: "
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
# `flex whatif --ram` is a factor.
OF_A_VERB = {("whatif", "ram"): "1.5", ("report", "form"): "html"}
# A change of a node says what of it.
BESIDES = {"nodes set": ("--capacity", "2")}
# Its help says in one sentence which option a server takes.
IN_A_SENTENCE = {"ingest": "takes --reason alone"}


def verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Any: the command objects of the library below Typer have no public types."""
    inner = getattr(command, "commands", {})
    if path and (not inner or command.invoke_without_command):
        yield " ".join(path), command
    for name, verb in inner.items():
        yield from verbs(verb, (*path, name))


VERBS = dict(verbs(global_options.command(cli.application())))


def value(verb: str, parameter: Any) -> str:
    name = parameter.name
    given = OF_A_VERB.get((verb, name)) or GIVEN.get(name)
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


def ask(tmp_path: Path, *words: str) -> int:
    token = tmp_path / "token"
    token.write_text("flex_x", encoding="utf-8")
    return cli.run(["--server", NOWHERE, "--token-file", str(token), *words])


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_asks_the_server_or_says_why_it_does_not(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, works_here_only, why = VERBS[verb].help.partition(WHY)
    code = ask(tmp_path, *verb.split(), *needed(verb))
    said = capsys.readouterr().err
    if works_here_only:
        assert code in REFUSED
        assert why.strip().rstrip(".") in " ".join(said.split())
        assert "--server" in said
    else:
        assert code == AWAY, said


OPTIONS = [
    (verb, option)
    for verb, command in VERBS.items()
    if WHY not in command.help
    for option in command.params
    if option.param_type_name == "option" and option.opts[0] not in ("-o", "--output")
]


@pytest.mark.parametrize(
    ("verb", "option"), OPTIONS, ids=[f"{verb} {one.opts[0]}" for verb, one in OPTIONS]
)
def test_an_option_is_taken_with_a_server_or_says_that_it_is_not(
    verb: str, option: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [] if option.is_flag else [value(verb, option)]
    code = ask(tmp_path, *verb.split(), *needed(verb), option.opts[0], *words)
    said = capsys.readouterr().err
    in_a_sentence = IN_A_SENTENCE.get(verb, "")
    assert in_a_sentence in " ".join(VERBS[verb].help.split())
    works_here_only = NOT_THERE in (option.help or "") or (
        bool(in_a_sentence) and option.opts[0] not in in_a_sentence
    )
    if works_here_only:
        assert code == 2
        assert f"{option.opts[0]} with --server" in said
    else:
        assert code == AWAY, said


def test_there_is_one_definition_of_each_verb() -> None:
    assert len(VERBS) == len(set(VERBS)) > 40

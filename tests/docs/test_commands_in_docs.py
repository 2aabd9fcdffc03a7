"""Every `flex` command that a page shows is one that the real command line takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.commands import OF_ACCOUNTS, Shown, fault, in_script, shown
from tests.docs.pages import ROOT, read_by_people

# `flex` as a word of its own in front of what could be a verb or an option, wherever it stands
# on a page; the simulator has a policy of this name.
LOOKS_LIKE_A_COMMAND = re.compile(r"(?<!--policy )(?<![\w./-])flex +(?:-\w|--[a-z]|[a-z])[\w-]*")


@pytest.mark.parametrize("name", read_by_people())
def test_a_page_shows_no_command_that_there_is_not(name: str) -> None:
    commands = shown(read_by_people()[name])
    assert {str(command): said for command in commands if (said := fault(command))} == {}


@pytest.mark.parametrize("name", read_by_people())
def test_no_command_of_a_page_is_missed(name: str) -> None:
    """Counted a second time, by another rule: what the first rule misses is never checked."""
    page = re.sub(r"```text\n.*?```", "", read_by_people()[name], flags=re.DOTALL)
    code = re.findall(r"```.*?```|^ {4}.*$|`[^`]+`", page, re.DOTALL | re.MULTILINE)
    lines = [re.sub(r"(?<=\s)#.*$", "", line) for line in "\n".join(code).splitlines()]
    looks_so = {
        found.split()[1]
        for line in lines
        if not OF_ACCOUNTS.intersection(line.split()[:1])
        for found in LOOKS_LIKE_A_COMMAND.findall(line)
    }
    assert looks_so - {command.words[0] for command in shown(read_by_people()[name])} == set()


def test_the_pages_show_most_verbs() -> None:
    """So the tests above do not pass because nothing was found."""
    verbs = {command.words[0] for page in read_by_people().values() for command in shown(page)}
    assert {
        "apply",
        "doctor",
        "explain",
        "ingest",
        "nodes",
        "plan",
        "rollback",
        "run",
        "sites",
        "verify",
    } <= verbs


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("flex aply", "No such command 'aply'"),
        ("flex nodes drian n1", "No such command 'drian'"),
        ("flex plan --frobnicate", "No such option: --frobnicate"),
        ("flex sites pin a.example --node n1", "No such option: --node"),
        ("flex sites pin", "Missing argument"),
        ("flex whatif --more many", "valid integer"),
        ("flex --server https://flex.example.net ingest --nowhere", "No such option: --nowhere"),
        ("cd /srv && sudo -u flex /opt/flex/bin/flex aply --now", "No such command 'aply'"),
        ("*/15 * * * * flex -q ingets", "No such command 'ingets'"),
    ],
)
def test_what_is_no_command_is_found(script: str, said: str) -> None:
    (words,) = in_script(script)
    assert said in fault(Shown(words, 1, is_whole=True))


def test_a_script_is_cut_into_its_commands() -> None:
    script = (
        "flex plan --diff # flex nothing\n"
        "flex ingest \\\n  --node n1 x && echo flex: | flex apply\n"
        "chgrp flex /etc/flex"
    )
    assert list(in_script(script)) == [
        ("plan", "--diff"),
        ("ingest", "--node", "n1", "x"),
        ("apply",),
    ]


def test_inline_code_may_name_a_verb_without_its_arguments() -> None:
    (inline,) = shown("Then `flex sites pin` does it.")
    (block,) = shown("    flex sites pin\n")
    assert (fault(inline), fault(block) != "") == ("", True)


def test_the_settings_that_flex_init_writes_show_no_command_that_there_is_not() -> None:
    starter = (ROOT / "api/flex_api/starter/flex.toml").read_text(encoding="utf-8")
    commands = [words for code in re.findall(r"`([^`]+)`", starter) for words in in_script(code)]
    assert commands
    assert [words for words in commands if fault(Shown(words, 1, is_whole=False))] == []


def _texts(module: Path) -> Iterator[str]:
    """What the module may say, not what it says of itself; X stands for what is filled in."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.slow
def test_what_flex_says_names_no_command_that_there_is_not() -> None:
    said = {
        (module.name, code)
        for folder in ("api", "dns", "flex", "logs_ingest", "solver")
        for module in (ROOT / folder).rglob("*.py")
        for text in _texts(module)
        for code in re.findall(r"`(flex [^`]+)`", text)
    }
    assert len(said) > 100
    wrong = {
        (module, code): why
        for module, code in said - {("__init__.py", "flex --help")}
        for words in in_script(code)
        if (why := fault(Shown(words, 1, is_whole=False)))
        # Options are filled in there.
        and "unexpected extra argument(s) (X)" not in why
    }
    assert wrong == {}

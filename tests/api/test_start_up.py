"""Help, errors of usage, completion and the version load no library that computes, stores or asks
DNS; a verb loads what it works with. What is in memory decides, not seconds: `make bench
NAME=startup` has those.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from flex_api.cli.verb_groups import VERBS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.conftest import Installation

# Calls of the command line in one process; then the packages that are loaded. One that is put off
# has a placeholder.
PROGRAM = """
import sys
from flex_api import cli
from flex_api.lazy_imports import _Later
for words in {calls!r}:
    cli.run(words)
loaded = [name for name, module in sys.modules.items() if type(module) is not _Later]
sys.stderr.write("loaded: " + " ".join(loaded))
"""
# Slow to load, and of use to nobody who asks how something is written.
LIBRARIES = {
    "alembic",
    "dns",
    "duckdb",
    "fastapi",
    "highspy",
    "jinja2",
    "numpy",
    "pandas",
    "pulp",
    "pyarrow",
    "pydantic",
    "rich",
    "scipy",
    "sqlalchemy",
    "starlette",
}


def loaded_by(*calls: Sequence[str], **environment: str) -> set[str]:
    """The modules that are in memory when all are done."""
    program = PROGRAM.format(calls=[list(words) for words in calls])
    said = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, **environment},
    ).stderr
    return set(said.rpartition("loaded: ")[2].split())


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["version"],
        ["completion", "bash"],
        ["no-such-verb"],
        ["--no-such-option"],
        ["nodes", "no-such-verb"],
        ["nodes", "list", "--no-such-option"],
        ["nodes", "drain"],
    ],
    ids=" ".join,
)
def test_help_version_and_errors_of_usage_load_no_library(words: list[str]) -> None:
    assert loaded_by(words) & LIBRARIES == set()


def test_help_and_errors_of_usage_load_no_module_of_a_verb() -> None:
    modules = loaded_by(["--help"], ["no-such-verb"])
    assert not modules & {"flex_api.cli.nodes", "flex_api.cli.local_or_server"}


def test_the_help_of_no_verb_loads_a_library() -> None:
    assert loaded_by(*([verb, "--help"] for verb in VERBS)) & LIBRARIES == set()


@pytest.mark.parametrize("line", ["flex no", "flex nodes dr", "flex simulate --mo", "flex logs "])
def test_completion_in_the_shell_loads_no_library(line: str) -> None:
    asked = {
        "_FLEX_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    assert loaded_by([], **asked) & LIBRARIES == set()


@pytest.mark.parametrize(
    ("said", "spared"),
    [
        (
            "nodes down n1",
            "fastapi starlette jinja2 pulp highspy _duckdb flex_solver.auto flex_api.night.nightly",
        )
    ],
)
def test_a_verb_begins_without_what_only_others_need(
    said: str, spared: str, tmp_path: Path
) -> None:
    settings = tmp_path / "flex.toml"
    settings.write_text("schema = 1\n", encoding="utf-8")
    modules = loaded_by(["--config", str(settings), *said.split()])
    assert [name for name in spared.split() if name in modules] == []


@pytest.mark.slow
@pytest.mark.real
def test_who_looks_at_rows_loads_no_tables_no_solver_and_no_dns(installation: Installation) -> None:
    """With a plan in force. Tables are for verbs that compute with all sites."""
    installation.first_night()
    spared = {"alembic", "dns.message", "fastapi", "flex_solver", "highspy", "jinja2", "pulp"}
    tables = {"numpy", "pandas", "pyarrow"}
    before = ["--config", str(installation.settings)]
    rows = ["nodes list", "history", "plan list"]
    modules = loaded_by(*([*before, *verb.split()] for verb in rows))
    assert "sqlalchemy" in modules
    assert modules & (spared | tables) == set()
    site = installation.flex("-o", "json", "sites", "list").json["items"][0]["site"]
    modules = loaded_by([*before, "explain", site])
    assert "pandas" in modules
    assert modules & spared == set()

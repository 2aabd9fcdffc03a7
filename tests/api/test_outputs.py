"""What is published is what is printed: schemas, verbs, exit codes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from flex_api import cli
from flex_api.schemas.outputs_by_verb import OUTPUTS

if TYPE_CHECKING:
    from tests.api.conftest import Installation

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schemas"


def file_of(verb: str) -> Path:
    return SCHEMAS / f"{verb.replace(' ', '-')}.json"


@pytest.mark.parametrize("verb", OUTPUTS)
def test_the_published_schema_is_the_one_in_force(verb: str) -> None:
    schema = json.dumps(OUTPUTS[verb].model_json_schema(), indent=2) + "\n"
    if os.environ.get("FLEX_UPDATE"):
        file_of(verb).parent.mkdir(exist_ok=True)
        file_of(verb).write_text(schema, encoding="utf-8")
    assert file_of(verb).read_text(encoding="utf-8") == schema


def test_no_schema_is_published_for_a_verb_that_is_gone() -> None:
    assert {path.name for path in SCHEMAS.iterdir()} == {file_of(verb).name for verb in OUTPUTS}


# What each verb is called with to print its kind of output; the rest needs more than an
# installation.
CALLS = {
    "version": ("version",),
    "ingest": ("ingest",),
    "plan": ("plan", "--as-of", "NOW"),
    "plan list": ("plan", "list"),
    "apply": ("apply", "--as-of", "NOW"),
    "plan frontier": ("plan", "frontier"),
    "plan diff": ("plan", "diff", "2026"),
    "whatif": ("whatif", "--more", "1", "--growth", "0.2", "--frontier"),
    "verify": ("verify",),
    "sites list": ("sites", "list"),
    "files": ("files",),
    "sites unknown": ("sites", "unknown"),
    "nodes list": ("nodes", "list"),
    "nodes add": ("nodes", "add", "n9", "--addresses", "192.0.2.9", "--ram", "8 MiB", "--dry-run"),
    "nodes set": ("nodes", "set", "n3", "--capacity", "1.5", "--dry-run"),
    "freeze": ("freeze", "--dry-run"),
    "thaw": ("thaw",),
    "history": ("history",),
    "doctor": ("doctor",),
    "config check": ("config", "check"),
    "config show": ("config", "show"),
    "db status": ("db", "status"),
    "report": ("report",),
    "run": ("run", "--as-of", "NOW"),
}


@pytest.mark.slow
@pytest.mark.real
def test_what_a_verb_prints_as_json_follows_its_schema(installation: Installation) -> None:
    for verb, call in CALLS.items():
        arguments = (installation.as_of() if argument == "NOW" else argument for argument in call)
        said = installation.flex("-o", "json", *arguments)
        assert said.code == 0, (verb, said.err)
        schema: Any = json.loads(file_of(verb).read_text(encoding="utf-8"))
        jsonschema.validate(said.json, schema)


def verbs(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Any: the command objects of the library below Typer have no public types."""
    command = command or cli.application()
    for name, inner in getattr(command, "commands", {}).items():
        if getattr(inner, "commands", {}):
            yield from verbs(inner, (*path, name))
        yield " ".join((*path, name))


def test_every_verb_says_what_it_does() -> None:
    command = cli.application()
    for verb in verbs():
        found: Any = command
        for word in verb.split():
            found = found.commands[word]
        assert found.help, verb

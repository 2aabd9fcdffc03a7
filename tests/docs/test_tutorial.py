"""The tutorial works as it stands there, command by command, on a demo of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import passable
from tests.docs.pages import pages

PLACE = "$HOME/flex-tutorial"
MAKE = f"make demo DEMO_DIR={PLACE}"
# It serves until somebody ends it.
SERVE = "flex serve"
# Seconds, far beyond what a block of the tutorial takes on a busy machine.
PATIENCE = 300


def blocks() -> list[str]:
    """What a reader types, in order, from the demo on."""
    page = pages()["docs/start/tutorial.md"]
    assert MAKE in page
    return re.findall(r"```sh\n(.*?)```", page, re.DOTALL)


@pytest.fixture
def folder() -> Iterator[Path]:
    with passable() as made:
        yield made


@pytest.fixture
def reader(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who follows it, with this FLEX for theirs."""
    program = tmp_path / "bin" / "flex"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "from flex_api.cli import main; main()" "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(tmp_path), "NO_COLOR": "1"}


def run(script: str, reader: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env=reader,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.real
@pytest.mark.torture
def test_each_command_of_the_tutorial_works_in_its_order(
    folder: Path, reader: dict[str, str]
) -> None:
    place = folder / "tutorial"
    run(f"flex demo --dir {place}", reader)
    reader["FLEX_CONFIG"] = f"{place}/flex.toml"
    told = ""
    for block in blocks():
        # Its first line is about a checkout, whose flex is the reader's here.
        lines = [line for line in block.splitlines() if not line.startswith(("export ", SERVE))]
        told += run("\n".join(lines).replace(PLACE, str(place)), reader)
    assert len(blocks()) > 6
    assert "stays on n2: pinned to n2" in told
    assert not place.exists()


def test_each_command_of_the_tutorial_is_in_a_block_that_is_run() -> None:
    page = pages()["docs/start/tutorial.md"]
    elsewhere = re.sub(r"```sh\n.*?```", "", page, flags=re.DOTALL)
    assert re.findall(r"^ {4}(.+)$", elsewhere, re.MULTILINE) == [MAKE]
    assert SERVE in "".join(blocks())

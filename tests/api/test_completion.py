"""The completion script, sourced in a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def completed(folder: Path, *typed: str) -> list[set[str]]:
    """What bash offers for the last word of each that was typed."""
    program = folder / "flex"
    program.write_text(
        f"#!{sys.executable}\nfrom flex_api.cli import main\nmain()\n", encoding="utf-8"
    )
    program.chmod(0o755)
    script = "source <(flex completion bash)\n"
    for each in typed:
        words = " ".join(f"'{word}'" for word in each.split(" "))
        script += f"COMP_WORDS=({words}) COMP_CWORD={each.count(' ')}\n"
        script += '_flex_completion flex\necho "${COMPREPLY[*]}"\n'
    path = f"{folder}:{os.environ['PATH']}"
    said = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        timeout=300,
        check=True,
    )
    return [set(line.split()) for line in said.stdout.splitlines()]


@pytest.mark.slow
def test_verbs_and_options_are_completed(tmp_path: Path) -> None:
    verbs, of_nodes, options = completed(tmp_path, "flex pl", "flex nodes ", "flex plan --d")
    assert verbs == {"plan"}
    assert of_nodes == {"list", "add", "set", "drain", "undrain", "down", "up", "remove"}
    assert "--detailed-exitcode" in options

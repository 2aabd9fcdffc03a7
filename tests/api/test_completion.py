"""The completion script, sourced in a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def completed(typed: str, folder: Path) -> set[str]:
    """What bash offers for the last word of what was typed."""
    program = folder / "flex"
    program.write_text(f"#!{sys.executable}\nfrom flex_api.cli import main\nmain()\n", encoding="utf-8")
    program.chmod(0o755)
    words = " ".join(f"'{word}'" for word in typed.split(" "))
    script = (
        "source <(flex completion bash)\n"
        f"COMP_WORDS=({words}) COMP_CWORD={typed.count(' ')}\n"
        "_flex_completion flex\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{folder}:{os.environ['PATH']}"
    said = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=60, check=True
    )
    return set(said.stdout.split())


def test_verbs_and_options_are_completed(tmp_path: Path) -> None:
    assert completed("flex pl", tmp_path) == {"plan"}
    assert completed("flex nodes ", tmp_path) == {"list", "add", "set", "drain", "undrain", "down", "up", "remove"}
    assert "--detailed-exitcode" in completed("flex plan --d", tmp_path)

"""The examples of docs/reference/api.md work as they stand there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.rest.conftest import Door

DOCS = Path(__file__).parents[2] / "docs/reference/api.md"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_example_of_the_documentation_works(door: Door, address: str) -> None:
    examples = re.findall(r"```sh\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) >= 5
    environment = {"PATH": "/usr/bin:/bin", "FLEX": address, "TOKEN": door.secrets["admin"]}
    for example in examples:
        command = ["bash", "-euo", "pipefail", "-c", example]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, (example, done.stdout, done.stderr)
        assert done.stdout

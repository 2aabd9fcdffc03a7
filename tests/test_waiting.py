"""A test that waits without an end is named, and ends the run."""

from __future__ import annotations

import faulthandler
import gc
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.conftest import pytest_unconfigure

ROOT = Path(__file__).parent.parent
ENDLESS = """
import threading

def test_that_waits():
    threading.Event().wait()
"""
# A limit of a second, where the tests have one of minutes.
LIMIT = ["-o", "faulthandler_timeout=1"]


def of_pytest() -> dict[str, object]:
    told: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "pytest"
    ]["ini_options"]
    return told


@pytest.mark.slow
def test_a_test_that_never_ends_is_named_and_tried_once(tmp_path: Path) -> None:
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    ours = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *ours,
        *LIMIT,
        "-n",
        "1",
        "--dist",
        "loadfile",
        str(tmp_path),
    ]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        command, env=alone, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 1
    assert "crashed while running 'test_endless.py::test_that_waits'" in ended.stdout
    assert "= 1 failed" in ended.stdout
    assert 'test_endless.py", line 5 in test_that_waits' in ended.stderr


def test_every_test_has_such_a_limit() -> None:
    told = of_pytest()
    assert told["faulthandler_exit_on_timeout"] is True
    assert told["faulthandler_timeout"] == 1200


@pytest.mark.parametrize(
    ("process", "ended"),
    [(SimpleNamespace(), 1), (SimpleNamespace(workerinput={}), 0)],
    ids=["alone", "one of several"],
)
def test_a_process_of_several_waits_for_the_others_as_long_as_they_take(
    process: SimpleNamespace, ended: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = list[object]()
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda *_, **__: clocks.append(_))
    pytest_unconfigure(cast("pytest.Config", process))
    gc.freeze()
    assert len(clocks) == ended

"""Who reads only the beginning of what FLEX prints, or nothing, makes no fault of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

FLEX = [sys.executable, "-c", "from flex_api.cli import main; main()"]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["config schema", "--server http://192.0.2.1 --help"])
def test_output_that_nobody_reads_is_no_fault(verb: str) -> None:
    with subprocess.Popen(
        [*FLEX, *verb.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.wait(timeout=300), process.stderr.read()) == (141, "")


@pytest.mark.slow
def test_errors_that_nobody_reads_are_no_fault() -> None:
    with subprocess.Popen(
        [*FLEX, "nothing"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stderr.close()
        assert (process.wait(timeout=300), process.stdout.read()) == (141, "")


@pytest.mark.slow
def test_output_may_be_closed_from_the_beginning() -> None:
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *FLEX, "version"],
        check=False,
        capture_output=True,
        timeout=300,
    )
    assert (closed.returncode, closed.stderr) == (0, b"")

"""A measurement in a process of its own: what others do in this one would be measured, too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

from bench.figures import Figures


def measure_apart(
    module: str, *arguments: str, say: Callable[[str], None], told: str = ""
) -> Figures:
    """What `python -m module` prints as JSON in the end. It is `told` that by standard input, and
    the lines before are said as they come.
    """
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(told)
        process.stdin.close()
        last = ""
        for line in process.stdout:
            last = line
            if not line.startswith("{"):
                say(line.rstrip())
    found: Figures = json.loads(last)
    return found

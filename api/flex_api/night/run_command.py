"""Runs commands of the settings without a shell and without input.

Takes words with marks such as {node}, and what these stand for. Returns the error in one line,
empty where there is none. Does not know what a command does or what its failure means: its caller
does.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

# So much of what a command complained of is told.
_TOLD = 300


def fill(command: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [_fill(word, values) for word in command]


def _fill(word: str, values: Mapping[str, str]) -> str:
    for mark, value in values.items():
        word = word.replace(mark, value)
    return word


def trouble(command: Sequence[str], patience: float) -> str:
    """Runs it for so many seconds at most. Whatever bytes it prints, nothing is raised."""
    try:
        done = subprocess.run(  # noqa: S603 - of the settings, and no shell
            command,
            check=False,
            timeout=patience,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    complaint = " ".join(done.stderr.split())[-_TOLD:] or f"it ended with {done.returncode}"
    return complaint if done.returncode else ""

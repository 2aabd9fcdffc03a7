"""Calls functions in a process of its own that has loaded one library before any other.

Takes a function from the top of a module, and its arguments. Returns what the function returns.
Does not import anything of the program that asks, because what that has loaded may be in the
library's way. The process ends with the program; if it ended before, a new one is started.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import IO, TypeVar

Answer = TypeVar("Answer")

# It finds modules where the program that asks does.
SERVE = """
import pickle, sys
from importlib import import_module
sys.path[:], library = pickle.load(sys.stdin.buffer)
import_module(library)
import_module("flex_solver.programs.library_process").serve()
"""


class ProcessEnded(Exception):
    """The process ended, and another one too, without an answer."""


class OwnProcess:
    """One question at a time, from any thread. Nothing is started before the first one."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, function: Callable[..., Answer], *arguments: object) -> Answer:
        """Raises what the function raises, and ProcessEnded."""
        with self._lock:
            with suppress(ProcessEnded):
                return self._ask(function, arguments)
            return self._ask(function, arguments)

    def _ask(self, function: Callable[..., Answer], arguments: tuple[object, ...]) -> Answer:
        try:
            ask, answers = self._pipes()
            _send(ask, (function, arguments))
            error, answer = pickle.load(answers)  # noqa: S301 - our own process wrote it
        except (OSError, EOFError, pickle.UnpicklingError) as broken:
            self._end()
            raise ProcessEnded from broken
        if error is not None:
            raise error
        typed_answer: Answer = answer
        return typed_answer

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            self._process = self._begin()
        ask, answers = self._process.stdin, self._process.stdout
        assert ask is not None, "it was begun with a pipe"
        assert answers is not None, "it was begun with a pipe"
        return ask, answers

    def _begin(self) -> subprocess.Popen[bytes]:
        run = [sys.executable, "-c", SERVE]
        pipe = subprocess.PIPE
        process = subprocess.Popen(run, stdin=pipe, stdout=pipe)  # noqa: S603 - our own words
        atexit.register(self._end)
        assert process.stdin is not None, "it was begun with a pipe"
        _send(process.stdin, (sys.path, self._library))
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        atexit.unregister(self._end)
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:
                pass


def serve() -> None:
    """Answers questions until nobody asks any more. What libraries print goes to standard error."""
    # Who interrupts the program means its process too, which ends with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(EOFError):
        while True:
            function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - ours
            _send(answers, _call(function, arguments))


def _call(
    function: Callable[..., object], arguments: tuple[object, ...]
) -> tuple[Exception | None, object]:
    try:
        return None, function(*arguments)
    except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
        return error, None


def _send(pipe: IO[bytes], what: object) -> None:
    pickle.dump(what, pipe)
    pipe.flush()

"""Runs `flex` as a process of its own, forked from one that has loaded its modules already: a bench
of a thousand short runs would load them for half of its time.

Takes the words of a command. The process is the program itself, with the same `main`, and may be
killed like it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_HERE = [sys.executable, "-m", "bench.moving.flex_commands"]


@dataclass(frozen=True, slots=True)
class Ended:
    # Below 0 where it was killed.
    code: int
    said: str


@dataclass(eq=False)
class Commands:
    """One at a time."""

    loaded: subprocess.Popen[str]
    log: Path
    pid: int = 0

    def begin(self, *words: str) -> None:
        assert self.loaded.stdin
        self.loaded.stdin.write(json.dumps([str(self.log), *words]) + "\n")
        self.loaded.stdin.flush()
        self.pid = int(self._hear())

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> Ended:
        code = int(self._hear())
        return Ended(code, self.log.read_text(errors="replace"))

    def run(self, *words: str) -> Ended:
        self.begin(*words)
        return self.end()

    def _hear(self) -> str:
        assert self.loaded.stdout
        return self.loaded.stdout.readline()


@contextmanager
def commands(folder: Path) -> Iterator[Commands]:
    loaded = subprocess.Popen(
        _HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Commands(loaded, folder / "said")
    finally:
        assert loaded.stdin
        loaded.stdin.close()
        loaded.wait()


def _serve() -> None:
    from flex_api import cli

    # What a command loads sooner or later.
    importlib.import_module("flex_api.night.apply_or_accept_plan")
    importlib.import_module("flex_api.night.nightly")
    for line in sys.stdin:
        log, *words = json.loads(line)
        child = os.fork()
        if not child:
            _be(cli.main, log, words)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _be(main, log: str, words: Sequence[str]) -> None:  # type: ignore[no-untyped-def]
    os.setsid()
    with Path(log).open("wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    sys.argv = ["flex", *words]
    code = 1
    try:
        code = main() or 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()

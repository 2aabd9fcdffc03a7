"""Runs `flex` as a process of its own, forked from one that has loaded its modules already: short
runs would load them for half of their time.

Takes the words of a command. The process is the program itself, with the same `main`, in a session
of its own, and may be killed like it. The one with the modules is started when it is first needed,
and ends with whoever started it.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from select import select
from tempfile import TemporaryFile
from typing import IO

FLEX = Path(sys.executable).parent / "flex"
_WORDS_AND_ENVIRONMENT = 1 << 20


@dataclass(eq=False)
class Forked:
    """As a `subprocess.Popen`: `returncode` is below 0 where the process was killed."""

    pid: int
    _news: socket.socket = field(repr=False)
    returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(TimeoutError):
            self.wait(0)
        return self.returncode

    def wait(self, seconds: float | None = None) -> int:
        """Raises TimeoutError."""
        if self.returncode is None:
            if not select([self._news], [], [], seconds)[0]:
                raise TimeoutError(f"process {self.pid} goes on")
            said = self._news.recv(64)
            assert said, "whoever waits for the process was killed"
            self.returncode = int(said)
            self._news.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    *words: str,
    said: IO[bytes],
    complaints: IO[bytes] | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Forked:
    """`flex` with these words; `complaints` are with what it said unless they have a file."""
    asked = {
        "words": words,
        "folder": str(folder or Path.cwd()),
        "environment": dict(os.environ if environment is None else environment),
    }
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        socket.send_fds(
            _loaded(),
            [json.dumps(asked).encode()],
            [theirs.fileno(), said.fileno(), (complaints or said).fileno()],
        )
    return Forked(int(ours.recv(64)), ours)


def run(
    *words: str,
    seconds: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """To its end. Raises TimeoutError where that does not come; it is killed then."""
    with TemporaryFile() as said, TemporaryFile() as complaints:
        flex = start(
            *words, said=said, complaints=complaints, folder=folder, environment=environment
        )
        try:
            code = flex.wait(seconds)
        finally:
            flex.kill()
        texts = []
        for file in (said, complaints):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return subprocess.CompletedProcess(("flex", *words), code, *texts)


@cache
def _loaded() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        loaded = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            cwd=Path(__file__).parents[1],
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        ours.close()
        loaded.wait()

    atexit.register(end)
    return ours


def _serve(asked: socket.socket) -> None:
    import flex_api
    from flex_api.cli import application

    application()
    for module in pkgutil.walk_packages(flex_api.__path__, "flex_api."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    # Who waits for a process is waited for by nobody.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, files, _, _ = socket.recv_fds(asked, _WORDS_AND_ENVIRONMENT, 3)
        if not request:
            return
        if not os.fork():
            asked.close()
            _wait_for_it(json.loads(request), *files)
            return
        for file in files:
            os.close(file)


def _wait_for_it(request: dict[str, object], news: int, said: int, complaints: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if not child:
        os.close(news)
        _be(request, said, complaints)
        return
    # Who was started waits for nobody's pipes but its own.
    for file in (0, 1, 2, said, complaints):
        os.close(file)
    with suppress(BrokenPipeError):
        os.write(news, str(child).encode())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(news, str(code).encode())
    os._exit(0)


def _be(request: dict[str, object], said: int, complaints: int) -> None:
    """The program: what it raises ends this process as it would end that one."""
    from flex_api.cli import main

    words, folder, environment = (request["words"], request["folder"], request["environment"])
    assert isinstance(words, list)
    assert isinstance(environment, dict)
    os.setsid()
    os.dup2(said, 1)
    os.dup2(complaints, 2)
    os.close(said)
    if complaints != said:
        os.close(complaints)
    os.chdir(str(folder))
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = [str(FLEX), *map(str, words)]
    gc.unfreeze()
    main()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))

"""Programs that run until the block is left, as a node's service manager keeps them: whatever ends
before is begun again.

Takes a command and a folder for its log. Each program is a process group of its own, which `kill`
ends at once, like a machine that takes the whole service down.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

# Between two looks, in seconds; a program is begun again as soon as it is seen to have ended.
_LOOK = 0.1
_PATIENCE = 30.0


@dataclass(eq=False)
class Service:
    name: str
    command: Sequence[str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    times_begun: int = 0

    def begin(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.times_begun += 1

    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def kill(self) -> None:
        """All of its processes, with no time for a word."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        if not self.process:
            return
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_PATIENCE)
        self.kill()
        self.process.wait()


@dataclass(eq=False)
class Kept:
    services: dict[str, Service] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def add(self, name: str, command: Sequence[str], log: Path) -> Service:
        # Before the keeper knows of it, who would begin it beside us.
        made = Service(name, command, log)
        made.begin()
        self.services[name] = made
        return made

    def _keep(self) -> None:
        while not self.over.wait(_LOOK):
            for service in [*self.services.values()]:
                if service.has_ended():
                    # Children that outlived it would keep its port.
                    service.kill()
                    service.begin()


@contextmanager
def kept_services() -> Iterator[Kept]:
    kept = Kept()
    keeper = threading.Thread(target=kept._keep, daemon=True)
    keeper.start()
    try:
        yield kept
    finally:
        kept.over.set()
        keeper.join()
        for service in reversed([*kept.services.values()]):
            service.end()

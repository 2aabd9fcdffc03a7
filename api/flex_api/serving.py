"""Runs the web application on an address of this machine, by one process or by several that share
the address, and the health watch beside it. Tells systemd, where that started it, when it answers,
and that it still does.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.context import ForkContext, ForkProcess
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from flex.errors import BadInput
from flex.store import open_store
from flex_api import tell_systemd
from flex_api.app import create_app
from flex_api.night.health_watch import Beside, watching
from flex_api.settings.file import Settings
from flex_api.tell_systemd import Systemd

Beat = Callable[[], None]
# Seconds between two signs of life of a process that answers, where systemd does not say how often
# it wants to hear. A guess.
PAUSE = 30.0
# The same of one of several, which then leaves its counts for the others: well below the quarter of
# a minute in which Prometheus usually asks again.
LEAVE = 5.0
# Seconds between two looks whether the first processes answer. A guess.
LOOK = 0.1


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Until it is told to stop. Raises BadInput when the address cannot be had, or the database
    cannot be used, Away when the health watch cannot be kept alive.
    """
    systemd, listen = tell_systemd.systemd(), settings.api.listen
    # Looked at here, where it can be said: a process that fails at once would only be started
    # again.
    open_store(settings.database.url).close()
    # The watch is begun before there is a socket: its process would hold the address for a while
    # after this one was killed.
    with watching(settings, say) as beside, _bind(listen) as bound:
        say(f"FLEX is at http://{listen}/ (Ctrl-C stops it)")
        try:
            if settings.api.workers == 1:
                _serve_alone(settings, bound, beside, systemd, listen)
            else:
                _supervise(settings, bound, beside, systemd, listen)
        finally:
            systemd.stopping()


def _serve_alone(
    settings: Settings, bound: socket.socket, beside: Beside, systemd: Systemd, listen: str
) -> None:
    """It ends where the watch does."""

    def beat() -> None:
        if not systemd.is_ready:
            systemd.ready(_status(listen, 1))
        systemd.beat()

    server = _server(settings, beside, beat, systemd.pause)
    threading.Thread(
        target=_end_with, args=(server, beside), name="health watch", daemon=True
    ).start()
    server.run(sockets=[bound])
    if server.should_exit:
        beside.refuse_gone()


def _server(
    settings: Settings, beside: Beside, beat: Beat, pause: float | None, shared: Path | None = None
) -> uvicorn.Server:
    """`beat` is called by the loop that answers: once it does, and at every `pause` seconds. In
    `shared`, processes leave what they count for each other.
    """
    app = create_app(settings, open_store(settings.database.url), watched=beside.post.state)
    timing = app.state.house.timing
    timing.shared = shared

    async def tell() -> None:
        beat()
        timing.leave()

    # Nobody's word on who the caller is is taken here: the settings name the proxies that are
    # believed.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        callback_notify=tell,
        timeout_notify=int(PAUSE if pause is None else pause),
    )
    server = uvicorn.Server(config)
    # It ends once every question is answered, and nodes wait long for their answers.
    app.state.house.doors.is_over = lambda: server.should_exit
    return server


def _end_with(server: uvicorn.Server, beside: Beside) -> None:
    """It forks nothing: all that it does is to wait."""
    wait([beside.keeper.sentinel])
    server.should_exit = True


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that answers. `seen` is when its loop last gave a sign of life, 0 before the first,
    by the clock that all processes of a machine share.
    """

    process: ForkProcess
    # What ctypes shares has no type that says so.
    seen: Any = field(repr=False)

    @property
    def answers(self) -> bool:
        return bool(self.seen.value)

    def hangs(self, within: float) -> bool:
        """Whether it answered once, and gave no sign of life since for so many seconds."""
        return self.answers and time.monotonic() - self.seen.value > within


def _supervise(
    settings: Settings, bound: socket.socket, beside: Beside, systemd: Systemd, listen: str
) -> None:
    """Each process opens the database for itself. One that ends is replaced, and so is one that
    hangs for as long as systemd would wait; all end with this one.
    """
    fork = multiprocessing.get_context("fork")
    workers: list[Worker] = []
    folder = TemporaryDirectory(prefix="flex-counts-")
    pause = LEAVE if systemd.pause is None else min(LEAVE, systemd.pause)
    try:
        while True:
            while len(workers) < settings.api.workers:
                shared = Path(folder.name)
                workers.append(_start(fork, settings, bound, beside, pause, shared))
            is_up = all(worker.answers for worker in workers)
            if is_up and not systemd.is_ready:
                systemd.ready(_status(listen, len(workers)))
            systemd.beat()
            sentinels = [worker.process.sentinel for worker in workers]
            wait(
                [*sentinels, beside.keeper.sentinel],
                systemd.pause if systemd.is_ready or not systemd.address else LOOK,
            )
            beside.refuse_gone()
            for worker in workers:
                if systemd.pause and worker.hangs(systemd.within):
                    worker.process.kill()
                    worker.process.join()
            workers = [worker for worker in workers if worker.process.is_alive()]
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join()
        folder.cleanup()


def _start(
    fork: ForkContext,
    settings: Settings,
    bound: socket.socket,
    beside: Beside,
    pause: float,
    shared: Path,
) -> Worker:
    seen = RawValue("d", 0.0)
    told = settings, bound, beside, seen, pause, shared, os.getpid()
    process = fork.Process(target=_answer, args=told)
    process.start()
    return Worker(process, seen)


def _answer(
    settings: Settings,
    bound: socket.socket,
    beside: Beside,
    seen: Any,  # see Worker
    pause: float,
    shared: Path,
    starter: int,
) -> None:
    def beat() -> None:
        seen.value = time.monotonic()
        # Nobody would replace it, or end it, any more.
        if os.getppid() != starter:
            server.should_exit = True

    server = _server(settings, beside, beat, pause, shared)
    server.run(sockets=[bound])


def _status(listen: str, workers: int) -> str:
    by = "" if workers == 1 else f" by {workers} processes"
    return f"Answers at http://{listen}/{by}"


def _bind(listen: str) -> socket.socket:
    """Bound here and not by uvicorn, whose own failure is a log line and a bare exit."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, int(port)))
    except (OSError, ValueError, OverflowError) as error:
        bound.close()
        raise BadInput(
            f"listening on {listen}",
            str(error),
            kept="nothing was started",
            advice="choose another address with --listen HOST:PORT or api.listen",
        ) from error
    return bound

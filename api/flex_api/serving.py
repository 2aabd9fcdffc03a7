"""Runs the web application on an address of this machine, by one process or by several that share
the address, and the health watch beside it.
"""

from __future__ import annotations

import multiprocessing
import socket
import threading
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess

import uvicorn

from flex.errors import BadInput
from flex.store import open_store
from flex_api.app import create_app
from flex_api.night.health_watch import Beside, watching
from flex_api.settings.file import Settings


def serve(settings: Settings, listen: str, say: Callable[[str], None]) -> None:
    """Until it is told to stop. Raises BadInput when the address cannot be had, or the database
    cannot be used, Away when the health watch cannot be kept alive.
    """
    # Looked at here, where it can be said: a process that fails at once would only be started
    # again.
    open_store(settings.database.url).close()
    # The watch is begun before there is a socket: its process would hold the address for a while
    # after this one was killed.
    with watching(settings, say) as beside, _bind(listen) as bound:
        say(f"FLEX is at http://{listen}/ (Ctrl-C stops it)")
        if settings.api.workers == 1:
            _answer(settings, bound, beside)
        else:
            _supervise(settings, bound, beside)


def _answer(
    settings: Settings,
    bound: socket.socket,
    beside: Beside,
    *,
    ends: bool = True,
) -> None:
    """With `ends` it ends where the watch does, which who started several of these sees to
    otherwise.
    """
    app = create_app(
        settings,
        open_store(settings.database.url),
        watched=beside.post.state,
    )
    # Nobody's word on who the caller is is taken here: the settings name the proxies that are
    # believed.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)
    # It ends once every question is answered, and nodes wait long for their answers.
    app.state.house.doors.is_over = lambda: server.should_exit
    if ends:
        threading.Thread(
            target=_end_with, args=(server, beside), name="health watch", daemon=True
        ).start()
    server.run(sockets=[bound])
    if ends and server.should_exit:
        beside.refuse_gone()


def _end_with(server: uvicorn.Server, beside: Beside) -> None:
    """It forks nothing: all that it does is to wait."""
    wait([beside.keeper.sentinel])
    server.should_exit = True


def _supervise(settings: Settings, bound: socket.socket, beside: Beside) -> None:
    """Each process opens the database for itself; one that ends is replaced, and all end with this
    one.
    """
    fork = multiprocessing.get_context("fork")
    processes: list[ForkProcess] = []
    try:
        while True:
            while len(processes) < settings.api.workers:
                started = fork.Process(
                    target=_answer,
                    args=(settings, bound, beside),
                    kwargs={"ends": False},
                )
                started.start()
                processes.append(started)
            wait([process.sentinel for process in (*processes, beside.keeper)])
            beside.refuse_gone()
            processes = [process for process in processes if process.is_alive()]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


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

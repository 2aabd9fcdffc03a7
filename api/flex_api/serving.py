"""Runs the web application on an address of this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from flex.errors import BadInput
from flex.store import open_store
from flex_api.app import create_app
from flex_api.settings import Settings


def serve(settings: Settings, listen: str, say: Callable[[str], None]) -> None:
    """Until it is told to stop. Raises BadInput when the address cannot be had."""
    app = create_app(settings, open_store(settings.database.url))
    with _bound(listen) as bound:
        say(f"FLEX is at http://{listen}/ (Ctrl-C stops it)")
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", server_header=False))
        server.run(sockets=[bound])


def _bound(listen: str) -> socket.socket:
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

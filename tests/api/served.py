"""An installation behind a FLEX server on loopback, asked by `flex --server`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import uvicorn

from flex.model.roles_and_tokens import Role
from flex.store import open_store
from flex_api import cli
from flex_api.app import create_app
from flex_api.settings import file as config
from flex_api.web.caller_identity import present
from tests.api.conftest import Said
from tests.rest.conftest import still

if TYPE_CHECKING:
    from tests.api.conftest import Installation

Ask = Callable[..., Said]


@contextmanager
def served(
    installation: Installation, role: Role = "admin", clock: Callable[[], datetime] = present
) -> Iterator[Ask]:
    """Whoever connects before it is ready waits in the queue of the socket."""
    secret = installation.flex("token", "create", role, "--role", role).out.strip()
    token = installation.folder / f"{role}.token"
    token.write_text(secret, encoding="utf-8")
    settings = config.load(installation.settings)
    unhurried = settings.api.model_copy(update={"requests_per_second": 0})
    settings = settings.model_copy(update={"api": unhurried})
    with socket.socket() as bound, open_store(settings.database.url) as store:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        app = create_app(settings, store, clock=clock, ticks=still)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        try:
            yield asker(installation, "--server", address, "--token-file", str(token))
        finally:
            server.should_exit = True
            thread.join()


def asker(installation: Installation, *before: str) -> Ask:
    capture = installation.capture
    assert capture is not None, "what it says is what tests look at"

    def ask(*words: str) -> Said:
        capture.readouterr()
        code = cli.run([*before, *words])
        said = capture.readouterr()
        return Said(code, said.out, said.err)

    return ask

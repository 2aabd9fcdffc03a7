"""Refreshes what pages are made from when the store has changed, before anybody asks for it.

Takes views. A thread looks once a second whether something has changed. It ends with the
application.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from fastapi import FastAPI

from flex.errors import FlexError
from flex_api.web.cached_views import Views

# Seconds between two looks at the store. A guess.
EVERY = 1.0


def refreshing(views: Views) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """What an application does from its start to its end."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        over = threading.Event()
        thread = threading.Thread(
            target=_keep_fresh, args=(views, over), name="refreshing views", daemon=True
        )
        thread.start()
        yield
        over.set()

    return lifespan


def _keep_fresh(views: Views, over: threading.Event) -> None:
    while True:
        # Whoever asks next is told what is wrong.
        with suppress(FlexError):
            views.warm()
        if over.wait(EVERY):
            return

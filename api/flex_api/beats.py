"""Signs of life: what tells others, in the background, that the work at hand is still being done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from flex.errors import FlexError


@contextmanager
def beating(name: str, beat: Callable[[], object], every: timedelta) -> Iterator[None]:
    """A lease that is lost, or a store that is away, is found by the work itself as soon as it wants to go on."""
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(every.total_seconds()):
            try:
                beat()
            except FlexError:
                return

    thread = threading.Thread(target=keep, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

"""Signs of life, written in the background while work is being done, so that others know of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from flex.errors import FlexError, LostLease


@contextmanager
def beating(name: str, beat: Callable[[], object], every: timedelta) -> Iterator[None]:
    """A lease that is lost is found by the work itself as soon as it wants to write anything.
    Whatever else goes wrong, such as a store that is away for a moment, is tried again at the next
    beat: one that was missed costs nothing.
    """
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(every.total_seconds()):
            try:
                beat()
            except LostLease:
                return
            except FlexError:
                continue

    thread = threading.Thread(target=keep, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

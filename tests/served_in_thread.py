"""A server of the standard library that answers in a thread of the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer

# Seconds after which it looks whether it is to end; the library's half second is waited for at the
# end of every test.
LOOKS = 0.01


@contextmanager
def in_a_thread(server: BaseServer) -> Iterator[None]:
    """Until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, args=(LOOKS,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()

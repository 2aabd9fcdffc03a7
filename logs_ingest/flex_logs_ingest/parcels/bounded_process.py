"""A look at what somebody else made, with limits of memory and time.

Takes a function that looks. Returns why it did not end well, "" where it did. The function runs in
a process of its own with limits that the system keeps, so whatever a few bytes unfold to, and
whatever a reader of them does wrong, ends there. Does not return anything but that sentence.
"""

from __future__ import annotations

import os
import resource
import warnings
from collections.abc import Callable
from pathlib import Path

TOO_MUCH = "it takes too much memory or time to look at, or breaks what looks at it"
# Characters of an error: a sentence, and no more. A guess.
_LONGEST = 400


def why_not(look: Callable[[], str], room: int, seconds: int) -> str:
    """What `look` says of it, in so many bytes beside those that this process has, and seconds of a
    processor.
    """
    to_read, to_write = os.pipe()
    with warnings.catch_warnings():
        # Python warns of forks beside threads; the child starts none, and waits for no lock of
        # theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(to_read)
        _look(look, room, seconds, to_write)
    os.close(to_write)
    with os.fdopen(to_read, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return said.decode() if os.waitstatus_to_exitcode(status) == 0 else TOO_MUCH


def _look(look: Callable[[], str], room: int, seconds: int, to: int) -> None:
    """Does not come back: nothing of this process may be tidied up twice."""
    try:
        _limit(room, seconds)
        os.write(to, look()[:_LONGEST].encode())
        os._exit(0)
    finally:
        os._exit(1)


def _limit(room: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    data = int(pages[5]) * resource.getpagesize() + room
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = data if hard == resource.RLIM_INFINITY else min(data, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))

"""Who holds the lease: `host:pid:starttime`, and whether that process is certainly gone.

The start time (field 22 of /proc/PID/stat, in clock ticks since the host started) tells a process from a later one
that was given the same number. Where /proc does not say, nobody is called gone: then only time ends a lease.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

# A zombie has ended already, even while nobody has asked for its exit code; X is the moment after.
ENDED = ("Z", "X")


def holder(pid: int | None = None) -> str:
    """The name under which a process (this one, if none is given) takes the lease."""
    pid = os.getpid() if pid is None else pid
    _, start = _stat(pid) or ("", 0)
    return f"{socket.gethostname()}:{pid}:{start}"


def is_gone(name: str) -> bool:
    """True only when the holder ran on this host and is certainly there no more."""
    process = _here(name)
    if process is None:
        return False
    pid, start = process
    found = _stat(pid)
    return _is_free(pid) if found is None else found[0] in ENDED or found[1] != start


def is_there(name: str) -> bool:
    """True only when the holder runs on this host and certainly has not ended."""
    process = _here(name)
    found = process and _stat(process[0])
    return bool(process and found and found[1] == process[1] and found[0] not in ENDED)


def _here(name: str) -> tuple[int, int] | None:
    """Number and start time of a process of this host; None when nothing can be said of the holder."""
    host, *numbers = name.rsplit(":", 2)
    if host != socket.gethostname() or len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
        return None
    pid, start = map(int, numbers)
    return (pid, start) if start and _stat(os.getpid()) is not None else None


def _stat(pid: int) -> tuple[str, int] | None:
    """State and start time of a process, None when /proc does not show it."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name in brackets, and may itself hold spaces and brackets.
    state, *fields = text.rpartition(")")[2].split()
    return state, int(fields[18])


def _is_free(pid: int) -> bool:
    """/proc can hide other users' processes; the kernel still says whether a number is taken."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False

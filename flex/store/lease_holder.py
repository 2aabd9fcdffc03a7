"""Who holds the lease: `host/machine/boot/space:pid:starttime`, and whether that process is
certainly gone.

The start time is field 22 of /proc/PID/stat, in clock ticks since the host started. It tells a
process from a later one that has the same number. What /proc says holds only for the same start of
the same machine, and for the same space of process numbers. Two containers, or two machines with
the same host name, do not see each other's processes. Where nothing can be known, a process is not
called gone: then a lease ends by time alone.
"""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from flex.identify_machine import machine

# How long after its last sign of life a holder that cannot be looked at is waited for: ten beats.
PATIENCE = timedelta(minutes=5)
# How often a holder gives a sign of life. A guess.
BEATS = timedelta(seconds=30)
# A zombie has ended already, even while nobody has asked for its exit code; X is the moment after.
ENDED = ("Z", "X")
# A number that Linux draws at each start.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# The processes that see each other's numbers: Linux's PID namespace.
SPACE = Path("/proc/self/ns/pid")


class _Place(NamedTuple):
    """`machine`, `boot` and `space` are "" where the system does not say."""

    host: str
    machine: str
    boot: str
    space: str


class _Process(NamedTuple):
    place: _Place
    pid: int
    start: int


def holder(pid: int | None = None) -> str:
    """The name under which a process (this one, if none is given) takes the lease."""
    pid = os.getpid() if pid is None else pid
    _, start = _stat(pid) or ("", 0)
    return f"{'/'.join(_here())}:{pid}:{start}"


def name_for_people(name: str) -> str:
    """For people."""
    place, _, process = name.partition(":")
    return f"process {process.partition(':')[0]} of {place.partition('/')[0]}" if process else name


def has_ended(name: str, expires: datetime, now: datetime) -> bool:
    """It is gone, or was not heard of for too long. One that is there may be as late as it
    likes.
    """
    return is_gone(name) or (expires <= now and not is_there(name))


def is_gone(name: str) -> bool:
    """True only when the holder ran on this machine and is certainly there no more."""
    process, here = _process(name), _here()
    if process is None or not here.boot:
        return False
    if process.place != here:
        return _has_started_since(process.place, here)
    process_stat = _stat(process.pid)
    return (
        _is_free(process.pid)
        if process_stat is None
        else process_stat[0] in ENDED or process_stat[1] != process.start
    )


def is_there(name: str) -> bool:
    """True only when the holder runs on this machine and certainly has not ended."""
    process, here = _process(name), _here()
    if process is None or not here.boot or process.place != here:
        return False
    process_stat = _stat(process.pid)
    return bool(process_stat and process_stat[1] == process.start and process_stat[0] not in ENDED)


def _process(name: str) -> _Process | None:
    """None when nothing can be said of the holder, as where we cannot even see ourselves."""
    place, *numbers = name.rsplit(":", 2)
    parts = place.split("/")
    if (
        len(parts) != len(_Place._fields)
        or len(numbers) != 2
        or not all(number.isdecimal() for number in numbers)
    ):
        return None
    pid, start = map(int, numbers)
    return (
        _Process(_Place(*parts), pid, start) if start and _stat(os.getpid()) is not None else None
    )


def _here() -> _Place:
    try:
        boot = BOOT_ID.read_text(encoding="ascii").strip()
        space = str(SPACE.stat().st_ino)
    except OSError:
        boot, space = "", ""
    return _Place(socket.gethostname(), machine(), boot, space)


def _has_started_since(place: _Place, here: _Place) -> bool:
    """Whether it is this machine, before its last start."""
    same = bool(here.machine) and (place.host, place.machine) == (here.host, here.machine)
    return same and bool(place.boot) and place.boot != here.boot


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

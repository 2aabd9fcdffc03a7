"""Whether a timer started this process, and so no person: systemd or cron.

Takes what the kernel says of a process and of its ancestors. Returns an answer. Does not change
anything. Where the kernel says too little, the answer is that a person started it: under four eyes
that costs one more approval, never one less.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flex_api.settings import file as config

PROC = Path("/proc")
# What the daemons are called that run crontabs: of Debian, of everybody else, and those that catch
# up.
CRONS = frozenset({"cron", "crond", "anacron", "fcron"})
# What the kernel says where nobody signed in (include/linux/uidgid.h: -1 in 32 bits).
NOBODY = 2**32 - 1
# Processes between cron and a job: shells, sudo, flock. More than anybody writes.
DEEPEST = 32


@dataclass(frozen=True, slots=True)
class Process:
    """`user` is the real user, whatever the process may do as somebody else; `terminal` is 0 where
    it has none.
    """

    name: str
    parent: int
    terminal: int
    user: int


def is_started_by_timer() -> bool:
    return config.is_started_by_systemd() or is_started_by_cron(PROC, os.getpid())


def is_started_by_cron(proc: Path, pid: int) -> bool:
    """Whether cron, run by root, is above the process, no terminal is near, and nobody else signed
    in.

    Who signs in and calls sudo has a user of the sign-in that is not the account's: such a process
    is run by hand, whatever the processes above it are called.
    """
    line = list(_line(proc, pid))
    if not line or line[0].terminal:
        return False
    if signed_in(proc, pid) not in (NOBODY, 0, line[0].user):
        return False
    return any(process.name in CRONS and process.user == 0 for process in line[1:])


def _line(proc: Path, pid: int) -> Iterator[Process]:
    """The process, and those above it as far as they can be seen."""
    for _ in range(DEEPEST):
        process = _process(proc, pid)
        if process is None:
            return
        yield process
        pid = process.parent


def _process(proc: Path, pid: int) -> Process | None:
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        status = (proc / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # A name may hold anything, brackets and spaces too.
    head, _, rest = stat.rpartition(")")
    fields = rest.split()
    users = next((line.split() for line in status.splitlines() if line.startswith("Uid:")), [])
    if len(fields) < 5 or len(users) < 2:
        return None
    return Process(head.partition("(")[2], int(fields[1]), int(fields[4]), int(users[1]))


def signed_in(proc: Path, pid: int) -> int:
    """The user who signed in, which sudo and su do not change; NOBODY where nobody did, or where
    the kernel keeps no account of it.
    """
    try:
        return int((proc / str(pid) / "loginuid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return NOBODY

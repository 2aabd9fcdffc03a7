"""Runs one command of the settings for a site that moves.

Takes the command, as it is to be run, and for how long it may. Returns its exit code and the last
thing it said, without values of environment variables that look secret. No shell, no input. What it
started is ended with it where it takes too long, or where FLEX is told to stop.

A command may outlive a FLEX that was killed. It holds a lock of its move, as do all processes that
it starts: so the next run sees that it is still at work, and does not start a second one beside it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from flex_api.settings.file import secrets_in_environment

# So much of the end of what a command said is kept.
_TOLD = 300
# Seconds between one look at a command and the next.
_LOOK = 0.02
# Exit codes as a shell gives them: too long (timeout(1)), not found or not executable.
TOO_LONG = 124
NOT_EXECUTABLE = 126


@dataclass(frozen=True, slots=True)
class Ran:
    """`code` is the exit code; one more than 128 for the signal that ended it. `said` is what it
    printed last, or how it `ended` in our words, where it printed nothing.
    """

    code: int
    said: str = ""
    ended: str = ""


def fill(command: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """With the values in place of the marks, each mark once: a value that holds another mark stays
    as it is.
    """
    return [_fill_word(word, values) for word in command]


def _fill_word(word: str, values: Mapping[str, str]) -> str:
    filled = ""
    while word:
        at, mark = min(
            ((at, mark) for mark in values if (at := word.find(mark)) >= 0), default=(len(word), "")
        )
        filled += word[:at] + values.get(mark, "")
        word = word[at + len(mark) :]
    return filled


def run(command: Sequence[str], seconds: float, stop: Event, lock: int) -> Ran:
    """Whatever bytes it prints, nothing is raised. `lock` is a descriptor that it inherits."""
    with tempfile.TemporaryFile() as stderr_file:
        try:
            process = subprocess.Popen(  # noqa: S603 - of the settings, and no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr_file,
                start_new_session=True,
                pass_fds=(lock,),
            )
        except (OSError, ValueError) as error:
            why = f"{command[0]}: {error}"[:_TOLD]
            return Ran(NOT_EXECUTABLE, why, why)
        is_late = not _ended_in_time(process.pid, seconds, stop)
        # Also what a command left behind that ended by itself. Nobody else can have the number of
        # its group before it is waited for.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        if is_late:
            code = TOO_LONG
        elif code < 0:
            code = 128 - code
        ended = _describe_ending(code, seconds)
        return Ran(code, _end_of(stderr_file.fileno()) or ended, ended)


def _ended_in_time(process: int, seconds: float, stop: Event) -> bool:
    until = time.monotonic() + seconds
    look = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, process, look) is None:
        if stop.is_set() or time.monotonic() > until:
            return False
        time.sleep(_LOOK)
    return True


def _end_of(file: int) -> str:
    size, secrets = os.fstat(file).st_size, secrets_in_environment()
    longest = max(map(len, secrets), default=0)
    # Four bytes for a letter at most.
    begin = max(0, size - 4 * (_TOLD + longest))
    text = os.pread(file, size - begin, begin).decode("utf-8", "replace")
    for secret in secrets:
        text = text.replace(secret, "***")
    # Databases keep no NUL, and terminals obey other control characters. What is cut at its
    # beginning may be the end of a secret.
    shown = "".join(
        letter if letter.isprintable() else " " for letter in text[longest if begin else 0 :]
    )
    return " ".join(shown.split())[-_TOLD:]


def _describe_ending(code: int, seconds: float) -> str:
    if code == TOO_LONG:
        return f"it took longer than {seconds:g} s and was ended"
    return f"it ended with {code}" if code else ""


@contextmanager
def lock_of_move(folder: Path, move: str) -> Iterator[int | None]:
    """None where an earlier command of the move is still at work on this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(_path(folder, move), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        yield None
        return
    try:
        yield lock
    finally:
        os.close(lock)


def forget_lock(folder: Path, move: str) -> None:
    """Whoever holds it may: no command of the move is at work then, and none will be."""
    _path(folder, move).unlink(missing_ok=True)


def _path(folder: Path, move: str) -> Path:
    return folder / f"{move.replace('/', '-')}.lock"

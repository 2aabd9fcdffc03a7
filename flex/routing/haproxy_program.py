"""The HAProxy program of this machine: which version it is, whether it accepts a configuration, and
a process of our own for trials.

Takes the files of haproxy.py and a folder for them. Returns the error in HAProxy's own words,
without the paths of the folder, or runs HAProxy for as long as a trial lasts. Does not touch an
HAProxy that serves visitors.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flex.errors import Away, BadSetting
from flex.routing.haproxy import CONFIGURATION
from flex.routing.haproxy_socket import Socket, has_master_and_worker

# Loads are compared by conditional set-var, which came with this version.
OLDEST = (2, 6)
# Seconds for HAProxy to check a configuration, to begin or to end. A guess.
_PATIENCE = 10.0
# How often a HAProxy that begins is looked at, and the seconds between. Looks count, not the clock:
# on a busy machine both HAProxy and who looks at it take longer.
_LOOKS = 500
_BETWEEN_LOOKS = 0.02
# Seconds for one answer of a master that begins. It may take a connection while it still starts its
# worker anew, and never answer on it: another connection is better than to wait. A guess.
_PATIENCE_WITH_MASTER = 1.0


@dataclass(frozen=True, slots=True)
class HaproxyProgram:
    path: str
    version: tuple[int, ...]


def find_program(where: str | None = None) -> HaproxyProgram | None:
    """The one in these folders or, without them, where programs are. Raises BadSetting when it is
    too old.
    """
    places = (where,) if where else (None, "/usr/sbin:/usr/local/sbin")
    path = next(filter(None, (shutil.which("haproxy", path=place) for place in places)), None)
    return program(path) if path else None


def program(path: str = "") -> HaproxyProgram:
    """The HAProxy at the path, or the one that is installed. Raises BadSetting when there is none,
    or it is too old.
    """
    if not path:
        installed = find_program()
        if installed:
            return installed
        raise _unfit("there is none", "install HAProxy 2.6 or newer (Debian: apt install haproxy)")
    try:
        command = [path, "-v"]
        output = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unfit(
            f"{path} does not run: {error}", "see that it is HAProxy and may be run"
        ) from error
    matched = re.search(r"HA-?Proxy version (\d+)\.(\d+)(?:\.(\d+))?", output)
    if not matched:
        raise _unfit(f"{path} does not say its version", "see that it is HAProxy")
    version = tuple(map(int, matched.groups("0")))
    if version < OLDEST:
        raise _unfit(f"{path} is {'.'.join(map(str, version))}", "install HAProxy 2.6 or newer")
    return HaproxyProgram(path, version)


def has_lua(haproxy: HaproxyProgram) -> bool:
    command = [haproxy.path, "-vv"]
    done = subprocess.run(  # noqa: S603 - ours
        command, capture_output=True, text=True, check=False, timeout=_PATIENCE
    )
    return bool(re.search(r"\+LUA\b|\bUSE_LUA=1\b", done.stdout))


def write(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="ascii")


def refusal(haproxy: HaproxyProgram, folder: Path) -> str:
    """HAProxy's own error about the configuration in the folder, "" when it accepts it."""
    command = [haproxy.path, "-c", "-f", str(folder / CONFIGURATION)]
    done = subprocess.run(  # noqa: S603 - ours
        command, capture_output=True, text=True, check=False, timeout=60
    )
    if not done.returncode:
        return ""
    told = [
        line for line in done.stderr.splitlines() if "[ALERT]" in line
    ] or done.stderr.splitlines()
    return (
        " ".join("; ".join(told[:3]).replace(f"{folder}/", "").split())
        or f"it ended with {done.returncode}"
    )


@contextmanager
def running(
    haproxy: HaproxyProgram, folder: Path, port: int, address: str = "127.0.0.1"
) -> Iterator[int]:
    """Runs HAProxy by the configuration in the folder, until the block is left. Gives its process
    id once it listens.
    """
    with _start([haproxy.path, "-db"], folder, (address, port)) as process:
        yield process.pid


@contextmanager
def start_with_master(
    haproxy: HaproxyProgram, folder: Path, port: int, master: Path, address: str = "127.0.0.1"
) -> Iterator[int]:
    """Runs HAProxy under a master process, until the block is left. The master reloads when its
    socket is told to.
    """
    with _start([haproxy.path, "-W", "-S", str(master)], folder, (address, port)) as process:
        # HAProxy listens to visitors before it has its sockets; the master answers after that.
        lacking = f"its master does not answer on {master}"
        _await(process, folder, lambda: _answers(master), lacking)
        yield process.pid


@contextmanager
def _start(
    command: list[str], folder: Path, at: tuple[str, int]
) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "haproxy.log").open("wb") as log:
        whole = [*_setpriv_command(), *command, "-f", str(folder / CONFIGURATION)]
        process = subprocess.Popen(  # noqa: S603 - ours
            whole, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    try:
        lacking = f"it does not listen on {at[0]}:{at[1]}"
        _await(process, folder, lambda: _listens(at), lacking)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _setpriv_command() -> list[str]:
    """What makes HAProxy end with the thread that began it even when that is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


def _listens(at: tuple[str, int]) -> bool:
    with socket.socket() as probe:
        return not probe.connect_ex(at)


def _answers(master: Path) -> bool:
    """With a whole answer: it names a worker, too."""
    master_socket = Socket(str(master), _PATIENCE_WITH_MASTER)
    try:
        return has_master_and_worker(master_socket.ask("show", "proc"))
    except Away:
        return False


def _await(
    process: subprocess.Popen[bytes], folder: Path, is_ready: Callable[[], bool], lacking: str
) -> None:
    for _ in range(_LOOKS):
        if process.poll() is not None:
            break
        if is_ready():
            return
        time.sleep(_BETWEEN_LOOKS)
    log_end = (folder / "haproxy.log").read_text(errors="replace").strip()[-500:]
    raise _unfit(f"{lacking}: {log_end}", "correct what it complains about")


def _unfit(answer: str, advice: str) -> BadSetting:
    return BadSetting(
        "HAProxy, for the routing of replicated sites",
        answer,
        kept="nothing was routed",
        advice=advice,
    )

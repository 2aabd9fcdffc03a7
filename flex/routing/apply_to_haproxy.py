"""Puts a node's files in force: writes them, tells the running HAProxy, and takes them back where
HAProxy refuses them.

Takes the files of haproxy.py, their folder, and the sockets of that HAProxy. Returns how HAProxy
was told. Does not drop a request: commands change what they can. For the rest, a reload hands the
listening sockets to a new process, while the old process finishes the answers that it has begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flex.errors import Away, NotRunning, NotWritten
from flex.routing import haproxy, haproxy_socket, host_to_node_maps, install_files
from flex.routing.haproxy_commands import HaproxyChange, change
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.haproxy_socket import Master, Socket
from flex.routing.host_to_node_maps import MOVED, OWNERS
from flex.routing.install_files import Guard, any_files

Told = Literal["nothing", "commands", "reload"]
# What HAProxy says to a command that it carried out, if it says anything.
_DONE = ("changed from", "no need to change")
# Seconds until a reload must have taken place. A guess.
_PATIENCE = 30.0
# Seconds for which something may be missing that is there in the next moment. A guess.
_MOMENT = 3.0
# Seconds between two looks meanwhile. A guess.
_LOOK_AGAIN = 0.05
# A new process listens for five seconds whether somebody hands it any tables, and hands none on
# itself; said in whole seconds.
HANDS_ON = 6


@dataclass(frozen=True, slots=True)
class Sockets:
    """`stats` takes commands; `master` reloads, and is the one of `haproxy -W -S`. A worker that
    serves for less than `hands_on` seconds is not reloaded yet: the next one would not learn which
    member has what. `tell_of_reload` is called ahead of each reload.
    """

    stats: Socket
    master: Socket
    hands_on: int = HANDS_ON
    tell_of_reload: Callable[[], None] = lambda: None

    def are_deserted(self) -> bool:
        """Whether HAProxy does not run: while it begins or is reloaded, one of both is heard."""
        return self.master.is_deserted() and self.stats.is_deserted()


def enforce(
    files: Mapping[str, str],
    folder: Path,
    program: HaproxyProgram | None,
    sockets: Sockets,
    guard: Guard = any_files,
) -> Told:
    """How HAProxy was told. Raises what `install_files.put` raises. Raises NotWritten when HAProxy
    does not accept the files, and Away when it does not answer: then the files before are back. Not
    so where it does not run, since those may be what keeps it from that: NotRunning says so.

    HAProxy is first asked which version it uses: files may be in the folder that HAProxy was never
    told of. It is told again a map of which it has not all entries, as where it was started while
    that was cut. The `guard` raises where these files may not take the place of those that are
    there.
    """
    with install_files.alone(folder):
        before = {
            name: text
            for name in files
            if (text := install_files.content(folder / name)) is not None
        }
        guard(files, before)
        if sockets.are_deserted():
            install_files.placed(files, folder, program, untold=True)
            # Else it has begun meanwhile.
            if sockets.are_deserted():
                raise _not_running(folder, sockets)
        with install_files.undoing(files, folder):
            return _tell_difference(files, before, folder, program, sockets)


def _tell_difference(
    files: Mapping[str, str],
    before: Mapping[str, str],
    folder: Path,
    program: HaproxyProgram | None,
    sockets: Sockets,
) -> Told:
    goes_by = version_in_force(sockets.stats, folder)
    changed = install_files.placed(files, folder, program)
    if goes_by and goes_by == haproxy.version(before) and not install_files.is_untold(folder):
        loaded = _files_as_loaded(before, folder, sockets.stats)
        if not changed and loaded == before:
            return "nothing"
        return tell(change(loaded, files, str(folder)), sockets)
    reload_when_ready(sockets)
    install_files.note_told(folder)
    return "reload"


def _files_as_loaded(files: Mapping[str, str], folder: Path, stats: Socket) -> Mapping[str, str]:
    """Without the maps of owners of which HAProxy has not as many entries. Raises Away."""
    sizes = haproxy_socket.parse_map_sizes(stats.ask("show", "map"))
    return {
        name: text
        for name, text in files.items()
        if name not in (OWNERS, MOVED)
        or sizes.get(f"{folder}/{name}") == host_to_node_maps.entries(text)
    }


def version_in_force(stats: Socket, folder: Path) -> str:
    """The version that HAProxy runs by; "" where it does not say. Raises Away where it is there and
    does not answer: nobody reloads an HAProxy that has too much to do, or no descriptors left.
    """
    try:
        return haproxy_socket.parse_map_value(
            stats.ask("get", "map", f"{folder}/{haproxy.HOSTS}", haproxy.VERSION)
        )
    except Away as error:
        # The latter where too many wait to be heard.
        if isinstance(error.__cause__, (TimeoutError, BlockingIOError)):
            raise
        return ""


def tell(wanted: HaproxyChange, sockets: Sockets) -> Told:
    stats = sockets.stats
    if (
        not wanted.reload
        and not any(stats.replace_map(path, text) for path, text in wanted.maps)
        and all(_done(stats.ask(*words)) for words in wanted.commands)
    ):
        return "commands"
    # What a command could not do reading everything anew can.
    reload_when_ready(sockets)
    return "reload"


def tell_together(wanted: HaproxyChange, stats: Socket) -> bool:
    """Whether one map and what the commands say is in force, all since the same moment."""
    ((path, text),) = wanted.maps
    return not stats.replace_map(path, text, *wanted.commands)


def reload_when_ready(sockets: Sockets) -> None:
    """Once the worker of now has its tables from the one before, and hands them on."""
    sockets.tell_of_reload()
    time.sleep(max(0, sockets.hands_on - _there(sockets.master).serves))
    reload(sockets.master)


def _done(answer: str) -> bool:
    return not answer or any(words in answer for words in _DONE)


def reload(socket: Socket) -> None:
    """Returns once the new process serves. Raises NotWritten when HAProxy keeps its old
    configuration, and Away when it does not answer.
    """
    before = _there(socket)
    socket.ask("reload")
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN)
        try:
            now = _master(socket)
        except Away:
            continue
        if now.failed > before.failed:
            raise _refusal("it could not load them")
        if now.reloads > before.reloads:
            return
    raise _refusal(f"it did not say that it had, for {_PATIENCE:.0f} s")


def _there(socket: Socket) -> Master:
    """A master begins anew with each reload, and its socket is away for that moment."""
    deadline = time.monotonic() + _MOMENT
    while True:
        try:
            return _master(socket)
        except Away:
            if time.monotonic() > deadline:
                raise
            time.sleep(_LOOK_AGAIN)


def _master(socket: Socket) -> Master:
    master = haproxy_socket.master(socket.ask("show", "proc"))
    if master is None:
        raise _refusal(f"{socket.path} is not the socket of a master process")
    return master


def _not_running(folder: Path, sockets: Sockets) -> NotRunning:
    return NotRunning(
        "having HAProxy go by new files",
        "it does not run, or has its sockets elsewhere: nobody listens at "
        f"{sockets.stats.path} and {sockets.master.path}",
        kept=f"the files wait in {folder} for its start",
        advice="start it (`systemctl start haproxy`; its own log says why it ended), then do this "
        "again",
    )


def _refusal(answer: str) -> NotWritten:
    return NotWritten(
        "reading HAProxy's new configuration",
        answer,
        kept="the configuration before is in force, and its files are back",
        advice="start HAProxy with -W and -S, as systemd does; its own log says more",
    )

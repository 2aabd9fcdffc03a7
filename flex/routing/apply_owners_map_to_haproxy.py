"""Has a node's HAProxy go by another small map of owners, and by nothing else that is new.

Takes the map, the folder of the node's files, and the sockets of its HAProxy. Returns how HAProxy
was told, or that all files are wanted. The large map is neither read nor written, so a change of
one name costs the same whatever there is. Does not ask anybody for the map.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flex.errors import BadInput
from flex.routing import apply_to_haproxy, haproxy, haproxy_socket, install_files
from flex.routing.apply_to_haproxy import Sockets, Told
from flex.routing.haproxy_change_commands import HaproxyChange
from flex.routing.haproxy_one_writer import HOLD
from flex.routing.host_to_node_maps import (
    CLUSTER,
    DIGEST,
    MOVED,
    ORDER,
    OWNERS,
    digest,
    heading,
    is_whole,
)
from flex.routing.install_files import Guard
from flex.routing.refuse_older_maps import refuse_older

# The first line of a map: its digest.
_FIRST_LINE = 100


def flip(
    moved: str, folder: Path, sockets: Sockets, guard: Guard = refuse_older
) -> Told | None:
    """None where this map does not go beside the files that are there: then all are wanted.

    The `guard` raises BadInput for a map that is older than the one in force. Raises what
    `apply_to_haproxy.enforce` raises. All is as before then.
    """
    if not is_whole(moved):
        raise BadInput(
            "a map of owners for doors",
            "it is not whole",
            kept="what is in force stays so",
            advice="see who is between here and the server",
        )
    with install_files.alone(folder):
        here = small_files(folder)
        head = heading(moved)
        if MOVED not in here or not head or head.large != digest(here.get(OWNERS, "")):
            return None
        guard({MOVED: moved}, here)
        there = haproxy.with_version({**here, MOVED: moved})
        changed = {MOVED: moved, haproxy.HOSTS: there[haproxy.HOSTS]}
        goes_by = apply_to_haproxy.version_in_force(sockets.stats, folder)
        versions = haproxy.version(here), haproxy.version(there)
        if here[MOVED] == moved and goes_by == versions[1]:
            return "nothing"
        if goes_by in versions and HOLD not in here:
            return _tell_then_write(changed, here[MOVED], folder, sockets, goes_by)
        return _write_then_tell(changed, folder, sockets, goes_by == versions[0])


def _write_then_tell(
    changed: Mapping[str, str], folder: Path, sockets: Sockets, by_commands: bool
) -> Told:
    """Where a site has one writer: whatever this machine is started with again was on its disk
    before anybody could see that HAProxy goes by it.
    """
    with install_files.undoing(install_files.there_of(folder), folder):
        install_files.replace_some(changed, folder)
        if by_commands:
            return apply_to_haproxy.tell(_change(changed, folder), sockets)
        apply_to_haproxy.reload_when_ready(sockets)
        return "reload"


def _tell_then_write(
    changed: Mapping[str, str],
    before: str,
    folder: Path,
    sockets: Sockets,
    goes_by: str,
) -> Told:
    """HAProxy takes commands and not these files, so no visitor waits until they are on the disk.
    Nobody is told that HAProxy goes by them before they are.
    """
    wanted = _change(changed, folder)
    with install_files.written_aside(changed, folder) as put_in_place:
        is_told = goes_by == haproxy.version(changed)
        if not is_told and not apply_to_haproxy.tell_together(wanted, sockets.stats):
            put_in_place()
            apply_to_haproxy.reload_when_ready(sockets)
            return "reload"
        try:
            put_in_place()
        except BaseException:
            if not is_told:
                was = {MOVED: before, haproxy.HOSTS: f"{haproxy.VERSION} {goes_by}\n"}
                apply_to_haproxy.tell_together(_change(was, folder), sockets.stats)
            raise
    return "commands"


def _change(changed: Mapping[str, str], folder: Path) -> HaproxyChange:
    """The small map and the version that the files are then."""
    path = f"{folder}/{haproxy.HOSTS}"
    version = haproxy.VERSION, haproxy.version(changed)
    maps = ((f"{folder}/{MOVED}", changed[MOVED]),)
    return HaproxyChange((("set", "map", path, *version),), maps=maps)


def order_in_force(stats: haproxy_socket.Socket, folder: Path) -> tuple[int, str]:
    """The number by which HAProxy goes, and the digest of its small map; 0 and "" for none. Raises
    Away.
    """
    path = f"{folder}/{MOVED}"
    said = stats.ask_all([("get", "map", path, key) for key in (ORDER, DIGEST)])
    # An empty line is behind each answer.
    number, _, own = said.partition("\n\n")
    number, own = map(haproxy_socket.parse_map_value, (number, own))
    if not (number.isascii() and number.isdigit() and len(number) < 20):
        return 0, ""
    return int(number), own


def cluster_in_force(stats: haproxy_socket.Socket, folder: Path) -> str:
    """The cluster of the small map by which HAProxy goes; "" where it says none. Raises Away."""
    said = stats.ask("get", "map", f"{folder}/{MOVED}", CLUSTER)
    return haproxy_socket.parse_map_value(said)


def small_files(folder: Path) -> dict[str, str]:
    """By name, as they are there; of the large map no more than what it says of itself."""
    found: dict[str, str] = {}
    for name in install_files.there_of(folder):
        path = folder / name
        text = _first_line(path) if name == OWNERS else install_files.content(path)
        if text is not None:
            found[name] = text
    return found


def _first_line(path: Path) -> str | None:
    try:
        with path.open(encoding="ascii") as file:
            return file.readline(_FIRST_LINE)
    except (OSError, UnicodeDecodeError):
        return None

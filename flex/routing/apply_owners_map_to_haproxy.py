"""Has a node's HAProxy go by another small map of owners, and by nothing else that is new.

Takes the map, the folder of the node's files, and the sockets of its HAProxy. Returns how HAProxy
was told, or that all files are wanted. The large map is neither read nor written, so a change of
one name costs the same whatever there is. Does not ask anybody for the map.
"""

from __future__ import annotations

from pathlib import Path

from flex.errors import BadInput
from flex.routing import apply_to_haproxy, haproxy, haproxy_socket, install_files
from flex.routing.apply_to_haproxy import Sockets, Told
from flex.routing.haproxy_change_commands import HaproxyChange
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
        if here[MOVED] == moved and goes_by == haproxy.version(there):
            return "nothing"
        with install_files.undoing(install_files.there_of(folder), folder):
            install_files.replace_some(changed, folder)
            if goes_by != haproxy.version(here):
                apply_to_haproxy.reload_when_ready(sockets)
                return "reload"
            path = f"{folder}/{haproxy.HOSTS}"
            version = haproxy.VERSION, haproxy.version(there)
            maps = ((f"{folder}/{MOVED}", moved),)
            wanted = HaproxyChange((("set", "map", path, *version),), maps=maps)
            return apply_to_haproxy.tell(wanted, sockets)


def order_in_force(stats: haproxy_socket.Socket, folder: Path) -> tuple[int, str]:
    """The number by which HAProxy goes, and the digest of its small map; 0 and "" for none. Raises
    Away.
    """
    path = f"{folder}/{MOVED}"
    number, own = (
        haproxy_socket.parse_map_value(stats.ask("get", "map", path, key))
        for key in (ORDER, DIGEST)
    )
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

"""Has a node's HAProxy go by another small map of owners, and by nothing else that is new.

Takes the map, the folder of the node's files, and the sockets of its HAProxy. Returns how HAProxy
was told, or that all files are wanted. The large map is not written, and read only where the file
changed, so a change of one name costs the same whatever there is. Does not ask anybody for the map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from flex.errors import BadInput
from flex.routing import apply_to_haproxy, haproxy, haproxy_socket, host_to_node_maps, install_files
from flex.routing.apply_to_haproxy import Sockets, Told
from flex.routing.haproxy import CONFIGURATION, HOSTS, VERSION
from flex.routing.haproxy_commands import HaproxyChange
from flex.routing.haproxy_writer_sites import HOLD
from flex.routing.host_to_node_maps import (
    CLUSTER,
    DIGEST,
    LARGE,
    MOVED,
    ORDER,
    OWNERS,
    digest,
    heading,
    is_whole,
    node_backend,
    one_writer_backend,
)
from flex.routing.install_files import Guard
from flex.routing.refuse_older_maps import refuse_older

# Folders whose large maps are remembered. A node has one; a demo has several.
_FOLDERS = 16


def flip(moved: str, folder: Path, sockets: Sockets, guard: Guard = refuse_older) -> Told | None:
    """None where this map does not go beside the files that are there, or these came while HAProxy
    did not run, or it does not run: then all are wanted.

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
        if install_files.is_untold(folder) or sockets.are_deserted():
            return None
        if MOVED not in here or not head or head.large != digest(here.get(OWNERS, "")):
            return None
        if _leads_to_unknown_nodes(moved, here.get(CONFIGURATION, "")):
            return None
        guard({MOVED: moved}, here)
        there = haproxy.stamp_version({**here, MOVED: moved})
        changed = {MOVED: moved, HOSTS: there[HOSTS]}
        goes_by = apply_to_haproxy.version_in_force(sockets.stats, folder)
        versions = haproxy.version(here), haproxy.version(there)
        if here[MOVED] == moved and goes_by == versions[1]:
            return "nothing"
        if goes_by in versions and HOLD not in here:
            return _tell_then_write(changed, here[MOVED], folder, sockets, goes_by)
        return _write_then_tell(changed, folder, sockets, goes_by == versions[0])


def _leads_to_unknown_nodes(moved: str, configuration: str) -> bool:
    """Such as one that came back, of which this HAProxy has not heard yet: it would answer itself
    what is meant for that one.
    """
    backends = set(host_to_node_maps.read(moved).values())
    return any(
        f"\nbackend {backend}\n" not in configuration
        for backend in backends
        if backend.startswith((node_backend(""), one_writer_backend("")))
    )


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
    changed: Mapping[str, str], before: str, folder: Path, sockets: Sockets, goes_by: str
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
                was = {MOVED: before, HOSTS: f"{VERSION} {goes_by}\n"}
                apply_to_haproxy.tell_together(_change(was, folder), sockets.stats)
            raise
    return "commands"


def _change(changed: Mapping[str, str], folder: Path) -> HaproxyChange:
    """The small map and the version that the files are then."""
    path = f"{folder}/{HOSTS}"
    version = VERSION, haproxy.version(changed)
    maps = ((f"{folder}/{MOVED}", changed[MOVED]),)
    return HaproxyChange((("set", "map", path, *version),), maps=maps)


@dataclass(frozen=True, slots=True)
class MapsInForce:
    """What HAProxy says of the maps that it has in memory: its order (0: none), the digest of the
    small map and whose it is, the digest of the large map, and how many entries it has of each.
    """

    order: int
    moved: str
    cluster: str
    large: str
    entries: Mapping[str, int]

    def lacks(self, large: str, entries: Mapping[str, int]) -> str:
        """Why these are not the maps with so many entries, beside this large one; "" if they are.
        While HAProxy takes another map it has the entries of both.
        """
        for name, count in entries.items():
            has = self.entries.get(name, 0)
            if has < count:
                return f"HAProxy has {has} of the {count} entries of {name}"
        return "" if self.large == large else f"HAProxy has another {OWNERS}"


def maps_in_force(stats: haproxy_socket.Socket, folder: Path) -> MapsInForce:
    """Raises Away."""
    small, large = f"{folder}/{MOVED}", f"{folder}/{OWNERS}"
    commands = [("get", "map", small, key) for key in (ORDER, DIGEST, CLUSTER)]
    answer = stats.ask_all([*commands, ("get", "map", large, DIGEST), ("show", "map")])
    # An empty line is behind each answer.
    *values, every = [*answer.split("\n\n", 4), *[""] * 4][:5]
    number, moved, cluster, digest = map(haproxy_socket.parse_map_value, values)
    sizes = haproxy_socket.parse_map_sizes(every)
    entries = {
        name: sizes[path] for name, path in ((MOVED, small), (OWNERS, large)) if path in sizes
    }
    if not (number.isascii() and number.isdigit() and len(number) < 20):
        number = moved = ""
    return MapsInForce(int(number or 0), moved, cluster, digest, entries)


def order_in_force(stats: haproxy_socket.Socket, folder: Path) -> tuple[int, str]:
    """The number by which HAProxy goes, and the digest of its small map; 0 and "" for none. Raises
    Away.
    """
    maps = maps_in_force(stats, folder)
    return maps.order, maps.moved


def save_order_in_force(stats: haproxy_socket.Socket, folder: Path) -> bool:
    """The small map in the folder becomes the one by which HAProxy goes where it is cut, of another
    cluster or older, and also where it is newer and was never one of the files around it. Whether
    it became another one. Raises Away and NotWritten.
    """
    with install_files.alone(folder):
        here, maps = small_files(folder), maps_in_force(stats, folder)
        if HOSTS not in here or not maps.order or not _gives_way(here, maps):
            return False
        text = _small_map_in_force(stats, folder)
        if not is_whole(text):
            return False
        files = haproxy.stamp_version({**here, MOVED: text})
        goes_by = apply_to_haproxy.version_in_force(stats, folder)
        # Else there are files of another version around it, which are to be fetched.
        is_all = haproxy.version(files) == goes_by
        saved = {MOVED: text, **({HOSTS: files[HOSTS]} if is_all else {})}
        install_files.replace_some(saved, folder)
    return True


def _gives_way(here: Mapping[str, str], maps: MapsInForce) -> bool:
    text = here.get(MOVED, "")
    head = heading(text) if is_whole(text) else None
    if head is None or head.cluster != maps.cluster:
        return True
    if (head.order, digest(text)) == (maps.order, maps.moved):
        return False
    is_one_of_them = haproxy.version(here) == haproxy.version(haproxy.stamp_version(here))
    return head.order <= maps.order or not is_one_of_them


def _small_map_in_force(stats: haproxy_socket.Socket, folder: Path) -> str:
    """As HAProxy has it in memory."""
    lines = stats.ask("show", "map", f"{folder}/{MOVED}").splitlines()
    entries = dict(line.split(" ", 2)[1:] for line in lines if line.count(" ") == 2)
    head = (DIGEST, CLUSTER, LARGE, ORDER)
    names = [*(key for key in head if key in entries), *sorted(entries.keys() - set(head))]
    return "".join(f"{name} {entries[name]}\n" for name in names)


def small_files(folder: Path) -> dict[str, str]:
    """By name, as they are there; of the large map no more than what it says of itself, and nothing
    where it is not whole.
    """
    files: dict[str, str] = {}
    for name in install_files.there_of(folder):
        path = folder / name
        text = large_map_here(folder)[0] if name == OWNERS else install_files.content(path)
        if text is not None:
            files[name] = text
    return files


def large_map_here(folder: Path) -> tuple[str, int]:
    """What the large map on the disk says of itself, and how many entries it has; "" and 0 where it
    is not whole. It is read only if it is another file than the last time.
    """
    path = folder / OWNERS
    try:
        stat = path.stat()
        return _large_map(path, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    except OSError:
        # Not remembered: it may be readable in the next moment.
        return "", 0


@lru_cache(maxsize=_FOLDERS)
def _large_map(path: Path, *_stat: int) -> tuple[str, int]:
    text = path.read_text("ascii", "replace")
    if not is_whole(text):
        return "", 0
    return text[: text.index("\n") + 1], host_to_node_maps.entries(text)

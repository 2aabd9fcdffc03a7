"""What a running HAProxy has to be told so that it does what new files say: some commands, or to
read them anew.

Takes the files before and after. Returns a HaproxyChange. Commands change host names, and members'
addresses, weights and whether they take requests; the maps of owners are replaced as a whole.
Everything else is structure, and takes a reload. Does not tell HAProxy anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flex.routing.haproxy import CONFIGURATION, HOSTS
from flex.routing.haproxy_frontends import NEIGHBOURS
from flex.routing.haproxy_writer_sites import HOLD
from flex.routing.host_to_node_maps import MOVED, OWNERS
from flex.routing.rules.popular_targets import POPULAR

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HaproxyChange:
    """Either `reload`, or the new content of `maps` by their paths, in order, and all that the
    commands say after that; empty where nothing changes.
    """

    commands: tuple[Words, ...] = ()
    reload: bool = False
    maps: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Server:
    """A server's line: what commands can change, and the rest."""

    name: str
    address: str
    weight: str
    takes: bool
    rest: Words


def change(before: Mapping[str, str], after: Mapping[str, str], directory: str) -> HaproxyChange:
    """`directory` is where HAProxy found its maps."""
    commands = _commands_for_servers(before.get(CONFIGURATION, ""), after[CONFIGURATION])
    structure = any(
        before.get(name, "") != after.get(name, "") for name in (POPULAR, NEIGHBOURS, HOLD)
    )
    if commands is None or structure:
        return HaproxyChange(reload=True)
    # The large map first: what the small one says goes before it, and still says who owns a name.
    maps = [
        (f"{directory}/{name}", after[name])
        for name in (OWNERS, MOVED)
        if before.get(name, "") != after.get(name, "")
    ]
    hosts = _commands_for_hosts(before.get(HOSTS, ""), after[HOSTS], f"{directory}/{HOSTS}")
    return HaproxyChange((*commands, *hosts), maps=tuple(maps))


def _commands_for_servers(before: str, after: str) -> list[Words] | None:
    """None where more changed than commands can change."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) != len(new):
        return None
    commands: list[Words] = []
    section = ""
    for was, becomes in zip(old, new, strict=True):
        if becomes.startswith("backend "):
            section = becomes.split()[1]
        if was == becomes:
            continue
        old_server, new_server = _server(was), _server(becomes)
        if (
            old_server is None
            or new_server is None
            or (old_server.name, old_server.rest) != (new_server.name, new_server.rest)
        ):
            return None
        commands += _commands_for_server(f"{section}/{new_server.name}", old_server, new_server)
    return commands


def _server(line: str) -> _Server | None:
    words = line.split()
    if words[:1] != ["server"] or len(words) < 3:
        return None
    _, name, address, *rest = words
    weight, takes = "", "disabled" not in rest
    if "weight" in rest[:-1]:
        place = rest.index("weight")
        weight = rest[place + 1]
        del rest[place : place + 2]
    return _Server(name, address, weight, takes, tuple(word for word in rest if word != "disabled"))


def _commands_for_server(name: str, before: _Server, after: _Server) -> Iterator[Words]:
    if before.address != after.address:
        host, _, port = after.address.rpartition(":")
        yield "set", "server", name, "addr", host.strip("[]"), "port", port
    if before.weight != after.weight:
        yield "set", "server", name, "weight", after.weight
    if before.takes != after.takes:
        yield "set", "server", name, "state", "ready" if after.takes else "maint"


def _commands_for_hosts(before: str, after: str, path: str) -> Iterator[Words]:
    old = dict(line.split(" ", 1) for line in before.splitlines())
    new = dict(line.split(" ", 1) for line in after.splitlines())
    yield from (("del", "map", path, host) for host in sorted(old.keys() - new.keys()))
    yield from (("add", "map", path, host, new[host]) for host in sorted(new.keys() - old.keys()))
    yield from (
        ("set", "map", path, host, new[host])
        for host in sorted(new)
        if old.get(host, new[host]) != new[host]
    )

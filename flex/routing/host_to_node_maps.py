"""Which node answers for which host name, as two maps that HAProxy reads.

Takes who owns each name now, and the large map that the nodes have. Returns that large map as it
is, and a small one of all that differs from it. Does not know sites, addresses or sockets.

The small map says of which cluster it is, beside which large map it goes, and its number, which
grows. So a node sees whether it is newer than what it has. Maps that were made before they said so
have no number.

HAProxy looks into the small one first. A change then costs what changes and not what exists: 20,000
names of a million are exchanged within some 30 ms, where the large map would take seconds.

A name whose site has one writer says so, and while requests for it wait at doors it says that. Such
a name is always in the small map, so whoever waits looks at no other one.

A site that several nodes have is led to one of these. Where only they have its content, the maps
say the others, too, for when that one is away: behind the name stand a colon and a number from 2.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

OWNERS = "owners.map"
MOVED = "moved.map"
# The first entry of each map: what the others are, as a hash. No request can ask for this name.
DIGEST = ":digest"
# What the small map says of itself behind that, in this order. No request can ask for these either.
CLUSTER = ":cluster"
LARGE = ":large"
ORDER = ":order"
_HEADING = re.compile(
    rf"{CLUSTER} ([A-Za-z0-9]{{1,64}})\n{LARGE} ([0-9a-f]{{12}})\n{ORDER} ([1-9][0-9]{{0,15}})\n"
)
# The value of a name that the large map has, and that nobody owns any more.
NOBODY = "nobody"
# What comes before the node: of a name that any node may answer where the owner does not, of one
# that its owner alone may answer, and of one that nobody answers now: requests wait.
ANY_DOOR = "at_"
ONE_WRITER = "st_"
HELD = "hd_"
# The numbers behind the name of a site that other nodes have, too; pools have no more members. No
# request can ask for such a name, as what is behind a colon is its port.
OTHERS = range(2, 17)
# The small map is not worth writing the large one anew before it has so many names.
ALWAYS_SMALL = 1_000
# A quarter of all names. HAProxy takes about 310 bytes for a name, whichever map it is in.
LARGEST_PART = 4
# Names of a small map at most: each change exchanges all of it. 20,000 were seen to take 27 ms.
ALWAYS_LARGE = 50_000


@dataclass(frozen=True, slots=True)
class Heading:
    """What a small map says of itself."""

    cluster: str
    large: str
    order: int


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """The two maps as texts. `names` is how many names somebody owns, `differ` how many entries the
    small one has.
    """

    large: str
    moved: str
    names: int
    differ: int

    @property
    def is_old(self) -> bool:
        """Whether the large map is worth being written anew."""
        part = min(self.names // LARGEST_PART, ALWAYS_LARGE)
        return self.differ > max(ALWAYS_SMALL, part)


def set_heading(owners: Owners, heading: Heading) -> Owners:
    """Their small map says this of itself."""
    pairs = (CLUSTER, heading.cluster), (LARGE, heading.large), (ORDER, heading.order)
    head = "".join(f"{key} {value}\n" for key, value in pairs)
    lines = head + owners.moved[_begin(owners.moved) :]
    return replace(owners, moved=f"{DIGEST} {_digest(lines)}\n{lines}")


def strip_heading(owners: Owners) -> Owners:
    lines = owners.moved[_begin(owners.moved) :]
    return replace(owners, moved=f"{DIGEST} {_digest(lines)}\n{lines}")


def heading(moved: str) -> Heading | None:
    """None where it says none."""
    matched = _HEADING.match(moved, moved.find("\n") + 1)
    return Heading(matched[1], matched[2], int(matched[3])) if matched else None


def _begin(text: str) -> int:
    """Where the names begin."""
    start = text.find("\n") + 1
    matched = _HEADING.match(text, start)
    return matched.end() if matched else start


def node_backend(node: str) -> str:
    """What the maps say of a name that this node owns: the backend that reaches the node."""
    return f"{ANY_DOOR}{node}"


def one_writer_backend(node: str) -> str:
    """The same of a name that this node alone may answer."""
    return f"{ONE_WRITER}{node}"


def held_name_backend(node: str) -> str:
    """What they say of a name whose requests wait, and that this node was the last to answer."""
    return f"{HELD}{node}"


@dataclass(frozen=True, slots=True)
class Writers:
    """The names of sites that have one writer, and of these the names whose requests wait."""

    one: Collection[str] = frozenset()
    waiting: Collection[str] = frozenset()

    def backend_of_name(self, name: str, node: str) -> str:
        """What the maps say of a name that this node owns."""
        if not self.one:
            return node_backend(node)
        if name in self.waiting:
            return held_name_backend(node)
        return one_writer_backend(node) if name in self.one else node_backend(node)


NO_WRITERS = Writers()


def maps_of(
    owner_of: Mapping[str, str],
    large: str = "",
    writers: Writers = NO_WRITERS,
    others_of: Mapping[str, Sequence[str]] | None = None,
) -> Owners:
    """The maps by which each name has its owner now, and those of `others_of` these nodes besides.
    Without a `large` map there is a new one.
    """
    others = _entries_of_others(others_of or {})
    if not is_whole(large):
        large = map_of(owner_of, writers, others)
        if not writers.waiting:
            return Owners(large, map_of({}), len(owner_of), 0)
    backend_of = read(large)
    differ = {
        name: backend
        for name, node in owner_of.items()
        if backend_of.get(name) != (backend := writers.backend_of_name(name, node))
    }
    differ |= {key: to for key, to in others.items() if backend_of.get(key) != to}
    gone = dict.fromkeys(backend_of.keys() - owner_of.keys() - others.keys(), NOBODY)
    moved = {**differ, **gone}
    return Owners(large, _text(moved), len(owner_of), len(moved))


def _entries_of_others(others_of: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {
        f"{name}:{number}": node_backend(node)
        for name, nodes in others_of.items()
        for number, node in zip(OTHERS, nodes, strict=False)
    }


def large_map_of(large: str, moved: str) -> str:
    """The large map that says alone what both say together. Who has both need not be sent it."""
    if not is_whole(large) or not is_whole(moved):
        return ""
    differ = read(moved)
    lines = large[_begin(large) :].splitlines(keepends=True)
    # A map may be of a million names: it is not made a dictionary.
    kept = [line for line in lines if line[: line.index(" ")] not in differ]
    kept += [f"{name} {_lasting(to)}\n" for name, to in differ.items() if to != NOBODY]
    # No sign of a host name comes before the space that follows it, so lines sort as names do.
    kept.sort()
    names = "".join(kept)
    return f"{DIGEST} {_digest(names)}\n{names}"


def _lasting(backend: str) -> str:
    """No large map says that requests wait."""
    if not backend.startswith(HELD):
        return backend
    return one_writer_backend(backend.removeprefix(HELD))


def map_of(
    owner_of: Mapping[str, str],
    writers: Writers = NO_WRITERS,
    others: Mapping[str, str] | None = None,
) -> str:
    """One map of these names alone, and of the entries `others`; that requests wait is not in
    it.
    """
    entries = {
        name: _lasting(writers.backend_of_name(name, node)) for name, node in owner_of.items()
    }
    return _text(entries | dict(others or {}))


def has_held_names(moved: str) -> bool:
    """Quick, however large the map is."""
    return f" {HELD}" in moved


def held_names(moved: str) -> dict[str, str]:
    """By name whose requests wait the node that was the last to answer it."""
    return {name: to.removeprefix(HELD) for name, to in read(moved).items() if to.startswith(HELD)}


def owners(large: str, moved: str, names: Collection[str]) -> dict[str, str]:
    """By name the node that owns it, or owned it last, of those of the names that have one."""
    backend_of = read(large)
    backend_of.update(read(moved))
    owner_of = {name: _node_of(backend_of[name]) for name in names if name in backend_of}
    return {name: node for name, node in owner_of.items() if node}


def _node_of(backend: str) -> str:
    """Empty for a name that nobody owns."""
    for beginning in (ANY_DOOR, ONE_WRITER, HELD):
        if backend.startswith(beginning):
            return backend.removeprefix(beginning)
    return ""


def read(text: str) -> dict[str, str]:
    """By name the backend; without what the map says of itself."""
    return dict(line.split(" ", 1) for line in text[_begin(text) :].splitlines())


def digest(text: str) -> str:
    """As the map says itself; "" where it says none."""
    # The rest may be large, and is not copied.
    key, _, value = text[: text.find("\n") + 1].rstrip("\n").partition(" ")
    return value if key == DIGEST else ""


def entries(text: str) -> int:
    """How many entries HAProxy has once it has loaded all of it."""
    return text.count("\n")


def is_whole(text: str) -> bool:
    """Whether it is a map to the last byte of what it says itself."""
    return text.endswith("\n") and digest(text) == _digest(text.partition("\n")[2])


def _text(entries: Mapping[str, str]) -> str:
    lines = "".join(f"{name} {entries[name]}\n" for name in sorted(entries))
    return f"{DIGEST} {_digest(lines)}\n{lines}"


def _digest(lines: str) -> str:
    return sha256(lines.encode("ascii", "replace")).hexdigest()[:12]

"""What is packaged for which Debian: the two packages, and the releases that they are made for.

Takes nothing. Decides nothing else: how a package is built is in the other modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Packages of Debian that the wheels of others were linked against: a manylinux wheel says which
# libc it needs, and Debian 12 has 2.36.
LIBRARIES = ("libc6 (>= 2.36)", "libgcc-s1", "libstdc++6")
# The newest libc that wheels may ask for, that of the oldest release below.
NEWEST_LIBC = 36


@dataclass(frozen=True, slots=True)
class Release:
    """A Debian. Its own Python runs FLEX: wheels are made for one of them, so are packages."""

    number: int
    codename: str
    python: str

    @property
    def interpreter(self) -> str:
        return f"python{self.python}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Packages that bring this Python, and no other one in its place."""
        major, minor = self.python.split(".")
        newer = f"{major}.{int(minor) + 1}"
        return (self.interpreter, f"python3 (>= {self.python}~)", f"python3 (<< {newer}~)")


RELEASES: Mapping[int, Release] = {
    each.number: each for each in (Release(12, "bookworm", "3.11"), Release(13, "trixie", "3.13"))
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A package. Without `verbs` it has a page of the manual for each verb."""

    name: str
    other: str
    summary: str
    description: str
    lock: str
    units: tuple[str, ...]
    state: str
    recommends: tuple[str, ...]
    verbs: tuple[str, ...] = ()


CONTROLLER = Kind(
    name="flex-controller",
    other="flex-node",
    summary="partitions the sites of a web-hosting cluster over its nodes",
    description=(
        "FLEX decides which node of a shared web-hosting cluster serves which site,\n"
        "and publishes that by signed DNS updates, and by HAProxy on the nodes. Every\n"
        "night it reads the access logs and moves as few sites as possible.\n"
        ".\n"
        "This is the controller: one machine has it. It does all that flex-node does.\n"
        "The command is /usr/sbin/flex; /usr/bin/flex is the lexer of that name."
    ),
    lock="run",
    units=(
        "flex-api.service",
        "flex-nightly.service",
        "flex-nightly.timer",
        "flex-follow.service",
        "flex-count.service",
        "flex-count.timer",
    ),
    state="/var/lib/flex",
    recommends=("ca-certificates", "tzdata", "rsync", "openssh-client"),
)
NODE = Kind(
    name="flex-node",
    other="flex-controller",
    summary="counts access logs beside them and keeps HAProxy at FLEX's orders",
    description=(
        "FLEX decides which node of a shared web-hosting cluster serves which site.\n"
        ".\n"
        "This is what a node may have: it counts the node's own logs (flex ingest), so\n"
        "that the controller gets counts in place of logs, and has the node's HAProxy\n"
        "go by each order for doors (flex route follow). It needs no settings and no\n"
        "database.\n"
        "The command is /usr/sbin/flex; /usr/bin/flex is the lexer of that name."
    ),
    lock="node",
    units=("flex-follow.service", "flex-count.service", "flex-count.timer"),
    state="/var/spool/flex",
    recommends=("ca-certificates", "tzdata", "rsync", "openssh-client"),
    verbs=("ingest", "route", "version"),
)
KINDS: Mapping[str, Kind] = {each.name: each for each in (CONTROLLER, NODE)}

"""What a primary name server has to be told of FLEX: its zones, and the names of the keys that it
must know.

Values alone. How BIND and Knot DNS want to hear it is in bind.py and knot.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# What name servers are called, where nobody says how.
USUAL = ("ns", "ns1", "ns2", "ns3", "ns4")
# An address for samples (RFC 5737).
NOBODYS = "192.0.2.1"


@dataclass(frozen=True, slots=True)
class ZonePart:
    """`name_servers` are those with a name in the zone, the usual names where none is known;
    `own_name` says that a site is called as the zone is; `below` are zones of FLEX's in this one:
    their names are changed there, not here.
    """

    zone: str
    name_servers: tuple[str, ...] = ()
    own_name: bool = False
    below: tuple[str, ...] = ()

    @property
    def servers(self) -> tuple[str, ...]:
        return self.name_servers or tuple(f"{name}.{self.zone}" for name in USUAL)

    @property
    def denied(self) -> tuple[str, ...]:
        """Names that no key of FLEX may change."""
        return (*self.servers, *(() if self.own_name else (self.zone,)))


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The names of the keys in a file: two while one takes the place of the other. No path where
    none is there yet.
    """

    names: tuple[str, ...]
    algorithms: Mapping[str, str] = field(default_factory=dict)
    path: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Of one primary. Without a `reader` the key that changes zones reads them too. `address` is
    where its secondaries find it; `followers` are they, as addresses and ports.
    """

    keys: KeyFile
    zones: tuple[ZonePart, ...]
    reader: KeyFile | None = None
    address: str = NOBODYS
    followers: tuple[tuple[str, int], ...] = ()

    @property
    def readers(self) -> tuple[str, ...]:
        return (self.reader or self.keys).names

    @property
    def files(self) -> tuple[KeyFile, ...]:
        return (self.keys, self.reader) if self.reader else (self.keys,)

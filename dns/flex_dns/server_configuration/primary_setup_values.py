"""The zones of one primary name server, and the keys that it must know.

These are values alone: named_conf_lines.py writes them for BIND, knot_conf.py for Knot DNS. No
secret is in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from flex.model.zone_plan import AddressType, HintedType

# What the name servers of a zone are usually called. They stand in for those that nobody named.
USUAL_NAMES = ("ns", "ns1", "ns2", "ns3", "ns4")
# An address for samples (RFC 5737).
SAMPLE_ADDRESS = "192.0.2.1"


@dataclass(frozen=True, slots=True)
class ZoneRights:
    """What FLEX may change in one zone.

    `name_servers` are those with a name in the zone; the usual names stand for them where none is
    known. `own_name` says that a site has the same name as the zone. `below` are zones of FLEX
    inside this one: their names are changed there, not here. With `hints`, HTTPS and SVCB records
    are changed with the addresses that they repeat.
    """

    zone: str
    name_servers: tuple[str, ...] = ()
    own_name: bool = False
    below: tuple[str, ...] = ()
    hints: bool = False

    @property
    def types(self) -> tuple[str, ...]:
        """The types of records of sites that may be changed."""
        return (*get_args(AddressType), *(get_args(HintedType) if self.hints else ()))

    @property
    def types_in_words(self) -> str:
        *most, last = self.types
        return f"{', '.join(most)} and {last}"

    @property
    def servers(self) -> tuple[str, ...]:
        return self.name_servers or tuple(f"{name}.{self.zone}" for name in USUAL_NAMES)

    @property
    def denied_names(self) -> tuple[str, ...]:
        """Names that no key of FLEX may change."""
        return (*self.servers, *(() if self.own_name else (self.zone,)))


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The names of the keys in a file: two while a new key replaces an old one. `path` is empty
    where there is no file yet.
    """

    names: tuple[str, ...]
    algorithms: Mapping[str, str] = field(default_factory=dict)
    path: str = ""


@dataclass(frozen=True, slots=True)
class PrimarySetup:
    """Everything one primary has to be told.

    Without a `reader`, the key that changes zones reads them too. `address` is where the
    secondaries find the primary; `followers` are the secondaries, as hosts and ports.
    """

    keys: KeyFile
    zones: tuple[ZoneRights, ...]
    reader: KeyFile | None = None
    address: str = SAMPLE_ADDRESS
    followers: tuple[tuple[str, int], ...] = ()

    @property
    def readers(self) -> tuple[str, ...]:
        return (self.reader or self.keys).names

    @property
    def files(self) -> tuple[KeyFile, ...]:
        return (self.keys, self.reader) if self.reader else (self.keys,)

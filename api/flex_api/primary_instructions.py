"""What each primary of the settings has to be told: zones, keys and rights, for BIND or for Knot
DNS.

Takes Settings and the names of the sites. Returns texts without secrets. Does not change anything.
It asks each primary for the name servers of its zones; where the primary does not know a zone yet,
the usual names stand for them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from flex.errors import BadInput, BadSetting, DnsError
from flex.zones import records_of_partition
from flex_api import wiring
from flex_api.settings.file import Settings
from flex_api.settings.name_servers_and_zones import Primary
from flex_dns.checks import servers_to_check
from flex_dns.server_configuration import knot_conf, named_conf_lines
from flex_dns.server_configuration.primary_setup_values import (
    SAMPLE_ADDRESS,
    KeyFile,
    PrimarySetup,
    ZoneRights,
)
from flex_dns.wire.key import Key, read_keys
from flex_dns.wire.name_server_and_key import Server, address_text

KINDS: Mapping[str, Callable[[PrimarySetup], str]] = {
    "named": named_conf_lines.configuration,
    "knot": knot_conf.configuration,
}

# The names of the servers of a zone.
Servers: TypeAlias = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class Configured:
    """The text for one primary. `asked` are its zones whose name servers it has told."""

    server: str
    zones: tuple[str, ...]
    asked: tuple[str, ...]
    text: str


def configurations(
    settings: Settings, kind: str, sites: Collection[str], wanted: Sequence[str] = ()
) -> list[Configured]:
    """One for each primary that has any of the `wanted` zones, or of all where none is. Raises
    BadSetting, BadInput.
    """
    zones = _wanted_zones(settings.dns.every_zone, wanted)
    names = frozenset(map(records_of_partition.name_of, sites))
    configured = []
    for primary in settings.dns.primaries:
        ours = [zone for zone in primary.zones if zone in zones]
        if ours:
            configured.append(_configure_primary(settings, primary, KINDS[kind], ours, names))
    return configured


def _wanted_zones(every: Sequence[str], wanted: Sequence[str]) -> frozenset[str]:
    if not every:
        raise BadSetting(
            "printing what name servers have to be told",
            "there is no zone in dns.zones",
            kept="nothing was printed",
            advice="name the zones of your sites in dns.zones",
        )
    named = [zone.lower().rstrip(".") + "." for zone in wanted]
    for zone in named:
        if zone not in every:
            raise BadInput(
                f"printing what name servers have to be told of {zone}",
                f"dns.zones are {', '.join(every)}",
                kept="nothing was printed",
                advice="name one of these, or add the zone to dns.zones first",
            )
    return frozenset(named or every)


def _configure_primary(
    settings: Settings,
    primary: Primary,
    write: Callable[[PrimarySetup], str],
    zones: Sequence[str],
    sites: Collection[str],
) -> Configured:
    keys = wiring.keys(primary)
    server = Server(primary.server, primary.port, keys[0], settings.dns.timeout.total_seconds())
    told = _name_servers(server, zones)
    setup = PrimarySetup(
        keys=_file(primary.key_file, keys),
        reader=_file(primary.transfer_key_file, read_keys(primary.transfer_key_file)[:1])
        if primary.transfer_key_file
        else None,
        zones=tuple(
            replace(one, hints=settings.dns.address_hints == "follow")
            for one in _zones(settings.dns.every_zone, zones, told, sites)
        ),
        address=_seen_by_others(primary.server),
        followers=tuple(one for one in wiring.servers(primary) if one != server.address),
    )
    answered_zones = tuple(zone for zone in zones if told.get(zone))
    return Configured(address_text(server.address), tuple(zones), answered_zones, write(setup))


def _file(path: Path | None, keys: Sequence[Key]) -> KeyFile:
    return KeyFile(
        tuple(key.name for key in keys), {key.name: key.algorithm for key in keys}, str(path or "")
    )


def _name_servers(server: Server, zones: Sequence[str]) -> Servers:
    """Nobody can tell them of a zone that is about to be added, or of a primary that is not there
    yet.
    """
    try:
        return servers_to_check.names_of_servers(server, zones)
    except DnsError:
        return {}


def _zones(
    every: Sequence[str], zones: Sequence[str], told: Servers, sites: Collection[str]
) -> Iterator[ZoneRights]:
    """A name belongs to the closest zone. Its addresses are there, whichever zone it is a name
    server of.
    """
    known = frozenset(every)
    servers = sorted({name for names in told.values() for name in names})
    for zone in zones:
        within = [name for name in servers if records_of_partition.zone_of(name, known) == zone]
        usual = () if told.get(zone) else ZoneRights(zone).servers
        below = sorted(other for other in every if other != zone and other.endswith(f".{zone}"))
        yield ZoneRights(
            zone, tuple(dict.fromkeys((*within, *usual))), zone in sites, _outermost(below)
        )


def _outermost(zones: Sequence[str]) -> tuple[str, ...]:
    """The zones that lie below no other one of these."""

    def is_below_another(zone: str) -> bool:
        return any(zone.endswith(f".{other}") for other in zones)

    return tuple(zone for zone in zones if not is_below_another(zone))


def _seen_by_others(host: str) -> str:
    """Where its secondaries find a primary: only it can tell, where we reach it on this machine or
    by a name.
    """
    try:
        return SAMPLE_ADDRESS if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return SAMPLE_ADDRESS

"""The address hints of HTTPS and SVCB records (RFC 9460), and which of them change with a name.

Takes records as zone files have them, and the addresses of names. Returns the hints, or the same
records with other hints: all else in them stays as it is. Does not read a zone, and does not decide
whether anybody wants hints to change.

Hints change with a name where they are just its addresses, of each family that a record has hints
of: before and after. What leads elsewhere is somebody's who wrote it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from flex.model.zone_plan import AddressType, HintedType, Rrset
from flex.zones.records_of_partition import ZoneState, by_name

HINTED: tuple[HintedType, ...] = ("HTTPS", "SVCB")
# The parameters that hold addresses, by the type of the records that they repeat.
KEYS: Mapping[AddressType, str] = {"A": "ipv4hint", "AAAA": "ipv6hint"}
# A parameter behind the target of a record. What stands in quotes has none that are not escaped.
_PARAMETER = re.compile(r' (?P<key>[^ ="]+)(?:="(?P<value>(?:[^"\\]|\\.)*)")?')
_RECORD = re.compile(
    r"(?P<priority>\d+) (?P<target>\S+)"
    r'(?P<parameters>(?: [^ ="]+(?:="(?:[^"\\]|\\.)*")?)*)'
)
# The priority of an alias, whose parameters nobody reads.
ALIAS = "0"
# The parameter that lists those which whoever reads a record must know.
MANDATORY = "mandatory"

# The addresses of one name, by their type.
Addresses = Mapping[AddressType, Collection[str]]


def hints_of(record: str) -> dict[AddressType, tuple[str, ...]]:
    """The addresses that a record tells, each family by itself. An alias tells none."""
    found = _RECORD.fullmatch(record)
    if not found or found["priority"] == ALIAS:
        return {}
    said = {one["key"]: one["value"] or "" for one in _parameters(found)}
    return {
        kind: tuple(map(canonical_address, said[key].split(",")))
        for kind, key in KEYS.items()
        if key in said
    }


def hinted_addresses(records: Iterable[str]) -> frozenset[str]:
    return frozenset(
        address
        for record in records
        for hints in hints_of(record).values()
        for address in hints
    )


def with_hints(record: str, addresses: Addresses) -> str:
    """The record with these addresses as its hints, of the families of which it has any. A family
    without an address has no hint either.
    """
    found = _RECORD.fullmatch(record)
    if not found or not hints_of(record):
        return record
    kinds = {key: kind for kind, key in KEYS.items()}
    said = f"{found['priority']} {found['target']}"
    for one in _parameters(found):
        kind = kinds.get(one["key"])
        if kind is None:
            said += one[0]
        elif hints := addresses.get(kind):
            said += f' {one["key"]}="{",".join(sorted(map(canonical_address, hints)))}"'
    return said


def set_with_hints(before: Rrset, addresses: Addresses) -> Rrset:
    """All records of a set with these hints, and the TTL that it has."""
    records = {with_hints(one, addresses) for one in before.values}
    return Rrset(before.name, before.type, before.ttl, tuple(sorted(records)))


def both_hints(before: Rrset, after: Rrset) -> Rrset:
    """The set while the old and the new addresses are published."""
    every: dict[AddressType, set[str]] = {"A": set(), "AAAA": set()}
    for record in (*before.values, *after.values):
        for kind, hints in hints_of(record).items():
            every[kind].update(hints)
    return set_with_hints(before, every)


def sets_that_follow(
    state: ZoneState, ours: Iterable[str]
) -> frozenset[tuple[str, HintedType]]:
    """The sets whose every hint is an address of the name that has them, and one of `ours`. The
    name has no other address of that family.
    """
    if not state.hints:
        return frozenset()
    have, known = by_name(state.records), frozenset(map(canonical_address, ours))

    def addresses(name: str, kind: AddressType) -> frozenset[str]:
        _, values = have.get((name, kind), (0, ()))
        every = frozenset(map(canonical_address, values))
        return every if every <= known else frozenset()

    return frozenset(
        (name, hinted)
        for (name, hinted), (_, records) in state.hints.items()
        if _follows(name, records, {kind: addresses(name, kind) for kind in KEYS})
    )


def _follows(name: str, records: Sequence[str], addresses: Addresses) -> bool:
    hinting = False
    for record in records:
        found = _RECORD.fullmatch(record)
        if not found:
            # Nobody can tell what it leads to.
            return False
        if not (hints := hints_of(record)):
            continue
        hinting = True
        needed = {
            key
            for one in _parameters(found)
            if one["key"] == MANDATORY
            for key in (one["value"] or "").split(",")
        }
        if (
            found["target"].lower() not in (".", name)
            or not needed.isdisjoint(KEYS.values())
            or any(set(said) != set(addresses[kind]) for kind, said in hints.items())
        ):
            return False
    return hinting


def _parameters(record: re.Match[str]) -> Iterable[re.Match[str]]:
    return _PARAMETER.finditer(record["parameters"])


def canonical_address(address: str) -> str:
    """One text for one address; what is none stays as it is."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address

"""The address hints of HTTPS and SVCB records (RFC 9460), and which of them change with a name.

Takes records as zone files have them, and the addresses of names. Returns the hints, or the same
records with other hints: all else in them stays as it is. Does not read a zone, and does not decide
whether anybody wants hints to change.

Hints change with a name where they are exactly its addresses, family by family, before and after.
What leads elsewhere is somebody's who wrote it. Nor do sets change that resolvers keep for longer
than the addresses, as moves would wait for them; or that would lose a family at some node, as
nobody could give that back. Off a dead node neither counts, and of other hints its addresses go.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping, Set

from flex.model.zone_plan import AddressType, HintedSet, HintedType, Rrset
from flex.zones.records_of_partition import ZoneState, sets_by_name

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
    match = _RECORD.fullmatch(record)
    if not match or match["priority"] == ALIAS:
        return {}
    hint_values = {parameter["key"]: parameter["value"] or "" for parameter in _parameters(match)}
    return {
        kind: tuple(map(canonical_address, hint_values[key].split(",")))
        for kind, key in KEYS.items()
        if key in hint_values
    }


def hinted_addresses(records: Iterable[str]) -> frozenset[str]:
    return frozenset(
        address for record in records for hints in hints_of(record).values() for address in hints
    )


def replace_hints(record: str, addresses: Addresses) -> str:
    """The record with these addresses as its hints, of the families of which it has any. A family
    without an address has no hint either. What says the same in another order stays as it is.
    """
    match, have = _RECORD.fullmatch(record), hints_of(record)
    if not match or not have:
        return record
    kinds = {key: kind for kind, key in KEYS.items()}
    rewritten = f"{match['priority']} {match['target']}"
    for parameter in _parameters(match):
        kind = kinds.get(parameter["key"])
        hints = {canonical_address(each) for each in addresses.get(kind, ())} if kind else set()
        if kind is None or hints == set(have[kind]):
            rewritten += parameter[0]
        elif hints:
            rewritten += f' {parameter["key"]}="{",".join(sorted(hints))}"'
    return rewritten


def set_with_hints(before: Rrset, addresses: Addresses) -> Rrset:
    """All records of a set with these hints, and the TTL that it has."""
    records = {replace_hints(record, addresses) for record in before.values}
    return Rrset(before.name, before.type, before.ttl, tuple(sorted(records)))


def lead_off_dead_node(before: Rrset, had: Addresses, gets: Addresses, gone: Set[str]) -> Rrset:
    """The set once its name gets other addresses than it `had`. Hints of a family that were exactly
    these follow; of all others the addresses of a dead node go that are `gone`.
    """
    dead = frozenset(map(canonical_address, gone))
    records = {
        replace_hints(record, _left_of(before.name, record, had, gets, dead))
        for record in before.values
    }
    return Rrset(before.name, before.type, before.ttl, tuple(sorted(records)))


def _left_of(name: str, record: str, had: Addresses, gets: Addresses, gone: Set[str]) -> Addresses:
    left: dict[AddressType, Collection[str]] = {}
    for kind, hints in hints_of(record).items():
        exact = _is_for(name, record) and set(hints) == set(map(canonical_address, had[kind]))
        left[kind] = gets[kind] if exact else set(hints) - gone
    return left


def sets_hinting_at(state: ZoneState, addresses: Iterable[str]) -> dict[HintedSet, frozenset[str]]:
    """The sets that hint at some of these addresses, each with those; but for sets in which
    `mandatory` names a hint, as a record without that hint would be none.
    """
    wanted = frozenset(map(canonical_address, addresses))
    return {
        hinted_set: told
        for hinted_set, (_, records) in state.hints.items()
        if (told := hinted_addresses(records) & wanted) and not any(map(_needs_hints, records))
    }


def names_hinting_at(state: ZoneState, addresses: Iterable[str]) -> set[str]:
    return {name for name, _ in sets_hinting_at(state, addresses)}


def both_hints(before: Rrset, after: Rrset) -> Rrset:
    """The set while the old and the new addresses are published."""
    every: dict[AddressType, set[str]] = {"A": set(), "AAAA": set()}
    for record in (*before.values, *after.values):
        for kind, hints in hints_of(record).items():
            every[kind].update(hints)
    return set_with_hints(before, every)


def reasons_to_hold(state: ZoneState, families: Collection[AddressType]) -> dict[HintedSet, str]:
    """By each set that has hints, or that nobody can read, why these do not change with the
    addresses of their name; empty where they do. Every node has addresses of these `families`.
    """
    have = sets_by_name(state.records) if state.hints else {}
    reasons: dict[HintedSet, str] = {}
    for (name, hinted), (ttl, records) in state.hints.items():
        sets = {kind: have.get((name, kind), (0, ())) for kind in KEYS}
        addresses = {
            kind: frozenset(map(canonical_address, values)) for kind, (_, values) in sets.items()
        }
        longest = min((ttl for ttl, values in sets.values() if values), default=ttl)
        hints = [hints_of(one) for one in records]
        if any(hints) or not all(map(_RECORD.fullmatch, records)):
            whys = (_why_it_stays(name, one, addresses) for one in records)
            lacking = {kind for one in hints for kind in one} - set(families)
            why = next(filter(None, whys), "")
            if not why and lacking:
                keys = " and ".join(KEYS[kind] for kind in sorted(lacking))
                why = f"not every node has an address for {keys}"
            if not why and ttl > longest:
                why = f"their TTL of {ttl} is longer than the {longest} of the address"
            reasons[name, hinted] = why
    return reasons


def _why_it_stays(name: str, record: str, addresses: Addresses) -> str:
    match = _RECORD.fullmatch(record)
    if not match:
        return "a record beside them cannot be read"
    if not (hints := hints_of(record)):
        return ""
    if not _is_for(name, record):
        return f"they are for another name, {match['target']}"
    if _needs_hints(record):
        return f"{MANDATORY} names a hint"
    if any(set(hinted) != set(addresses[kind]) for kind, hinted in hints.items()):
        return "they are not exactly the addresses of the name"
    return ""


def _is_for(name: str, record: str) -> bool:
    match = _RECORD.fullmatch(record)
    return match is not None and match["target"].lower() in (".", name)


def _needs_hints(record: str) -> bool:
    match = _RECORD.fullmatch(record)
    return match is not None and any(
        key in KEYS.values()
        for parameter in _parameters(match)
        if parameter["key"] == MANDATORY
        for key in (parameter["value"] or "").split(",")
    )


def _parameters(record: re.Match[str]) -> Iterable[re.Match[str]]:
    return _PARAMETER.finditer(record["parameters"])


def canonical_address(address: str) -> str:
    """One text for one address; what is none stays as it is."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address

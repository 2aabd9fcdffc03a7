"""From a partition to the address records that say it, and back.

Takes a PLACEMENT, the nodes and the zones. Returns RECORDS for each zone, or a partition that was
read from RECORDS. Does not ask whether a zone already says so, or whether it may be changed:
zone_changes.py and the name servers do.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from flex.frame_schemas import PLACEMENT, RECORDS, texts, values_of
from flex.model.nodes import Node
from flex.model.zone_plan import AddressType, HintedType
from flex.partition import rows_of_other_sites
from flex.zones.decisions_in_markers import MarkedDecision
from flex.zones.marker import marker_name, marker_text
from flex.zones.what_leans_on_names import PointingRecord


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """Where visitors who use a name are sent: to `addresses`, on the way of the CNAMEs to the names
    of `chain`.

    Without addresses and chain there is no such name; `unknown` says why nobody can tell where it
    leads.
    """

    addresses: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    unknown: str = ""


# What the reason begins with by which a name below a wildcard is left without records of its own.
ANSWERED = "is answered by "


@dataclass(frozen=True, slots=True)
class BelowWildcard:
    """What answers for a name that is not there: records of these types at `wildcard`, which lead
    visitors to `addresses`.

    The first record at the name would hide them from `hidden` and from every name below that
    (RFC 4592): from the name itself, or from the name above it that would come to be with it.
    """

    wildcard: str
    types: tuple[str, ...]
    addresses: tuple[str, ...]
    hidden: str

    @property
    def why(self) -> str:
        types = ", ".join(self.types) or "records"
        return (
            f"{ANSWERED}{self.wildcard} with {types}, which a record of its own would hide "
            f"from {self.hidden} and all names below it"
        )


@dataclass(frozen=True, slots=True, eq=False)
class ZoneState:
    """What a zone says now about the names that were asked for.

    `records` (RECORDS) are their A and AAAA sets; `owned` the names that carry our marker;
    `blocked` names that cannot hold our addresses, with the reason (a CNAME, somebody else's
    marker). `answers` are what the zone says of names that nobody places. `pointing` are records
    that may lean on names of sites; None where nobody looked for them, or could. `transferred` says
    that the whole zone was looked through for them. `below_wildcards` are names without any record,
    for which a wildcard answers: its addresses are not among the `records`. `excluded` are names
    whose markers say that FLEX leaves them alone. `hints` are the HTTPS and SVCB sets of the names,
    where the whole zone could be read.
    """

    zone: str
    serial: int
    records: pd.DataFrame
    owned: frozenset[str]
    blocked: Mapping[str, str]
    answers: Mapping[str, NameAnswer] = field(default_factory=dict)
    pointing: tuple[PointingRecord, ...] | None = None
    transferred: bool = True
    below_wildcards: Mapping[str, BelowWildcard] = field(default_factory=dict)
    excluded: Mapping[str, MarkedDecision] = field(default_factory=dict)
    hints: Mapping[tuple[str, HintedType], tuple[int, tuple[str, ...]]] = field(
        default_factory=dict
    )


def name_of(site: str) -> str:
    """The absolute host name of a site. International names come from the logs in their A-label
    form already.
    """
    return site.lower().rstrip(".") + "."


def zone_of(name: str, zones: Set[str]) -> str | None:
    """The closest of the zones that the name is in. A site may have the name of the zone itself."""
    while name and name not in zones:
        name = name.partition(".")[2]
    return name or None


def split(sites: Sequence[str], zones: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The sites of each zone, and those in no zone at all, which FLEX places but cannot
    announce.
    """
    of_zone: dict[str, list[str]] = {zone: [] for zone in zones}
    outside, known = [], of_zone.keys()
    for site in sites:
        zone = zone_of(name_of(site), known)
        of_zone[zone].append(site) if zone else outside.append(site)
    return of_zone, outside


def records(partition: pd.DataFrame, nodes: Sequence[Node], ttl: int) -> pd.DataFrame:
    """A and AAAA for every address of every node a site is on. A node without addresses announces
    nothing.
    """
    addresses = {
        node.name: [(record_type(address), address) for address in node.addresses] for node in nodes
    }
    of_rows = [addresses.get(node, []) for node in texts(partition["node"])]
    times = np.fromiter(map(len, of_rows), dtype="int64", count=len(of_rows))
    names = np.array([name_of(site) for site in texts(partition["site"])], dtype=object)
    return RECORDS.from_columns(
        {
            "name": names.repeat(times),
            "type": [kind for of_row in of_rows for kind, _ in of_row],
            "ttl": np.full(times.sum(), ttl),
            "value": [address for of_row in of_rows for _, address in of_row],
        }
    )


def add_markers(table: pd.DataFrame, zone: str, owner: str, ttl: int) -> pd.DataFrame:
    """RECORDS of one zone and, for each name in it, the marker that makes it ours."""
    names = [marker_name(name, zone) for name in dict.fromkeys(texts(table["name"]))]
    markers = pd.DataFrame({"name": names, "type": "TXT", "ttl": ttl, "value": marker_text(owner)})
    return RECORDS.make(pd.concat([table, markers.astype(table.dtypes)], ignore_index=True))


def add_hints(table: pd.DataFrame, hints: Sequence[tuple[str, HintedType]]) -> pd.DataFrame:
    """RECORDS and, for each of these HTTPS and SVCB sets, the addresses that it may have as hints.
    Its TTL is its owner's, which 0 stands for.
    """
    sets = pd.DataFrame(hints, columns=["name", "hinted"]).astype("str")
    rows = table.merge(sets, on="name")
    rows = rows.assign(type=rows["hinted"], ttl=0).drop(columns="hinted")
    return RECORDS.make(pd.concat([table, rows], ignore_index=True))


def split_by_zone(table: pd.DataFrame, zones: Sequence[str]) -> dict[str, pd.DataFrame]:
    """RECORDS, zone by zone; those in none of them are left out."""
    known = frozenset(zones)
    zone = [zone_of(name, known) for name in texts(table["name"])]
    parts = {
        name: rows.reset_index(drop=True)
        for name, rows in table.groupby(pd.Index(zone, dtype=object))
    }
    return {name: parts.get(name, table.iloc[:0]) for name in zones}


def rows_on_known_nodes(partition: pd.DataFrame, nodes: Sequence[Node]) -> pd.DataFrame:
    """The rows of sites that are only on these nodes: addresses of other nodes are not known."""
    strange = partition["site"][~partition["node"].isin([node.name for node in nodes])]
    return rows_of_other_sites(partition, strange)


def count_sites_on_other_nodes(partition: pd.DataFrame, nodes: Sequence[Node]) -> dict[str, int]:
    """By the name of a node that is none of these, how many sites it has."""
    strange = partition["node"][~partition["node"].isin([node.name for node in nodes])]
    return {str(node): int(count) for node, count in strange.value_counts().sort_index().items()}


def partition_from(
    table: pd.DataFrame, sites: Sequence[str], nodes: Sequence[Node]
) -> pd.DataFrame:
    """Where the records say that sites are. A name that shows any address that is no node's says
    nothing of ours.
    """
    site_of = {name_of(site): site for site in sites}
    # Two nodes have one address for as long as one of them counts with those that it had.
    nodes_with: dict[tuple[str, str], list[str | None]] = {}
    for node in nodes:
        for address in node.addresses:
            nodes_with.setdefault((record_type(address), address), []).append(node.name)
    nodes_of: dict[str, list[str | None]] = {}
    columns = (texts(table[column]) for column in ("name", "type", "value"))
    for name, kind, value in zip(*columns, strict=True):
        if site := site_of.get(name):
            nodes_of.setdefault(site, []).extend(nodes_with.get((kind, value), [None]))
    pairs = dict.fromkeys(
        (site, node) for site, on in nodes_of.items() if None not in on for node in on
    )
    return PLACEMENT.from_columns(
        {"site": [site for site, _ in pairs], "node": [node for _, node in pairs]}
    )


def records_below_wildcards(below: Mapping[str, BelowWildcard]) -> pd.DataFrame:
    """The RECORDS that visitors get for these names."""
    rows = [
        (name, record_type(address), 0, address)
        for name, answer in below.items()
        for address in answer.addresses
    ]
    return RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))


def addresses_of(nodes: Sequence[Node], name: str) -> frozenset[str]:
    """All of one node's; none where it is not among them."""
    return frozenset(address for node in nodes if node.name == name for address in node.addresses)


def record_type(address: str) -> AddressType:
    return "A" if ipaddress.ip_address(address).version == 4 else "AAAA"


Sets = Mapping[tuple[str, str], tuple[int, tuple[str, ...]]]


def sets_by_name(table: pd.DataFrame) -> Sets:
    """(name, type) to (ttl, sorted values), in order: that of RECORDS themselves."""
    sets: dict[tuple[str, str], tuple[int, tuple[str, ...]]] = {}
    columns = (values_of(table[column]) for column in ("name", "type", "ttl", "value"))
    for name, kind, ttl, value in zip(*columns, strict=True):
        others = sets.get((name, kind))
        sets[name, kind] = (ttl, (*others[1], value) if others else (value,))
    return sets


def sets_of(state: ZoneState) -> Sets:
    """All sets that are there at the names and that a plan may change, markers apart."""
    sets = sets_by_name(state.records)
    if not state.hints:
        return sets
    every = dict(sets)
    every.update(state.hints.items())
    return every

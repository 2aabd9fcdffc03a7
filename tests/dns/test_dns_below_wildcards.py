"""A record that FLEX makes takes nothing off the net: what any name was answered with before an
apply it is answered with afterwards, but where the plan says so (RFC 4592).

Random zones have wildcards at several depths, names without addresses, aliases and names that are
delegated. Each name is asked for by every type, before and after, on a real BIND and a real Knot.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import dns.message
import dns.rdatatype
import pandas as pd
import pytest

from flex.errors import Stale
from flex.frame_schemas import PLACEMENT
from flex.model.nodes import Node
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.planning.dns_survey import Reach, look
from flex.ports import Publisher
from flex.zones import records_of_partition, zone_changes
from flex.zones.marker import marker_name, marker_text
from flex.zones.names_not_following import OtherName
from flex_dns.private.private_named import PrivateNamed, free_port
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.zone.change_states import refuse_outdated
from tests import knotd
from tests.dns.conftest import OWNER, Edit
from tests.memory_publisher import MemoryPublisher
from tests.thorough import times

NODES = [
    Node("n1", ("192.0.2.1", "2001:db8::1"), 2**30),
    Node("n2", ("192.0.2.2", "2001:db8::2"), 2**30),
]
ADDRESSES = {"A": ["192.0.2.1", "192.0.2.2", "203.0.113.9"], "AAAA": ["2001:db8::1"]}
VALUES = ADDRESSES | {
    "MX": ["10 mx.elsewhere.example."],
    "TXT": ['"v=spf1 -all"'],
    "CAA": ['0 issue "ca.example"'],
    "HTTPS": ["1 . alpn=h2"],
}
# Names of up to three labels, and one that nobody makes below each.
LABELS = ("a", "b")
HOSTS = [
    *LABELS,
    *(f"{one}.{two}" for one in LABELS for two in LABELS),
    *(f"{one}.{two}.{three}" for one in LABELS for two in LABELS for three in LABELS),
]
OWNERS = [*HOSTS, "*", *(f"*.{host}" for host in HOSTS)]
ASKED = [*HOSTS, *(f"x.{host}" for host in HOSTS), "x"]

BEGINS = """$TTL 60
@ SOA ns.elsewhere.example. me.elsewhere.example. 1 60 60 3600 30
@ NS ns.elsewhere.example.
"""

Sets = dict[tuple[str, str], list[str]]
Answers = dict[tuple[str, str], tuple[str, ...]]


def random_zone(seed: int) -> Sets:
    rng, sets = random.Random(seed), Sets()
    many = rng.choice([2, 4, 8])
    wildcard = rng.choice(["*", "*.a", "*.b", "*.a.b"])
    for owner in sorted({wildcard, *rng.sample(OWNERS, many)}):
        kind = rng.choice(["CNAME", "NS", "DNAME", *["sets"] * 8])
        if kind == "NS" and not owner.startswith("*"):
            sets[owner, "NS"] = ["ns.elsewhere.example."]
        elif kind == "DNAME":
            sets[owner, "DNAME"] = [rng.choice(["elsewhere.example.", "b.b.@"])]
        elif kind == "CNAME":
            target = rng.choice(["elsewhere.example.", "a.@", "x.b.@"])
            sets[owner, "CNAME"] = [target]
        else:
            for one in rng.sample(list(VALUES), rng.randint(1, 3)):
                sets[owner, one] = [rng.choice(VALUES[one])]
    # A name server loads no zone with records below a DNAME.
    above = {f".{owner}" for owner, kind in sets if kind == "DNAME"}
    return {one: values for one, values in sets.items() if not one[0].endswith(tuple(above))}


def zone_of(seed: int) -> str:
    return f"w{seed}.example."


def text_of(seed: int) -> str:
    zone = zone_of(seed)
    return "".join(
        f"{owner}.{zone} {kind} {value.replace('@', zone)}\n"
        for (owner, kind), values in random_zone(seed).items()
        for value in values
    )


def in_memory(seed: int) -> MemoryPublisher:
    zone = zone_of(seed)
    target = MemoryPublisher([zone], OWNER)
    for (owner, kind), values in random_zone(seed).items():
        said = [value.replace("@", zone).strip('"') for value in values]
        target.edit(zone, f"{owner}.{zone}", kind, 60, said)
    return target


def answers(server: Server, zone: str, kinds: Iterable[str]) -> Answers:
    """All that the server says for each name: the records at the name itself, and the servers that
    it is delegated to.
    """
    asked = [(f"{name}.{zone}", kind) for name in ASKED for kind in kinds]
    with Session(server) as session:
        replies = session.ask_all(
            [dns.message.make_query(*one, flags=0) for one in asked], "every name"
        )
    found: Answers = {}
    for (name, _), reply in zip(asked, replies, strict=True):
        said = [one for one in reply.answer if one.name.to_text() == name]
        if not reply.answer:
            said = [one for one in reply.authority if one.rdtype == dns.rdatatype.NS]
        for one in said:
            kind = dns.rdatatype.to_text(one.rdtype)
            found[name, kind] = tuple(sorted(rdata.to_text() for rdata in one))
    return found


def planned(publisher: Publisher, seed: int, *, make: bool) -> tuple[Reach, ZonePlan, pd.DataFrame]:
    """What FLEX would do with some of the names as sites, and one that follows its site."""
    zone, rng = zone_of(seed), random.Random(seed + 1)
    sites = [f"{name}.{zone}".rstrip(".") for name in rng.sample(HOSTS, 5)]
    other = OtherName(sites[0], sites.pop(), written=True)
    found = look(
        publisher,
        sites,
        NODES,
        [zone],
        adopt=rng.random() < 0.5,
        others=[other],
        follow=True,
        below_wildcards=make,
    )
    movable = [
        *sorted(set(sites) - found.immovable_sites),
        *(one.name for one in found.others.along),
    ]
    rows = [(name, rng.choice(NODES).name) for name in movable]
    partition = PLACEMENT.make(pd.DataFrame(rows, columns=list(PLACEMENT.columns)))
    wanted = records_of_partition.records(partition, NODES, 60)
    made = zone_changes.diff(
        zone, wanted, found.states[zone], owner=OWNER, ttl=60, left_alone=found.foreign[zone]
    )
    below = zone_changes.made_below_wildcards(made, found.states[zone])
    return found, replace(made, below_wildcards=below), wanted


def hidden_by(found: Reach, made: ZonePlan) -> set[str]:
    """The names from which the plan says that it hides a wildcard."""
    below = found.states[made.zone].below_wildcards
    tops = [below[name].hidden for name in made.below_wildcards]
    return {
        name
        for name in (f"{one}.{made.zone}" for one in ASKED)
        if any(name == top or name.endswith(f".{top}") for top in tops)
    }


def check(server: Server, seed: int, kinds: Iterable[str]) -> int:
    """How many names below wildcards there were."""
    zone, make = zone_of(seed), seed % 3 == 0
    publisher = Rfc2136Publisher(server, OWNER)
    found, made, wanted = planned(publisher, seed, make=make)
    double, _, _ = planned(in_memory(seed), seed, make=make)
    below = found.states[zone].below_wildcards
    assert found.foreign[zone].keys() == double.foreign[zone].keys(), text_of(seed)
    assert below == double.states[zone].below_wildcards, text_of(seed)
    before = answers(server, zone, kinds)
    for name, one in below.items():
        assert {kind for at, kind in before if at == name} == set(one.types)
    publisher.apply(made)
    after = answers(server, zone, kinds)
    told = {(one.name, one.type) for one in made.changes}
    hidden = hidden_by(found, made)
    wrong = {
        asked
        for asked, said in before.items()
        if after.get(asked) != said and asked not in told and asked[0] not in hidden
    }
    assert not wrong, text_of(seed)
    assert all(verdict.agrees for verdict in publisher.verify(zone, wanted))
    assert make or not {one.name for one in made.changes} & below.keys()
    return len(below)


SEEDS = range(times(30))


@contextmanager
def bind(folder: Path, key: Key, *, transfers: bool = True) -> Iterator[Server]:
    records = {zone_of(seed): text_of(seed) for seed in SEEDS}
    with PrivateNamed(folder, list(records), key, records=records, transfers=transfers) as running:
        yield running.server


@contextmanager
def knot(folder: Path, key: Key) -> Iterator[Server]:
    text = (
        f"key:\n  - id: {key.name}\n    algorithm: {key.algorithm}\n"
        f"    secret: {key.secret}\nacl:\n  - id: all\n    key: {key.name}\n"
        "    action: [transfer, update]\nzone:\n"
    )
    for seed in SEEDS:
        zone = zone_of(seed)
        (folder / f"{zone}db").write_text(f"$ORIGIN {zone}\n{BEGINS}{text_of(seed)}")
        text += f"  - domain: {zone}\n    file: {zone}db\n    acl: all\n"
    with free_port() as port, knotd.running(knotd.written(folder, port, text)):
        yield Server("127.0.0.1", port, key, timeout=5.0)


HAS_KNOT = pytest.mark.skipif(not knotd.found("knotd"), reason="Knot is not installed")


@pytest.mark.real
@pytest.mark.parametrize(
    ("serve", "kinds"),
    [
        pytest.param(bind, ["ANY"], id="BIND"),
        pytest.param(
            partial(bind, transfers=False),
            ["ANY"],
            id="BIND without transfers",
            marks=pytest.mark.slow,
        ),
        # It says no more than one type of them for ANY (RFC 8482).
        pytest.param(knot, [*VALUES, "DNAME"], id="Knot", marks=[pytest.mark.slow, HAS_KNOT]),
    ],
)
def test_no_name_loses_an_answer_but_where_the_plan_says_so(
    serve: Callable[[Path, Key], AbstractContextManager[Server]],
    kinds: Iterable[str],
    folder: Path,
    key: Key,
) -> None:
    with serve(folder, key) as server:
        found = [check(server, seed, kinds) for seed in SEEDS]
    assert sum(map(bool, found)) > len(SEEDS) / 10


def test_a_name_that_came_below_a_wildcard_since_its_plan_was_made_is_not_made(
    target: Publisher, zone: str, edit: Edit
) -> None:
    name = f"any.wild.{zone}"
    change = Change(None, Rrset(name, "A", 60, ("192.0.2.1",)))
    marker = Rrset(marker_name(name, zone), "TXT", 60, (marker_text(OWNER),))
    state = target.read(zone, [name])
    made = ZonePlan(zone, (change, Change(None, marker, ())), serial=state.serial)
    edit(f"*.wild.{zone}", "A", ["203.0.113.9"])
    with pytest.raises(Stale, match=r"is answered by \*\.wild\..* with A, "):
        target.apply(made)
    with pytest.raises(Stale, match="is answered by"):
        refuse_outdated(made, target.read(zone, [name]))
    asked_for = replace(made, below_wildcards=(name,))
    refuse_outdated(asked_for, target.read(zone, [name]))
    target.apply(asked_for)
    assert target.read(zone, [name]).owned == {name}

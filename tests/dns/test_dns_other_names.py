"""Where names lead that nobody places: the double in memory and a real BIND say the same, with
transfers or without.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flex.ports import Publisher
from flex.zones.records_of_partition import NameAnswer
from flex_dns.private.private_named import PrivateNamed
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key
from flex_dns.wire.session import Session
from flex_dns.zone import where_names_lead
from flex_dns.zone.sets_from_primary import read_by_queries
from tests.dns.conftest import OWNER, TARGETS, Edit
from tests.memory_publisher import MemoryPublisher

Sets = dict[tuple[str, str], list[str]]

HERE, THERE, SIX = "192.0.2.1", "192.0.2.2", "2001:db8::1"
# What stands in the zone, beside the site itself at HERE, and what becomes of who asks for www. @
# is the zone.
CASES: list[tuple[str, Sets, NameAnswer]] = [
    ("nothing", {}, NameAnswer()),
    ("one address", {("www", "A"): [THERE]}, NameAnswer((THERE,))),
    ("all nodes", {("www", "A"): [THERE, HERE]}, NameAnswer((HERE, THERE))),
    ("only AAAA", {("www", "AAAA"): [SIX]}, NameAnswer((SIX,))),
    ("both", {("www", "A"): [HERE], ("www", "AAAA"): [SIX]}, NameAnswer((HERE, SIX))),
    ("a CNAME to the site", {("www", "CNAME"): ["site.@"]}, NameAnswer((HERE,), ("site.@",))),
    (
        "a chain to the site",
        {("www", "CNAME"): ["one.@"], ("one", "CNAME"): ["site.@"]},
        NameAnswer((HERE,), ("one.@", "site.@")),
    ),
    (
        "a CNAME to another name",
        {("www", "CNAME"): ["cdn.@"], ("cdn", "A"): [THERE]},
        NameAnswer((THERE,), ("cdn.@",)),
    ),
    (
        "a CNAME that leaves",
        {("www", "CNAME"): ["cdn.example.org."]},
        NameAnswer((), ("cdn.example.org.",)),
    ),
    ("a CNAME to nothing", {("www", "CNAME"): ["gone.@"]}, NameAnswer((), ("gone.@",))),
    ("a wildcard", {("*", "A"): [THERE]}, NameAnswer((THERE,))),
    ("a wildcard that is an alias", {("*", "CNAME"): ["site.@"]}, NameAnswer((HERE,), ("site.@",))),
    ("a wildcard and an address", {("*", "A"): [THERE], ("www", "A"): [HERE]}, NameAnswer((HERE,))),
    (
        "a wildcard behind a name that is there",
        {("*", "A"): [THERE], ("www", "TXT"): ["x"]},
        NameAnswer(),
    ),
    ("a wildcard behind a name below", {("*", "A"): [THERE], ("a.www", "A"): [HERE]}, NameAnswer()),
]


def zone_of(case: int) -> str:
    return f"case{case}.example."


def _in(zone: str, text: str) -> str:
    return text.replace("@", zone)


@pytest.fixture(scope="module")
def loaded(key: Key) -> Iterator[PrivateNamed]:
    """A zone for each case, as somebody wrote them."""
    made = Path(tempfile.mkdtemp(prefix="flex-"))
    zones = [zone_of(case) for case in range(len(CASES))]
    texts = {
        zone: "".join(
            f"{name}.{zone} {kind} {_in(zone, value)}\n"
            for (name, kind), values in {("site", "A"): [HERE], **sets}.items()
            for value in values
        )
        for zone, (_, sets, _) in zip(zones, CASES, strict=True)
    }
    with PrivateNamed(made, zones, key, records=texts) as running:
        yield running
    shutil.rmtree(made)


def in_memory(case: int) -> MemoryPublisher:
    zone, (_, sets, _) = zone_of(case), CASES[case]
    target = MemoryPublisher([zone], OWNER)
    for (name, kind), values in {("site", "A"): [HERE], **sets}.items():
        target.edit(zone, f"{name}.{zone}", kind, 60, [_in(zone, value) for value in values])
    return target


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("case", range(len(CASES)), ids=[case[0] for case in CASES])
def test_a_name_leads_where_its_name_server_sends_visitors(
    kind: str, case: int, request: pytest.FixtureRequest
) -> None:
    zone, said = zone_of(case), CASES[case][2]
    www, wanted = (
        f"www.{zone}",
        NameAnswer(said.addresses, tuple(_in(zone, name) for name in said.chain)),
    )
    if kind == "memory":
        assert in_memory(case).read(zone, [f"site.{zone}"], [www]).answers == {www: wanted}
        return
    server = request.getfixturevalue("loaded").server
    assert Rfc2136Publisher(server, OWNER).read(zone, [f"site.{zone}"], [www]).answers == {
        www: wanted
    }
    with Session(server) as session:
        untransferred = read_by_queries(session, server, zone, [])
        assert where_names_lead.answers(session, zone, [www], untransferred) == {www: wanted}


def test_what_is_delegated_leads_nobody_knows_where(target: Publisher, zone: str) -> None:
    name = f"www.sub.{zone}"
    found = target.read(zone, [], [name]).answers[name]
    assert (found.addresses, found.unknown) == ((), "is delegated to other name servers")


def test_names_that_are_only_asked_for_are_none_of_ours(
    target: Publisher, zone: str, edit: Edit
) -> None:
    edit(f"www.{zone}", "A", [THERE])
    state = target.read(zone, [f"site.{zone}"], [f"www.{zone}"])
    assert (len(state.records), state.owned, state.blocked) == (0, frozenset(), {})

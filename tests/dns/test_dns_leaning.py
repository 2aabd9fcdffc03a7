"""Records that lean on names of sites, as they are read: the double in memory, a real BIND and a
real Knot say the same, by the native loop and by the reference.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flex import native_or_python
from flex.errors import Stale
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.ports import Publisher
from flex.zones.names_led_by_wildcards import led_by_wildcards
from flex.zones.what_leans_on_names import MOST_ASKED, Kind, Pointed, PointingRecord, leaning
from flex_dns.make_before_break import GentlePublisher
from flex_dns.private.private_named import PrivateNamed, free_port
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.transferred_sets import reference_shelve
from flex_dns.zone import transfer
from flex_dns.zone.pointing_records import has_hints
from tests import knotd
from tests.dns.conftest import OWNER, TARGETS
from tests.memory_publisher import MemoryPublisher

ZONE, OTHER = "leaning.example.", "other.example."
SITE = f"site.{ZONE}"
POINTED = Pointed(frozenset([SITE]), frozenset([ZONE, OTHER]))
LOOPS = {"python": reference_shelve} | (
    {} if native_or_python.NATIVE is None else {"native": native_or_python.NATIVE.shelve}
)

KINDS: dict[str, Kind] = {
    "MX": "MX",
    "SRV": "SRV",
    "NS": "NS",
    "CNAME": "CNAME",
    "HTTPS": "HTTPS",
    "SVCB": "SVCB",
}
# What stands in the zone, beside the site; and whether it may lean on it.
RECORDS: list[tuple[str, str, str, bool]] = [
    ("site", "MX", f"10 {SITE}", True),
    ("Upper", "MX", f"5 SITE.{ZONE}", True),
    ("a.b.c", "MX", f"20 mail.{ZONE}", True),
    ("mail", "CNAME", f"box.{ZONE}", True),
    ("box", "CNAME", SITE, True),
    ("far", "MX", f"10 mail.{OTHER}", True),
    ("stranger", "MX", "10 mx.example.org.", False),
    ("null", "MX", "0 .", False),
    ("own", "MX", f"10 ns1.{ZONE}", False),
    ("_sip._tcp", "SRV", f"1 2 5060 {SITE}", True),
    ("_xmpp._tcp", "SRV", "1 2 5222 xmpp.example.org.", False),
    ("sub", "NS", SITE, True),
    ("elsewhere", "NS", "ns.example.org.", False),
    ("one", "CNAME", f"two.{ZONE}", False),
    ("two", "CNAME", f"one.{ZONE}", False),
    ("lost", "MX", f"10 one.{ZONE}", False),
    ("site", "TXT", "v=spf1 a mx ~all", True),
    ("long", "TXT", 'v=spf1 ip4:192.0.2.0/24" " a:site.leaning.example -all', True),
    ("none", "TXT", "v=spf1 -all", False),
    ("post", "TXT", "v=spf1 ip4:192.0.2.9 -all", False),
    ("null", "TXT", "v=spf1 ip4:192.0.2.9 -all", False),
    ("*.w", "CNAME", SITE, True),
    ("wild", "MX", f"10 mail.w.{ZONE}", True),
    # Nobody knows yet that it is there, which hides the wildcard.
    ("hidden.w", "TXT", "words", False),
    ("behind-hidden", "MX", f"10 hidden.w.{ZONE}", True),
    ("*.circle", "CNAME", f"a.circle.{ZONE}", False),
    ("lost-in-circle", "MX", f"10 b.circle.{ZONE}", False),
    ("words", "TXT", "v=DKIM1; p=abc", False),
    ("site", "CAA", '0 issue "ca.example"', True),
    ("site", "HTTPS", '1 . alpn="h2" ipv4hint="192.0.2.1"', True),
    ("front", "HTTPS", f'1 {SITE} ipv6hint="2001:db8::1"', True),
    ("_dns.front", "SVCB", f'2 {SITE} port="853" ipv4hint="192.0.2.1"', True),
    # Nothing in these has to change with the site.
    ("plain", "HTTPS", f'1 {SITE} alpn="h2,h3"', False),
    ("alias", "HTTPS", f"0 {SITE}", False),
    ("a.front", "HTTPS", '1 . ipv4hint="192.0.2.9"', False),
    ("b.front", "SVCB", '1 stranger.example.org. ipv4hint="192.0.2.9"', False),
]


def expected() -> set[PointingRecord]:
    found = set[PointingRecord]()
    for owner, kind, value, kept in RECORDS:
        name = f"{owner.lower()}.{ZONE}"
        if not kept:
            continue
        if kind == "TXT":
            found.add(PointingRecord(name, "SPF", value.replace('" "', "")))
        elif kind == "CAA":
            found.add(PointingRecord(name, "CAA", value))
        elif kind in ("HTTPS", "SVCB"):
            about = SITE if SITE in value else name
            found.add(PointingRecord(name, KINDS[kind], value, about))
        else:
            text = value.lower()
            found.add(PointingRecord(name, KINDS[kind], text, text.split()[-1]))
    return found


def lines() -> str:
    said = [
        f"{owner}.{ZONE} {kind} " + (f'"{value}"' if kind == "TXT" else value)
        for owner, kind, value, _ in RECORDS
    ]
    return "\n".join([f"site.{ZONE} A 192.0.2.1", *said, ""])


@pytest.fixture(scope="module")
def loaded(key: Key) -> Iterator[PrivateNamed]:
    made = Path(tempfile.mkdtemp(prefix="flex-"))
    with PrivateNamed(made, [ZONE], key, records={ZONE: lines()}) as running:
        yield running
    shutil.rmtree(made)


SOA = "@ 60 SOA ns1.example.org. hostmaster.example.org. 1 60 60 3600 30\n"


@pytest.fixture
def knot(key: Key, folder: Path) -> Iterator[Server]:
    """The same zone, as Knot transfers it."""
    zone = f"$TTL 60\n{SOA}@ NS ns1.example.org.\n{lines()}"
    (folder / "zone.db").write_text(zone, encoding="utf-8")
    text = (
        f"key:\n  - id: {key.name}\n    algorithm: {key.algorithm}\n"
        f"    secret: {key.secret}\nacl:\n  - id: reads\n    key: {key.name}\n"
        f"    action: transfer\nzone:\n  - domain: {ZONE}\n    file: zone.db\n"
        "    acl: reads\n"
    )
    with free_port() as port:
        path = knotd.written(folder, port, text)
        with knotd.running(path):
            yield Server("127.0.0.1", port, key, timeout=5.0)


@pytest.mark.real
@pytest.mark.skipif(not knotd.found("knotd"), reason="Knot DNS is not installed")
@pytest.mark.parametrize("loop", LOOPS)
def test_knot_says_what_bind_says(knot: Server, loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "shelve", LOOPS[loop])
    found = Rfc2136Publisher(knot, OWNER).read(ZONE, [SITE], pointed=POINTED).pointing
    assert found is not None
    assert set(found) == expected()


@pytest.fixture(params=TARGETS)
def publisher(request: pytest.FixtureRequest) -> Publisher:
    if request.param == "real":
        return Rfc2136Publisher(request.getfixturevalue("loaded").server, OWNER)
    target = MemoryPublisher([ZONE], OWNER)
    target.edit(ZONE, SITE, "A", 60, ["192.0.2.1"])
    for owner, kind, value, _ in RECORDS:
        text = value if kind in ("TXT", "CAA") else value.lower()
        target.edit(ZONE, f"{owner}.{ZONE}", kind, 60, [text])
    return target


@pytest.mark.parametrize("loop", LOOPS)
def test_all_is_found_that_may_lean_on_a_site_and_nothing_else(
    publisher: Publisher, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "shelve", LOOPS[loop])
    found = publisher.read(ZONE, [SITE], pointed=POINTED).pointing
    assert found is not None
    # What a private server says of itself is none of this.
    own = {one for one in found if one.owner != ZONE}
    assert own == expected()


def test_what_nobody_wants_to_know_is_not_looked_for(publisher: Publisher) -> None:
    assert publisher.read(ZONE, [SITE]).pointing is None


def test_mail_behind_a_wildcard_leans_on_a_site_where_no_name_hides_it(
    publisher: Publisher,
) -> None:
    found = publisher.read(ZONE, [SITE], pointed=POINTED).pointing
    assert found is not None
    # Of another zone, where no wildcard is seen that this one has.
    far = PointingRecord(f"far.{OTHER}", "MX", "10 x.w", f"x.w.{ZONE}")
    every = (*found, far)
    along = led_by_wildcards(
        every, {SITE}, {ZONE}, lambda zone, names: publisher.read(zone, [], names).answers
    )
    assert along == {f"mail.w.{ZONE}": SITE, f"x.w.{ZONE}": SITE}
    taken = leaning(every, {SITE}, along=along)[SITE].taken_along
    without = leaning(every, {SITE})[SITE].taken_along
    more = {one.record.owner for one in taken} - {one.record.owner for one in without}
    assert more == {f"wild.{ZONE}", f"far.{OTHER}"}


def test_a_name_that_lets_hosts_send_and_has_no_mx_may_get_mail_at_its_address(
    publisher: Publisher,
) -> None:
    names = [f"{label}.{ZONE}" for label in ("site", "post", "null", "none", "long")]
    pointed = Pointed(frozenset(names), frozenset([ZONE]))
    found = publisher.read(ZONE, names, pointed=pointed).pointing
    assert found is not None
    said = leaning(found, set(names))
    unsure = {name for name, one in said.items() if one.count("A")}
    assert unsure == {f"post.{ZONE}", f"long.{ZONE}"}
    assert said[f"post.{ZONE}"].taken_along == ()
    assert "has no MX (TXT v=spf1 ip4:192.0.2.9 -all)" in (
        said[f"post.{ZONE}"].dependents_of_kinds("A")[0].description
    )


def test_mail_of_one_zone_leans_on_a_name_of_another(publisher: Publisher) -> None:
    found = publisher.read(ZONE, [SITE], pointed=POINTED).pointing
    assert found is not None
    behind = PointingRecord(f"mail.{OTHER}", "CNAME", SITE, SITE)
    without = {one.record.owner for one in leaning(found, {SITE})[SITE].taken_along}
    (one,) = leaning([*found, behind], {SITE}).values()
    assert {each.record.owner for each in one.taken_along} - without == {f"far.{ZONE}"}


def moved(publisher: Publisher, *, guarded: bool) -> ZonePlan:
    """A plan that moves the site, made before any mail leant on it."""
    found = publisher.read(ZONE, [SITE])
    (ttl,), (value,) = found.records["ttl"], found.records["value"]
    before = Rrset(SITE, "A", int(ttl), (str(value),))
    change = Change(before, replace(before, values=("192.0.2.2",)))
    marker = Change(
        None, Rrset(f"site._flex.{ZONE}", "TXT", 60, (f"flex owner={OWNER}",)), beside=(before,)
    )
    alone = (SITE,) if guarded else ()
    return ZonePlan(ZONE, (change, marker), nothing_leans=alone)


@pytest.mark.parametrize("is_gentle", [False, True])
def test_a_plan_moves_no_name_on_which_mail_leans_by_the_time_it_is_applied(
    publisher: Publisher, is_gentle: bool
) -> None:
    before = publisher.read(ZONE, [SITE]).serial
    way = GentlePublisher(publisher, lambda _: None) if is_gentle else publisher
    with pytest.raises(Stale, match="would take along"):
        way.apply(moved(publisher, guarded=True))
    assert publisher.read(ZONE, [SITE]).serial == before


@pytest.fixture(scope="module")
def untransferred(key: Key) -> Iterator[PrivateNamed]:
    made = Path(tempfile.mkdtemp(prefix="flex-"))
    with PrivateNamed(made, [ZONE], key, records={ZONE: lines()}, transfers=False) as running:
        yield running
    shutil.rmtree(made)


@pytest.mark.real
def test_without_a_transfer_each_name_is_asked_what_it_says_itself(
    untransferred: PrivateNamed,
) -> None:
    publisher = Rfc2136Publisher(untransferred.server, OWNER)
    labels = ("a.b.c", "null", "nobody", "post", "none", "wild")
    names = [SITE, *(f"{label}.{ZONE}" for label in labels)]
    state = publisher.read(ZONE, names, pointed=POINTED)
    assert not state.transferred
    assert state.pointing is not None
    one = leaning(state.pointing, {SITE})[SITE]
    owners = {each.record.owner for each in one.taken_along}
    assert owners == {SITE, f"a.b.c.{ZONE}", f"wild.{ZONE}"}
    unsure = {each.owner for each in state.pointing if each.type == "A"}
    assert unsure == {f"post.{ZONE}"}
    assert one.count("SPF") == 1
    assert {each.record.owner for each in one.left_behind} == {SITE}
    with pytest.raises(Stale, match="would take along"):
        publisher.apply(moved(publisher, guarded=True))


@pytest.mark.slow
@pytest.mark.real
def test_of_more_names_than_can_be_asked_nothing_is_said(untransferred: PrivateNamed) -> None:
    publisher = Rfc2136Publisher(untransferred.server, OWNER)
    names = [f"n{number}.{ZONE}" for number in range(MOST_ASKED + 1)]
    assert publisher.read(ZONE, names, pointed=POINTED).pointing is None


@pytest.mark.parametrize(
    ("data", "has"),
    [
        (b"\0\1\0\0\4\0\4\xc0\0\2\1", True),
        (b"\0\1\1a\0\0\1\0\3\2h2\0\6\0\x10" + bytes(16), True),
        (b"\0\1\0\0\1\0\3\2h2", False),
        (b"\0\1\0", False),
        # Whatever an alias form says besides does not count.
        (b"\0\0\0\0\4\0\4\xc0\0\2\1", False),
        # Values that nobody can read, and no hint.
        (b"\0\1\0\0\5\0\2\xff\xff", False),
        # Cut off: there may have been one.
        (b"\0\1\0\0\1\0\3\2h", True),
        (b"\0\1\3a", True),
    ],
)
def test_hints_are_found_in_whatever_else_a_record_says(data: bytes, has: bool) -> None:
    assert has_hints(data) == has

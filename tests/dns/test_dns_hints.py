"""Address hints that change with the addresses of their names: to the byte, in one message, on real
name servers.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from struct import pack, unpack_from

import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.update
import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from flex.errors import PartlyApplied, Refused, Stale
from flex.frame_schemas import PLACEMENT, PROFILES, RECORDS, SPREADS
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.wish import Pin
from flex.model.zone_plan import AddressType, Change, Rrset
from flex.planning import given_partition, propose_plan, verify_dns
from flex.planning.dependents_of_sites import HINTS_DENIED
from flex.planning.facts_and_rules import Facts
from flex.prediction.cache_replay import Sample
from flex.store import MemoryStore
from flex.zones import zone_changes
from flex.zones.address_hints import replace_hints
from flex.zones.records_of_partition import sets_by_name
from flex_dns.checks import verify
from flex_dns.checks.verify import ExpectedAnswers
from flex_dns.exports import EXPORTS, wanted_zone
from flex_dns.preflight.primary_check import preflight
from flex_dns.private.private_named import PrivateNamed, free_port
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.server_configuration import knot_conf
from flex_dns.server_configuration.named_conf_lines import update_policy
from flex_dns.server_configuration.primary_setup_values import KeyFile, PrimarySetup, ZoneRights
from flex_dns.update.change_messages import Claim
from flex_dns.wire.https_and_svcb import data_of_text, text_of_data
from flex_dns.wire.key import Key
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.zone.change_states import Standing
from flex_solver import SOLVERS
from tests import knotd
from tests.core.cluster import NOW, RULES, Cluster, turns

ZONE = "hinted.example."
NAME, OTHER = f"a.{ZONE}", f"b.{ZONE}"
HTTPS = 65
# As others write it: with a parameter that nobody here knows, and one of other software.
BEFORE = (
    '1 . alpn="h2,h3" port="8443" ipv4hint="192.0.2.1" ech="AAQAAQAA" '
    'ipv6hint="2001:db8::1" key9="q" key65001="\\000\\"x\\255"'
)
AFTER = BEFORE.replace("192.0.2.1", "192.0.2.2").replace("db8::1", "db8::2")
PLAIN = f'2 cdn.{ZONE} alpn="h2"'
TTL = 60


# ---- to the byte ---------------------------------------------------------------------------

KEYS: Mapping[AddressType, int] = {"A": 4, "AAAA": 6}
SIZES: Mapping[AddressType, int] = {"A": 4, "AAAA": 16}
families = {
    kind: st.lists(st.binary(min_size=size, max_size=size), max_size=3, unique=True)
    for kind, size in SIZES.items()
}
targets = st.sampled_from([b"\0", b"\1A\7eXample\0", b"\3a b\0", b"\2\xff.\0"])
known = st.fixed_dictionaries(
    {},
    optional={
        1: st.sampled_from([b"\2h2", b"\2h3\3a,b", b'\3\\"x']),
        3: st.binary(min_size=2, max_size=2),
        5: st.just(b"\0\4\0\1\0\0"),
    },
)
parameters = st.builds(
    lambda known, others: {**others, **known},
    known,
    st.dictionaries(st.integers(10, 65_534), st.binary(max_size=12))
    | st.dictionaries(st.integers(1, 65_534), st.binary(max_size=4), max_size=2),
)


def parsed(data: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
    """What stands before the parameters, and these: written for this test alone."""
    at = 2
    while data[at]:
        at += 1 + data[at]
    head, at, found = data[: at + 1], at + 1, list[tuple[int, bytes]]()
    while at < len(data):
        key, size = unpack_from("!HH", data, at)
        found.append((key, data[at + 4 : at + 4 + size]))
        at += 4 + size
    return head, found


def packed(head: bytes, found: Sequence[tuple[int, bytes]]) -> bytes:
    return head + b"".join(pack("!HH", key, len(value)) + value for key, value in sorted(found))


def address(data: bytes) -> str:
    kind = "A" if len(data) == 4 else "AAAA"
    return dns.rdata.from_wire("IN", kind, data, 0, len(data)).to_text()


@given(
    st.integers(1, 65_535),
    targets,
    parameters,
    st.fixed_dictionaries({}, optional=families),
    st.fixed_dictionaries(families),
)
def test_all_but_the_hints_is_the_same_to_the_byte(
    priority: int,
    target: bytes,
    others: dict[int, bytes],
    had: dict[AddressType, list[bytes]],
    gets: dict[AddressType, list[bytes]],
) -> None:
    rest = [(key, value) for key, value in others.items() if key not in KEYS.values()]
    hints = [(KEYS[kind], b"".join(one)) for kind, one in had.items() if one]
    data = packed(pack("!H", priority) + target, [*rest, *hints])
    text = text_of_data(HTTPS, data)
    assert data_of_text("HTTPS", text) == data
    new = replace_hints(text, {kind: [address(one) for one in some] for kind, some in gets.items()})
    event("of no text" if text.startswith("\\#") else "as text")
    if text.startswith("\\#"):
        # It is none of the records that follow.
        assert new == text
        return
    head, found = parsed(data_of_text("HTTPS", new))
    assert head == data[: len(head)]
    assert [one for one in found if one[0] not in KEYS.values()] == sorted(rest)
    said = {key: value for key, value in found if key in KEYS.values()}
    for kind, key in KEYS.items():
        size = SIZES[kind]
        value = said.get(key, b"")
        every = [value[at : at + size] for at in range(0, len(value), size)]
        assert sorted(every) == (sorted(gets[kind]) if had.get(kind) else [])
    # In RFC 9460's order, and the text is what a transfer brings.
    assert [key for key, _ in found] == sorted(key for key, _ in found)
    assert text_of_data(HTTPS, data_of_text("HTTPS", new)) == new


# ---- real name servers ---------------------------------------------------------------------

LINES = (
    f"{NAME} {TTL} HTTPS {BEFORE}\n{NAME} {TTL} HTTPS {PLAIN}\n"
    f"{NAME} 60 A 192.0.2.1\n{NAME} 60 AAAA 2001:db8::1\n"
    f"{OTHER} 60 A 192.0.2.2\n{OTHER} 60 AAAA 2001:db8::2\n"
)
SOA = "@ 60 SOA ns1.example.org. hostmaster.example.org. 1 60 60 3600 30\n"


@pytest.fixture
def bind(key: Key, folder: Path) -> Iterator[Server]:
    """With the rights that `flex config named` prints where hints follow."""
    policy = update_policy(ZONE, key.name, hints=True)
    with PrivateNamed(
        folder, [ZONE], key, records={ZONE: LINES}, clause=f"type primary;\n{policy}"
    ) as running:
        yield replace(running.server, hints=True)


@pytest.fixture
def knot(key: Key, folder: Path) -> Iterator[Server]:
    """The same, as `flex config knot` prints it."""
    zone = f"$TTL 60\n{SOA}@ NS ns1.example.org.\n{LINES}"
    (folder / f"{ZONE}zone").write_text(zone, encoding="utf-8")
    keys = KeyFile((key.name,), {key.name: key.algorithm}, "key")
    setup = PrimarySetup(keys, (ZoneRights(ZONE, hints=True),))
    text = knot_conf.configuration(setup).replace(f"{knot_conf.UNFILLED} key", key.secret)
    with free_port() as port, knotd.running(knotd.written(folder, port, text)):
        yield Server("127.0.0.1", port, key, timeout=5.0, hints=True)


REAL = [
    pytest.param("bind", marks=pytest.mark.real),
    pytest.param(
        "knot",
        marks=[
            pytest.mark.real,
            pytest.mark.skipif(not knotd.found("knotd"), reason="Knot DNS is not installed"),
        ],
    ),
]


@pytest.fixture(params=REAL)
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


def cluster(server: Server) -> Cluster:
    """Two sites at two nodes, as DNS has them, of which one is to change its node."""
    nodes = tuple(Node(f"n{n}", (f"192.0.2.{n}", f"2001:db8::{n}"), ram=2**20) for n in (1, 2))
    sites = [name.rstrip(".") for name in (NAME, OTHER)]
    rows = [(site, 100, 100, 10, 5, 1, 10) for site in sites]
    none = np.zeros(0, dtype=np.int64)
    facts = Facts(
        period=Period.days_before(NOW, 1),
        profiles=PROFILES.make(pd.DataFrame(rows, columns=PROFILES.earlier)),
        spreads=SPREADS.empty(),
        sample=Sample((), none, none, none, none, 1.0),
        nodes=nodes,
        pins=(),
        base="",
        placement=PLACEMENT.empty(),
    )
    rules = replace(RULES, zones=(ZONE,), adopt=True, address_hints_follow=True)
    found = Cluster(facts, Rfc2136Publisher(server, "me"), MemoryStore(), rules)
    found.solver = SOLVERS["local"]
    found.night()
    found.facts = replace(facts, pins=(Pin(sites[0], nodes=("n2",)),))
    return found


def says(found: Cluster) -> dict[str, tuple[int, tuple[str, ...]]]:
    state = found.target.read(ZONE, [NAME])
    assert NAME in state.owned
    sets = sets_by_name(state.records)
    return {kind: sets[NAME, kind] for kind in ("A", "AAAA")} | {
        "HTTPS": state.hints[NAME, "HTTPS"]
    }


def at(number: int, hints: str) -> dict[str, tuple[int, tuple[str, ...]]]:
    return {
        "A": (60, (f"192.0.2.{number}",)),
        "AAAA": (60, (f"2001:db8::{number}",)),
        "HTTPS": (TTL, (hints, PLAIN)),
    }


def serial(found: Cluster) -> int:
    return found.target.read(ZONE, []).serial


def write(server: Server, value: str) -> None:
    update = dns.update.UpdateMessage(ZONE)
    update.replace(NAME, TTL, "HTTPS", value, PLAIN)
    with Session(server) as session:
        assert session.ask(update, "a foreign edit").rcode() == dns.rcode.NOERROR


@dataclass(frozen=True, slots=True)
class EditedMeanwhile(Rfc2136Publisher):
    """Right before the first message, somebody else writes `theirs`."""

    theirs: str = ""

    def _refuse_denied_hints(self, found: Mapping[str, Standing]) -> None:
        Rfc2136Publisher._refuse_denied_hints(self, found)
        write(self.server, self.theirs)


class GoingOn(Rfc2136Publisher):
    """It asks for no rights before it sends, as one that goes on with a half-applied plan."""

    def _refuse_denied_hints(self, found: Mapping[str, Standing]) -> None:
        pass


def go_back(found: Cluster, first: str) -> None:
    base, placement = found.store.placement()
    earlier = found.store.placement_of(first)
    made = given_partition.go_back(
        replace(found.facts, pins=(), base=base, placement=placement),
        found.rules,
        earlier,
        of_plan=first,
        scratch=turns,
        publisher=found.target,
        now=NOW.replace(hour=5),
    )
    found.store.propose(made.plan, made.placement)
    found.carry_out(made)


def test_hints_change_in_one_message_with_the_address_and_come_back_with_it(server: Server) -> None:
    found = cluster(server)
    assert says(found) == at(1, BEFORE)
    before, first = serial(found), found.store.in_force()
    plan = found.night()
    assert says(found) == at(2, AFTER)
    assert serial(found) == before + 1
    assert all(one.agrees for one in plan.verdicts)
    go_back(found, first)
    assert says(found) == at(1, BEFORE)
    assert serial(found) == before + 2


def test_off_a_dead_node_hints_go_with_the_address_though_they_could_follow_no_move(
    server: Server,
) -> None:
    found = cluster(server)
    first, second = found.facts.nodes
    base, placement = found.store.placement()
    facts = replace(
        found.facts,
        nodes=(replace(first, state="down"), replace(second, addresses=second.addresses[:1])),
        pins=(),
        base=base,
        placement=placement,
        said=found.store.plan(base).said,
    )
    made = propose_plan.fail_over(
        facts, found.rules, "n1", publisher=found.target, now=NOW.replace(hour=5)
    )
    before = serial(found)
    found.target.apply(*made.plan.zone_plans)
    state = found.target.read(ZONE, [NAME])
    left = AFTER.replace(' ipv6hint="2001:db8::2"', "")
    assert sets_by_name(state.records) == {(NAME, "A"): (60, ("192.0.2.2",))}
    assert state.hints[NAME, "HTTPS"] == (TTL, (left, PLAIN))
    assert serial(found) == before + 1


@pytest.mark.parametrize(
    "theirs", [BEFORE.replace("h3", "h4"), BEFORE.replace("192.0.2.1", "192.0.2.9")]
)
def test_hints_that_somebody_edited_since_the_plan_are_refused_whole(
    server: Server, theirs: str
) -> None:
    found = cluster(server)
    made = found.propose()
    write(server, theirs)
    before = serial(found)
    with pytest.raises(Stale, match=f"{NAME} HTTPS"):
        found.carry_out(made)
    assert says(found) == at(1, theirs)
    assert serial(found) == before


def test_what_is_edited_after_our_last_look_is_found_by_the_server_itself(server: Server) -> None:
    found = cluster(server)
    made = found.propose()
    theirs = BEFORE.replace("h3", "h4")
    found.target = EditedMeanwhile(server, "me", theirs=theirs)
    with pytest.raises(Stale, match=f"{NAME} HTTPS"):
        found.carry_out(made)
    assert says(found) == at(1, theirs)


@pytest.mark.real
def test_a_key_that_may_not_change_hints_is_refused_before_anything_is_changed(
    bind: Server, key: Key, folder: Path
) -> None:
    """As are all keys of before: what grants it to them is said. A plan finds out as it is made,
    and its site stays.
    """
    found = cluster(bind)
    made = found.propose()
    other = folder / "other"
    policy = update_policy(ZONE, key.name)
    # The zone as the first night left it, and a policy as printed before.
    lines = LINES + f'a._flex.{ZONE} 60 TXT "flex owner=me"\n'
    lines += f'b._flex.{ZONE} 60 TXT "flex owner=me"\n'
    with PrivateNamed(
        other, [ZONE], key, records={ZONE: lines}, clause=f"type primary;\n{policy}"
    ) as running:
        server = replace(running.server, hints=True)
        found.target = Rfc2136Publisher(server, "me")
        before = serial(found)
        with pytest.raises(Refused) as refused:
            found.carry_out(made)
        assert says(found) == at(1, BEFORE)
        assert serial(found) == before
        late = found.propose().plan
        assert late.zone_plans[0].changes == ()
        assert any(HINTS_DENIED in note for note in late.notes)
        checks = {one.name: one for one in preflight(server, ZONE)}
        # Though hints are to stay by now: it is this plan that needs the right.
        with pytest.raises(Refused) as stays:
            Rfc2136Publisher(running.server, "me").apply(*made.plan.zone_plans)
        # The key was changed while the plan was half applied.
        with pytest.raises(PartlyApplied) as late_change:
            GoingOn(running.server, "me").apply(*made.plan.zone_plans)
    assert "`flex apply --undo` takes back" in late_change.value.advice
    assert "make a new plan" not in late_change.value.advice
    assert f"grant {key.name} zonesub A AAAA HTTPS SVCB;" in late_change.value.advice
    assert stays.value.advice == refused.value.advice
    assert refused.value.kept == "nothing was changed"
    right = f"the right to change HTTPS of {NAME}, to change its address hints"
    assert right in refused.value.asked
    assert f"may not change HTTPS in {ZONE}" in refused.value.answer
    assert "which leaves sites with address hints" in refused.value.advice
    granted = f"grant {key.name} zonesub A AAAA HTTPS SVCB;"
    assert granted in refused.value.advice
    assert checks["address hints"].state == "fail"
    assert granted in checks["address hints"].advice
    assert checks["addresses"].state == "ok"


@pytest.mark.real
@pytest.mark.parametrize("transfers", [True, False])
def test_hints_are_read_where_they_follow_or_where_a_plan_changes_them(
    key: Key, folder: Path, transfers: bool
) -> None:
    """By a transfer, or by questions where the key has no right to one any more; else not at
    all.
    """
    lines = {ZONE: LINES}
    with PrivateNamed(folder, [ZONE], key, records=lines, transfers=transfers) as named:
        stays = Rfc2136Publisher(named.server, "me")
        assert stays.read(ZONE, [NAME]).hints == {}
        found = stays.read(ZONE, [NAME], hints=[(NAME, "HTTPS")])
        assert found.transferred == transfers
        expected = {(NAME, "HTTPS"): (TTL, (BEFORE, PLAIN))}
        assert found.hints == expected
        follows = Rfc2136Publisher(replace(named.server, hints=True), "me")
        hints = follows.read(ZONE, [NAME]).hints
        assert hints == (expected if transfers else {})


def test_who_may_change_hints_passes_every_check(server: Server) -> None:
    found = {one.name: one.state for one in preflight(server, ZONE)}
    assert found["address hints"] == "ok"
    assert found["limits of the key"] != "fail"
    # Where no hints follow, the key can do more than it needs.
    checks = {one.name: one for one in preflight(replace(server, hints=False), ZONE)}
    assert "address hints" not in checks
    assert checks["limits of the key"].state == "fail"
    assert "HTTPS of any name, SVCB of any name" in checks["limits of the key"].detail


@pytest.mark.real
def test_nsupdate_changes_hints_as_we_would_and_refuses_what_we_would(
    bind: Server, tmp_path: Path
) -> None:
    found = cluster(bind)
    made = found.propose()
    (plan,) = made.plan.zone_plans
    wanted = verify_dns.wanted_records(made.plan, made.placement, found.facts.nodes, 60)
    export = wanted_zone(plan, wanted[ZONE], Claim("me"), 60)
    write(bind, BEFORE.replace("h3", "h4"))
    assert "NXRRSET" in nsupdate(bind, tmp_path, EXPORTS["nsupdate"]([export]))
    write(bind, BEFORE)
    assert nsupdate(bind, tmp_path, EXPORTS["nsupdate"]([export])) == ""
    assert says(found) == at(2, AFTER)
    for name in ("zone", "octodns", "dnscontrol"):
        said = EXPORTS[name]([export])
        # The records of others are theirs to write: what has to change in them is a comment.
        lines = [line for line in said.splitlines() if "HTTPS" in line]
        assert len([line for line in lines if AFTER in line]) == 1
        assert all(line.lstrip()[:1] in (";", "#", "/") for line in lines)


def nsupdate(server: Server, folder: Path, text: str) -> str:
    """What it complains about."""
    script, key = folder / "script", folder / "key"
    key.touch(mode=0o600)
    key.write_text(server.key.clause())
    script.write_text(f"server {server.host} {server.port}\n{text}")
    return subprocess.run(
        ["nsupdate", "-k", str(key), str(script)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    ).stderr


@pytest.mark.real
def test_a_secondary_that_still_has_the_old_hints_differs(
    bind: Server, key: Key, folder: Path
) -> None:
    found = cluster(bind)
    plan = found.night()
    late = LINES.replace("A 192.0.2.1", "A 192.0.2.2").replace(
        "AAAA 2001:db8::1", "AAAA 2001:db8::2"
    )
    with PrivateNamed(folder / "late", [ZONE], key, records={ZONE: late}) as running:
        found.target = Rfc2136Publisher(bind, "me", (bind.address, running.server.address))
        first, second = verify_dns.check(
            plan, found.store.placement()[1], found.facts.nodes, 60, found.target
        )
    assert first.agrees
    (wrong,) = (one for one in second.wrong if one.name == NAME)
    old, new = (f"192.0.2.{n} 2001:db8::{n}".split() for n in (1, 2))
    assert wrong == Change(
        Rrset(NAME, "HTTPS", TTL, tuple(old)), Rrset(NAME, "HTTPS", 0, tuple(new))
    )
    old_line, new_line = zone_changes.lines_of_difference(wrong)
    assert old_line == f"- {NAME} {TTL} hints of HTTPS {' '.join(old)}"
    assert new_line == f"+ {NAME} hints of HTTPS {' '.join(new)}"


@pytest.mark.real
def test_many_names_are_compared_by_a_transfer_with_hints_of_any_name(
    bind: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is their TTL where a step lowers that alone."""
    monkeypatch.setattr(verify, "MANY", 0)
    for ttl, hints, right in (
        (TTL, ["192.0.2.1", "2001:db8::1"], True),
        (0, ["192.0.2.1", "2001:db8::1"], True),
        (TTL - 1, ["192.0.2.1", "2001:db8::1"], False),
        (TTL, ["192.0.2.2", "2001:db8::2"], False),
    ):
        for address in ([], ["192.0.2.2"]):
            rows = [(NAME, "HTTPS", ttl, value) for value in hints]
            rows += [(OTHER, "A", 60, value) for value in address]
            rows += [(OTHER, "AAAA", 60, "2001:db8::2")] if address else []
            wanted = ExpectedAnswers.from_records(
                RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
            )
            said = verify.verdict(bind.address, ZONE, wanted, 5.0, bind.key)
            assert not said.error
            assert [one.name for one in said.wrong] == ([] if right else [NAME])

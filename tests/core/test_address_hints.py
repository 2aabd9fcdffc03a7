"""Hints in HTTPS and SVCB records that change with the addresses of their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import DnsError, Outdated, Refused, Stale, Unreachable
from flex.frame_schemas import RECORDS
from flex.model.dependents_of_moves import Dependents
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.model.zone_plan import AddressType, Change, HintedSet, HintedType, Rrset, ZonePlan
from flex.planning import dns_survey, propose_plan, verify_dns
from flex.planning.dependents_of_sites import HINTS_DENIED, LEFT_BEHIND
from flex.planning.dependents_text import LET_HINTS_FOLLOW
from flex.planning.plan_notes_on_sites import LEANING
from flex.planning.propose_plan import Proposal
from flex.store import MemoryStore
from flex.zones import zone_changes
from flex.zones.address_hints import hints_of, lead_off_dead_node, reasons_to_hold, replace_hints
from flex.zones.marker import marker_name, marker_text
from flex.zones.names_not_following import OtherName
from flex.zones.records_of_partition import ZoneState, sets_by_name, sets_of
from flex.zones.what_leans_on_names import Pointed
from flex_api.night import may_plan_be_applied
from flex_dns.make_before_break import GentlePublisher
from flex_solver import SOLVERS
from tests.core.cluster import NOW, ZONE, Cluster
from tests.memory_publisher import MemoryPublisher

NAME = f"a.{ZONE}"
SITE = NAME.rstrip(".")
FOUR = [f"192.0.2.{n}" for n in range(1, 4)]
SIX = [f"2001:db8::{n}" for n in range(1, 4)]
FULL = (
    '1 . alpn="h2" ipv4hint="192.0.2.1" ech="AAQAAQAA" ipv6hint="2001:db8::1" '
    'key700=" ipv4hint=\\"x\\""'
)
# At most that of the addresses: with a longer one, no set follows.
TTL, LOW = 60, 30


# ---- the text of one record ----------------------------------------------------------------


def test_only_hints_change_and_those_of_a_family_without_addresses_go() -> None:
    assert hints_of(FULL) == {"A": ("192.0.2.1",), "AAAA": ("2001:db8::1",)}
    both = replace_hints(FULL, {"A": ["192.0.2.3", "192.0.2.2"], "AAAA": ["2001:DB8::2"]})
    assert both == (
        '1 . alpn="h2" ipv4hint="192.0.2.2,192.0.2.3" ech="AAQAAQAA" ipv6hint="2001:db8::2" '
        'key700=" ipv4hint=\\"x\\""'
    )
    four = replace_hints(FULL, {"A": ["192.0.2.2"]})
    assert four == '1 . alpn="h2" ipv4hint="192.0.2.2" ech="AAQAAQAA" key700=" ipv4hint=\\"x\\""'
    # What says the same already stays as somebody wrote it.
    turned = '1 . ipv4hint="192.0.2.2,192.0.2.1" ipv6hint="2001:db8::1"'
    for order in (FOUR[:2], FOUR[1::-1]):
        assert replace_hints(turned, {"A": order, "AAAA": SIX[:1]}) == turned
    assert replace_hints('1 . alpn="h2"', {"A": FOUR}) == '1 . alpn="h2"'
    assert replace_hints(f"0 {NAME}", {"A": FOUR}) == f"0 {NAME}"


def sets_that_follow(found: ZoneState) -> set[HintedSet]:
    whys = reasons_to_hold(found, ["A", "AAAA"])
    return {one for one, why in whys.items() if not why}


def state(records: Mapping[AddressType, list[str]], hints: list[str]) -> ZoneState:
    rows = [(NAME, kind, 60, value) for kind, values in records.items() for value in values]
    table = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
    found: dict[tuple[str, HintedType], tuple[int, tuple[str, ...]]] = (
        {(NAME, "HTTPS"): (TTL, tuple(sorted(hints)))} if hints else {}
    )
    return ZoneState(ZONE, 1, table, frozenset([NAME]), {}, hints=found)


@pytest.mark.parametrize(
    ("hints", "follow"),
    [
        ([FULL], True),
        ([f'1 {NAME.upper()} ipv4hint="192.0.2.1"'], True),
        ([f"0 other.{ZONE}", '1 . ipv6hint="2001:db8:0::1"'], True),
        ([FULL, "2 cdn.example.org."], True),
        # Nothing to change.
        (['1 . alpn="h2"'], False),
        ([f"0 {NAME}"], False),
        # Not just its addresses.
        (['1 . ipv4hint="192.0.2.2"'], False),
        (['1 . ipv4hint="192.0.2.1,192.0.2.2"'], False),
        ([FULL, '2 . ipv4hint="203.0.113.9"'], False),
        # Of another name.
        ([f'1 other.{ZONE} ipv4hint="192.0.2.1"'], False),
        ([FULL, '2 cdn.example.org. ipv4hint="192.0.2.1"'], False),
        # It would say that what is not there must be understood.
        (['1 . mandatory="ipv4hint" ipv4hint="192.0.2.1"'], False),
        # Nobody can tell what it leads to.
        ([FULL, r"\# 5 0001000005"], False),
    ],
)
def test_a_set_follows_where_all_its_hints_are_just_the_addresses_of_its_name(
    hints: list[str], follow: bool
) -> None:
    found = state({"A": ["192.0.2.1"], "AAAA": ["2001:db8::1"]}, hints)
    follows = sets_that_follow(found)
    assert follows == ({(NAME, "HTTPS")} if follow else set())


def test_a_set_stays_that_resolvers_keep_longer_or_that_a_node_cannot_have() -> None:
    found = state({"A": ["192.0.2.1"], "AAAA": ["2001:db8::1"]}, [FULL])
    key: HintedSet = (NAME, "HTTPS")
    assert reasons_to_hold(found, ["A", "AAAA"]) == {key: ""}
    assert "ipv6hint" in reasons_to_hold(found, ["A"])[key]
    longer = replace(found, hints={key: (86_400, (FULL,))})
    assert "TTL of 86400" in reasons_to_hold(longer, ["A", "AAAA"])[key]
    other = replace(found, hints={key: (TTL, ('1 b.example. ipv4hint="192.0.2.1"',))})
    assert "another name, b.example." in reasons_to_hold(other, ["A"])[key]
    plain = replace(found, hints={key: (86_400, ('1 . alpn="h2"',))})
    assert reasons_to_hold(plain, ["A", "AAAA"]) == {}


# ---- all steps of a plan, from wherever it is left -----------------------------------------

addresses = st.tuples(st.sets(st.sampled_from(FOUR)), st.sets(st.sampled_from(SIX))).filter(any)
forms = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.sampled_from(["", ' alpn="h2"'])),
    min_size=1,
    max_size=3,
)


def told(four: set[str], six: set[str]) -> dict[AddressType, list[str]]:
    said: dict[AddressType, list[str]] = {"A": sorted(four), "AAAA": sorted(six)}
    return {kind: values for kind, values in said.items() if values}


def changed(found: ZoneState, changes: tuple[Change, ...]) -> ZoneState:
    """What the zone says once they are made."""
    sets = dict(sets_of(found))
    for one in changes:
        held = one.before and (one.before.ttl, one.before.values)
        assert sets.pop((one.name, one.type), None) == held
        if one.after:
            sets[one.name, one.type] = one.after.ttl, one.after.values
    records: dict[AddressType, list[str]] = {"A": [], "AAAA": []}
    for kind in records:
        records[kind] = list(sets.get((NAME, kind), (0, ()))[1])
    rows = [
        (NAME, kind, sets[NAME, kind][0], value)
        for kind, values in records.items()
        for value in values
    ]
    table = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
    return replace(found, records=table, hints={(NAME, "HTTPS"): sets[NAME, "HTTPS"]})


def leads_as_the_name_does(found: ZoneState) -> bool:
    have = sets_by_name(found.records)
    return all(
        set(said) == set(have[NAME, kind][1])
        for record in found.hints[NAME, "HTTPS"][1]
        for kind, said in hints_of(record).items()
    )


@given(addresses, addresses, forms, st.sampled_from([0, LOW]))
def test_in_every_step_and_back_hints_are_the_addresses_that_their_name_has(
    before: tuple[set[str], set[str]],
    after: tuple[set[str], set[str]],
    forms: list[tuple[bool, bool, str]],
    ttl: int,
) -> None:
    had, gets = told(*before), told(*after)
    keys: dict[AddressType, str] = {"A": "ipv4hint", "AAAA": "ipv6hint"}
    hints = {
        f"{place} .{more}"
        + "".join(
            f' {keys[kind]}="{",".join(had[kind])}"'
            for kind, wanted in (("A", four), ("AAAA", six))
            if wanted and kind in had
        )
        for place, (four, six, more) in enumerate(forms, 1)
    }
    start = state(had, sorted(hints))
    rows = [(NAME, kind, 60, value) for kind, some in gets.items() for value in some]
    wanted = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
    made = zone_changes.diff(
        ZONE, wanted, start, owner="me", ttl=60, left_alone={}, hints=sets_that_follow(start)
    )
    follows = any("hint" in one for one in hints)
    assert made.hints == (((NAME, "HTTPS"),) if follows else ())
    end = changed(start, made.changes)
    ready = zone_changes.from_lowered(made, ttl)
    states, now = [start], start
    for step in (
        zone_changes.lower_ttls(made, ttl),
        zone_changes.add_new_addresses(ready, ttl),
        zone_changes.take_old_addresses(ready, ttl),
    ):
        now = changed(now, step.changes)
        states.append(now)
    assert sets_of(now) == sets_of(end)
    for at in (*states, end):
        assert leads_as_the_name_does(at)
        left = zone_changes.what_is_left(made, at, ttl)
        assert sets_of(changed(at, left.changes)) == sets_of(end)
        back = zone_changes.undoing(made, at, ttl)
        assert sets_of(changed(at, back.changes)) == sets_of(start)


@given(st.sets(st.sampled_from(FOUR), min_size=1), addresses, addresses, st.booleans())
def test_no_hint_is_left_at_a_dead_node_and_none_is_new_that_its_name_does_not_get(
    hinted: set[str],
    had: tuple[set[str], set[str]],
    gets: tuple[set[str], set[str]],
    for_other: bool,
) -> None:
    gone, target = {FOUR[0]}, "b.example." if for_other else "."
    gets[0].difference_update(gone)
    record = f'1 {target} alpn="h2" ipv4hint="{",".join(sorted(hinted))}" key700="x"'
    before = Rrset(NAME, "HTTPS", TTL, (record,))
    old, new = ({"A": sorted(one[0]), "AAAA": sorted(one[1])} for one in (had, gets))
    after = lead_off_dead_node(before, old, new, gone)  # type: ignore[arg-type]
    (left,) = (set(hints_of(one).get("A", ())) for one in after.values)
    follows = hinted == had[0] and not for_other
    assert left == (gets[0] if follows else hinted - gone)
    rest = replace_hints(record, {})
    assert [replace_hints(one, {}) for one in after.values] == [rest]


def test_a_name_of_which_only_hints_change_is_among_those_rewritten() -> None:
    change = Change(Rrset(NAME, "HTTPS", TTL, (FULL,)), Rrset(NAME, "HTTPS", TTL, (moved_text(2),)))
    plan = ZonePlan(ZONE, (change,))
    assert zone_changes.count_rewritten_names([plan], [], {}) == 1
    assert zone_changes.count_rewritten_names([plan], [NAME], {}) == 0


# ---- nights over a cluster -----------------------------------------------------------------


@pytest.fixture
def dual(cluster: Cluster) -> Cluster:
    """Both families at each of two nodes; after a night the site is at the first."""
    nodes = tuple(
        replace(one, addresses=(*one.addresses, f"2001:db8::{one.name[1:]}"))
        for one in cluster.facts.nodes
    )
    cluster.facts = replace(cluster.facts, nodes=nodes)
    cluster.rules = replace(cluster.rules, address_hints_follow=True)
    cluster.night()
    assert isinstance(cluster.target, MemoryPublisher)
    return cluster


def write(dual: Cluster, *values: str, kind: str = "HTTPS", name: str = NAME) -> None:
    assert isinstance(dual.target, MemoryPublisher)
    dual.target.edit(ZONE, name, kind, TTL, values)


def wants_to_move(dual: Cluster) -> None:
    dual.facts = replace(dual.facts, pins=(Pin(SITE, nodes=("n2",)),))
    dual.solver = SOLVERS["local"]


def is_on(dual: Cluster) -> list[str]:
    _, placement = dual.store.placement()
    return list(placement["node"][placement["site"] == SITE])


def hints(dual: Cluster, kind: HintedType = "HTTPS") -> tuple[int, tuple[str, ...]]:
    return dual.target.read(ZONE, [NAME]).hints[NAME, kind]


def moved_text(number: int) -> str:
    return FULL.replace("192.0.2.1", f"192.0.2.{number}").replace(
        "2001:db8::1", f"2001:db8::{number}"
    )


@pytest.mark.parametrize("what", ["refuse", "warn", "ignore"])
@pytest.mark.parametrize("kind", ["HTTPS", "SVCB"])
def test_hints_change_with_the_address_of_their_site(
    dual: Cluster, what: str, kind: HintedType
) -> None:
    write(dual, FULL, kind=kind)
    wants_to_move(dual)
    dual.rules = replace(dual.rules, dependents=Dependents(what))  # type: ignore[arg-type]
    plan = dual.night()
    assert is_on(dual) == ["n2"]
    assert hints(dual, kind) == (TTL, (moved_text(2),))
    (made,) = plan.zone_plans
    assert made.hints == ((NAME, kind),)
    assert {one.type for one in made.changes} == {"A", "AAAA", kind}
    assert not [note for note in plan.notes if LEFT_BEHIND in note or LEANING in note]
    # The site has its hints for good: the next plan has nothing to do.
    assert dual.propose().plan.zone_plans[0].changes == ()


def test_until_somebody_asks_for_it_no_hint_changes(dual: Cluster) -> None:
    dual.rules = replace(dual.rules, address_hints_follow=False)
    write(dual, FULL)
    wants_to_move(dual)
    plan = dual.night()
    assert is_on(dual) == ["n1"]
    assert hints(dual) == (TTL, (FULL,))
    assert LET_HINTS_FOLLOW in next(one for one in plan.notes if LEANING in one)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (NAME, '1 . ipv4hint="203.0.113.9"', "not exactly the addresses"),
        (NAME, '1 . ipv4hint="192.0.2.1,192.0.2.2"', "not exactly the addresses"),
        (NAME, '1 . mandatory="ipv4hint" ipv4hint="192.0.2.1"', "mandatory"),
        (f"front.{ZONE}", f'1 {NAME} ipv4hint="192.0.2.1"', "at another name"),
    ],
)
def test_what_is_not_just_the_site_s_addresses_keeps_it_where_it_is(
    dual: Cluster, name: str, value: str, why: str
) -> None:
    write(dual, value, name=name)
    wants_to_move(dual)
    plan = dual.night()
    assert is_on(dual) == ["n1"]
    # Who has set it already is told what failed, and not to set it.
    (note,) = (one for one in plan.notes if LEANING in one)
    assert why in note
    assert LET_HINTS_FOLLOW not in note


def test_hints_that_resolvers_keep_for_longer_hold_their_site(dual: Cluster) -> None:
    assert isinstance(dual.target, MemoryPublisher)
    dual.target.edit(ZONE, NAME, "HTTPS", 86_400, (FULL,))
    wants_to_move(dual)
    plan = dual.night()
    assert is_on(dual) == ["n1"]
    assert any("TTL of 86400" in one for one in plan.notes if LEANING in one)


def test_hints_that_would_lose_a_family_hold_their_site(dual: Cluster) -> None:
    write(dual, FULL)
    wants_to_move(dual)
    first, second = dual.facts.nodes
    only = replace(second, addresses=second.addresses[:1])
    dual.facts = replace(dual.facts, nodes=(first, only))
    dual.night()
    assert is_on(dual) == ["n1"]
    assert hints(dual) == (TTL, (FULL,))


def test_hints_follow_a_node_that_gets_other_addresses(dual: Cluster) -> None:
    write(dual, FULL)
    first, *rest = dual.facts.nodes
    moved = replace(first, addresses=("192.0.2.3", "2001:db8::3"))
    dual.facts = replace(dual.facts, nodes=(moved, *rest))
    dual.night()
    assert dual.addresses()["a"] == ["192.0.2.3", "2001:db8::3"]
    assert hints(dual) == (TTL, (moved_text(3),))


def test_mail_keeps_a_site_whose_hints_could_follow(dual: Cluster) -> None:
    write(dual, FULL)
    write(dual, f"10 {NAME}", kind="MX")
    wants_to_move(dual)
    dual.night()
    assert is_on(dual) == ["n1"]
    assert hints(dual) == (TTL, (FULL,))


@pytest.mark.parametrize("theirs", [False, True])
def test_hints_of_another_name_go_along_with_it_or_it_stays_alone(
    dual: Cluster, theirs: bool
) -> None:
    www = f"www.{NAME}"
    dual.facts = replace(dual.facts, others=(OtherName(SITE, www.rstrip(".")),))
    dual.rules = replace(dual.rules, follow=True)
    dual.night()
    before = '1 . ipv4hint="203.0.113.9"' if theirs else FULL
    write(dual, before, name=www)
    wants_to_move(dual)
    dual.night()
    assert is_on(dual) == ["n2"]
    number = 1 if theirs else 2
    state = dual.target.read(ZONE, [www])
    assert set(state.records["value"]) == {f"192.0.2.{number}", f"2001:db8::{number}"}
    after = before if theirs else moved_text(2)
    assert state.hints[www, "HTTPS"] == (TTL, (after,))


@pytest.mark.parametrize("gentle", [False, True])
@pytest.mark.parametrize(
    "theirs",
    [
        FULL.replace("h2", "h3"),
        '1 . ipv4hint="203.0.113.9"',
        FULL.replace("192.0.2.1", "192.0.2.2"),
    ],
)
def test_what_somebody_else_wrote_since_a_plan_was_made_is_not_overwritten(
    dual: Cluster, theirs: str, gentle: bool
) -> None:
    write(dual, FULL)
    wants_to_move(dual)
    made = dual.propose()
    write(dual, theirs)
    if gentle:
        dual.target = GentlePublisher(dual.target, lambda _: None)
    with pytest.raises(Stale, match="HTTPS"):
        dual.carry_out(made)
    assert hints(dual) == (TTL, (theirs,))
    assert dual.addresses()["a"] == ["192.0.2.1", "2001:db8::1"]


def test_hints_that_came_after_a_plan_was_made_refuse_it(dual: Cluster) -> None:
    wants_to_move(dual)
    made = dual.propose()
    write(dual, FULL)
    with pytest.raises(Stale, match="would leave behind"):
        dual.carry_out(made)
    assert hints(dual) == (TTL, (FULL,))


def test_while_both_nodes_have_a_site_hints_name_both(dual: Cluster) -> None:
    write(dual, FULL)
    wants_to_move(dual)
    seen: list[tuple[int, tuple[str, ...]]] = []
    memory = dual.target
    dual.target = GentlePublisher(memory, lambda _: seen.append(hints(dual)), ttl=LOW)
    dual.night()
    both = FULL.replace("192.0.2.1", "192.0.2.1,192.0.2.2").replace(
        "2001:db8::1", "2001:db8::1,2001:db8::2"
    )
    assert seen == [(LOW, (FULL,)), (LOW, (both,))]
    assert hints(dual) == (TTL, (moved_text(2),))


@pytest.mark.parametrize(
    ("theirs", "left"),
    [
        (None, moved_text(2)),
        # Of what somebody wrote beside it, only the dead node's goes.
        (
            ["192.0.2.1", "192.0.2.2"],
            FULL.replace("192.0.2.1", "192.0.2.2").replace("8::1", "8::2"),
        ),
    ],
)
def test_hints_leave_a_dead_node_with_the_address(
    dual: Cluster, theirs: list[str] | None, left: str
) -> None:
    text = FULL.replace("192.0.2.1", ",".join(theirs)) if theirs else FULL
    write(dual, text)
    if theirs:
        write(dual, *theirs, kind="A")
    fail_over(dual)
    assert hints(dual) == (TTL, (left,))
    assert "192.0.2.1" not in dual.addresses()["a"]


@pytest.mark.parametrize(
    ("text", "ttl", "left"),
    [
        # Its new node has no IPv6.
        (FULL, TTL, FULL.replace("2.1", "2.2").replace(' ipv6hint="2001:db8::1"', "")),
        # No move would wait for it by now.
        ('1 . ipv4hint="192.0.2.1"', 86_400, '1 . ipv4hint="192.0.2.2"'),
        # What somebody wrote beside the dead node stays.
        ('1 . ipv4hint="192.0.2.1,203.0.113.9"', TTL, '1 . ipv4hint="203.0.113.9"'),
        ('1 . ipv6hint="2001:db8:0::1,2001:db8::9"', TTL, '1 . ipv6hint="2001:db8::9"'),
        ('1 cdn.example. alpn="h2" ipv4hint="192.0.2.1"', TTL, '1 cdn.example. alpn="h2"'),
    ],
)
@pytest.mark.parametrize("what", ["refuse", "warn", "ignore"])
def test_hints_leave_a_dead_node_though_they_could_follow_no_move(
    dual: Cluster, text: str, ttl: int, left: str, what: str
) -> None:
    assert isinstance(dual.target, MemoryPublisher)
    dual.rules = replace(dual.rules, dependents=Dependents(what))  # type: ignore[arg-type]
    first, second = dual.facts.nodes
    only = replace(second, addresses=second.addresses[:1])
    dual.facts = replace(dual.facts, nodes=(first, only))
    dual.target.edit(ZONE, NAME, "HTTPS", ttl, (text,))
    # Of sites that are well: what somebody wrote beside it stays, and what was left behind goes.
    live, behind = [
        f"{name}.{ZONE}"
        for name, said in sorted(dual.addresses().items())
        if "192.0.2.1" not in said
    ]
    away = '1 . ipv4hint="192.0.2.2,203.0.113.9"'
    write(dual, away, name=live)
    write(dual, '1 . ipv4hint="192.0.2.1"', name=behind)
    plan = fail_over(dual)
    assert dual.addresses()["a"] == ["192.0.2.2"]
    assert hints(dual) == (ttl, (left,))
    assert dual.target.read(ZONE, [live]).hints[live, "HTTPS"][1] == (away,)
    assert dual.target.read(ZONE, [behind]).hints[behind, "HTTPS"][1] == ("1 .",)
    (left_behind,) = [note for note in plan.notes if LEFT_BEHIND in note] or [""]
    for name in (NAME, behind):
        assert name.rstrip(".") not in left_behind


def test_off_a_dead_node_moves_what_stayed_there_for_its_hints_before_these_followed(
    dual: Cluster,
) -> None:
    """Others left the node meanwhile, so that the site is in no partition."""
    dual.rules = replace(dual.rules, address_hints_follow=False)
    write(dual, FULL)
    dual.facts = replace(
        dual.facts,
        nodes=tuple(
            replace(one, state="draining") if one.name == "n1" else one for one in dual.facts.nodes
        ),
    )
    dual.night()
    assert (is_on(dual), dual.addresses()["a"]) == ([], ["192.0.2.1", "2001:db8::1"])
    dual.rules = replace(dual.rules, address_hints_follow=True)
    fail_over(dual)
    assert (is_on(dual), hints(dual)) == (["n2"], (TTL, (moved_text(2),)))
    assert "192.0.2.1" not in dual.addresses()["a"]


def test_hints_that_must_be_there_stay_at_a_dead_node_and_that_is_said(dual: Cluster) -> None:
    text = '1 . mandatory="ipv4hint" ipv4hint="192.0.2.1"'
    write(dual, text)
    plan = fail_over(dual)
    assert "192.0.2.1" not in dual.addresses()["a"]
    assert hints(dual) == (TTL, (text,))
    assert any(LEFT_BEHIND in note and "mandatory" in note for note in plan.notes)


def test_hints_at_a_dead_node_are_named_where_somebody_changed_the_address(dual: Cluster) -> None:
    assert isinstance(dual.target, MemoryPublisher)
    write(dual, FULL)
    for kind, address in (("A", "203.0.113.5"), ("AAAA", "2001:db8:ffff::5")):
        dual.target.edit(ZONE, NAME, kind, TTL, [address])
    made = propose_failover(dual)
    assert NAME in made.left
    assert hints(dual) == (TTL, (FULL,))


def fail_over(dual: Cluster) -> Plan:
    made = propose_failover(dual)
    dual.store.propose(made.plan, made.placement)
    return dual.carry_out(made)


def propose_failover(dual: Cluster) -> Proposal:
    base, placement = dual.store.placement()
    facts = replace(
        dual.facts,
        base=base,
        placement=placement,
        nodes=tuple(
            replace(one, state="down") if one.name == "n1" else one for one in dual.facts.nodes
        ),
        said=dual.store.plan(base).said,
    )
    return propose_plan.fail_over(facts, dual.rules, "n1", publisher=dual.target, now=NOW)


class Ungranted(MemoryPublisher):
    """Its key has no right to change hints, or nobody can tell."""

    error: DnsError

    def refuse_hints(self, zone: str, sets: Collection[HintedSet]) -> None:
        if zone == ZONE:
            assert list(sets) == [(NAME, "HTTPS")]
            raise self.error


@pytest.fixture(
    params=[
        Refused("asking", "the key may not", kept="nothing", advice="grant it"),
        Unreachable("asking", "SERVFAIL", kept="nothing", advice="look"),
    ]
)
def ungranted(dual: Cluster, request: pytest.FixtureRequest) -> Cluster:
    dual.target = Ungranted([ZONE], "me")
    dual.target.error = request.param
    dual.store = MemoryStore()
    dual.night()
    write(dual, FULL)
    return dual


def test_hints_that_the_key_may_not_change_keep_their_site_and_no_other(ungranted: Cluster) -> None:
    wants_to_move(ungranted)
    other = Pin(f"c.{ZONE}".rstrip("."), nodes=("n2",))
    ungranted.facts = replace(ungranted.facts, pins=(*ungranted.facts.pins, other))
    plan = ungranted.night()
    assert is_on(ungranted) == ["n1"]
    assert set(ungranted.addresses()["c"]) == {"192.0.2.2", "2001:db8::2"}
    assert hints(ungranted) == (TTL, (FULL,))
    assert any(HINTS_DENIED in note for note in plan.notes)


@pytest.mark.parametrize("ttl", [TTL, 86_400])
def test_off_a_dead_node_addresses_move_though_the_key_may_not_change_hints(
    ungranted: Cluster, ttl: int
) -> None:
    assert isinstance(ungranted.target, MemoryPublisher)
    ungranted.target.edit(ZONE, NAME, "HTTPS", ttl, (FULL,))
    plan = fail_over(ungranted)
    assert ungranted.addresses()["a"] == ["192.0.2.2", "2001:db8::2"]
    assert hints(ungranted) == (ttl, (FULL,))
    assert any(HINTS_DENIED in note for note in plan.notes)
    assert any(LEFT_BEHIND in note for note in plan.notes)


def test_a_right_that_one_zone_denies_keeps_back_no_hints_of_another(dual: Cluster) -> None:
    """Nor do hints count of a name that is not FLEX's."""
    away, site, foreign = "away.example.", "x.away.example", "y.away.example"
    target = Ungranted([ZONE, away], "me")
    target.error = Refused("asking", "may not", kept="nothing", advice="grant it")
    for name in (NAME, f"{site}.", f"{foreign}."):
        zone = ZONE if name == NAME else away
        target.edit(zone, name, "A", TTL, ["192.0.2.1"])
        target.edit(zone, name, "HTTPS", TTL, ['1 . ipv4hint="192.0.2.1"'])
        if name != f"{foreign}.":
            marker = marker_name(name, zone)
            target.edit(zone, marker, "TXT", TTL, [marker_text("me")])
    found = dns_survey.look(
        target,
        [SITE, site, foreign],
        dual.facts.nodes,
        [ZONE, away],
        adopt=False,
        dependents=True,
        address_hints_follow=True,
    )
    assert found.hints == {(f"{site}.", "HTTPS")}
    assert found.denied_hints == {ZONE: "may not"}
    assert found.held_hints[NAME, "HTTPS"] == f"FLEX may not change them in {ZONE}"
    why = "FLEX does not change this name"
    assert found.held_hints[f"{foreign}.", "HTTPS"] == why
    assert NAME in found.leaning
    assert f"{site}." not in found.leaning


class Untransferred(MemoryPublisher):
    """Its zone cannot be transferred any more: of hints it tells those that are asked for."""

    def read(
        self,
        zone: str,
        names: Sequence[str],
        also: Sequence[str] = (),
        *,
        pointed: Pointed | None = None,
        hints: Collection[HintedSet] = (),
    ) -> ZoneState:
        found = super().read(zone, names, also, pointed=pointed, hints=hints)
        told = {one: said for one, said in found.hints.items() if one in hints}
        return replace(found, transferred=False, hints=told)


def copy_zone(dual: Cluster, target: MemoryPublisher) -> None:
    """So that it says what the other says."""
    state = dual.target.read(ZONE, [f"{letter}.{ZONE}" for letter in "abcd"])
    for (name, kind), (ttl, values) in sets_of(state).items():
        target.edit(ZONE, name, kind, ttl, values)
    for name in state.owned:
        target.edit(ZONE, marker_name(name, ZONE), "TXT", 60, [marker_text("me")])


def test_a_plan_goes_on_and_is_taken_back_though_its_zone_is_transferred_no_more(
    dual: Cluster,
) -> None:
    write(dual, FULL)
    wants_to_move(dual)
    (made,) = dual.propose().plan.zone_plans
    untransferred = Untransferred([ZONE], "me")
    copy_zone(dual, untransferred)
    dual.target = untransferred
    GentlePublisher(dual.target, lambda _: None, ttl=LOW).apply(made)
    key: HintedSet = (NAME, "HTTPS")

    def told() -> ZoneState:
        return dual.target.read(ZONE, [NAME], hints=[key])

    assert told().hints[key] == (TTL, (moved_text(2),))
    back = zone_changes.undoing(made, told())
    assert zone_changes.hints_of_others(made, back, told()) == []
    dual.target.apply(back)
    assert told().hints[key] == (TTL, (FULL,))


def test_hints_that_somebody_edited_are_named_where_a_plan_is_taken_back(dual: Cluster) -> None:
    write(dual, FULL)
    wants_to_move(dual)
    made = dual.propose()
    dual.carry_out(made)
    (plan,) = made.plan.zone_plans
    write(dual, moved_text(2).replace("h2", "h3"))
    state = dual.target.read(ZONE, [NAME])
    back = zone_changes.undoing(plan, state)
    assert "HTTPS" not in {one.type for one in back.changes}
    assert zone_changes.hints_of_others(plan, back, state) == [f"HTTPS of {SITE}"]


def test_gentle_moves_look_for_the_right_in_all_zones_before_the_first_step(dual: Cluster) -> None:
    write(dual, FULL)
    wants_to_move(dual)
    made = dual.propose()
    # Its key was changed after the plan was made.
    denies = Ungranted([ZONE], "me")
    denies.error = Refused("asking", "may not", kept="nothing", advice="grant it")
    copy_zone(dual, denies)
    before = denies.serial(ZONE)
    with pytest.raises(Refused, match="may not"):
        GentlePublisher(denies, lambda _: None, ttl=LOW).apply(*made.plan.zone_plans)
    assert denies.serial(ZONE) == before


def verdict_of(dual: Cluster, plan: Plan) -> set[tuple[str, str]]:
    (one,) = verify_dns.check(plan, dual.store.placement()[1], dual.facts.nodes, 60, dual.target)
    return {(each.name, each.type) for each in one.wrong}


def test_a_name_server_that_has_the_old_hints_differs(dual: Cluster) -> None:
    write(dual, FULL)
    wants_to_move(dual)
    plan = dual.night()
    assert verdict_of(dual, plan) == set()
    # What else stands in the record is not FLEX's, nor is the record.
    for text in (moved_text(2).replace("h2", "h3"), '1 . alpn="h2"', ""):
        write(dual, *filter(None, [text]))
        assert verdict_of(dual, plan) == set()
    write(dual, FULL)
    assert verdict_of(dual, plan) == {(NAME, "HTTPS")}


def test_a_plan_that_changes_hints_is_outdated_once_they_are_to_stay(dual: Cluster) -> None:
    write(dual, FULL)
    before = dual.propose().plan
    wants_to_move(dual)
    plan = dual.propose().plan
    may_plan_be_applied.refuse_hints_that_stay(plan, follow=True)
    with pytest.raises(Outdated, match="of 1 record set, and dns"):
        may_plan_be_applied.refuse_hints_that_stay(plan, follow=False)
    # What changes no hint is not concerned.
    may_plan_be_applied.refuse_hints_that_stay(before, follow=False)


def test_a_plan_is_stored_with_its_hints_and_one_of_before_has_none(dual: Cluster) -> None:
    write(dual, FULL)
    wants_to_move(dual)
    plan = dual.propose().plan
    assert isinstance(dual.store, MemoryStore)
    assert dual.store.plan(plan.id).zone_plans == plan.zone_plans
    assert ZonePlan(ZONE, ()).hints == ()
    assert '+ a.hosting.example. 60 HTTPS 1 . alpn="h2"' in zone_changes.text(plan.zone_plans[0])

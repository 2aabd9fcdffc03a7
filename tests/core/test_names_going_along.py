"""With `dns.other_names = "follow"` all names of a site that are FLEX's to change are where the
site is, after whatever happens; every other name stays as it was, and is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.errors import PartlyApplied, Stale
from flex.frame_schemas import PLACEMENT, PROFILES, RECORDS, SPREADS
from flex.model.dns_edits_by_others import REASON
from flex.model.limits_and_approvals import Limits
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.plan import Plan
from flex.placing.problem import Budget, Problem, Solution, sort_by_site
from flex.planning import carry_out_plan, plan_notes_on_sites, propose_plan, verify_dns
from flex.planning.facts_and_rules import Facts
from flex.planning.propose_plan import Proposal
from flex.ports import Solver
from flex.prediction.cache_replay import no_sample
from flex.store import MemoryStore
from flex.store.plans_as_json import plan_from_text, plan_to_text
from flex.zones.decisions_in_markers import MarkedDecision
from flex.zones.marker import marker_name, marker_text
from flex.zones.names_going_along import names_going_along
from flex.zones.names_not_following import OtherName
from flex.zones.records_of_partition import ZoneState, name_of, zone_of
from tests.core.cluster import NOW, RULES, ZONE, Cluster
from tests.memory_publisher import MemoryPublisher
from tests.thorough import times

ZONES = (ZONE, "other.example.")
ABROAD = "198.51.100.7"
NODES = tuple(Node(f"n{n}", (f"192.0.2.{n}", f"2001:db8::{n}"), ram=2**30) for n in (1, 2, 3))
SITES = tuple(f"{letter}.hosting.example" for letter in "abcd")
LOOSE = replace(
    RULES,
    zones=ZONES,
    follow=True,
    trigger=0.0,
    margin=0.0,
    limits=replace(Limits(), rewritten_names=100, drifted_names=0),
)
# What is at a name before FLEX comes: its sets, and whether FLEX may change it then.
Sets = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class There:
    sets: Sets
    goes: bool
    with_adopt: bool


KINDS = {
    "nothing": There({}, True, True),
    "our marker": There({"A": ("192.0.2.3",), "TXT": (marker_text("me"),)}, True, True),
    "at a node": There({"A": ("192.0.2.3",)}, False, True),
    "at a node and abroad": There({"A": ("192.0.2.3", ABROAD)}, False, False),
    "abroad": There({"AAAA": ("2001:db8:9::9",)}, False, False),
    "of others": There({"A": ("192.0.2.3",), "TXT": (marker_text("them"),)}, False, False),
    "elsewhere": There({"CNAME": ("cdn.example.net.",)}, False, False),
    "an alias": There({"CNAME": ("",)}, False, False),
}


def shifted(by: int) -> Solver:
    """Deals the sites out by turns, beginning with another node."""

    def solve(problem: Problem, budget: Budget) -> Solution:
        nodes = np.flatnonzero(problem.open)
        rows = [
            (site, nodes[(site + by + replica) % len(nodes)])
            for site, count in enumerate(problem.replicas)
            for replica in range(count)
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return Solution(sort_by_site(table), "shifted", bound=0, proven=False)

    return solve


def cluster(names: Mapping[str, tuple[str, str]], *, adopt: bool = False) -> Cluster:
    """`names` has for each other name its site, and what is there."""
    target = MemoryPublisher(ZONES, "me")
    for name, (site, kind) in names.items():
        write(
            target,
            name,
            {k: v if v != ("",) else (name_of(site),) for k, v in KINDS[kind].sets.items()},
        )
    rows = [(site, 8_000_000, 1000, 4000, 10, 1, 800_000) for site in SITES]
    facts = Facts(
        period=Period.days_before(NOW, 1),
        profiles=PROFILES.make(pd.DataFrame(rows, columns=PROFILES.earlier)),
        spreads=SPREADS.empty(),
        sample=no_sample(),
        nodes=NODES,
        pins=(),
        base="",
        placement=PLACEMENT.empty(),
        others=tuple(OtherName(site, name) for name, (site, _) in names.items()),
    )
    return Cluster(facts, target, MemoryStore(), replace(LOOSE, adopt=adopt), shifted(0))


def write(target: MemoryPublisher, name: str, sets: Sets) -> None:
    zone = zone_of(name_of(name), frozenset(ZONES))
    for kind, values in sets.items() if zone else ():
        assert zone is not None
        at = marker_name(name_of(name), zone) if kind == "TXT" else name_of(name)
        target.edit(zone, at, kind, 60, values)


def held(here: Cluster, name: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """All that is at a name and at its marker."""
    zone = zone_of(name_of(name), frozenset(ZONES))
    assert isinstance(here.target, MemoryPublisher)
    if zone is None:
        return {}
    sets = here.target._zone(zone, "a look")
    at = (name_of(name), marker_name(name_of(name), zone))
    return {key: values for key, (_, values) in sets.items() if key[0] in at}


def addresses(here: Cluster, name: str) -> set[str]:
    return {
        value
        for (_, kind), values in held(here, name).items()
        if kind in ("A", "AAAA")
        for value in values
    }


def is_ours(here: Cluster, name: str) -> bool:
    return any(
        kind == "TXT" and values == (marker_text("me"),)
        for (_, kind), values in held(here, name).items()
    )


def later(here: Cluster, by: int = 0) -> Proposal:
    here.solver = shifted(by)
    lines = here.store.headlines()
    return here.propose(lines[0].created + timedelta(days=1) if lines else NOW)


def night(here: Cluster, by: int = 0) -> Plan:
    made = later(here, by)
    assert plan_from_text(plan_to_text(made.plan) + " ") == made.plan
    assert made.plan.breaches == ()
    return here.carry_out(made)


def agrees(here: Cluster) -> bool:
    """What `flex verify` asks, of markers, too."""
    base, partition = here.store.placement()
    found = verify_dns.check(
        here.store.plan(base), partition, here.facts.nodes, 60, here.target, owner="me"
    )
    return all(verdict.agrees for verdict in found)


def named(made: Plan) -> set[str]:
    return {entry.split(" ")[0].rstrip(".") for one in made.zone_plans for entry in one.foreign}


other_names = st.dictionaries(
    st.sampled_from(
        [
            "www.a.hosting.example",
            "x.hosting.example",
            "hosting.example",
            "other.example",
            "y.other.example",
            "z.elsewhere.example",
            "www.b.hosting.example",
        ]
    ),
    st.tuples(st.sampled_from(SITES), st.sampled_from(list(KINDS))),
    min_size=1,
)


@settings(max_examples=times(50))
@given(
    names=other_names,
    adopt=st.booleans(),
    turns=st.lists(st.integers(0, 2), min_size=1, max_size=3),
    dead=st.sampled_from(NODES),
)
def test_all_names_that_are_ours_are_where_their_site_is_and_no_other_changes(
    names: dict[str, tuple[str, str]], adopt: bool, turns: list[int], dead: Node
) -> None:
    here = cluster(names, adopt=adopt)
    goes = {
        name
        for name, (_, kind) in names.items()
        if name != "z.elsewhere.example" and (KINDS[kind].with_adopt if adopt else KINDS[kind].goes)
    }
    before = {name: held(here, name) for name in names}

    def look(made: Plan) -> None:
        for name, (site, kind) in names.items():
            if name in goes:
                of_site = addresses(here, site)
                if KINDS[kind].sets:
                    # What had no IPv6 before FLEX came gets none.
                    of_site = {value for value in of_site if ":" not in value}
                assert addresses(here, name) == of_site
                assert is_ours(here, name)
            else:
                assert held(here, name) == before[name]
                stays = kind != "an alias" and name != "z.elsewhere.example"
                assert (name in named(made)) == stays
        assert agrees(here)
        assert {name for name, _ in here.along()} == goes
        assert made.sites == len(SITES)
        assert {move.site for move in made.moves} <= set(SITES)

    for by in turns:
        look(night(here, by))
    base, placement = here.store.placement()
    down = tuple(replace(node, state="down") if node == dead else node for node in NODES)
    here.facts = replace(here.facts, nodes=down)
    facts = replace(
        here.facts,
        base=base,
        placement=placement,
        said=here.store.plan(base).said,
        along=here.along(),
    )
    made = propose_plan.fail_over(
        facts, here.rules, dead.name, publisher=here.target, now=NOW + timedelta(days=9)
    )
    here.store.propose(made.plan, made.placement)
    done = here.carry_out(made)
    look(done)
    assert all(not addresses(here, name) & set(dead.addresses) for name in goes)
    theirs = {
        name for name in names if name not in goes and addresses(here, name) & set(dead.addresses)
    }
    assert theirs <= {name.rstrip(".") for name in made.left}


@pytest.mark.slow
@settings(max_examples=times(15))
@given(names=other_names, by=st.integers(0, 2))
def test_without_the_setting_only_sites_change(names: dict[str, tuple[str, str]], by: int) -> None:
    here = cluster(names)
    here.rules = replace(here.rules, follow=False)
    before = {name: held(here, name) for name in names}
    for turn in (0, by):
        made = night(here, turn)
        assert {name: held(here, name) for name in names} == before
        assert here.along() == ()
        assert not any(one.go_along for one in made.zone_plans)


EDITS: dict[str, Sets] = {
    "abroad": {"A": (ABROAD,), "AAAA": ()},
    "at another node": {"A": ("192.0.2.3",), "AAAA": ("2001:db8::3",)},
    "one more": {"A": ("192.0.2.1", ABROAD)},
    "gone": {"A": (), "AAAA": (), "TXT": ()},
}
ALIAS, SITE = "x.hosting.example", SITES[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", EDITS)
def test_an_other_name_that_somebody_changed_stays_theirs_until_it_is_taken_back(kind: str) -> None:
    here = cluster({ALIAS: (SITE, "nothing"), "y.other.example": (SITE, "nothing")})
    night(here)
    assert isinstance(here.target, MemoryPublisher)
    write(here.target, ALIAS, EDITS[kind])
    assert not agrees(here)
    theirs = held(here, ALIAS)
    for by in (1, 2):
        made = night(here, by)
        assert held(here, ALIAS) == theirs
        assert addresses(here, "y.other.example") == addresses(here, SITE)
        (edit,) = made.said.edits
        assert (edit.name, edit.site) == (name_of(ALIAS), SITE)
        (note,) = [note for note in made.notes if REASON in note]
        assert f"`flex plan --take-back {ALIAS}`" in note
        assert "exclude" not in note
        assert agrees(here)
    here.rules = replace(here.rules, take_back=frozenset({name_of(ALIAS)}))
    night(here, 2)
    assert addresses(here, ALIAS) == addresses(here, SITE)
    assert is_ours(here, ALIAS)
    here.rules = replace(here.rules, take_back=frozenset())
    assert night(here, 1).said.edits == ()
    assert addresses(here, ALIAS) == addresses(here, SITE)


def test_where_somebody_takes_the_site_on_the_way_its_other_names_stay() -> None:
    here = cluster({ALIAS: (SITE, "nothing"), "y.hosting.example": (SITES[1], "nothing")})
    night(here)
    made = later(here, 1)
    old = addresses(here, ALIAS)
    assert isinstance(here.target, MemoryPublisher)
    # Something of the plan holds already, so that it is finished as far as can be.
    (changes,) = (one.changes for one in made.plan.zone_plans if one.changes)
    done = next(one for one in changes if one.name == name_of(SITES[2]))
    assert done.after is not None
    here.target.edit(ZONE, done.name, done.type, 60, done.after.values)
    write(here.target, SITE, {"A": (ABROAD,)})
    with pytest.raises(PartlyApplied):
        here.carry_out(made)
    assert addresses(here, ALIAS) == old
    assert addresses(here, "y.hosting.example") == addresses(here, SITES[1])


def test_a_name_that_nobody_wrote_down_is_not_made() -> None:
    here = cluster({f"www.{SITE}": (SITE, "nothing")})
    (other,) = here.facts.others
    here.facts = replace(here.facts, others=(replace(other, written=False),))
    night(here)
    assert held(here, f"www.{SITE}") == {}


def test_what_is_no_other_name_any_more_keeps_its_records() -> None:
    here = cluster({ALIAS: (SITE, "nothing")})
    night(here)
    kept = held(here, ALIAS)
    here.facts = replace(here.facts, others=())
    made = night(here, 1)
    assert held(here, ALIAS) == kept
    assert any(ALIAS in note for note in made.notes)
    assert here.along() == ()
    assert plan_notes_on_sites.NO_MORE in "".join(made.notes)


def test_a_plan_that_is_given_up_keeps_the_names_that_are_with_their_sites() -> None:
    names = {ALIAS: (SITE, "nothing"), "y.other.example": (SITE, "nothing")}
    here = cluster(names)
    night(here)
    made = later(here, 1)
    others = [replace(one, changes=()) if one.zone != ZONE else one for one in made.plan.zone_plans]
    here.target.apply(*others)
    carry_out_plan.abandon(
        replace(made.plan, state="applying"),
        made.placement,
        nodes=NODES,
        zones=ZONES,
        publisher=here.target,
        store=here.store,
    )
    assert here.along() == ((ALIAS, SITE),)
    assert agrees(here)
    done = night(here, 1)
    assert done.said.edits == ()
    assert all(addresses(here, name) == addresses(here, SITE) for name in names)


WWW, MAIL = "www.a.hosting.example", "x.hosting.example"
A = "a.hosting.example"


@pytest.mark.parametrize(
    ("owner", "kind", "value"),
    [
        (A, "MX", f"10 {MAIL}."),
        ("_sip._tcp.hosting.example", "SRV", f"0 5 5060 {MAIL}."),
        ("b.hosting.example", "MX", "10 alias.hosting.example."),
    ],
)
def test_mail_that_came_to_lean_on_a_name_that_goes_along_keeps_its_site(
    owner: str, kind: str, value: str
) -> None:
    """With all of its names. Between a plan and its application."""
    here = cluster({MAIL: (A, "our marker"), WWW: (A, "our marker")})
    night(here)
    assert isinstance(here.target, MemoryPublisher)
    names = (A, MAIL, WWW)
    before = {name: addresses(here, name) for name in names}
    here.target.edit(ZONE, "alias.hosting.example.", "CNAME", 60, [f"{MAIL}."])
    made = later(here, 1)
    here.target.edit(ZONE, f"{owner}.", kind, 60, [value])
    with pytest.raises(Stale, match="would take along"):
        here.carry_out(made)
    assert {name: addresses(here, name) for name in names} == before


def test_mail_on_a_name_that_does_not_go_along_keeps_no_site() -> None:
    here = cluster({MAIL: (A, "abroad")})
    night(here)
    assert isinstance(here.target, MemoryPublisher)
    before = addresses(here, A)
    here.target.edit(ZONE, f"{A}.", "MX", 60, [f"10 {MAIL}."])
    night(here, 1)
    assert addresses(here, A) != before


def test_an_other_name_whose_marker_excludes_it_stays_behind() -> None:
    other = OtherName("a.hosting.example", "www.hosting.example")
    name = name_of(other.name)
    marked = ZoneState(ZONE, 1, RECORDS.empty(), frozenset([name]), {})
    excluded = replace(marked, excluded={name: MarkedDecision(NOW)})
    going = [
        names_going_along([other], {ZONE: state}, NODES, set(), adopt=False)
        for state in (marked, excluded)
    ]
    assert going == [(other,), ()]

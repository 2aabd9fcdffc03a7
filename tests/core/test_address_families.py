"""A site that had IPv4 alone, or IPv6, when FLEX took it over keeps it so, wherever it moves, until
the operator asks for both. What a plan adds and takes away is said and counted.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.dns_edits_by_others import Said
from flex.model.limits_and_approvals import Limits
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.plan import Plan
from flex.model.setting_precedence import SaidOfSites
from flex.model.wish import Pin
from flex.model.zone_plan import Families
from flex.planning import propose_plan, verify_dns
from flex.planning.facts_and_rules import Facts
from flex.planning.propose_plan import Proposal
from flex.prediction.cache_replay import no_sample
from flex.store import MemoryStore
from flex.store.plans_as_json import plan_from_text, plan_to_text
from flex.zones.marker import marker_name, marker_text
from flex.zones.records_of_partition import name_of
from tests.core.cluster import NOW, RULES, ZONE, Cluster
from tests.core.test_names_going_along import shifted
from tests.memory_publisher import MemoryPublisher
from tests.thorough import times

# What each node announces: one that has IPv4 alone is not there in every history.
OFFERED = {"4": "A", "6": "AAAA"}
SITES = tuple(f"{letter}.hosting.example" for letter in "abcde")
LOOSE = replace(
    RULES,
    adopt=True,
    trigger=0.0,
    margin=0.0,
    limits=replace(Limits(), rewritten_names=100, drifted_names=0),
)


def node(number: int, families: str) -> Node:
    addresses = {"4": f"192.0.2.{number}", "6": f"2001:db8::{number}"}
    return Node(f"n{number}", tuple(addresses[one] for one in families), ram=2**30)


def cluster(before: dict[str, str], nodes: tuple[Node, ...]) -> Cluster:
    """`before` says of a site which families it has at the first node; "" for none of them."""
    target = MemoryPublisher((ZONE,), "me")
    first = nodes[0]
    for site, families in before.items():
        for one in families:
            values = [value for value in first.addresses if (":" in value) == (one == "6")]
            if values:
                target.edit(ZONE, name_of(site), OFFERED[one], 60, tuple(values))
    rows = [(site, 8_000_000, 1000, 4000, 10, 1, 800_000) for site in before]
    facts = Facts(
        period=Period.days_before(NOW, 1),
        profiles=PROFILES.make(pd.DataFrame(rows, columns=PROFILES.earlier)),
        spreads=SPREADS.empty(),
        sample=no_sample(),
        nodes=nodes,
        pins=(),
        base="",
        placement=PLACEMENT.empty(),
    )
    return Cluster(facts, target, MemoryStore(), LOOSE, shifted(0))


def facts_of(here: Cluster) -> Facts:
    base, placement = here.store.placement()
    said = here.store.plan(base).said if base else Said()
    facts = replace(here.facts, base=base, placement=placement, said=said)
    return facts.drop_excluded_sites()


def night(here: Cluster, by: int = 0) -> Plan:
    lines = here.store.headlines()
    made = propose_plan.propose(
        facts_of(here),
        here.rules,
        solver=shifted(by),
        scratch=shifted(0),
        publisher=here.target,
        now=lines[0].created + timedelta(days=1) if lines else NOW,
    )
    return carry_out(here, made)


def carry_out(here: Cluster, made: Proposal) -> Plan:
    assert plan_from_text(plan_to_text(made.plan) + " ") == made.plan
    here.store.propose(made.plan, made.placement)
    return here.carry_out(made)


def fail_over(here: Cluster, dead: str) -> Plan:
    nodes = (replace(one, state="down") if one.name == dead else one for one in here.facts.nodes)
    here.facts = replace(here.facts, nodes=tuple(nodes))
    made = propose_plan.fail_over(
        facts_of(here), here.rules, dead, publisher=here.target, now=NOW + timedelta(days=50)
    )
    return carry_out(here, made)


def values(here: Cluster, site: str) -> set[str]:
    found = here.target.read(ZONE, [name_of(site)]).records
    return set(found["value"])


def expected(here: Cluster, site: str, kept: str) -> set[str]:
    """Every address of its node, of the family that is kept where the node has that."""
    _, placement = here.store.placement()
    (name,) = placement["node"][placement["site"] == site]
    (addresses,) = (one.addresses for one in here.facts.nodes if one.name == name)
    of_family = {one for one in addresses if (":" in one) == (kept == "6")}
    return of_family if kept and of_family else set(addresses)


def check(here: Cluster, kept: dict[str, str], made: Plan) -> None:
    for site, family in kept.items():
        assert values(here, site) == expected(here, site, family), site
    assert made.said.edits == ()
    base, partition = here.store.placement()
    verdicts = verify_dns.check(
        here.store.plan(base), partition, here.facts.nodes, 60, here.target, owner="me"
    )
    assert all(one.agrees for one in verdicts)


@settings(max_examples=times(40))
@given(
    before=st.fixed_dictionaries({site: st.sampled_from(["", "4", "6", "46"]) for site in SITES}),
    offered=st.lists(st.sampled_from(["46", "46", "4", "6"]), min_size=2, max_size=3),
    rule=st.sampled_from(["keep", "all"]),
    of_sites=st.dictionaries(st.sampled_from(SITES), st.sampled_from(["keep", "all"])),
    acts=st.lists(st.sampled_from(["0", "1", "2", "lost", "all"]), max_size=5),
    dead=st.integers(0, 2),
)
def test_a_name_keeps_the_families_that_it_had_in_whatever_happens(
    before: dict[str, str],
    offered: list[str],
    rule: Families,
    of_sites: dict[str, Families],
    acts: list[str],
    dead: int,
) -> None:
    nodes = tuple(node(number, each) for number, each in enumerate(["46", *offered], start=1))
    here = cluster(before, nodes)
    said: SaidOfSites[Families] = SaidOfSites(rule, sites=of_sites)
    here.rules = replace(here.rules, families=said)

    def alone(types: dict[str, str]) -> dict[str, str]:
        return {
            site: one if len(one) == 1 and said.answer_for_site(site) == "keep" else ""
            for site, one in types.items()
        }

    kept = alone(before)
    made = night(here)
    check(here, kept, made)
    for act in acts:
        if act == "lost":
            # An empty database takes over what DNS says by then.
            here.store = MemoryStore()
            kept = alone(
                {
                    site: "".join(sorted({"6" if ":" in one else "4" for one in found}))
                    for site in before
                    if (found := values(here, site))
                }
            )
            made = night(here)
        elif act == "all":
            said = SaidOfSites("all")
            here.rules = replace(here.rules, families=said)
            kept = dict.fromkeys(before, "")
            made = night(here, 1)
        else:
            made = night(here, int(act))
        check(here, kept, made)
    made = fail_over(here, here.facts.nodes[dead % len(nodes)].name)
    check(here, kept, made)


TWO = (node(1, "46"), node(2, "46"))


def test_what_is_kept_is_said_once_and_what_is_added_is_said_and_counted() -> None:
    here = cluster(dict(zip(SITES, ["4", "4", "6", "46", ""], strict=True)), TWO)
    first = night(here)
    why = 'as DNS has them; dns.families = "all" adds the other'
    assert [note for note in first.notes if "IPv" in note] == [
        f"IPv4 (A) alone stays at 2 names: {SITES[0]}, {SITES[1]}, {why}",
        f"IPv6 (AAAA) alone stays at 1 name: {SITES[2]}, {why}",
    ]
    second = night(here)
    assert not [note for note in second.notes if "IPv" in note]
    here.rules = replace(
        here.rules,
        families=SaidOfSites("all"),
        limits=replace(here.rules.limits, rewritten_names=2),
    )
    asked = here.propose(NOW + timedelta(days=9)).plan
    assert [note for note in asked.notes if "IPv" in note] == [
        "IPv6 (AAAA) is new at 2 names: a.hosting.example, b.hosting.example",
        "IPv4 (A) is new at 1 name: c.hosting.example",
    ]
    (breach,) = asked.breaches
    assert (breach.rule, breach.actual) == ("safety.max_rewritten_names", 3)


def test_a_family_that_the_new_node_does_not_have_is_said_and_comes_back_with_it() -> None:
    before = dict.fromkeys(SITES, "46")
    here = cluster(before, (node(1, "46"), node(2, "4")))
    first = night(here)
    lost = {site for site in SITES if values(here, site) == {"192.0.2.2"}}
    assert lost == {SITES[1], SITES[3]}
    assert f"IPv6 (AAAA) goes from 2 names: {SITES[1]}, {SITES[3]}" in first.notes
    second = night(here, 1)
    assert f"IPv6 (AAAA) is new at 2 names: {SITES[1]}, {SITES[3]}" in second.notes
    check(here, dict.fromkeys(SITES, ""), second)


def test_a_site_that_flex_is_kept_away_from_for_a_while_has_one_family_afterwards() -> None:
    before = dict.fromkeys(SITES, "4")
    here = cluster(before, TWO)
    night(here)
    away = Pin(SITES[0], excluded=True)
    here.facts = replace(here.facts, pins=(away,))
    assert name_of(SITES[0]) not in dict(night(here, 1).said.one_family)
    here.facts = replace(here.facts, pins=())
    check(here, before, night(here))
    check(here, before, night(here, 1))


@pytest.mark.parametrize("adopt", [False, True])
def test_with_nodes_of_one_family_nothing_is_kept_of_each_name(adopt: bool) -> None:
    here = cluster({SITES[0]: "4", SITES[1]: ""}, (node(1, "4"), node(2, "4")))
    here.rules = replace(here.rules, adopt=adopt)
    assert night(here).said.one_family == ()


def test_a_marker_without_a_plan_in_force_says_nothing_of_families() -> None:
    before = {SITES[0]: "4", SITES[1]: ""}
    here = cluster(before, TWO)
    assert isinstance(here.target, MemoryPublisher)
    here.target.edit(ZONE, marker_name(name_of(SITES[0]), ZONE), "TXT", 60, (marker_text("me"),))
    check(here, before, night(here))

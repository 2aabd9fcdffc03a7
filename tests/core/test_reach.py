"""What FLEX cannot move is not moved on paper: not in the partition, not in its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from flex.errors import BadInput, Infeasible
from flex.frame_schemas import PLACEMENT, SPREADS
from flex.model.limits_and_approvals import Limits
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.placing import score
from flex.planning import (
    carry_out_plan,
    given_partition,
    leave_sites_out_of_plan,
    propose_plan,
    verify_dns,
    what_if,
)
from flex.planning.facts_and_rules import Facts
from flex.planning.unmovable_sites import as_in, immovable_in
from flex.planning.what_if import Supposition
from flex.prediction.cache_replay import Sample
from flex.store import MemoryStore
from flex.zones.decisions_in_markers import (
    EXCLUDED,
    STILL_MARKED,
    LastWords,
    MarkedDecision,
    decision_text,
)
from flex.zones.marker import marker_name, marker_text
from flex_solver import SOLVERS
from tests.core.cluster import NOW, ZONE
from tests.core.cluster import RULES as ORDINARY
from tests.memory_publisher import MemoryPublisher
from tests.unhurried import unhurried

RULES = replace(ORDINARY, budget=unhurried(4_000))

Profiles = Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame]
Placement = Callable[[Mapping[str, str]], pd.DataFrame]


class Cluster:
    """Eight sites of equal weight on three nodes, each accessed once, with a name server and a
    store in memory.
    """

    def __init__(self, profiles: Profiles, nodes: tuple[Node, ...]) -> None:
        self.sites = [f"{letter}.hosting.example" for letter in "abcdefgh"]
        each = np.arange(len(self.sites), dtype=np.int64)
        self.facts = Facts(
            period=Period.days_before(NOW, 1),
            profiles=profiles(dict.fromkeys(self.sites, (100, 100))),
            spreads=SPREADS.empty(),
            sample=Sample(tuple(self.sites), each, each + 1, each, each, 1.0),
            nodes=nodes,
            pins=(),
            base="",
            placement=PLACEMENT.empty(),
        )
        self.target, self.store, self.rules = (MemoryPublisher([ZONE], "me"), MemoryStore(), RULES)
        self.hour = 0

    def propose(self) -> propose_plan.Proposal:
        base, placement = self.store.placement()
        self.hour += 1
        made = propose_plan.propose(
            replace(self.facts, base=base, placement=placement),
            self.rules,
            solver=SOLVERS["local"],
            scratch=SOLVERS["scratch"],
            publisher=self.target,
            now=NOW.replace(hour=self.hour),
        )
        self.store.propose(made.plan, made.placement)
        return made

    def night(self) -> Plan:
        return self.carry_out(self.propose())

    def carry_out(self, made: propose_plan.Proposal) -> Plan:
        facts, rules = self.facts, self.rules
        return carry_out_plan.carry_out(
            made.plan,
            made.placement,
            nodes=facts.nodes,
            ttl=rules.ttl,
            publisher=self.target,
            store=self.store,
            now=NOW.replace(hour=self.hour),
        )

    def is_on(self, site: str) -> list[str]:
        _, placement = self.store.placement()
        return placement.loc[placement["site"] == site, "node"].tolist()


@pytest.fixture
def cluster(profiles: Profiles, nodes: Callable[[int], tuple[Node, ...]]) -> Cluster:
    return Cluster(profiles, nodes(3))


def said(plan: Plan, word: str) -> str:
    return next(note for note in plan.notes if word in note)


def test_a_site_of_somebody_else_stays_where_dns_says_and_its_load_counts_there(
    cluster: Cluster,
) -> None:
    """More of them are there than a plan would put there."""
    theirs = cluster.sites[:5]
    for site in theirs:
        cluster.target.edit(ZONE, f"{site}.", "A", 60, ["192.0.2.3"])
    done = cluster.night()
    assert all(cluster.is_on(site) == ["n3"] for site in theirs)
    assert not {move.site for move in done.moves} & set(theirs)
    assert next(load.sites for load in done.after.nodes if load.node == "n3") == 5
    assert "(5 of 8 sites, 62.5% of the bytes sent)" in said(done, "left alone")
    assert not done.verdicts[0].wrong


@pytest.mark.parametrize(
    "edits",
    [
        {0: ("A", "192.0.2.3")},
        {0: ("A", "203.0.113.9")},
        {0: ("CNAME", "elsewhere.example.")},
        {0: ("A", "192.0.2.1"), 1: ("A", "192.0.2.2"), 5: ("A", "203.0.113.9")},
    ],
    ids=["on a node", "abroad", "a CNAME", "several"],
)
def test_what_is_asked_later_counts_what_flex_cannot_move_as_the_plan_did(
    cluster: Cluster, edits: dict[int, tuple[str, str]]
) -> None:
    """By what was stored, without a name server: nothing asked so moves what cannot be moved."""
    stuck = {cluster.sites[at] for at in edits}
    for at, (kind, value) in edits.items():
        cluster.target.edit(ZONE, f"{cluster.sites[at]}.", kind, 60, [value])
    done = cluster.night()
    base, placement = cluster.store.placement()
    plain = replace(cluster.facts, base=base, placement=placement)
    counted = as_in(done, plain, cluster.rules)
    assert immovable_in(done, plain, cluster.rules) == stuck
    problem = propose_plan.build(counted, cluster.rules)
    assert score.balance_in_force(problem, counted.parts) == done.after
    supposed = what_if.suppose(
        plain, cluster.rules, Supposition(lost=("n1",)), solver=SOLVERS["exact"], seen=done
    )
    assert supposed.moves
    assert not {move.site for move in supposed.moves} & stuck


def test_a_site_whose_place_nobody_knows_is_left_out_and_said(cluster: Cluster) -> None:
    first, second = cluster.sites[:2]
    cluster.target.edit(ZONE, f"{first}.", "A", 60, ["203.0.113.9"])
    cluster.target.edit(ZONE, f"{second}.", "CNAME", 60, ["elsewhere.example."])
    done = cluster.night()
    assert cluster.is_on(first) == cluster.is_on(second) == []
    assert done.sites == 6
    note = said(done, "left out of the partition")
    assert "(2 of 8 sites, 25.0% of the bytes sent)" in note
    assert f"{second} (has a CNAME to elsewhere.example.)" in note
    assert len(done.zone_plans[0].foreign) == 2


def test_a_site_in_no_zone_is_left_out_where_there_are_zones_and_placed_where_there_are_none(
    cluster: Cluster, profiles: Profiles
) -> None:
    cluster.facts = replace(
        cluster.facts,
        profiles=profiles(
            {"shop.example.org": (50, 50), **dict.fromkeys(cluster.sites, (100, 100))}
        ),
    )
    made = cluster.propose()
    assert "shop.example.org (in no zone of the settings)" in said(made.plan, "left out")
    assert "shop.example.org" not in set(made.placement["site"])
    cluster.rules = replace(RULES, zones=())
    made = cluster.propose()
    assert "shop.example.org" in set(made.placement["site"])
    assert made.plan.notes == ()


@pytest.mark.parametrize("address", ["192.0.2.1", "203.0.113.9"])
def test_a_site_for_which_a_wildcard_answers_gets_records_only_where_somebody_asks_for_them(
    cluster: Cluster, profiles: Profiles, address: str
) -> None:
    site, wildcard = f"any.wild.{ZONE}".rstrip("."), f"*.wild.{ZONE}"
    for kind, value in {"A": address, "MX": "10 mx.example.org."}.items():
        cluster.target.edit(ZONE, wildcard, kind, 60, [value])
    cluster.facts = replace(
        cluster.facts,
        profiles=profiles({site: (50, 50), **dict.fromkeys(cluster.sites, (100, 100))}),
    )
    made = cluster.propose()
    told = f"{site} (is answered by {wildcard} with A, MX, which a record of its own"
    assert told in said(made.plan, "left without records of their own")
    at = made.placement["node"][made.placement["site"] == site].to_list()
    assert at == (["n1"] if address == "192.0.2.1" else [])
    cluster.carry_out(made)
    names = [f"{site}.", f"x.{site}."]
    answers = cluster.target.read(ZONE, [], names).answers
    assert {answer.addresses for answer in answers.values()} == {(address,)}

    cluster.rules = replace(RULES, below_wildcards=True)
    made = cluster.propose()
    assert f"{site}. is answered by {wildcard}" in said(made.plan, "made below wildcards")
    assert made.plan.zone_plans[0].below_wildcards == (f"{site}.",)
    cluster.carry_out(made)
    assert cluster.is_on(site)
    # The next plan has nothing to say of it.
    assert not any("wildcard" in note for note in cluster.propose().plan.notes)


@pytest.mark.parametrize("failing", [1, 2, 4])
@pytest.mark.parametrize("known", [False, True], ids=["first plan", "later plan"])
@pytest.mark.parametrize("with_mail", [0, 2])
def test_sites_that_cannot_move_stay_and_the_others_leave_a_full_node(
    cluster: Cluster, *, known: bool, failing: int, with_mail: int
) -> None:
    for site in cluster.sites:
        cluster.target.edit(ZONE, f"{site}.", "A", 60, ["192.0.2.1"])
    # The mail of these would move along with them, so they stay from the start.
    for site in cluster.sites[:with_mail]:
        cluster.target.edit(ZONE, f"{site}.", "MX", 60, [f"10 {site}."])
    cluster.rules = replace(RULES, adopt=True)
    nodes = cluster.facts.nodes
    if known:
        # One node takes all sites, before the others are there.
        cluster.facts = replace(cluster.facts, nodes=nodes[:1])
        cluster.night()
        cluster.facts = replace(cluster.facts, nodes=nodes)
    made = cluster.propose()
    moving = sorted({move.site for move in made.plan.moves})
    assert len(moving) > 4
    assert not set(moving) & set(cluster.sites[:with_mail])
    stuck = moving[:failing]
    base, placement = cluster.store.placement()
    rest = leave_sites_out_of_plan.leave_out(
        made.plan,
        made.placement,
        dict.fromkeys(stuck, "no room left"),
        replace(cluster.facts, base=base, placement=placement),
        cluster.rules,
        scratch=SOLVERS["scratch"],
        publisher=cluster.target,
        now=NOW,
    )
    assert rest.plan.before == made.plan.before
    assert sorted({move.site for move in rest.plan.moves}) == moving[failing:]
    cluster.store.propose(rest.plan, rest.placement)
    cluster.carry_out(rest)
    assert {site for site in cluster.sites if cluster.is_on(site) == ["n1"]} == {
        *set(cluster.sites) - set(moving),
        *stuck,
    }


def test_a_site_that_mail_came_to_since_its_plan_stays_with_those_that_cannot_move(
    cluster: Cluster,
) -> None:
    for site in cluster.sites:
        cluster.target.edit(ZONE, f"{site}.", "A", 60, ["192.0.2.1"])
    cluster.rules = replace(RULES, adopt=True)
    made = cluster.propose()
    stuck, with_mail, *_ = sorted({move.site for move in made.plan.moves})
    cluster.target.edit(ZONE, f"{with_mail}.", "MX", 60, [f"10 {with_mail}."])
    base, placement = cluster.store.placement()
    rest = leave_sites_out_of_plan.leave_out(
        made.plan,
        made.placement,
        {stuck: "no room left"},
        replace(cluster.facts, base=base, placement=placement),
        cluster.rules,
        scratch=SOLVERS["scratch"],
        publisher=cluster.target,
        now=NOW,
    )
    cluster.store.propose(rest.plan, rest.placement)
    cluster.carry_out(rest)
    assert cluster.is_on(stuck) == cluster.is_on(with_mail) == ["n1"]


def test_a_new_name_for_the_owner_does_not_move_the_cluster_on_paper(cluster: Cluster) -> None:
    cluster.night()
    before = {site: cluster.is_on(site) for site in cluster.sites}
    other = MemoryPublisher([ZONE], "somebody-else")
    for site, (node,) in before.items():
        other.edit(ZONE, f"{site}.", "A", 60, [f"192.0.2.{node[1]}"])
        other.edit(ZONE, f"{site.split('.')[0]}._flex.{ZONE}", "TXT", 60, ["flex owner=me"])
    cluster.target = other
    with pytest.raises(BadInput, match="none of them is FLEX's to move") as caught:
        cluster.propose()
    assert "dns.owner" in caught.value.advice
    assert {site: cluster.is_on(site) for site in cluster.sites} == before


def test_a_site_of_somebody_else_on_a_drained_node_is_left_out_for_it_cannot_leave(
    cluster: Cluster,
) -> None:
    first, second = cluster.sites[:2]
    cluster.target.edit(ZONE, f"{first}.", "A", 60, ["192.0.2.1"])
    cluster.target.edit(ZONE, f"{second}.", "A", 60, ["192.0.2.2"])
    one, *others = cluster.facts.nodes
    cluster.facts = replace(cluster.facts, nodes=(replace(one, state="draining"), *others))
    made = cluster.propose()
    assert first not in set(made.placement["site"])
    assert second in set(made.placement["site"])


def test_a_pin_on_a_site_that_cannot_be_moved_is_suspended_and_said(cluster: Cluster) -> None:
    first = cluster.sites[0]
    cluster.target.edit(ZONE, f"{first}.", "A", 60, ["192.0.2.3"])
    cluster.facts = replace(cluster.facts, pins=(Pin(first, ("n1",)),))
    done = cluster.night()
    assert cluster.is_on(first) == ["n3"]
    assert first in said(done, "pins that cannot be kept")


def test_the_first_partition_is_the_first_though_some_sites_are_not_ours(cluster: Cluster) -> None:
    cluster.target.edit(ZONE, f"{cluster.sites[0]}.", "A", 60, ["192.0.2.3"])
    cluster.rules = replace(RULES, limits=Limits(new_sites=0))
    made = cluster.propose().plan
    assert (made.before, made.breaches) == (None, ())


def test_a_cluster_that_lost_its_database_starts_from_its_own_markers(cluster: Cluster) -> None:
    cluster.night()
    before = {site: cluster.is_on(site) for site in cluster.sites}
    cluster.store = MemoryStore()
    again = cluster.night()
    assert again.moves == ()
    assert {site: cluster.is_on(site) for site in cluster.sites} == before
    assert "8 sites start from where DNS has them" in said(again, "no partition was in force")


def test_what_was_found_out_before_is_said_on_the_first_night_too(cluster: Cluster) -> None:
    cluster.night()
    cluster.store = MemoryStore()
    forecast = "expected: the mean of seven nights"
    cluster.facts = replace(cluster.facts, remarks=(forecast,))
    notes = cluster.propose().plan.notes
    assert forecast in notes
    assert any("no partition was in force" in note for note in notes)


def test_draining_a_node_that_a_pin_names_moves_its_sites_all_the_same(cluster: Cluster) -> None:
    cluster.facts = replace(
        cluster.facts, pins=(Pin(cluster.sites[0], ("n1",)), Pin(cluster.sites[1], ("n2", "n3")))
    )
    cluster.night()
    one, two, three = cluster.facts.nodes
    cluster.facts = replace(cluster.facts, nodes=(one, replace(two, state="draining"), three))
    done = cluster.night()
    assert cluster.is_on(cluster.sites[1]) == ["n3"]
    assert cluster.is_on(cluster.sites[0]) == ["n1"]
    assert f"{cluster.sites[1]} (n2 is draining; n3 still holds)" in said(
        done, "pins that cannot be kept"
    )


def test_an_impossible_wish_of_one_site_is_no_obstacle_to_another(cluster: Cluster) -> None:
    first, second = cluster.sites[:2]
    facts = replace(cluster.facts, pins=(Pin(first, ("n9",)), Pin("gone.hosting.example", ("n1",))))
    propose_plan.refuse_impossible(facts, RULES, Pin(second, ("n1",)))
    with pytest.raises(Infeasible, match="5 replicas"):
        propose_plan.refuse_impossible(facts, RULES, Pin(second, min_replicas=5))


def test_moves_off_a_node_that_is_in_the_settings_no_more_have_a_source_and_count(
    cluster: Cluster,
) -> None:
    cluster.night()
    left = [site for site in cluster.sites if cluster.is_on(site) == ["n1"]]
    cluster.facts = replace(cluster.facts, nodes=cluster.facts.nodes[1:])
    cluster.rules = replace(RULES, limits=Limits(moved_sites=1))
    made = cluster.propose().plan
    off = [move for move in made.moves if move.site in left]
    assert [move.site for move in off] == left
    assert {(move.source, move.reason) for move in off} == {("n1", "n1 is in the settings no more")}
    assert "safety.max_moved_sites" in {breach.rule for breach in made.breaches}
    left_over = made.after.nodes[0]
    assert (left_over.node, left_over.fair, left_over.sites) == ("n1", 0.0, 0)


def test_a_partition_on_a_node_that_is_in_the_settings_no_more_is_not_predicted(
    cluster: Cluster,
) -> None:
    cluster.night()
    cluster.facts = replace(cluster.facts, nodes=cluster.facts.nodes[1:])
    made = cluster.propose().plan
    assert {forecast.policy for forecast in made.forecasts} == {
        "after",
        "from scratch",
        "round robin",
        "best",
    }
    assert "n1" in said(made, "not predicted")


def test_renaming_every_node_is_not_a_first_partition(cluster: Cluster) -> None:
    cluster.night()
    cluster.facts = replace(
        cluster.facts,
        nodes=tuple(replace(node, name=f"web{node.name}") for node in cluster.facts.nodes),
    )
    made = cluster.propose().plan
    assert made.before is not None
    assert {move.source for move in made.moves} == {"n1", "n2", "n3"}
    assert made.breaches == ()
    cluster.rules = replace(RULES, limits=Limits(moved_sites=7))
    assert [breach.actual for breach in cluster.propose().plan.breaches] == [8.0]


def test_what_a_site_on_a_gone_node_should_have_for_addresses_is_not_asked_for(
    cluster: Cluster,
) -> None:
    cluster.facts = replace(cluster.facts, pins=(Pin(cluster.sites[0], ("n1", "n2")),))
    done = cluster.night()
    _, placement = cluster.store.placement()
    known = sum("n1" not in cluster.is_on(site) for site in cluster.sites)
    (verdict,) = verify_dns.check(
        done, placement, cluster.facts.nodes[1:], RULES.ttl, cluster.target
    )
    # Each name has A and AAAA.
    assert (verdict.checked, verdict.agrees) == (2 * known, True)


def test_a_node_that_is_in_the_settings_no_more_does_not_look_like_somebody_elses_change(
    cluster: Cluster,
) -> None:
    cluster.facts = replace(cluster.facts, pins=(Pin(cluster.sites[0], ("n1", "n2")),))
    cluster.night()
    cluster.facts = replace(cluster.facts, nodes=cluster.facts.nodes[1:])
    assert not any("somebody else" in note for note in cluster.propose().plan.notes)


def test_going_back_to_a_node_that_is_in_the_settings_no_more_is_refused(cluster: Cluster) -> None:
    first = cluster.night()
    cluster.facts = replace(cluster.facts, nodes=cluster.facts.nodes[1:])
    cluster.night()
    base, placement = cluster.store.placement()
    with pytest.raises(Infeasible, match="it uses n1"):
        given_partition.go_back(
            replace(cluster.facts, base=base, placement=placement),
            RULES,
            cluster.store.placement_of(first.id),
            of_plan="P",
            scratch=SOLVERS["scratch"],
            publisher=cluster.target,
            now=NOW,
        )


def test_every_forecast_of_a_plan_replays_the_same_accesses(
    cluster: Cluster, profiles: Profiles
) -> None:
    cluster.night()
    strangers = ("bot.example.net", "new.hosting.example")
    sites = (*cluster.sites, *strangers)
    each = np.arange(len(sites), dtype=np.int64)
    loads = dict.fromkeys([*cluster.sites, "new.hosting.example"], (100, 100))
    sample = Sample(sites, each, each + 1, np.repeat(each, 3), np.repeat(each, 3), 1.0)
    cluster.facts = replace(cluster.facts, profiles=profiles(loads), sample=sample)
    made = cluster.propose().plan
    assert {sum(node.requests for node in forecast.nodes) for forecast in made.forecasts} == {27}
    assert {(forecast.policy, forecast.left_out) for forecast in made.forecasts} == {
        (policy, 3) for policy in ("before", "after", "from scratch", "round robin", "best")
    }
    assert "10% of the accesses" in said(made, "predicted without")


def test_a_plan_that_leaves_sites_on_a_draining_node_is_not_held_against_round_robin(
    cluster: Cluster,
) -> None:
    """Those sites have the memory of a node that round robin goes without."""
    cluster.night()
    node = next(iter(cluster.is_on(cluster.sites[0])))
    nodes = tuple(
        replace(one, state="draining") if one.name == node else one for one in cluster.facts.nodes
    )
    cluster.facts = replace(cluster.facts, nodes=nodes)
    assert cluster.propose().plan.benefit
    cluster.facts = replace(cluster.facts, unready={cluster.sites[0]: "no certificate"})
    made = cluster.propose().plan
    assert made.forecasts
    assert made.benefit is None


def test_a_site_whose_marker_excludes_it_is_left_alone_until_somebody_says_otherwise(
    cluster: Cluster,
) -> None:
    cluster.night()
    first = cluster.sites[0]
    marker = marker_name(f"{first}.", ZONE)
    said = MarkedDecision(NOW, author="anna", reason="moves")
    texts = [marker_text("me"), decision_text(EXCLUDED, said)]
    cluster.target.edit(ZONE, marker, "TXT", 60, texts)
    (here,) = cluster.is_on(first)
    there = next(node.name for node in cluster.facts.nodes if node.name != here)
    cluster.facts = replace(cluster.facts, pins=(Pin(first, (there,)),))
    made = cluster.propose()
    assert made.excluded == {first: said}
    assert f"{first} (is excluded, as its marker {marker} says (by anna" in " ".join(
        made.plan.notes
    )
    assert first not in {move.site for move in made.plan.moves}
    later = LastWords({first: NOW + timedelta(seconds=1)})
    cluster.facts = replace(cluster.facts, words=later)
    made = cluster.propose()
    assert not made.excluded
    assert made.told_otherwise == {first}
    # Its record goes first: until then nobody may change the site, and all others go on.
    assert first not in {move.site for move in made.plan.moves}
    assert STILL_MARKED in " ".join(made.plan.notes)
    cluster.carry_out(made)
    cluster.target.edit(ZONE, marker, "TXT", 60, [marker_text("me")])
    made = cluster.propose()
    assert not made.told_otherwise
    assert first in {move.site for move in made.plan.moves}
    cluster.carry_out(made)


def test_where_markers_exclude_every_site_a_plan_says_so_and_the_ways_out(cluster: Cluster) -> None:
    """No error: nobody would learn of the exclusions, so nobody could end them."""
    cluster.night()
    said = MarkedDecision(NOW, author="anna")
    for site in cluster.sites:
        texts = [marker_text("me"), decision_text(EXCLUDED, said)]
        cluster.target.edit(ZONE, marker_name(f"{site}.", ZONE), "TXT", 60, texts)
    made = cluster.propose()
    assert made.excluded == dict.fromkeys(cluster.sites, said)
    assert not made.plan.moves
    assert not any(zone.changes for zone in made.plan.zone_plans)
    assert f"flex sites unpin {cluster.sites[0]}" in " ".join(made.plan.notes)
    # So it is with a database that knows of no plan.
    cluster.store = MemoryStore()
    assert cluster.propose().excluded == made.excluded
    later = dict.fromkeys(cluster.sites, NOW + timedelta(seconds=1))
    cluster.facts = replace(cluster.facts, words=LastWords(later))
    made = cluster.propose()
    assert made.told_otherwise == {*cluster.sites}
    assert not made.plan.moves
    assert STILL_MARKED in " ".join(made.plan.notes)

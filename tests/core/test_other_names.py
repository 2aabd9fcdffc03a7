"""Another name of a site that has addresses of its own is named, and its traffic counts where these
lead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.placing import score
from flex.planning import plan_notes_on_sites, propose_plan, traffic_by_other_names
from flex.planning.facts_and_rules import Facts
from flex.planning.names_left_behind import LEFT
from flex.planning.unmovable_sites import as_in
from flex.prediction.cache_replay import Sample
from flex.prediction.target_classes import each
from flex.store import MemoryStore
from flex.store.plans_as_json import plan_from_text, plan_to_text
from flex.zones.names_not_following import (
    Followed,
    NameLeftBehind,
    OtherName,
    Share,
    strays_of,
)
from flex.zones.records_of_partition import NameAnswer
from flex_solver import SOLVERS
from tests.core.cluster import NOW, RULES, ZONE, Cluster
from tests.memory_publisher import MemoryPublisher
from tests.thorough import times
from tests.unhurried import unhurried

NODES = tuple(Node(f"n{n}", (f"192.0.2.{n}", f"2001:db8::{n}"), ram=2**30) for n in (1, 2, 3))
ABROAD = "198.51.100.7"
SITES = tuple(f"{letter}.{ZONE.rstrip('.')}" for letter in "abcdefgh")
SENT, REQUESTS = 8_000_000, 4_000


def profiles(sites: tuple[str, ...]) -> pd.DataFrame:
    rows = [(site, SENT, 1000, REQUESTS, 10, 1, SENT // 10) for site in sites]
    return PROFILES.make(pd.DataFrame(rows, columns=PROFILES.earlier))


def accesses(sites: tuple[str, ...], rate: float = 1.0) -> Sample:
    """REQUESTS to each site, spread over ten targets of it."""
    target = np.tile(np.arange(10 * len(sites), dtype=np.int64), REQUESTS // 10)
    site = np.repeat(np.arange(len(sites), dtype=np.int64), 10)
    size = np.full(len(site), 100, dtype=np.int64)
    totals = each(site, np.full(len(site), REQUESTS // 10, dtype=np.int64), size)
    return Sample(sites, site, size, target, np.arange(len(target)), rate, totals)


def facts(others: tuple[OtherName, ...] = (), sites: tuple[str, ...] = SITES) -> Facts:
    return Facts(
        period=Period.days_before(NOW, 1),
        profiles=profiles(sites),
        spreads=SPREADS.empty(),
        sample=accesses(sites),
        nodes=NODES,
        pins=(),
        base="",
        placement=PLACEMENT.empty(),
        others=others,
    )


def cluster(others: tuple[OtherName, ...] = (), sites: tuple[str, ...] = SITES) -> Cluster:
    rules = replace(RULES, budget=unhurried(4_000))
    return Cluster(
        facts(others, sites), MemoryPublisher([ZONE], "me"), MemoryStore(), rules, SOLVERS["local"]
    )


def www(site: str = SITES[0], share: float | None = 0.5) -> OtherName:
    return OtherName(site, f"www.{site}", None if share is None else Share(share, share))


def at(*addresses: str, kind: str = "A") -> dict[str, tuple[str, ...]]:
    return {kind: addresses}


def noted(made: Plan) -> str:
    return "\n".join(made.notes)


def planned(
    here: Cluster, answers: Mapping[str, tuple[str, ...]], name: str = f"www.{SITES[0]}."
) -> propose_plan.Proposal:
    for kind, values in answers.items():
        here.target.edit(ZONE, name, kind, 60, values)  # type: ignore[attr-defined]  # it is the double in memory
    return here.propose()


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            at("192.0.2.1", "192.0.2.2", "192.0.2.3"),
            "with addresses of its own at n1, n2, n3: it does not move with",
        ),
        (at("2001:db8::2", kind="AAAA"), "with addresses of its own at n2: it does not move"),
        (at(ABROAD), f"with addresses of its own that are no node's ({ABROAD})"),
        (at("192.0.2.1", ABROAD), "at n1 and at others that are no node of ours"),
        (
            at("cdn.example.org.", kind="CNAME"),
            "a CNAME to cdn.example.org., which leads to no address",
        ),
    ],
    ids=["round robin", "AAAA alone", "abroad", "in part", "a CNAME elsewhere"],
)
def test_a_name_that_does_not_move_with_its_site_is_named_with_where_it_leads(
    answers: Mapping[str, tuple[str, ...]], said: str
) -> None:
    made = planned(cluster((www(),)), answers).plan
    (entry,) = made.zone_plans[0].foreign
    assert entry.startswith(f"www.{SITES[0]}. (another name of {SITES[0]}, ")
    assert said in entry
    assert "50% of its requests" in entry
    assert "1 other name of 1 site" in noted(made)
    assert f"www.{SITES[0]}" in noted(made)
    (behind,) = made.zone_plans[0].stay_behind
    assert (behind.name, behind.site) == (f"www.{SITES[0]}", SITES[0])
    assert set(behind.nodes) == {node for node in ("n1", "n2", "n3") if node in said}


@pytest.mark.slow("0.5-abroad", "0.5-in part abroad")
@pytest.mark.parametrize(
    "addresses",
    [("192.0.2.1", "192.0.2.2"), ("192.0.2.3", ABROAD), (ABROAD,)],
    ids=["two nodes", "in part abroad", "abroad"],
)
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_what_is_asked_of_a_plan_later_counts_other_names_as_the_plan_did(
    addresses: tuple[str, ...], share: float
) -> None:
    """By what was stored, without a name server."""
    here = cluster((www(share=share),))
    here.carry_out(planned(here, at(*addresses)))
    base, placement = here.store.placement()
    kept = plan_from_text(plan_to_text(here.store.plan(base)))
    plain = replace(here.facts, base=base, placement=placement)
    split = as_in(kept, plain, RULES)
    problem = propose_plan.build(split, here.rules)
    assert score.balance_in_force(problem, split.parts) == kept.after


def test_a_name_of_which_nobody_knows_where_it_leads_is_not_said_to_have_addresses() -> None:
    answer = NameAnswer(unknown="is delegated to other name servers")
    stray = NameLeftBehind(www(), ZONE, answer, (), like_site=False)
    (said,) = plan_notes_on_sites.remark_on_other_names(Followed((stray,)), profiles(SITES))
    assert said == (
        "1 other name of which nobody knows where they lead, so what comes by them "
        f"counts where their sites are: www.{SITES[0]} "
        "(is delegated to other name servers)"
    )
    assert plan_notes_on_sites.is_of_other_names(said)
    (kept,) = Followed((stray,)).staying_behind_in(ZONE)
    assert list(strays_of(ZONE, [kept])) == []


def test_a_name_with_the_addresses_of_its_site_stays_behind_at_the_next_move() -> None:
    here = cluster((www(),))
    here.night()
    (node,) = here.store.placement()[1].query(f"site == '{SITES[0]}'")["node"]
    addresses = next(each.addresses for each in NODES if each.name == node)
    made = planned(here, {"A": addresses[:1], "AAAA": addresses[1:]}).plan
    assert "stays behind when the site moves" in made.zone_plans[0].foreign[0]
    assert f"at {node}, as the site is now" in noted(made)


@pytest.mark.parametrize("moving", [SITES[0], SITES[1]])
def test_a_name_is_said_to_be_left_behind_where_its_site_moves(moving: str) -> None:
    here = cluster((www(),))
    here.night()
    placed = here.store.placement()[1]
    (node,) = placed.query(f"site == '{moving}'")["node"]
    other = next(each.name for each in NODES if each.name != node)
    here.facts = replace(here.facts, pins=(Pin(moving, nodes=(other,)),))
    made = planned(here, at(ABROAD)).plan
    assert moving in {move.site for move in made.moves}
    said = f"{LEFT}: www.{SITES[0]} of {SITES[0]} (at no node of ours)"
    is_left = SITES[0] in {move.site for move in made.moves}
    assert (said in made.notes) == is_left
    assert is_left or moving != SITES[0]


def test_a_name_that_leads_to_where_its_site_comes_is_not_left_behind() -> None:
    here = cluster((www(),))
    here.night()
    placed = here.store.placement()[1]
    (node,) = placed.query(f"site == '{SITES[0]}'")["node"]
    other = next(each for each in NODES if each.name != node)
    here.facts = replace(here.facts, pins=(Pin(SITES[0], nodes=(other.name,)),))
    made = planned(here, at(other.addresses[0])).plan
    assert SITES[0] in {move.site for move in made.moves}
    assert LEFT not in noted(made)


def test_nobody_is_told_to_make_a_cname_to_a_site_that_a_wildcard_answers_for() -> None:
    """It would take the site off the net."""
    site = f"any.wild.{ZONE}".rstrip(".")
    here = cluster((www(site),), (*SITES, site))
    here.target.edit(ZONE, f"*.wild.{ZONE}", "A", 60, ["192.0.2.1"])  # type: ignore[attr-defined]
    made = here.propose().plan
    assert "CNAME" not in noted(made)
    (said,) = [one for one in made.zone_plans[0].foreign if one.startswith(f"www.{site}.")]
    assert "answered by the same wildcard as the site at n1" in said


@pytest.mark.parametrize(
    "answers",
    [{}, at(f"{SITES[0]}.", kind="CNAME")],
    ids=["there is no such name", "a CNAME to its site"],
)
def test_a_name_that_moves_along_or_is_not_there_is_no_ones_business(
    answers: Mapping[str, tuple[str, ...]],
) -> None:
    made = planned(cluster((www(),)), answers).plan
    assert made.zone_plans[0].foreign == ()
    assert "other name" not in noted(made)


def test_a_name_in_no_zone_of_ours_is_said_to_lead_nobody_knows_where() -> None:
    made = planned(cluster((OtherName(SITES[0], "shop.example.org", Share(0.5, 0.5)),)), {}).plan
    assert (
        "1 other name in no zone of the settings, so where they lead is not known: "
        f"shop.example.org ({SITES[0]})" in (noted(made))
    )


def test_a_share_that_nobody_counted_is_said_not_to_be_known_and_counts_where_the_site_is() -> None:
    plain = cluster().propose().plan
    made = planned(cluster((www(share=None),)), at("192.0.2.1", "192.0.2.2", "192.0.2.3")).plan
    assert "not known how much of their site's traffic" in noted(made)
    assert (
        "how much of its traffic comes by that name is not known" in made.zone_plans[0].foreign[0]
    )
    assert made.after == plain.after


def test_other_names_of_a_site_that_people_keep_flex_away_from_are_not_asked_for() -> None:
    here = cluster((www(),))
    here.facts = replace(here.facts, pins=(Pin(SITES[0], excluded=True),)).drop_excluded_sites()
    made = planned(here, at("192.0.2.1"))
    assert made.plan.zone_plans[0].foreign == ()
    assert made.plan.zone_plans[0].stay_behind == ()


def test_what_comes_by_another_name_is_no_site_of_the_partition() -> None:
    here = cluster((www(),))
    made = planned(here, at("192.0.2.1", "192.0.2.2", "192.0.2.3"))
    here.carry_out(made)
    assert set(made.placement["site"]) == set(SITES)
    assert made.plan.sites == len(SITES)
    assert sum(load.sites for load in made.plan.after.nodes) == len(SITES)
    assert {move.site for move in made.plan.moves} == set(SITES)
    assert not [change for change in made.plan.zone_plans[0].changes if "www" in change.name]
    assert set(here.store.placement()[1]["site"]) == set(SITES)
    assert here.propose().plan.moves == ()


def test_a_node_that_dies_leaves_the_names_that_lead_to_it_named() -> None:
    here = cluster((www(),))
    here.night()
    here.target.edit(ZONE, f"www.{SITES[0]}.", "A", 60, ["192.0.2.1", "192.0.2.2"])  # type: ignore[attr-defined]
    base, placement = here.store.placement()
    dead = tuple(replace(node, state="down") if node.name == "n1" else node for node in NODES)
    given = replace(here.facts, base=base, placement=placement, nodes=dead)
    made = propose_plan.fail_over(given, here.rules, "n1", publisher=here.target, now=NOW)
    assert list(made.left) == [f"www.{SITES[0]}."]


# How a name is answered: which of the nodes' addresses, and perhaps one of somebody else.
leads = st.tuples(
    st.sets(st.sampled_from([address for node in NODES for address in node.addresses])),
    st.booleans(),
).filter(lambda lead: bool(lead[0]) or lead[1])
names = st.dictionaries(
    st.tuples(st.sampled_from(SITES), st.sampled_from(["www", "old"])),
    st.tuples(leads, st.floats(0, 0.5)),
    max_size=8,
)


def dealt(
    placement: pd.DataFrame, answers: Mapping[OtherName, list[str]], most: Callable[[Share], float]
) -> tuple[dict[str, float], float]:
    """What DNS sends to each node of what one site is asked for, and what it sends to nobody of
    ours.
    """
    found, lost = {node.name: 0.0 for node in NODES}, 0.0
    for site in SITES:
        others = {other: addresses for other, addresses in answers.items() if other.site == site}
        own = 1 - sum(most(other.share) for other in others if other.share)
        nodes = list(placement["node"][placement["site"] == site])
        for node in nodes:
            found[node] += own / len(nodes)
        for other, addresses in others.items():
            for address in addresses:
                part = most(other.share) / len(addresses) if other.share else 0.0
                owner = next((node.name for node in NODES if address in node.addresses), "")
                if owner:
                    found[owner] += part
                else:
                    lost += part
    return found, lost


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=times(40))
@given(names)
def test_each_node_counts_just_what_dns_would_send_to_it(
    drawn: Mapping[tuple[str, str], tuple[tuple[set[str], bool], float]],
) -> None:
    answers: dict[OtherName, list[str]] = {}
    for (site, label), ((addresses, abroad), share) in drawn.items():
        other = OtherName(site, f"{label}.{site}", Share(share, share / 2))
        answers[other] = sorted(addresses) + [ABROAD] * abroad
    here = cluster(tuple(answers))
    for other, led in answers.items():
        for kind, dot in (("A", "."), ("AAAA", ":")):
            values = [address for address in led if dot in address]
            here.target.edit(ZONE, f"{other.name}.", kind, 60, values)  # type: ignore[attr-defined]
    made = here.propose()
    sent, lost = dealt(made.placement, answers, lambda share: share.bytes)
    whole = len(SITES) - lost
    for load in made.plan.after.nodes:
        assert load.access == pytest.approx(100 * len(NODES) * sent[load.node] / whole, abs=0.01)
    asked, lost = dealt(made.placement, answers, lambda share: share.requests)
    (forecast,) = [one for one in made.plan.forecasts if one.policy == "after"]
    # Each part of each site is rounded to whole accesses, and dice share those of several nodes.
    off = 3 * len(answers) + 0.02 * REQUESTS * len(answers)
    for node in forecast.nodes:
        assert node.requests == pytest.approx(REQUESTS * asked[node.node], abs=off + 1)
    assert forecast.left_out == pytest.approx(REQUESTS * lost, abs=off + 1)
    assert not [note for note in made.plan.notes if "#" in note], "names of parts are ours alone"
    assert sum(node.requests for node in forecast.nodes) + forecast.left_out == REQUESTS * len(
        SITES
    )


@pytest.mark.slow
@given(st.lists(st.floats(0, 0.3), min_size=1, max_size=3), st.booleans())
@settings(deadline=None, max_examples=times(30))
def test_parts_of_a_site_are_as_much_as_it_was(shares: list[float], sampled: bool) -> None:
    parts = [
        traffic_by_other_names.OtherNameTraffic(
            SITES[0], f"{number}.example", ("n1",), Share(share, share)
        )
        for number, share in enumerate(shares)
    ]
    found, _ = traffic_by_other_names.profiles_with(parts, profiles(SITES), SPREADS.empty())
    for name in ("access_bytes", "requests"):
        assert found[name].sum() == pytest.approx(profiles(SITES)[name].sum(), abs=len(parts) + 1)
    sample = accesses(SITES, 0.5 if sampled else 1.0)
    split = traffic_by_other_names.sample_with(parts, sample)
    assert np.array_equal(split.time, sample.time)
    assert np.array_equal(split.size[split.target], sample.size[sample.target])
    sites = np.array(split.sites)[split.site[split.target]]
    for part in parts:
        assert np.count_nonzero(sites == part.name) == pytest.approx(
            REQUESTS * part.share.requests, abs=3
        )
    assert split.totals is not None
    by_site = np.bincount(split.totals.site, split.totals.requests, len(split.sites))
    assert by_site.sum() == pytest.approx(REQUESTS * len(SITES), abs=20)
    assert by_site[1 : len(SITES)].tolist() == [REQUESTS] * (len(SITES) - 1)


def test_of_a_large_site_each_part_holds_as_much_as_was_measured_for_as_many_visitors() -> None:
    spreads = SPREADS.make(
        pd.DataFrame([(SITES[0], 2, 800), (SITES[0], 3, 700)], columns=list(SPREADS.columns))
    )
    half = traffic_by_other_names.OtherNameTraffic(
        SITES[0], "www.example", ("n1", "n2"), Share(0.5, 0.5)
    )
    found, wider = traffic_by_other_names.profiles_with([half], profiles(SITES), spreads)
    held = dict(zip(found["site"], found["working_set"], strict=True))
    assert (held[SITES[0]], held["www.example"]) == (800, 800)
    on_two = wider[(wider["site"] == "www.example") & (wider["replicas"] == 2)]
    assert on_two["working_set"].tolist() == [525]

"""One name that somebody edits in DNS is left alone, and stops no other; both ways on are named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pandas as pd
import pytest

from flex.errors import BadInput
from flex.model.limits_and_approvals import Limits
from flex.model.plan import Plan
from flex.planning import given_partition, propose_plan
from flex.planning.propose_plan import Proposal
from flex.zones.decisions_in_markers import EXCLUDED, MarkedDecision, decision_text
from flex.zones.marker import marker_name, marker_text
from flex.zones.records_of_partition import name_of
from flex_solver import SOLVERS
from tests.core.cluster import NOW, RULES, ZONE, Cluster, turns
from tests.memory_publisher import MemoryPublisher
from tests.thorough import first_quick

Profiles = Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame]

# Nothing moves for the sake of balance.
CALM = replace(RULES, trigger=5.0)
OUTSIDE, SIX = "203.0.113.99", "2001:db8:9::9"
EDITS: dict[str, dict[str, list[str]]] = {
    "A elsewhere": {"A": [OUTSIDE]},
    "A at another node": {"A": ["192.0.2.2"]},
    "one more A": {"A": ["192.0.2.1", OUTSIDE]},
    "AAAA beside": {"AAAA": [SIX]},
    "AAAA instead": {"A": [], "AAAA": [SIX]},
    "nothing": {"A": []},
    "another TTL": {"A": ["192.0.2.1"]},
    "nothing, and no marker": {"A": [], "TXT": []},
}
TTLS = {"another TTL": 7}


def edit(cluster: Cluster, site: str, sets: Mapping[str, Sequence[str]], ttl: int = 60) -> None:
    assert isinstance(cluster.target, MemoryPublisher)
    for kind, values in sets.items():
        name = name_of(site)
        cluster.target.edit(
            ZONE, marker_name(name, ZONE) if kind == "TXT" else name, kind, ttl, values
        )


def later(cluster: Cluster) -> Proposal:
    """What a night proposes that is a day after the latest."""
    return cluster.propose(cluster.store.headlines()[0].created + timedelta(days=1))


def night(cluster: Cluster) -> Plan:
    return cluster.carry_out(later(cluster))


def said(cluster: Cluster, site: str) -> list[str]:
    return list(cluster.target.read(ZONE, [name_of(site)]).records["value"])


def ttls(cluster: Cluster, site: str) -> set[int]:
    return set(cluster.target.read(ZONE, [name_of(site)]).records["ttl"])


def sites_of(cluster: Cluster) -> list[str]:
    return list(cluster.facts.profiles["site"])


@pytest.fixture
def edited(cluster: Cluster) -> Callable[[str], str]:
    """A night, and then an edit of the site that is first."""

    def made(kind: str) -> str:
        cluster.night()
        cluster.solver, cluster.rules = SOLVERS["local"], CALM
        first = sites_of(cluster)[0]
        edit(cluster, first, EDITS[kind], TTLS.get(kind, 60))
        return first

    return made


@pytest.mark.slow("nothing", "A at another node", "A elsewhere")
@pytest.mark.parametrize("kind", EDITS)
def test_what_somebody_changed_after_a_night_is_not_changed_back_without_a_yes(
    cluster: Cluster, edited: Callable[[str], str], kind: str
) -> None:
    site = edited(kind)
    theirs = said(cluster, site)
    for _ in range(3):
        made = later(cluster)
        assert made.plan.breaches == ()
        assert [(one.name, list(one.found)) for one in made.plan.said.edits] == [
            (name_of(site), sorted(theirs))
        ]
        (note,) = [note for note in made.plan.notes if "changed in DNS by somebody else" in note]
        assert site in note
        assert f"`flex sites exclude {site}`" in note
        assert f"`flex plan --take-back {site}`" in note
        cluster.carry_out(made)
        assert said(cluster, site) == theirs
        assert ttls(cluster, site) <= {TTLS.get(kind, 60)}


@pytest.mark.parametrize("kind", EDITS)
def test_one_edited_name_stops_no_other(
    cluster: Cluster, edited: Callable[[str], str], profiles: Profiles, kind: str
) -> None:
    site = edited(kind)
    theirs = said(cluster, site)
    new, outside = f"new.{ZONE.rstrip('.')}", "shop.example.org"
    every = [*sites_of(cluster), new, outside]
    cluster.facts = replace(cluster.facts, profiles=profiles(dict.fromkeys(every, (100, 100))))
    done = night(cluster)
    assert done.state == "applied"
    assert said(cluster, new)
    assert said(cluster, site) == theirs
    # What no zone of the settings has is left out here as well.
    assert outside not in set(cluster.store.placement()[1]["site"])


def test_its_load_counts_where_dns_has_it(cluster: Cluster, edited: Callable[[str], str]) -> None:
    site = edited("A at another node")
    made = later(cluster)
    assert made.placement.loc[made.placement["site"] == site, "node"].tolist() == ["n2"]
    assert made.plan.before is not None
    loads = {node.node: node.access for node in made.plan.before.nodes}
    assert loads["n2"] == 3 * loads["n1"]


def undo(cluster: Cluster, site: str) -> None:
    edit(cluster, site, {"AAAA": []})
    edit(cluster, site, {"A": ["192.0.2.1"], "TXT": [marker_text(RULES.owner)]})


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_that_is_undone_is_none(
    cluster: Cluster, edited: Callable[[str], str], kind: str
) -> None:
    site = edited(kind)
    night(cluster)
    undo(cluster, site)
    made = later(cluster)
    assert made.plan.said.edits == ()
    assert site in set(made.placement["site"])


@pytest.mark.parametrize("nights", first_quick([1, 0, 2]))
@pytest.mark.parametrize("kind", EDITS)
def test_a_name_is_taken_back_where_somebody_says_so_and_that_one_alone(
    cluster: Cluster, edited: Callable[[str], str], kind: str, nights: int
) -> None:
    site, other = edited(kind), sites_of(cluster)[1]
    edit(cluster, other, {"A": [OUTSIDE]})
    for _ in range(nights):
        night(cluster)
    cluster.rules = replace(CALM, take_back=frozenset({name_of(site)}))
    made = later(cluster)
    assert made.plan.breaches == ()
    assert any("taken back" in note and site in note for note in made.plan.notes)
    cluster.carry_out(made)
    assert (said(cluster, site), said(cluster, other)) == (["192.0.2.1"], [OUTSIDE])
    assert ttls(cluster, site) == {60}
    cluster.rules = CALM
    assert [one.name for one in later(cluster).plan.said.edits] == [name_of(other)]


def test_as_many_as_the_limit_says_are_taken_back_without_asking(
    cluster: Cluster, edited: Callable[[str], str]
) -> None:
    site = edited("A elsewhere")
    cluster.rules = replace(CALM, limits=Limits(drifted_names=1))
    night(cluster)
    assert said(cluster, site) == ["192.0.2.1"]


def test_who_wants_a_name_back_that_nobody_changed_is_told(
    cluster: Cluster, edited: Callable[[str], str]
) -> None:
    site = edited("A elsewhere")
    cluster.rules = replace(CALM, take_back=frozenset({f"mistyped.{ZONE}"}))
    with pytest.raises(BadInput, match=f"mistyped.*changed were {site}"):
        later(cluster)


@pytest.mark.parametrize("is_asked", [True, False])
def test_an_excluded_site_is_not_taken_back_and_its_edit_is_not_forgotten(
    cluster: Cluster, edited: Callable[[str], str], is_asked: bool
) -> None:
    """Nor where as many as the limit says are taken back without asking."""
    site = edited("A elsewhere")
    decision = decision_text(EXCLUDED, MarkedDecision(NOW))
    edit(cluster, site, {"TXT": [marker_text("me"), decision]})
    if is_asked:
        cluster.rules = replace(CALM, take_back=frozenset({name_of(site)}))
        with pytest.raises(BadInput, match="is excluded") as refused:
            later(cluster)
        assert f"flex sites unpin {site}" in refused.value.advice
        cluster.rules = CALM
    else:
        cluster.rules = replace(CALM, limits=Limits(drifted_names=1))
    made = later(cluster)
    notes = " ".join(made.plan.notes)
    assert f"{site} (is excluded" in notes
    assert "taken back" not in notes
    assert "--take-back" not in notes
    cluster.carry_out(made)
    # It is taken in again.
    edit(cluster, site, {"TXT": [marker_text("me")]})
    cluster.rules = CALM
    night(cluster)
    assert said(cluster, site) == [OUTSIDE]
    assert f"--take-back {site}" in " ".join(later(cluster).plan.notes)


def test_a_node_that_got_other_addresses_is_nobodys_edit(cluster: Cluster) -> None:
    cluster.night()
    first, *others = cluster.facts.nodes
    cluster.facts = replace(
        cluster.facts, nodes=(replace(first, addresses=("192.0.2.51", SIX)), *others)
    )
    made = later(cluster)
    assert made.plan.said.edits == ()
    assert not any("somebody else" in note for note in made.plan.notes)
    cluster.carry_out(made)
    on_first = made.placement.loc[made.placement["node"] == first.name, "site"].tolist()
    assert on_first
    assert all(said(cluster, site) == ["192.0.2.51", SIX] for site in on_first)


def test_going_back_leaves_edited_names_alone_too(
    cluster: Cluster, edited: Callable[[str], str]
) -> None:
    site = edited("A elsewhere")
    base, placement = cluster.store.placement()
    facts = replace(
        cluster.facts, base=base, placement=placement, said=cluster.store.plan(base).said
    )
    back = given_partition.go_back(
        facts,
        CALM,
        placement,
        of_plan="P",
        scratch=turns,
        publisher=cluster.target,
        now=NOW.replace(hour=5),
    )
    assert [one.name for one in back.plan.said.edits] == [name_of(site)]
    assert back.plan.changes == 0


def test_what_is_excluded_is_no_edit_any_more(
    cluster: Cluster, edited: Callable[[str], str]
) -> None:
    site = edited("A elsewhere")
    night(cluster)
    cluster.facts = replace(
        cluster.facts,
        profiles=cluster.facts.profiles[cluster.facts.profiles["site"] != site].reset_index(
            drop=True
        ),
    )
    assert later(cluster).plan.said.edits == ()


def test_many_names_with_another_ttl_stop_nothing(cluster: Cluster) -> None:
    """Somebody lowers TTLs by hand before they move something."""
    cluster.rules = replace(CALM, limits=Limits(rewritten_names=0))
    cluster.night()
    for site in sites_of(cluster)[1:]:
        edit(cluster, site, {"A": said(cluster, site)}, 7)
    made = later(cluster)
    assert made.plan.breaches == ()
    assert len(made.plan.said.edits) == len(sites_of(cluster)) - 1
    assert all("has TTL 7, had 60" in note for note in made.plan.notes if "TTL" in note)
    assert any("has TTL 7, had 60" in note for note in made.plan.notes)
    cluster.carry_out(made)
    cluster.rules = replace(cluster.rules, limits=Limits(rewritten_names=0, drifted_names=100))
    back = later(cluster)
    assert back.plan.breaches == ()
    cluster.carry_out(back)
    assert {ttl for site in sites_of(cluster) for ttl in ttls(cluster, site)} == {60}


@pytest.mark.parametrize("ttl", [7, 300])
def test_another_ttl_of_the_settings_is_nobodys_edit(cluster: Cluster, ttl: int) -> None:
    cluster.night()
    cluster.solver, cluster.rules = SOLVERS["local"], replace(CALM, ttl=ttl)
    site, other, *_ = sites_of(cluster)
    edit(cluster, site, {"A": ["192.0.2.1"]}, 33)
    # What the settings ask for by now is nothing to be left alone.
    edit(cluster, other, {"A": said(cluster, other)}, ttl)
    made = later(cluster)
    assert [one.name for one in made.plan.said.edits] == [name_of(site)]
    cluster.carry_out(made)
    assert ttls(cluster, site) == {33}
    rest = {ttl for site in sites_of(cluster)[1:] for ttl in ttls(cluster, site)}
    assert rest == {ttl}
    cluster.rules = replace(CALM, ttl=33)
    assert later(cluster).plan.said.edits == (), "it is what FLEX would say"


def test_a_plan_that_did_not_keep_what_it_said_makes_no_edit_of_a_ttl(
    cluster: Cluster, edited: Callable[[str], str]
) -> None:
    edited("another TTL")
    edit(cluster, sites_of(cluster)[1], EDITS["nothing, and no marker"])
    base, placement = cluster.store.placement()
    kept = cluster.store.plan(base).said
    facts = replace(
        cluster.facts, base=base, placement=placement, said=replace(kept, ttl=0, zones=())
    )
    made = propose_plan.propose(
        facts,
        CALM,
        solver=cluster.solver,
        scratch=turns,
        publisher=cluster.target,
        now=NOW.replace(hour=5),
    )
    assert made.plan.said.edits == ()


def test_a_name_that_never_was_ours_and_is_gone_is_nobodys_edit(cluster: Cluster) -> None:
    """Its owner takes it away so that FLEX can have it."""
    site = sites_of(cluster)[0]
    edit(cluster, site, {"A": ["192.0.2.1"]})
    cluster.night()
    cluster.solver, cluster.rules = SOLVERS["local"], CALM
    assert site in set(cluster.store.placement()[1]["site"])
    edit(cluster, site, {"A": []})
    made = later(cluster)
    assert made.plan.said.edits == ()
    cluster.carry_out(made)
    assert said(cluster, site)


def test_a_zone_that_was_not_there_before_has_no_edits(cluster: Cluster) -> None:
    other = "elsewhere.example."
    cluster.target = MemoryPublisher([ZONE, other], RULES.owner)
    cluster.facts = replace(
        cluster.facts,
        profiles=cluster.facts.profiles.replace(
            {"site": {sites_of(cluster)[0]: f"a.{other.rstrip('.')}"}}
        ),
    )
    cluster.night()
    cluster.rules = replace(CALM, zones=(ZONE, other))
    made = later(cluster)
    assert made.plan.said.edits == ()
    assert any(one.zone == other and one.changes for one in made.plan.zone_plans)


def test_off_a_dead_node_a_name_keeps_the_ttl_that_somebody_gave_it(
    cluster: Cluster, edited: Callable[[str], str]
) -> None:
    site = edited("another TTL")
    gone = sites_of(cluster)[2]
    edit(cluster, gone, EDITS["nothing, and no marker"])
    nodes = tuple(
        replace(node, state="down") if node.name == "n1" else node for node in cluster.facts.nodes
    )
    base, placement = cluster.store.placement()
    kept = cluster.store.plan(base).said
    facts = replace(cluster.facts, nodes=nodes, base=base, placement=placement, said=kept)
    made = propose_plan.fail_over(
        facts, CALM, "n1", publisher=cluster.target, now=NOW.replace(hour=5)
    )
    cluster.facts = replace(cluster.facts, nodes=nodes)
    cluster.store.propose(made.plan, made.placement)
    cluster.carry_out(made)
    assert "192.0.2.1" not in said(cluster, site)
    assert ttls(cluster, site) == {7}
    assert said(cluster, gone) == []
    found = {edit.name: edit for edit in later(cluster).plan.said.edits}
    assert found.keys() == {name_of(site), name_of(gone)}
    assert found[name_of(site)].is_of_ttl


@pytest.mark.parametrize(
    ("theirs", "why"),
    [
        ({"A": [], "CNAME": ["x.other.example."]}, "it has a CNAME to x.other"),
        ({"TXT": []}, "it holds addresses without our marker"),
        ({"TXT": [marker_text("other")]}, "it carries the marker of another owner"),
    ],
)
def test_what_has_become_anothers_is_not_taken_back_and_the_reason_is_told(
    cluster: Cluster, edited: Callable[[str], str], theirs: Mapping[str, Sequence[str]], why: str
) -> None:
    site = edited("A at another node")
    night(cluster)
    edit(cluster, site, theirs)
    cluster.rules = replace(CALM, take_back=frozenset({name_of(site)}))
    with pytest.raises(BadInput, match=why) as refused:
        later(cluster)
    assert f"`flex sites exclude {site}`" in refused.value.advice
    marker = f"write the marker {marker_name(name_of(site), ZONE)} TXT"
    assert (marker in refused.value.advice) == ("without" in why)


def test_a_zone_of_which_nothing_is_left_is_no_fault_of_flex(cluster: Cluster) -> None:
    cluster.night()
    cluster.solver, cluster.rules = SOLVERS["local"], CALM
    for site in sites_of(cluster):
        edit(cluster, site, EDITS["nothing, and no marker"])
    made = later(cluster)
    assert len(made.plan.said.edits) == len(sites_of(cluster))
    assert made.plan.changes == 0
    cluster.rules = replace(CALM, limits=Limits(drifted_names=100))
    cluster.carry_out(later(cluster))
    assert all(said(cluster, site) for site in sites_of(cluster))

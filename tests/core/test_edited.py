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
from flex.planning import propose_plan
from flex.planning.propose_plan import Proposal
from flex.zones.records import name_of
from flex_dns.memory import MemoryPublisher
from flex_solver import SOLVERS
from tests.core.cluster import NOW, RULES, ZONE, Cluster, turns

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
}


def edit(cluster: Cluster, site: str, sets: Mapping[str, Sequence[str]]) -> None:
    assert isinstance(cluster.target, MemoryPublisher)
    for kind, values in sets.items():
        cluster.target.edit(ZONE, name_of(site), kind, 60, values)


def later(cluster: Cluster) -> Proposal:
    """What a night proposes that is a day after the latest."""
    return cluster.propose(cluster.store.headlines()[0].created + timedelta(days=1))


def night(cluster: Cluster) -> Plan:
    return cluster.carry_out(later(cluster))


def said(cluster: Cluster, site: str) -> list[str]:
    return list(cluster.target.read(ZONE, [name_of(site)]).records["value"])


def sites_of(cluster: Cluster) -> list[str]:
    return list(cluster.facts.profiles["site"])


@pytest.fixture
def edited(cluster: Cluster) -> Callable[[str], str]:
    """A night, and then an edit of the site that is first."""

    def made(kind: str) -> str:
        cluster.night()
        cluster.solver, cluster.rules = SOLVERS["local"], CALM
        first = sites_of(cluster)[0]
        edit(cluster, first, EDITS[kind])
        return first

    return made


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
        (note,) = [
            note
            for note in made.plan.notes
            if "changed in DNS by somebody else" in note
        ]
        assert site in note
        assert f"`flex sites exclude {site}`" in note
        assert f"`flex plan --take-back {site}`" in note
        cluster.carry_out(made)
        assert said(cluster, site) == theirs


@pytest.mark.parametrize("kind", EDITS)
def test_one_edited_name_stops_no_other(
    cluster: Cluster, edited: Callable[[str], str], profiles: Profiles, kind: str
) -> None:
    site = edited(kind)
    theirs = said(cluster, site)
    new = f"new.{ZONE.rstrip('.')}"
    cluster.facts = replace(
        cluster.facts,
        profiles=profiles(dict.fromkeys([*sites_of(cluster), new], (100, 100))),
    )
    done = night(cluster)
    assert done.state == "applied"
    assert said(cluster, new)
    assert said(cluster, site) == theirs


def test_its_load_counts_where_dns_has_it(
    cluster: Cluster, edited: Callable[[str], str]
) -> None:
    site = edited("A at another node")
    made = later(cluster)
    assert made.placement.loc[made.placement["site"] == site, "node"].tolist() == ["n2"]
    assert made.plan.before is not None
    loads = {node.node: node.access for node in made.plan.before.nodes}
    assert loads["n2"] == 3 * loads["n1"]


def test_an_edit_that_is_undone_is_none(
    cluster: Cluster, edited: Callable[[str], str]
) -> None:
    site = edited("A elsewhere")
    night(cluster)
    edit(cluster, site, {"A": ["192.0.2.1"]})
    made = later(cluster)
    assert made.plan.said.edits == ()
    assert site in set(made.placement["site"])


@pytest.mark.parametrize("nights", [0, 1, 2])
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
        cluster.facts,
        base=base,
        placement=placement,
        said=cluster.store.plan(base).said,
    )
    back = propose_plan.go_back(
        facts,
        CALM,
        placement,
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
        profiles=cluster.facts.profiles[
            cluster.facts.profiles["site"] != site
        ].reset_index(drop=True),
    )
    assert later(cluster).plan.said.edits == ()

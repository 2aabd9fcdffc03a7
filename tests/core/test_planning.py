"""propose() and carry_out(): what is proposed is done, as it was, or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from flex.errors import (
    Ended,
    Infeasible,
    OnTheWay,
    Outdated,
    PartlyApplied,
    Refused,
    StoreError,
    Unverified,
)
from flex.model.dns_edits_by_others import Said
from flex.model.dns_update_journal import Journal
from flex.model.limits_and_approvals import Limits
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.wish import Pin
from flex.model.zone_plan import ZonePlan
from flex.planning import carry_out_plan, given_partition
from flex.ports import PublisherAround
from flex.store import MemoryStore
from flex_solver import SOLVERS
from tests.core.cluster import NOW, RULES, ZONE, Cluster, turns
from tests.memory_publisher import MemoryPublisher

EMPTY = np.zeros(0, dtype=np.int64)

Profiles = Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame]
Placement = Callable[[Mapping[str, str]], pd.DataFrame]


def test_a_proposal_writes_nothing_to_dns(cluster: Cluster) -> None:
    serial = cluster.target.read(ZONE, []).serial
    made = cluster.propose()
    assert made.plan.changes == 8
    assert cluster.target.read(ZONE, []).serial == serial
    assert cluster.addresses() == {}
    assert cluster.store.placement()[0] == ""


def test_a_proposal_begins_nothing_in_zones_that_could_refuse_another_run(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.night()
    begun: list[str] = []
    for changing in ("apply", "refuse_late"):
        monkeypatch.setattr(
            type(cluster.target), changing, lambda *_, what=changing: begun.append(what)
        )
    cluster.propose()
    assert begun == []


def test_a_night_puts_every_site_into_dns_and_the_placement_in_force(cluster: Cluster) -> None:
    done = cluster.night()
    assert done.state == "applied"
    assert cluster.addresses() == {
        "a": ["192.0.2.1"],
        "b": ["192.0.2.2"],
        "c": ["192.0.2.1"],
        "d": ["192.0.2.2"],
    }
    assert cluster.store.placement()[0] == done.id


def test_of_no_accesses_nothing_is_predicted(cluster: Cluster) -> None:
    made = cluster.propose().plan
    assert made.forecasts == ()
    assert "not predicted: no access was replayed" in made.notes


def test_a_second_night_with_nothing_new_changes_nothing(cluster: Cluster) -> None:
    cluster.night()
    again = cluster.night()
    assert (again.changes, again.moves, again.state) == (0, (), "applied")


def test_a_balanced_cluster_is_left_alone(cluster: Cluster, profiles: Profiles) -> None:
    cluster.night()
    loads = dict(
        zip(
            cluster.facts.profiles["site"],
            [(110, 100), (100, 100), (110, 100), (100, 100)],
            strict=True,
        )
    )
    cluster.facts = replace(cluster.facts, profiles=profiles(loads))
    made = cluster.propose()
    assert made.plan.moves == ()
    assert "within the trigger" in made.plan.notes[0]


@pytest.mark.slow("exact")
@pytest.mark.parametrize("solver", ["exact", "local"])
def test_a_new_site_moves_no_other_while_the_balance_is_within_the_trigger(
    cluster: Cluster, profiles: Profiles, solver: str
) -> None:
    cluster.night()
    known = dict.fromkeys(cluster.facts.profiles["site"], (100, 100))
    drifted = {site: (112, 100) if site[0] in "ac" else load for site, load in known.items()}
    cluster.facts = replace(
        cluster.facts, profiles=profiles(drifted | {f"new.{ZONE.rstrip('.')}": (1, 1)})
    )
    cluster.rules, cluster.solver = (replace(RULES, tolerance=0.01, trigger=0.1), SOLVERS[solver])
    made = cluster.propose()
    assert [move.site.split(".")[0] for move in made.plan.moves] == ["new"]


def test_replicas_that_are_taken_away_are_in_the_plan_and_the_load_before_is_that_of_all_of_them(
    cluster: Cluster, placement: Placement
) -> None:
    cluster.night()
    everywhere = placement(dict.fromkeys(cluster.facts.profiles["site"], "n1 n2"))
    cluster.store.settle(cluster.store.plans()[0], everywhere)
    assert isinstance(cluster.target, MemoryPublisher)
    for site in cluster.facts.profiles["site"]:
        cluster.target.edit(
            ZONE, f"{site}.", "A", 60, [node.addresses[0] for node in cluster.facts.nodes[:2]]
        )
    cluster.solver = SOLVERS["exact"]
    made = cluster.propose().plan
    assert len([move for move in made.moves if move.target is None]) == 4
    assert {move.reason for move in made.moves} == {"one node is enough"}
    assert made.before is not None
    assert made.before.worst == 0


def test_a_best_effort_claims_no_least_number_of_moves(
    cluster: Cluster, profiles: Profiles
) -> None:
    cluster.night()
    first, *others = cluster.facts.profiles["site"]
    cluster.facts = replace(
        cluster.facts, profiles=profiles({first: (10, 10), **dict.fromkeys(others, (300, 300))})
    )
    cluster.solver = SOLVERS["local"]
    assert cluster.propose().plan.quality.bound == 0


def test_names_never_placed_before_wait_for_a_yes_when_they_are_many(
    cluster: Cluster, profiles: Profiles
) -> None:
    cluster.night()
    known = dict.fromkeys(cluster.facts.profiles["site"], (100, 100))
    invented = {f"x{n}.{ZONE.rstrip('.')}": (1, 1) for n in range(3)}
    cluster.facts = replace(cluster.facts, profiles=profiles(known | invented))
    cluster.rules = replace(RULES, limits=Limits(new_sites=2))
    assert [breach.rule for breach in cluster.propose().plan.breaches] == ["safety.max_new_sites"]


def test_names_of_a_partition_that_did_not_say_its_nodes_addresses_wait_for_a_yes(
    cluster: Cluster,
) -> None:
    """It was stored by an earlier version: whether somebody edited a record or a node moved, nobody
    can tell.
    """
    applied = cluster.night()
    cluster.store.update(replace(applied, said=Said()))
    site = cluster.facts.profiles["site"].iloc[0]
    assert isinstance(cluster.target, MemoryPublisher)
    cluster.target.edit(ZONE, f"{site}.", "A", 60, ["203.0.113.99"])
    made = cluster.propose()
    assert [breach.rule for breach in made.plan.breaches] == ["safety.max_drifted_names"]
    assert any(
        f"somebody else, or a node has other addresses now: {site}." in note
        for note in made.plan.notes
    )


def test_a_plan_that_hardly_helps_is_not_worth_its_moves(
    cluster: Cluster, placement: Placement
) -> None:
    cluster.night()
    cluster.rules = replace(RULES, trigger=0.2, margin=0.5)
    first, *others = cluster.facts.profiles["site"]
    moved = placement({first: "n2", **dict.fromkeys(others, "n1")})
    cluster.store.settle(cluster.store.plans()[0], moved)
    made = cluster.propose()
    assert made.placement.equals(moved) or made.plan.after.worst < 0.5


def test_a_site_without_traffic_keeps_its_node_and_its_records(
    cluster: Cluster, profiles: Profiles
) -> None:
    cluster.night()
    silent, *others = cluster.facts.profiles["site"]
    before = cluster.addresses()
    # Without it n2 has three times what n1 has, so that a solver is asked.
    loads = dict(zip(others, [(100, 100), (50, 50), (50, 50)], strict=True))
    cluster.facts = replace(cluster.facts, profiles=profiles(loads))
    cluster.solver = SOLVERS["exact"]
    done = cluster.night()
    assert [move.site.split(".")[0] for move in done.moves] == ["d"]
    kept = cluster.store.placement_of(done.id)
    assert kept["node"][kept["site"] == silent].tolist() == ["n1"]
    assert before["a"] == list(cluster.target.read(ZONE, [f"{silent}."]).records["value"])


def test_the_same_input_gives_the_same_digest_whatever_the_order(cluster: Cluster) -> None:
    first, second = cluster.facts.profiles["site"][:2]
    pins = Pin(first, ("n1",)), Pin(second, ("n2",))
    cluster.facts = facts = replace(cluster.facts, pins=pins)
    one = cluster.propose().plan
    cluster.facts = replace(
        facts,
        nodes=facts.nodes[::-1],
        pins=pins[::-1],
        profiles=facts.profiles[::-1].reset_index(drop=True),
    )
    other = cluster.propose(now=NOW.replace(hour=3)).plan
    assert one.digest == other.digest
    assert one.id.endswith(one.digest[:12])


def test_a_plan_made_on_another_base_is_refused(cluster: Cluster) -> None:
    early, late = cluster.propose(), cluster.propose(now=NOW.replace(hour=3))
    cluster.carry_out(late)
    state = cluster.store.plan(early.plan.id).state
    with pytest.raises(Outdated, match="was in force"):
        cluster.carry_out(early)
    assert cluster.store.plan(early.plan.id).state == state


def test_a_plan_that_somebody_rejected_since_it_was_read_is_not_carried_out(
    cluster: Cluster,
) -> None:
    made = cluster.propose()
    cluster.store.update(replace(made.plan, state="discarded"))
    with pytest.raises(Ended, match="it is discarded already"):
        cluster.carry_out(made)
    assert (cluster.addresses(), cluster.store.plan(made.plan.id).state) == ({}, "discarded")


def test_moves_say_where_from_where_to_and_why(
    cluster: Cluster, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    cluster.night()
    first, second = nodes(2)
    cluster.facts = replace(cluster.facts, nodes=(replace(first, state="draining"), second))
    moves = cluster.propose().plan.moves
    assert [(move.site[0], move.source, move.target) for move in moves] == [
        ("a", "n1", "n2"),
        ("c", "n1", "n2"),
    ]
    assert all("n1" in move.reason for move in moves)


def test_a_wish_the_solver_cannot_keep_is_named_and_nothing_moves(cluster: Cluster) -> None:
    site = cluster.facts.profiles["site"].iloc[0]
    cluster.facts = replace(cluster.facts, pins=(Pin(site, ("n2",)),))
    with pytest.raises(Infeasible, match=f"pin: {site} on n2"):
        cluster.propose()
    # What a solver claims of its answer excuses nothing.
    honest = cluster.solver
    cluster.solver = lambda asked, budget: replace(honest(asked, budget), bound=10**6, proven=True)
    with pytest.raises(Infeasible, match=f"pin: {site} on n2"):
        cluster.propose()


def test_what_dns_says_is_where_an_adopting_cluster_starts(
    cluster: Cluster, placement: Placement
) -> None:
    names = dict(zip(cluster.facts.profiles["site"], ["n2", "n1", "n2", "n1"], strict=True))
    stranger = MemoryPublisher([ZONE], "me")
    for site, node in names.items():
        stranger.edit(ZONE, f"{site}.", "A", 60, [f"192.0.2.{node[1]}"])
    cluster.target, cluster.rules = stranger, replace(RULES, adopt=True)
    made = cluster.propose()
    assert made.placement.equals(placement(names))
    assert {change.type for plan in made.plan.zone_plans for change in plan.changes} == {"TXT"}


def test_without_adopting_the_addresses_of_others_are_left_alone(cluster: Cluster) -> None:
    stranger = MemoryPublisher([ZONE], "me")
    site = cluster.facts.profiles["site"].iloc[0]
    stranger.edit(ZONE, f"{site}.", "A", 60, ["192.0.2.1"])
    cluster.target = stranger
    made = cluster.propose()
    assert [name.split(".")[0] for name in made.plan.zone_plans[0].foreign] == ["a"]
    assert any("left alone" in note for note in made.plan.notes)


@dataclass(frozen=True, slots=True)
class Failing(PublisherAround):
    """A name server that takes so many plans and then fails as told; it verifies as told, too."""

    takes: int
    error: Exception
    wrong: str = ""

    def apply(self, *plans: ZonePlan, journal: Journal | None = None) -> None:
        self.publisher.apply(*plans[: self.takes], journal=journal)
        if self.takes < len(plans):
            raise self.error

    def verify(
        self, zone: str, wanted: pd.DataFrame, *, patience: float = 0.0
    ) -> tuple[NameServerVerdict, ...]:
        if self.wrong:
            return (NameServerVerdict("ns2", 4, error=self.wrong),)
        return self.publisher.verify(zone, wanted, patience=patience)


REFUSED = Refused("updating", "REFUSED", kept="nothing", advice="look at the policy")
HALF = PartlyApplied(
    "updating", "REFUSED in one of two zones", kept="the other one", advice="look at the policy"
)


def test_a_refused_update_leaves_the_placement_in_force(cluster: Cluster) -> None:
    made = cluster.propose()
    cluster.target = Failing(cluster.target, 0, REFUSED)
    with pytest.raises(Refused):
        cluster.carry_out(made)
    assert cluster.store.plan(made.plan.id).state == "failed"
    assert cluster.store.placement()[0] == ""


def test_a_plan_that_fails_in_its_second_zone_is_partly_applied_and_can_be_finished(
    cluster: Cluster,
) -> None:
    inner = MemoryPublisher([ZONE, "a.hosting.example."], "me")
    sites = {"x.hosting.example": (100, 100), "y.a.hosting.example": (100, 100)}
    rows = cluster.facts.profiles.iloc[:2].assign(site=list(sites))
    cluster.facts = replace(cluster.facts, profiles=rows)
    cluster.rules = replace(RULES, zones=(ZONE, "a.hosting.example."))
    cluster.target = Failing(inner, 1, HALF)
    made = cluster.propose()
    with pytest.raises(PartlyApplied, match="REFUSED"):
        cluster.carry_out(made)
    assert cluster.store.plan(made.plan.id).state == "applying"
    cluster.target = inner
    assert cluster.carry_out(made).state == "applied"


class DoorsBehind:
    """Doors of which one node does not hear."""

    def lead(self, plan: Plan) -> None: ...

    def lead_all(self, plan: Plan) -> None: ...

    def nodes_behind(self, patience: float) -> Mapping[str, str]:
        assert patience == 0
        return {"n2": "it told nothing for 3 min"}


@pytest.mark.parametrize("half", [HALF, OnTheWay("a", "b", kept="c", advice="d")])
def test_a_plan_that_is_half_applied_names_the_nodes_whose_doors_do_not_go_by_it(
    cluster: Cluster, half: PartlyApplied
) -> None:
    made = cluster.propose()
    cluster.target = Failing(cluster.target, 0, half)
    with pytest.raises(type(half)) as said:
        cluster.carry_out(made, DoorsBehind())
    assert f"{half.answer}; and doors do not go by it: n2: it told nothing for 3 min" in str(
        said.value
    )
    assert said.value.kept == half.kept
    assert "`flex route show`" in said.value.advice


def test_a_killed_application_is_finished_by_carrying_it_out_again(cluster: Cluster) -> None:
    made = cluster.propose()
    cluster.store.update(replace(made.plan, state="applying"))
    cluster.target.apply(made.plan.zone_plans[0])
    assert cluster.carry_out(made).state == "applied"


def test_what_was_begun_is_not_called_failed_when_the_server_is_away(cluster: Cluster) -> None:
    made = cluster.propose()
    cluster.store.update(replace(made.plan, state="applying"))
    cluster.target = Failing(cluster.target, 0, REFUSED)
    with pytest.raises(Refused):
        cluster.carry_out(made)
    assert cluster.store.plan(made.plan.id).state == "applying"


def test_servers_that_disagree_are_an_error_and_the_placement_is_in_force(cluster: Cluster) -> None:
    made = cluster.propose()
    cluster.target = Failing(cluster.target, 1, REFUSED, wrong="silent")
    with pytest.raises(Unverified, match=r"ns2, hosting\.example\.: silent"):
        cluster.carry_out(made)
    assert cluster.store.placement()[0] == made.plan.id


class Full(MemoryStore):
    """A store that takes no more once a plan is under way."""

    def settle(self, plan: Plan, placement: pd.DataFrame) -> None:
        asked = f"recording {plan.id} with {len(placement)} rows"
        raise StoreError(asked, "the disk is full", kept="nothing was stored", advice="make room")


def test_a_store_that_is_full_after_dns_has_changed_says_that_dns_has_changed(
    cluster: Cluster,
) -> None:
    cluster.store = Full()
    with pytest.raises(PartlyApplied, match="the disk is full") as refused:
        cluster.night()
    assert "DNS says what the plan says" in refused.value.kept
    assert len(cluster.addresses()) == 4


def test_giving_up_half_way_puts_what_dns_says_in_force(cluster: Cluster) -> None:
    cluster.night()
    made = cluster.propose(now=NOW.replace(hour=3))
    site = cluster.facts.profiles["site"].iloc[0]
    assert isinstance(cluster.target, MemoryPublisher)
    cluster.target.edit(ZONE, f"{site}.", "A", 60, ["192.0.2.2"])
    ended = carry_out_plan.abandon(
        made.plan,
        made.placement,
        nodes=cluster.facts.nodes,
        zones=RULES.zones,
        publisher=cluster.target,
        store=cluster.store,
    )
    base, placement = cluster.store.placement()
    assert (ended.state, base) == ("failed", made.plan.id)
    assert placement.set_index("site")["node"].to_dict()[site] == "n2"


def test_going_back_is_an_ordinary_plan(
    cluster: Cluster, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    first = cluster.night()
    one, two = nodes(2)
    cluster.facts = replace(cluster.facts, nodes=(replace(one, state="draining"), two))
    cluster.night()
    cluster.facts = replace(cluster.facts, nodes=(one, two))
    base, placement = cluster.store.placement()
    facts = replace(cluster.facts, base=base, placement=placement)
    earlier = cluster.store.placement_of(first.id)
    back = given_partition.go_back(
        facts,
        RULES,
        earlier,
        of_plan=first.id,
        scratch=turns,
        publisher=cluster.target,
        now=NOW.replace(hour=5),
    )
    assert back.placement.equals(earlier)
    assert sorted(move.site[0] for move in back.plan.moves) == ["a", "c"]
    assert back.plan.quality.note == "an earlier placement, as it was"
    assert {move.reason for move in back.plan.moves} == {f"back to where plan {first.id} had it"}


def test_going_back_tells_what_people_wish_from_how_many_replicas_are_wanted(
    cluster: Cluster, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    first = cluster.night()
    one, two = nodes(2)
    cluster.facts = replace(cluster.facts, nodes=(replace(one, state="draining"), two))
    cluster.night()
    base, placement = cluster.store.placement()
    site, other = sorted(set(cluster.store.placement_of(first.id).query("node == 'n1'")["site"]))[
        :2
    ]
    facts = replace(cluster.facts, nodes=(one, two), base=base, placement=placement)
    pinned = replace(facts, pins=(Pin(site, not_on=("n1",)), Pin(other, weight=9.0)))
    rules = replace(RULES, replicate_above=0.01)
    earlier = cluster.store.placement_of(first.id)
    back = given_partition.go_back(
        pinned, rules, earlier, of_plan="P", scratch=turns, publisher=cluster.target, now=NOW
    )
    _, against, replicas = back.plan.quality.note.split("; ")
    assert against == f"against wishes that hold: {site}"
    assert replicas.startswith("not as many replicas as are wanted now: ")
    assert site not in replicas


def test_going_back_to_a_node_that_was_removed_is_refused_and_says_how_to_add_it(
    cluster: Cluster, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    first = cluster.night()
    _, two = nodes(2)
    earlier = cluster.store.placement_of(first.id)
    facts = replace(cluster.facts, nodes=(two,), base=first.id, placement=earlier.assign(node="n2"))
    with pytest.raises(Infeasible, match="n1") as refused:
        given_partition.go_back(
            facts, RULES, earlier, of_plan="P", scratch=turns, publisher=cluster.target, now=NOW
        )
    assert "add n1 again with `flex nodes add`" in refused.value.advice


def test_all_nodes_that_stop_a_way_back_are_named_with_what_helps(
    cluster: Cluster, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    first = cluster.night()
    one, two, three = nodes(3)
    earlier = cluster.store.placement_of(first.id)
    facts = replace(
        cluster.facts,
        nodes=(replace(one, state="draining"), replace(two, state="down"), three),
        base=first.id,
        placement=earlier,
    )
    with pytest.raises(Infeasible, match="it uses n1, n2") as refused:
        given_partition.go_back(
            facts,
            RULES,
            earlier,
            of_plan=first.id,
            scratch=turns,
            publisher=cluster.target,
            now=NOW,
        )
    for command in ("flex nodes undrain n1", "flex nodes up n2"):
        assert command in refused.value.advice


def test_going_back_to_a_drained_node_is_refused(
    cluster: Cluster, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    first = cluster.night()
    one, two = nodes(2)
    base, placement = cluster.store.placement()
    facts = replace(
        cluster.facts, nodes=(replace(one, state="draining"), two), base=base, placement=placement
    )
    with pytest.raises(Infeasible, match="n1"):
        given_partition.go_back(
            facts,
            RULES,
            cluster.store.placement_of(first.id),
            of_plan="P",
            scratch=turns,
            publisher=cluster.target,
            now=NOW,
        )

"""What every store promises about plans and the placement in force."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from flex.errors import BadInput, BadTable, LostLease, Outdated, Unknown
from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.balance import Balance, NodeLoad
from flex.model.dns_update_journal import JournalRow
from flex.model.drains_and_freezes import NodeOrder
from flex.model.limits_and_approvals import Breach
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.nightly_run import NightlyRun, Stage
from flex.model.orders_to_doors import DoorOrder
from flex.model.period import Period
from flex.model.plan import Move, Plan, Proven
from flex.model.predicted_node_loads import Forecast, NodeForecast
from flex.model.retry_schedule import Attempt
from flex.model.stray_requests import StrayReading
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.store import Store

NOW = datetime(2026, 3, 1, 2, 30, 0, 123456, tzinfo=UTC)
HOUR = timedelta(hours=1)
LARGEST = 2**63 - 1


def placement(*rows: tuple[str, str]) -> pd.DataFrame:
    return PLACEMENT.from_columns(
        {"site": [site for site, _ in rows], "node": [node for _, node in rows]}
    )


def plan(id_: str, created: datetime = NOW, base: str = "") -> Plan:
    return Plan(
        id=id_,
        created=created,
        period=Period.days_before(created, 1),
        base=base,
        digest=id_[-3:],
        quality=Proven("exact", 1, True),
        moves=(),
        scratch_moves=3,
        sites=2,
        before=None,
        after=Balance((NodeLoad("n1", 100.0, 100.0, 2),), 0.0),
        forecasts=(),
        zone_plans=(),
    )


def full_plan() -> Plan:
    """A plan in which every field holds something."""
    one = Rrset("a.example.org.", "A", 60, ("192.0.2.1",))
    change = Change(one, replace(one, values=("192.0.2.2", "192.0.2.3")))
    balance = Balance((NodeLoad("n1", 101.5, 98.5, 2),), 0.1 + 0.2, "n1", "access rate")
    return replace(
        plan("20260301T023000-abc", base="20260228T023000-fff"),
        moves=(Move("a.example.org", None, "n2", LARGEST, "new"),),
        before=balance,
        forecasts=(Forecast("lru", 0.25, (NodeForecast("n1", 3, 1, 300, 100),)),),
        zone_plans=(
            ZonePlan("example.org.", (change, Change(None, one)), ("b.example.org. CNAME",), 2),
        ),
        breaches=(Breach("moved_share", 0.3, 1.0),),
        notes=('it\'s "noted" \x00 \U0001f600',),
        state="applied",
        message="done",
        settled=NOW + HOUR,
        verdicts=(NameServerVerdict("192.0.2.53", 2, 2026030101, (change,), "late"),),
    )


@pytest.mark.slow("postgresql")
def test_before_the_first_plan_nothing_is_in_force(store: Store) -> None:
    id_, rows = store.placement()
    assert id_ == ""
    pd.testing.assert_frame_equal(rows, PLACEMENT.empty())
    assert store.sites_of_nodes() == {}


def test_the_sites_of_nodes_are_those_of_the_partition_in_force(store: Store) -> None:
    rows = placement(("a", "n1"), ("b", "n1"), ("b", "n2"))
    store.propose(plan("c1"), rows)
    assert store.sites_of_nodes() == {}
    store.settle(replace(plan("c1"), state="applied"), rows)
    store.propose(plan("c2"), placement(("a", "n2"), ("b", "n2")))
    assert store.sites_of_nodes() == {"n1": 2, "n2": 1}


def test_a_plan_comes_back_exactly(store: Store) -> None:
    store.propose(full_plan(), PLACEMENT.empty())
    assert store.plan(full_plan().id) == full_plan()
    assert store.plans() == (full_plan(),)


def test_a_proposal_puts_nothing_in_force(store: Store, hostile: tuple[str, ...]) -> None:
    rows = placement(*((site, "n1") for site in hostile))
    store.propose(plan("c1"), rows)
    pd.testing.assert_frame_equal(store.placement_of("c1"), rows)
    assert store.placement()[0] == ""


def test_settling_puts_the_placement_in_force_with_the_state(store: Store) -> None:
    store.propose(plan("c1"), placement(("a", "n1")))
    store.propose(plan("c2"), placement(("a", "n2"), ("a", "n1")))
    settled = replace(plan("c2"), state="applied", settled=NOW)
    store.settle(settled, placement(("a", "n2"), ("a", "n1")))
    id_, rows = store.placement()
    assert id_ == "c2"
    pd.testing.assert_frame_equal(rows, placement(("a", "n1"), ("a", "n2")))
    assert store.plan("c2") == settled


def test_what_is_in_force_is_what_the_plan_was_settled_with(store: Store) -> None:
    store.propose(plan("c1"), placement(("a", "n1"), ("b", "n1")))
    store.settle(replace(plan("c1"), state="failed"), placement(("a", "n2")))
    pd.testing.assert_frame_equal(store.placement()[1], placement(("a", "n2")))
    pd.testing.assert_frame_equal(store.placement_of("c1"), placement(("a", "n2")))


def test_an_update_changes_the_plan_and_not_its_placement(store: Store) -> None:
    store.propose(plan("c1"), placement(("a", "n1")))
    store.update(replace(plan("c1"), state="discarded", message="no"))
    assert store.plan("c1").state == "discarded"
    pd.testing.assert_frame_equal(store.placement_of("c1"), placement(("a", "n1")))


def test_the_same_proposal_may_be_stored_again(store: Store) -> None:
    store.propose(plan("c1"), placement(("a", "n1")))
    store.propose(plan("c1"), placement(("a", "n1")))
    assert store.plans() == (plan("c1"),)
    pd.testing.assert_frame_equal(store.placement_of("c1"), placement(("a", "n1")))


def test_a_proposal_never_takes_the_place_of_a_plan_that_went_on(store: Store) -> None:
    store.propose(plan("c1"), placement(("a", "n1")))
    store.settle(replace(plan("c1"), state="applied"), placement(("a", "n1")))
    with pytest.raises(BadInput, match="applied"):
        store.propose(plan("c1"), placement(("a", "n2")))
    assert store.plan("c1").state == "applied"
    pd.testing.assert_frame_equal(store.placement()[1], placement(("a", "n1")))


def test_a_plan_nobody_proposed_is_unknown(store: Store) -> None:
    with pytest.raises(Unknown):
        store.placement_of("c1")
    with pytest.raises(Unknown):
        store.update(plan("c1"))
    with pytest.raises(Unknown):
        store.settle(plan("c1"), placement(("a", "n1")))
    assert store.placement()[0] == ""
    assert store.plans() == ()


def test_a_broken_placement_is_refused_before_anything_is_stored(store: Store) -> None:
    twice = pd.DataFrame({"site": ["a", "a"], "node": ["n1", "n1"]}).astype(dict(PLACEMENT.columns))
    with pytest.raises(BadTable):
        store.propose(plan("c1"), twice)
    assert store.plans() == ()


def test_what_a_caller_does_to_his_frame_does_not_reach_the_store(store: Store) -> None:
    given = placement(("a", "n1"))
    store.propose(plan("c1"), given)
    given.loc[0, "node"] = "n2"
    taken = store.placement_of("c1")
    taken.loc[0, "node"] = "n3"
    assert list(store.placement_of("c1")["node"]) == ["n1"]


def test_an_unambiguous_beginning_names_a_plan(store: Store) -> None:
    for id_ in ("2026-ab", "2026-ac", "2027-a"):
        store.propose(plan(id_), PLACEMENT.empty())
    assert store.plan("2027").id == "2027-a"
    assert store.plan("2026-ac").id == "2026-ac"


def test_an_id_that_begins_another_names_its_own_plan(store: Store) -> None:
    for id_ in ("c1", *(f"c1{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")):
        store.propose(plan(id_), PLACEMENT.empty())
    assert store.plan("c1").id == "c1"


def test_an_ambiguous_beginning_lists_the_candidates(store: Store) -> None:
    for id_ in ("2026-ab", "2026-ac", "2027-a"):
        store.propose(plan(id_), PLACEMENT.empty())
    with pytest.raises(Unknown, match=r"2026-ab, 2026-ac$"):
        store.plan("2026")


@pytest.mark.parametrize(
    "wrong", ["", "2028", "%", "2026-a_", "2026_", "2026-A", "-ab", "2026-ab ", "'"]
)
def test_what_begins_no_plan_is_unknown(store: Store, wrong: str) -> None:
    store.propose(plan("2026-ab"), PLACEMENT.empty())
    with pytest.raises(Unknown, match="none"):
        store.plan(wrong)


def test_plans_come_newest_first(store: Store) -> None:
    for id_, hours in (("b", 1), ("B", 1), ("c", 2), ("a", 0)):
        store.propose(plan(id_, NOW + hours * HOUR), PLACEMENT.empty())
    assert [each.id for each in store.plans()] == ["c", "b", "B", "a"]
    assert [each.id for each in store.plans(limit=2)] == ["c", "b"]


@pytest.mark.slow("sqlite", "postgresql")
def test_a_hundred_thousand_rows_come_back_in_order(store: Store) -> None:
    rows = np.arange(100_000)
    many = PLACEMENT.from_columns(
        {
            "site": [f"s{row:06}.example.org" for row in rows],
            "node": [f"n{row}" for row in rows % 7],
        }
    )
    store.propose(plan("c1"), many)
    store.settle(plan("c1"), many)
    pd.testing.assert_frame_equal(store.placement()[1], many)


def held_by(store: Store, run_id: str, now: datetime = NOW) -> None:
    """As another process: what this thread does in the name of a run is that run's."""
    run = NightlyRun(run_id, "elsewhere.example.org:1:1", now)
    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(store.begin, run, HOUR, now).result()


def test_what_is_settled_late_is_not_put_in_force_over_what_came_since(store: Store) -> None:
    first, second = placement(("a", "n1")), placement(("a", "n2"))
    store.propose(plan("c1"), first)
    store.propose(plan("c2"), second)
    store.settle(replace(plan("c2"), state="applied"), second)
    entries = store.last_number()
    with pytest.raises(Outdated, match="now c2 is"):
        store.settle(replace(plan("c1"), state="applied"), first)
    assert (store.in_force(), store.plan("c1").state, store.last_number()) == (
        "c2",
        "proposed",
        entries,
    )


def test_who_lost_the_lease_puts_nothing_in_force_though_its_base_still_is(store: Store) -> None:
    store.propose(plan("c1"), placement(("a", "n1")))
    held_by(store, "late")
    with store.holding("late"):
        held_by(store, "other", NOW + 2 * HOUR)
        with pytest.raises(LostLease, match="other"):
            store.settle(replace(plan("c1"), state="applied"), placement(("a", "n1")))
    assert (store.in_force(), store.plan("c1").state) == ("", "proposed")
    with pytest.raises(LostLease):
        store.settle(replace(plan("c1"), state="applied"), placement(("a", "n1")))


WRITES: dict[str, Callable[[Store], object]] = {
    "propose": lambda store: store.propose(plan("c9"), placement(("a", "n1"))),
    "update": lambda store: store.update(replace(plan("c1"), state="failed")),
    "order": lambda store: store.order_node(NodeOrder("n1", "down")),
    "stage": lambda store: store.stage("late", Stage("apply", NOW)),
    "journal": lambda store: store.new_journal("c1"),
    "intend": lambda store: store.journal("c1").intend([JournalRow(1, "z.", (0,))]),
    "sent": lambda store: store.journal("c1").became([0], "sent"),
    "profiles": lambda store: store.put_profiles(
        Period.days_before(NOW, 1), PROFILES.empty(), SPREADS.empty()
    ),
    "attempt": lambda store: store.put_attempt(Attempt("n1", 1, NOW, NOW, "away")),
    "slots": lambda store: store.put_slots("a", {"n1": 0}, {}),
    "large map": lambda store: store.put_large_map("a at_n1", "d1", ""),
    "door order": lambda store: store.put_door_order(
        DoorOrder(1, "c1", "l1", "m1", NOW), "a at_n1", 0
    ),
    "strays": lambda store: store.note_strays("n1", StrayReading(1, 0, 0, ()), NOW),
    "together": lambda store: store.together().__enter__(),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("is_taken", [True, False])
def test_who_lost_the_lease_writes_nothing(store: Store, write: str, is_taken: bool) -> None:
    """Whether another run has it now, or had it and gave it back."""
    store.propose(plan("c1"), placement(("a", "n1")))
    store.journal("c1").intend([JournalRow(0, "z.", (0,))])
    held_by(store, "late")
    with store.holding("late"):
        store.update(replace(plan("c1"), message="mine still"))
        held_by(store, "other", NOW + 2 * HOUR)
        if not is_taken:
            with ThreadPoolExecutor(1) as elsewhere:
                elsewhere.submit(
                    store.end, NightlyRun("other", "elsewhere.example.org:1:1", NOW)
                ).result()
        before = store.last_number()
        with pytest.raises(LostLease):
            WRITES[write](store)
        assert store.last_number() == before
    assert store.plan("c1").message == "mine still"
    assert (store.node_orders(), store.attempts(), store.slots(), store.profiles()) == (
        (),
        (),
        {},
        None,
    )
    assert (store.large_map(), store.door_order()) == ("", None)
    assert store.doors_read() == ()
    assert [row.state for row in store.journal("c1").rows()] == ["planned"]


def test_who_holds_the_lease_writes_and_so_does_who_never_asked_for_it(store: Store) -> None:
    store.propose(plan("c1"), placement(("a", "n1")))
    held_by(store, "mine")
    store.order_node(NodeOrder("n1", "down"))
    with store.holding("mine"):
        store.settle(replace(plan("c1"), state="applied"), placement(("a", "n1")))
    assert store.in_force() == "c1"


def test_a_proof_is_kept_beside_its_plan_and_read_as_it_was(store: Store) -> None:
    store.propose(plan("c1"), placement(("a", "n1")))
    assert store.proof_of("c1") is None
    proof = {"certificate": {"bound": 3}, "statement": {"load": [[LARGEST, 0]]}}
    store.keep_proof("c1", {"certificate": {}})
    store.keep_proof("c1", proof)
    assert store.proof_of("c1") == proof


def test_no_proof_is_kept_of_a_plan_that_nobody_knows(store: Store) -> None:
    with pytest.raises(Unknown):
        store.keep_proof("c1", {})
    with pytest.raises(Unknown):
        store.proof_of("c1")

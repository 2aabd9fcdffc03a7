"""A node keeps its slot of a site, whoever comes, goes or is down."""

from __future__ import annotations

from hypothesis import given as of
from hypothesis import strategies as st

from flex.routing.lasting_member_slots import assign_slots
from flex.routing.member_pools import MOST_MEMBERS

CLUSTER = [f"n{number:02}" for number in range(24)]
SOME = st.lists(st.sampled_from(CLUSTER), min_size=1, max_size=MOST_MEMBERS, unique=True)


@of(st.lists(SOME, min_size=1, max_size=8))
def test_who_stays_keeps_its_slot_and_no_two_share_one(memberships: list[list[str]]) -> None:
    slots: dict[str, int] = {}
    for members in memberships:
        after = assign_slots(slots, members, CLUSTER)
        assert {node: after[node] for node in members if node in slots} == {
            node: slots[node] for node in members if node in slots
        }
        assert set(members) <= after.keys()
        assert len(set(after.values())) == len(after) <= MOST_MEMBERS
        assert all(0 <= slot < MOST_MEMBERS for slot in after.values())
        slots = after


def test_who_was_away_has_its_slot_again_while_there_are_others() -> None:
    first = assign_slots({}, ["n00", "n01", "n02"], CLUSTER)
    away = assign_slots(first, ["n01", "n02", "n03"], CLUSTER)
    assert assign_slots(away, ["n00", "n01", "n02", "n03"], CLUSTER) == away
    assert away.items() >= first.items()


def test_in_a_small_cluster_a_new_members_slot_is_its_place() -> None:
    assert assign_slots({}, ["n02", "n07"], CLUSTER) == {"n02": 2, "n07": 7}


def test_the_slot_of_a_node_that_is_gone_is_taken_before_others() -> None:
    full = {f"n{number:02}": number for number in range(15)} | {"gone": 15}
    assert assign_slots(full, ["n01", "n20"], CLUSTER)["n20"] == 15

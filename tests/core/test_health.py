"""A node is dead when it has failed for a while, and never are so many that the rest would fall,
too.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from flex.health import Pulse, Terms, finding_of_round, pulses_after_probes

TERMS = Terms(fails=3, passes=5, quorum=1, share=0.25)
SICK, WELL = Pulse(is_sick=True), Pulse()


def after(rounds: Sequence[bool], terms: Terms = TERMS) -> bool:
    """Whether a node counts as sick after these rounds."""
    pulses: dict[str, Pulse] = {}
    for passed in rounds:
        pulses = pulses_after_probes(pulses, {"n1": [passed]}, terms)
    return pulses["n1"].is_sick


def test_a_node_is_sick_after_so_many_failures_in_a_row_and_not_before() -> None:
    assert not after([False, False])
    assert not after([False, False, True, False, False])
    assert after([False, False, False])


def test_it_is_well_again_after_so_many_answers_in_a_row_and_not_before() -> None:
    dead = [False] * 3
    assert after([*dead, *[True] * 4])
    assert after([*dead, True, True, True, True, False, True])
    assert not after([*dead, *[True] * 5])


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_a_node_that_is_up_and_down_by_turns_is_never_sick(rounds: list[bool]) -> None:
    calm = [passed for each in rounds for passed in (each, True)]
    assert not after(calm)


def test_a_round_passes_when_enough_probes_are_answered() -> None:
    both = Terms(fails=1, passes=1, quorum=2, share=0.25)
    assert pulses_after_probes({}, {"n1": [True, False], "n2": [True, True]}, both) == {
        "n1": SICK,
        "n2": WELL,
    }


def test_one_of_four_may_die_and_two_at_once_may_not() -> None:
    four = ["n1", "n2", "n3", "n4"]
    assert finding_of_round({"n1": SICK}, four, 0, TERMS).dead == ("n1",)
    found = finding_of_round({"n1": SICK, "n2": SICK}, four, 0, TERMS)
    assert found.dead == ()
    assert (
        found.why_not
        == "n1, n2 do not answer, and only 1 more of 4 nodes may be taken out of service"
    )


def test_what_is_down_already_counts() -> None:
    found = finding_of_round({"n2": SICK}, ["n2", "n3", "n4"], 1, TERMS)
    assert found.dead == ()
    assert found.why_not == "n2 does not answer, and no more of 4 nodes may be taken out of service"


@given(
    st.dictionaries(
        st.sampled_from([f"n{number}" for number in range(12)]),
        st.sampled_from([SICK, WELL]),
        min_size=1,
    ),
    st.integers(0, 5),
    st.floats(0.01, 0.99),
)
def test_the_last_node_always_stays(pulses: dict[str, Pulse], down: int, share: float) -> None:
    found = finding_of_round(pulses, pulses, down, Terms(3, 5, 1, share))
    assert len(found.dead) < len(pulses)
    assert len(found.dead) + down <= max(1, down, share * (len(pulses) + down))
    assert all(pulses[node].is_sick for node in found.dead)


def test_a_draining_node_is_nobody_to_go_to() -> None:
    """Or the last node that takes sites would be marked as down, and nothing could be done with
    it.
    """
    half = Terms(fails=3, passes=5, quorum=1, share=0.5)
    found = finding_of_round({"n1": SICK}, ["n1", "n2"], 0, half, active=["n1"])
    assert found.dead == ()
    assert found.why_not.startswith("n1 does not answer, and no other node is active")
    assert "`flex nodes undrain`" in found.why_not
    assert finding_of_round({"n2": SICK}, ["n1", "n2"], 0, half, active=["n1"]).dead == ("n2",)
    assert finding_of_round(
        {"n1": SICK}, ["n1", "n2", "n3"], 0, half, active=["n1", "n3"]
    ).dead == ("n1",)


@given(
    st.dictionaries(
        st.sampled_from([f"n{number}" for number in range(8)]),
        st.sampled_from([SICK, WELL]),
        min_size=1,
    ),
    st.sets(st.sampled_from([f"n{number}" for number in range(8)])),
    st.floats(0.01, 0.99),
)
def test_one_that_takes_sites_is_always_left(
    pulses: dict[str, Pulse], draining: set[str], share: float
) -> None:
    active = pulses.keys() - draining
    found = finding_of_round(pulses, pulses, 0, Terms(3, 5, 1, share), active=active)
    assert not found.dead or active - set(found.dead)

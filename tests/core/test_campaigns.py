"""A campaign lies on top of the wish that stands, and takes nothing of it away for good."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import hypothesis.strategies as st
import pytest
from hypothesis import given

from flex.model.wish import Pin
from flex.wishes.wishes_in_force_now import merge_campaign, pins_in_force

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
STANDING = Pin("a.example", ("n1",), weight=2.0, apart=("b.example",), reason="contract")
CAMPAIGN = Pin(
    "a.example", min_replicas=2, since=NOW, until=NOW + DAY, campaign="launch", reason="launch"
)


def test_a_campaign_changes_what_it_says_and_nothing_else() -> None:
    (found,) = pins_in_force([STANDING, CAMPAIGN], NOW)
    assert (found.nodes, found.min_replicas, found.weight, found.apart) == (
        ("n1",),
        2,
        2.0,
        ("b.example",),
    )
    assert found.reason == "launch"


@pytest.mark.parametrize("moment", [NOW - DAY, NOW + DAY])
def test_before_and_after_a_campaign_what_stands_is_as_it_was(moment: datetime) -> None:
    assert pins_in_force([CAMPAIGN, STANDING], moment) == (STANDING,)


def test_of_two_campaigns_the_later_one_is_on_top() -> None:
    later = Pin("a.example", ("n3",), since=NOW + DAY / 2, until=NOW + 2 * DAY, campaign="a-rush")
    (found,) = pins_in_force([later, CAMPAIGN, STANDING], NOW + DAY * 0.75)
    assert (found.nodes, found.min_replicas) == (("n3",), 2)


@pytest.mark.parametrize(
    ("campaign", "nodes", "least", "most"),
    [
        (Pin("a", not_on=("n1",), campaign="c"), ("n2",), 1, 2),
        (Pin("a", max_replicas=1, campaign="c"), (), 1, 1),
        (Pin("a", min_replicas=4, campaign="c"), ("n1", "n2"), 4, 4),
    ],
)
def test_a_campaign_that_says_otherwise_goes_before_what_stands(
    campaign: Pin, nodes: tuple[str, ...], least: int, most: int
) -> None:
    found = merge_campaign(Pin("a", ("n1", "n2"), max_replicas=2), campaign)
    assert (found.nodes, found.min_replicas, found.max_replicas) == (nodes, least, most)


NAMES = st.lists(st.sampled_from(["n1", "n2", "n3", "n4"]), unique=True, max_size=3).map(tuple)


@st.composite
def pins(draw: st.DrawFn, campaign: str) -> Pin:
    """Wishes that do not contradict themselves."""
    on = draw(NAMES)
    barred = tuple(name for name in draw(NAMES) if name not in on)
    least = draw(st.integers(1, 3))
    most = draw(st.sampled_from([0, max(least, len(on)), 4]))
    return Pin("a", on, least, not_on=barred, max_replicas=most, campaign=campaign)


@given(pins(""), pins("c"))
def test_two_wishes_that_do_not_contradict_themselves_do_not_do_so_together(
    standing: Pin, campaign: Pin
) -> None:
    found = merge_campaign(standing, campaign)
    assert not set(found.nodes) & set(found.not_on)
    assert not found.max_replicas or max(found.min_replicas, len(found.nodes)) <= found.max_replicas
    assert set(campaign.nodes) <= set(found.nodes)
    assert set(campaign.not_on) <= set(found.not_on)


@given(pins("c"))
def test_over_nothing_a_campaign_is_what_it_says(campaign: Pin) -> None:
    assert merge_campaign(Pin("a"), campaign) == campaign

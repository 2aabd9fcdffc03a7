"""Whatever a zone says and whatever is wanted: the plan in between leads from the one to the
other.
"""

from __future__ import annotations

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.frame_schemas import RECORDS
from flex.zones.marker import marker_name, marker_owner, marker_text, site_name
from flex.zones.zone_changes import diff, foreign
from tests.memory_publisher import MemoryPublisher
from tests.thorough import times

ZONE = "hosting.example."
OWNER = "flex-eu1"

# Few enough that the zones of one example have names in common.
hosts = st.sampled_from([f"{name}.{ZONE}" for name in ("a", "b", "www.a", "www.b", "c-1")])
labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
names = st.lists(labels, min_size=1, max_size=3).map(lambda parts: ".".join([*parts, ZONE]))
addresses = st.sets(
    st.integers(1, 250).map(lambda number: f"192.0.2.{number}"), min_size=1, max_size=3
)
zones = st.dictionaries(hosts, addresses, max_size=4)


def records(wanted: dict[str, set[str]], ttl: int = 60) -> pd.DataFrame:
    rows = [(name, "A", ttl, value) for name, values in wanted.items() for value in values]
    return RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))


@settings(max_examples=times(30))
@given(zones, zones)
def test_applying_the_difference_gives_what_was_wanted(
    before: dict[str, set[str]], after: dict[str, set[str]]
) -> None:
    target = MemoryPublisher([ZONE], OWNER)
    for wanted in (before, after, after):
        state = target.read(ZONE, list(wanted))
        target.apply(
            diff(
                ZONE, records(wanted), state, owner=OWNER, ttl=60, left_alone=foreign(state, wanted)
            )
        )
    state = target.read(ZONE, list(after))
    assert state.records.equals(records(after))
    assert state.owned == set(after)
    assert all(verdict.agrees for verdict in target.verify(ZONE, records(after)))


@settings(max_examples=times(30))
@given(zones, zones)
def test_names_of_another_owner_never_change(
    theirs: dict[str, set[str]], ours: dict[str, set[str]]
) -> None:
    target = MemoryPublisher([ZONE], OWNER)
    for name, values in theirs.items():
        target.edit(ZONE, name, "A", 60, sorted(values))
        target.edit(ZONE, marker_name(name, ZONE), "TXT", 60, [marker_text("flex-us1")])
    state = target.read(ZONE, list(ours))
    target.apply(
        diff(ZONE, records(ours), state, owner=OWNER, ttl=60, left_alone=foreign(state, ours))
    )
    assert target.read(ZONE, list(theirs)).records.equals(records(theirs))


@given(names)
def test_a_marker_leads_back_to_its_name(name: str) -> None:
    assert site_name(ZONE, marker_name(name, ZONE)) == name
    assert site_name(ZONE, name) == name


@given(st.text(min_size=1))
def test_a_marker_says_whose_it_is(owner: str) -> None:
    assert marker_owner(marker_text(owner)) == owner


def test_the_apex_has_a_marker_too() -> None:
    assert marker_name(ZONE, ZONE) == f"_flex.{ZONE}"
    assert site_name(ZONE, f"_flex.{ZONE}") == ZONE


def test_other_text_is_no_marker() -> None:
    assert marker_owner("v=spf1 -all") is None

"""What every store promises, whatever it keeps things in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from flex.domain import (
    Balance,
    Breach,
    Change,
    Cycle,
    Forecast,
    Move,
    NodeForecast,
    NodeLoad,
    Period,
    Pin,
    Plan,
    Proven,
    Rrset,
    Run,
    Segment,
    Stage,
    Stream,
    Verdict,
)
from flex.errors import BadInput, BadTable, Busy, Unknown
from flex.ports import Store
from flex.store import holder
from flex.tables import PLACEMENT, PROFILES, SPREADS

NOW = datetime(2026, 3, 1, 2, 30, 0, 123456, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
LARGEST = 2**63 - 1
HOSTILE = (
    "",
    " ",
    "%",
    "_",
    "a'; DROP TABLE placements; --",
    "line\nline\ttab",
    "İstanbul.example.org",
    "\u2028\u202e\ufeff",
    "\U0001f600.example.org",
    "A.example.org",
    "a.example.org",
    "long-" + "".join(map(str, range(3000))),
)


def placement(*rows: tuple[str, str]) -> pd.DataFrame:
    return PLACEMENT.from_columns({"site": [site for site, _ in rows], "node": [node for _, node in rows]})


def profiles(*sites: str, bytes_: int = 1) -> pd.DataFrame:
    measured = {name: [bytes_] * len(sites) for name in PROFILES.columns if name != "site"}
    return PROFILES.from_columns({"site": list(sites), **measured})


def cycle(id_: str, created: datetime = NOW, base: str = "") -> Cycle:
    return Cycle(
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
        plans=(),
    )


def full_cycle() -> Cycle:
    """A cycle in which every field holds something."""
    one = Rrset("a.example.org.", "A", 60, ("192.0.2.1",))
    change = Change(one, replace(one, values=("192.0.2.2", "192.0.2.3")))
    balance = Balance((NodeLoad("n1", 101.5, 98.5, 2),), 0.1 + 0.2, "n1", "access rate")
    return replace(
        cycle("20260301T023000-abc", base="20260228T023000-fff"),
        moves=(Move("a.example.org", None, "n2", LARGEST, "new"),),
        before=balance,
        forecasts=(Forecast("lru", 0.25, (NodeForecast("n1", 3, 1, 300, 100),)),),
        plans=(Plan("example.org.", (change, Change(None, one)), ("b.example.org. CNAME",), 2),),
        breaches=(Breach("moved_share", 0.3, 1.0),),
        notes=('it\'s "noted" \x00 \U0001f600',),
        state="applied",
        message="done",
        settled=NOW + HOUR,
        verdicts=(Verdict("192.0.2.53", 2, 2026030101, (change,), "late"),),
    )


def stream(offset: int, head: str = "head", path: str = "/var/log/access.log") -> Stream:
    return Stream("web", head, 4096, offset, f"tail{offset}", path)


def segment(id_: str, first_day: int = 10, last_day: int = 10) -> Segment:
    lines = (("counted", 5), ("malformed", 1))
    samples = ('half a "line', "\ufffd\x00")
    return Segment(
        id_, "web", "n1", "/var/log/access.log", "combined", 0, LARGEST, first_day, last_day, 0, 9, lines, samples
    )


def run(id_: str, started: datetime = NOW, by: str = "") -> Run:
    return Run(id_, by or holder(), started)


# Wishes


def test_a_pin_comes_back_as_it_was_put(store: Store) -> None:
    pins = (
        Pin("a.example.org", ("n2", "n1"), 2, NOW, "it's slow", "an operator"),
        Pin("b.example.org"),
    )
    for pin in reversed(pins):
        store.put_pin(pin)
    assert store.pins() == pins


def test_a_site_has_one_pin_and_the_last_one_counts(store: Store) -> None:
    store.put_pin(Pin("a.example.org", ("n1",)))
    store.put_pin(Pin("a.example.org", ("n2",)))
    assert store.pins() == (Pin("a.example.org", ("n2",)),)


def test_dropping_a_pin_says_whether_there_was_one(store: Store) -> None:
    store.put_pin(Pin("a.example.org"))
    assert store.drop_pin("a.example.org")
    assert not store.drop_pin("a.example.org")
    assert store.pins() == ()


def test_pins_of_hostile_names_are_kept_apart(store: Store) -> None:
    for site in HOSTILE:
        store.put_pin(Pin(site, reason=site))
    assert store.drop_pin("%")
    assert [pin.site for pin in store.pins()] == sorted(set(HOSTILE) - {"%"})


@pytest.mark.parametrize("site", ["\x00", "\ud800", "half\x00name"])
def test_text_that_is_none_is_kept_exactly_or_refused(store: Store, site: str) -> None:
    try:
        store.put_pin(Pin(site))
    except BadInput:
        assert store.pins() == ()
    else:
        assert store.pins() == (Pin(site),)


def test_a_time_comes_back_as_the_same_instant_in_utc(store: Store) -> None:
    tokyo = timezone(timedelta(hours=9))
    store.put_pin(Pin("a.example.org", until=NOW.astimezone(tokyo)))
    (pin,) = store.pins()
    assert pin.until == NOW


def test_only_nodes_that_somebody_set_have_a_state(store: Store) -> None:
    assert store.node_states() == {}
    store.set_node_state("n1", "draining")
    store.set_node_state("n2", "down")
    store.set_node_state("n1", "active")
    assert store.node_states() == {"n1": "active", "n2": "down"}


# Segments


def test_a_reading_is_recorded_with_how_far_the_log_was_read(store: Store) -> None:
    assert store.record(segment("s1"), stream(100), None)
    assert store.segments(0, 99) == (segment("s1"),)
    assert store.streams("web") == (stream(100),)
    assert store.streams("other") == ()


def test_reading_on_replaces_the_stream(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    store.record(segment("s2"), stream(200), stream(100))
    assert store.streams("web") == (stream(200),)


def test_a_known_segment_is_not_counted_again_and_changes_nothing(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    assert not store.record(segment("s1"), stream(200), stream(100))
    assert store.streams("web") == (stream(100),)
    assert store.segments(0, 99) == (segment("s1"),)


def test_who_was_overtaken_in_a_log_records_nothing(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    store.record(segment("s2"), stream(200), stream(100))
    with pytest.raises(Busy) as refused:
        store.record(segment("s3"), stream(300), stream(100))
    assert "nothing" in refused.value.kept
    assert store.streams("web") == (stream(200),)
    assert [each.id for each in store.segments(0, 99)] == ["s1", "s2"]


def test_a_stream_is_known_by_what_it_contains_whatever_its_file_is_called(store: Store) -> None:
    store.record(segment("s1"), stream(100), None)
    renamed = replace(stream(100), path="/var/log/access.log.1")
    store.record(segment("s2"), replace(stream(200), path="/var/log/access.log.1"), renamed)
    assert [each.path for each in store.streams("web")] == ["/var/log/access.log.1"]


def test_segments_are_those_of_the_days_asked_for_in_order_of_id(store: Store) -> None:
    for number, (id_, first, last) in enumerate([("d", 4, 5), ("B", 5, 9), ("a", 6, 6), ("c", 9, 10)]):
        store.record(segment(id_, first, last), stream(number, head=id_), None)
    assert [each.id for each in store.segments(5, 6)] == ["B", "a", "d"]
    assert [each.id for each in store.segments(10, 10)] == ["c"]
    assert store.segments(0, 3) == ()


# Profiles


def test_before_the_first_profiles_there_are_none(store: Store) -> None:
    assert store.profiles() is None


def test_profiles_come_back_as_they_were_put(store: Store) -> None:
    period = Period.days_before(NOW, 7)
    put = profiles(*HOSTILE, bytes_=LARGEST)
    spread = SPREADS.from_columns({"site": ["%", "%"], "replicas": [2, 3], "working_set": [10, LARGEST]})
    store.put_profiles(period, put, spread)
    found = store.profiles()
    assert found is not None
    assert found[0] == period
    pd.testing.assert_frame_equal(found[1], put)
    pd.testing.assert_frame_equal(found[2], spread)


def test_the_same_period_is_replaced(store: Store) -> None:
    period = Period.days_before(NOW, 7)
    spread = SPREADS.from_columns({"site": ["a"], "replicas": [2], "working_set": [10]})
    store.put_profiles(period, profiles("a", "b"), spread)
    store.put_profiles(period, profiles("c"), SPREADS.empty())
    found = store.profiles()
    assert found is not None
    pd.testing.assert_frame_equal(found[1], profiles("c"))
    pd.testing.assert_frame_equal(found[2], SPREADS.empty())


def test_the_latest_period_is_the_one_that_ends_last(store: Store) -> None:
    for days_ago, site in ((1, "yesterday"), (0, "today"), (2, "earlier")):
        store.put_profiles(Period.days_before(NOW - days_ago * DAY, 1), profiles(site), SPREADS.empty())
    found = store.profiles()
    assert found is not None
    assert list(found[1]["site"]) == ["today"]


def test_of_periods_with_one_end_the_last_stored_is_the_latest(store: Store) -> None:
    for days in (7, 30, 7):
        store.put_profiles(Period.days_before(NOW, days), profiles(f"over {days} days"), SPREADS.empty())
    found = store.profiles()
    assert found is not None
    assert list(found[1]["site"]) == ["over 7 days"]


# Cycles


def test_before_the_first_cycle_nothing_is_in_force(store: Store) -> None:
    id_, rows = store.placement()
    assert id_ == ""
    pd.testing.assert_frame_equal(rows, PLACEMENT.empty())


def test_a_cycle_comes_back_exactly(store: Store) -> None:
    store.propose(full_cycle(), PLACEMENT.empty())
    assert store.cycle(full_cycle().id) == full_cycle()
    assert store.cycles() == (full_cycle(),)


def test_a_proposal_puts_nothing_in_force(store: Store) -> None:
    rows = placement(*((site, "n1") for site in HOSTILE))
    store.propose(cycle("c1"), rows)
    pd.testing.assert_frame_equal(store.placement_of("c1"), rows)
    assert store.placement()[0] == ""


def test_settling_puts_the_placement_in_force_with_the_state(store: Store) -> None:
    store.propose(cycle("c1"), placement(("a", "n1")))
    store.propose(cycle("c2"), placement(("a", "n2"), ("a", "n1")))
    settled = replace(cycle("c2"), state="applied", settled=NOW)
    store.settle(settled, placement(("a", "n2"), ("a", "n1")))
    id_, rows = store.placement()
    assert id_ == "c2"
    pd.testing.assert_frame_equal(rows, placement(("a", "n1"), ("a", "n2")))
    assert store.cycle("c2") == settled


def test_what_is_in_force_is_what_the_cycle_was_settled_with(store: Store) -> None:
    store.propose(cycle("c1"), placement(("a", "n1"), ("b", "n1")))
    store.settle(replace(cycle("c1"), state="failed"), placement(("a", "n2")))
    pd.testing.assert_frame_equal(store.placement()[1], placement(("a", "n2")))
    pd.testing.assert_frame_equal(store.placement_of("c1"), placement(("a", "n2")))


def test_an_update_changes_the_cycle_and_not_its_placement(store: Store) -> None:
    store.propose(cycle("c1"), placement(("a", "n1")))
    store.update(replace(cycle("c1"), state="discarded", message="no"))
    assert store.cycle("c1").state == "discarded"
    pd.testing.assert_frame_equal(store.placement_of("c1"), placement(("a", "n1")))


def test_the_same_proposal_may_be_stored_again(store: Store) -> None:
    store.propose(cycle("c1"), placement(("a", "n1")))
    store.propose(cycle("c1"), placement(("a", "n1")))
    assert store.cycles() == (cycle("c1"),)
    pd.testing.assert_frame_equal(store.placement_of("c1"), placement(("a", "n1")))


def test_a_proposal_never_takes_the_place_of_a_cycle_that_went_on(store: Store) -> None:
    store.propose(cycle("c1"), placement(("a", "n1")))
    store.settle(replace(cycle("c1"), state="applied"), placement(("a", "n1")))
    with pytest.raises(BadInput, match="applied"):
        store.propose(cycle("c1"), placement(("a", "n2")))
    assert store.cycle("c1").state == "applied"
    pd.testing.assert_frame_equal(store.placement()[1], placement(("a", "n1")))


def test_a_cycle_nobody_proposed_is_unknown(store: Store) -> None:
    with pytest.raises(Unknown):
        store.placement_of("c1")
    with pytest.raises(Unknown):
        store.update(cycle("c1"))
    with pytest.raises(Unknown):
        store.settle(cycle("c1"), placement(("a", "n1")))
    assert store.placement()[0] == ""
    assert store.cycles() == ()


def test_a_broken_placement_is_refused_before_anything_is_stored(store: Store) -> None:
    twice = pd.DataFrame({"site": ["a", "a"], "node": ["n1", "n1"]}).astype(dict(PLACEMENT.columns))
    with pytest.raises(BadTable):
        store.propose(cycle("c1"), twice)
    assert store.cycles() == ()


def test_what_a_caller_does_to_his_frame_does_not_reach_the_store(store: Store) -> None:
    given = placement(("a", "n1"))
    store.propose(cycle("c1"), given)
    given.loc[0, "node"] = "n2"
    taken = store.placement_of("c1")
    taken.loc[0, "node"] = "n3"
    assert list(store.placement_of("c1")["node"]) == ["n1"]


def test_an_unambiguous_beginning_names_a_cycle(store: Store) -> None:
    for id_ in ("2026-ab", "2026-ac", "2027-a"):
        store.propose(cycle(id_), PLACEMENT.empty())
    assert store.cycle("2027").id == "2027-a"
    assert store.cycle("2026-ac").id == "2026-ac"


def test_an_id_that_begins_another_names_its_own_cycle(store: Store) -> None:
    for id_ in ("c1", *(f"c1{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")):
        store.propose(cycle(id_), PLACEMENT.empty())
    assert store.cycle("c1").id == "c1"


def test_an_ambiguous_beginning_lists_the_candidates(store: Store) -> None:
    for id_ in ("2026-ab", "2026-ac", "2027-a"):
        store.propose(cycle(id_), PLACEMENT.empty())
    with pytest.raises(Unknown, match=r"2026-ab, 2026-ac$"):
        store.cycle("2026")


@pytest.mark.parametrize("wrong", ["", "2028", "%", "2026-a_", "2026_", "2026-A", "-ab", "2026-ab ", "'"])
def test_what_begins_no_cycle_is_unknown(store: Store, wrong: str) -> None:
    store.propose(cycle("2026-ab"), PLACEMENT.empty())
    with pytest.raises(Unknown, match="none"):
        store.cycle(wrong)


def test_cycles_come_newest_first(store: Store) -> None:
    for id_, hours in (("b", 1), ("B", 1), ("c", 2), ("a", 0)):
        store.propose(cycle(id_, NOW + hours * HOUR), PLACEMENT.empty())
    assert [each.id for each in store.cycles()] == ["c", "b", "B", "a"]
    assert [each.id for each in store.cycles(limit=2)] == ["c", "b"]


def test_a_hundred_thousand_rows_come_back_in_order(store: Store) -> None:
    rows = np.arange(100_000)
    many = PLACEMENT.from_columns(
        {"site": [f"s{row:06}.example.org" for row in rows], "node": [f"n{row}" for row in rows % 7]}
    )
    store.propose(cycle("c1"), many)
    store.settle(cycle("c1"), many)
    pd.testing.assert_frame_equal(store.placement()[1], many)


# Runs


def test_a_run_is_recorded_from_its_beginning_to_its_end(store: Store) -> None:
    assert store.begin(run("r1"), HOUR, NOW) == ()
    store.stage("r1", Stage("read", NOW))
    store.stage("r1", Stage("plan", NOW + HOUR))
    store.stage("r1", Stage("read", NOW, NOW + HOUR, "12 files"))
    ended = replace(run("r1"), ended=NOW + HOUR, exit_code=0, cycle="c1", message="ok")
    store.end(ended)
    stages = (Stage("read", NOW, NOW + HOUR, "12 files"), Stage("plan", NOW + HOUR))
    assert store.runs() == (replace(ended, stages=stages),)


def test_while_a_run_lives_no_other_begins(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    with pytest.raises(Busy) as refused:
        store.begin(run("r2"), HOUR, NOW + HOUR / 2)
    assert "r1" in str(refused.value)
    assert holder() in str(refused.value)
    assert "2026-03-01 02:30:00" in str(refused.value)
    assert "2026-03-01 03:30:00" in refused.value.advice
    assert [each.id for each in store.runs()] == ["r1"]


def test_after_a_run_has_ended_the_next_one_begins(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.end(replace(run("r1"), ended=NOW, exit_code=0))
    assert store.begin(run("r2"), HOUR, NOW) == ()


def test_an_expired_lease_is_taken_over_and_its_run_marked_interrupted(store: Store) -> None:
    store.begin(run("r1", by="other.example.org:1:1"), HOUR, NOW)
    store.stage("r1", Stage("read", NOW))
    (ended,) = store.begin(run("r2"), HOUR, NOW + HOUR)
    assert (ended.id, ended.exit_code, ended.ended) == ("r1", 143, NOW + HOUR)
    assert "interrupted" in ended.message
    assert ended.stages == (Stage("read", NOW),)
    assert store.runs() == (run("r2"), ended)


def test_a_holder_that_is_gone_from_this_host_does_not_keep_the_lease(store: Store) -> None:
    host, pid, start = holder().rsplit(":", 2)
    store.begin(run("r1", by=f"{host}:{pid}:{int(start) + 1}"), HOUR, NOW)
    (ended,) = store.begin(run("r2"), HOUR, NOW)
    assert ended.id == "r1"


def test_a_holder_on_another_host_is_waited_for(store: Store) -> None:
    store.begin(run("r1", by="other.example.org:1:1"), HOUR, NOW)
    with pytest.raises(Busy, match=r"other\.example\.org"):
        store.begin(run("r2"), HOUR, NOW)


def test_a_beat_prolongs_the_lease(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.beat("r1", HOUR, NOW + HOUR / 2)
    with pytest.raises(Busy):
        store.begin(run("r2"), HOUR, NOW + HOUR)


def test_a_beat_after_the_lease_was_lost_says_who_has_it(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.begin(run("r2"), HOUR, NOW + HOUR)
    with pytest.raises(Busy, match="r2"):
        store.beat("r1", HOUR, NOW + HOUR)


def test_a_beat_after_the_lease_was_given_back_is_refused(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.end(replace(run("r1"), ended=NOW))
    with pytest.raises(Busy, match="given back"):
        store.beat("r1", HOUR, NOW)


def test_a_run_that_lost_its_lease_does_not_give_away_the_other_ones(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.begin(run("r2", started=NOW + HOUR), HOUR, NOW + HOUR)
    store.end(replace(run("r1"), ended=NOW + HOUR, exit_code=23))
    with pytest.raises(Busy, match="r2"):
        store.begin(run("r3"), HOUR, NOW + HOUR)
    assert [each.exit_code for each in store.runs()] == [None, 23]


def test_a_run_that_was_never_begun_is_unknown(store: Store) -> None:
    with pytest.raises(Unknown):
        store.stage("r1", Stage("read", NOW))
    with pytest.raises(Unknown):
        store.end(run("r1"))
    with pytest.raises(Busy):
        store.beat("r1", HOUR, NOW)
    assert store.runs() == ()


def test_a_run_begins_once(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.end(replace(run("r1"), ended=NOW))
    with pytest.raises(BadInput, match="recorded already"):
        store.begin(run("r1"), HOUR, NOW)
    assert store.begin(run("r2"), HOUR, NOW) == ()


def test_runs_come_newest_first(store: Store) -> None:
    for number in range(3):
        started = NOW + number * HOUR
        store.begin(run(f"r{number}", started), HOUR, started)
        store.end(replace(run(f"r{number}", started), ended=started))
    assert [each.id for each in store.runs()] == ["r2", "r1", "r0"]
    assert [each.id for each in store.runs(limit=1)] == ["r2"]


def test_of_many_threads_exactly_one_takes_the_lease(store: Store) -> None:
    def wins(number: int) -> bool:
        try:
            store.begin(run(f"r{number}"), HOUR, NOW)
        except Busy:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(wins, range(12))) == 1

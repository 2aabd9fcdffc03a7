"""What every store promises about runs and the one lease."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from flex.errors import BadInput, Busy, Unknown
from flex.model.nightly_run import NightlyRun, Stage
from flex.store import Store, holder
from flex.store.lease_holder import name_for_people

NOW = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
ELSEWHERE = "other.example.org:1:1"


def run(id_: str, started: datetime = NOW, by: str = "") -> NightlyRun:
    return NightlyRun(id_, by or holder(), started)


@pytest.mark.slow("postgresql")
def test_a_run_is_recorded_from_its_beginning_to_its_end(store: Store) -> None:
    assert store.begin(run("r1"), HOUR, NOW) == ()
    store.stage("r1", Stage("read", NOW))
    store.stage("r1", Stage("plan", NOW + HOUR))
    store.stage("r1", Stage("read", NOW, NOW + HOUR, "12 files"))
    ended = replace(run("r1"), ended=NOW + HOUR, exit_code=0, plan="c1", message="ok")
    store.end(ended)
    stages = (Stage("read", NOW, NOW + HOUR, "12 files"), Stage("plan", NOW + HOUR))
    assert store.runs() == (replace(ended, stages=stages),)


def test_a_run_is_found_however_many_began_after_it(store: Store) -> None:
    made = replace(run("r1"), ended=NOW, exit_code=0, plan="p1")
    store.begin(run("r1"), HOUR, NOW)
    store.stage("r1", stage := Stage("plan", NOW, NOW, "p1"))
    store.end(made)
    for number in range(2, 70):
        later = run(f"r{number}", NOW + number * HOUR)
        store.begin(later, HOUR, later.started)
        if number == 69:
            store.stage(later.id, Stage("finish", later.started, outcome="p1"))
        store.end(replace(later, ended=later.started, exit_code=0))
    assert store.run_of("r1") == replace(made, stages=(stage,))
    assert [each.id for each in store.runs_about("p1")] == ["r69", "r1"]
    assert store.runs_about("p2") == ()
    with pytest.raises(Unknown, match="r70"):
        store.run_of("r70")


def test_runs_are_in_the_order_in_which_they_began_whatever_time_they_are_as_of(
    store: Store,
) -> None:
    early = replace(run("r2", NOW - 1000 * HOUR), made=NOW + HOUR)
    for each in (run("r1"), early, run("r3", NOW + 2 * HOUR)):
        store.begin(each, HOUR, each.wall_time)
        store.end(replace(each, ended=each.started + HOUR, exit_code=0))
    assert [each.id for each in store.runs()] == ["r3", "r2", "r1"]
    assert store.runs(2)[1] == replace(early, ended=early.started + HOUR, exit_code=0)
    assert store.runs(2)[1].wall_end == NOW + 2 * HOUR


def test_while_a_run_lives_no_other_begins(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    with pytest.raises(Busy) as refused:
        store.begin(run("r2"), HOUR, NOW + HOUR / 2)
    assert "r1" in str(refused.value)
    assert name_for_people(holder()) in str(refused.value)
    assert "2026-03-01 02:30:00" in str(refused.value)
    assert "2026-03-01 03:30:00" in refused.value.advice
    assert [each.id for each in store.runs()] == ["r1"]


def test_who_cannot_wait_breaks_in_on_a_run_that_only_waits(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    with pytest.raises(Busy):
        store.begin(run("r2"), HOUR, NOW, breaks_in=True)
    store.wait("r1")
    with pytest.raises(Busy):
        store.begin(run("r2"), HOUR, NOW)
    (ended,) = store.begin(run("r3"), HOUR, NOW, breaks_in=True)
    assert (ended.id, store.holds("r1"), store.holds("r3")) == ("r1", False, True)
    with pytest.raises(Busy, match="r3"):
        store.go_on("r1")


def test_a_run_that_goes_on_is_not_broken_in_on(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.wait("r1")
    store.go_on("r1")
    with pytest.raises(Busy):
        store.begin(run("r2"), HOUR, NOW, breaks_in=True)


def test_nobody_waits_with_a_lease_that_is_not_his(store: Store) -> None:
    with pytest.raises(Busy, match="given back"):
        store.wait("r1")
    store.begin(run("r1"), HOUR, NOW)
    with pytest.raises(Busy, match="r1"):
        store.wait("r0")
    with pytest.raises(Busy):
        store.begin(run("r2"), HOUR, NOW, breaks_in=True)


def test_a_store_is_known_by_what_it_drew_when_it_was_made(store: Store) -> None:
    assert len(store.installation()) == 16
    assert store.installation() == store.installation()


def test_after_a_run_has_ended_the_next_one_begins(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.end(replace(run("r1"), ended=NOW, exit_code=0))
    assert store.begin(run("r2"), HOUR, NOW) == ()


def test_an_expired_lease_is_taken_over_and_its_run_marked_interrupted(store: Store) -> None:
    store.begin(run("r1", by=ELSEWHERE), HOUR, NOW)
    store.stage("r1", Stage("read", NOW))
    (ended,) = store.begin(run("r2"), HOUR, NOW + HOUR)
    assert (ended.id, ended.exit_code, ended.ended) == ("r1", 137, NOW + HOUR)
    assert "interrupted" in ended.message
    assert ended.stages == (Stage("read", NOW),)
    assert store.runs() == (run("r2"), ended)


def test_a_holder_that_is_gone_from_this_host_does_not_keep_the_lease(store: Store) -> None:
    host, pid, start = holder().rsplit(":", 2)
    store.begin(run("r1", by=f"{host}:{pid}:{int(start) + 1}"), HOUR, NOW)
    (ended,) = store.begin(run("r2"), HOUR, NOW)
    assert ended.id == "r1"


def test_a_process_that_is_there_keeps_the_lease_however_late_it_is(store: Store) -> None:
    store.begin(run("r1", by=holder()), HOUR, NOW)
    with pytest.raises(Busy):
        store.begin(run("r2"), HOUR, NOW + 24 * HOUR)


def test_a_holder_on_another_host_is_waited_for(store: Store) -> None:
    store.begin(run("r1", by=ELSEWHERE), HOUR, NOW)
    with pytest.raises(Busy, match=r"other\.example\.org"):
        store.begin(run("r2"), HOUR, NOW)


def test_a_beat_prolongs_the_lease(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.beat("r1", HOUR, NOW + HOUR / 2)
    with pytest.raises(Busy):
        store.begin(run("r2"), HOUR, NOW + HOUR)


def test_a_beat_after_the_lease_was_lost_says_who_has_it(store: Store) -> None:
    store.begin(run("r1", by=ELSEWHERE), HOUR, NOW)
    store.begin(run("r2"), HOUR, NOW + HOUR)
    with pytest.raises(Busy, match="r2"):
        store.beat("r1", HOUR, NOW + HOUR)


def test_a_beat_after_the_lease_was_given_back_is_refused(store: Store) -> None:
    store.begin(run("r1"), HOUR, NOW)
    store.end(replace(run("r1"), ended=NOW))
    with pytest.raises(Busy, match="given back"):
        store.beat("r1", HOUR, NOW)


def test_a_run_that_lost_its_lease_does_not_give_away_the_other_ones(store: Store) -> None:
    store.begin(run("r1", by=ELSEWHERE), HOUR, NOW)
    store.begin(run("r2", started=NOW + HOUR), HOUR, NOW + HOUR)
    store.end(replace(run("r1", by=ELSEWHERE), ended=NOW + HOUR, exit_code=23))
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

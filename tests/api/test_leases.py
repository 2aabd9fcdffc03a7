"""The lease lasts as long as the step that holds it, whatever day the step is made as of."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from flex.errors import Busy, FlexError, LostLease, StoreError
from flex.model.nightly_run import NightlyRun
from flex.store import MemoryStore
from flex.store.lease_holder import PATIENCE
from flex_api import wiring
from flex_api.beat_while_working import beating
from flex_api.night import leases
from flex_api.night.leases import lease
from flex_api.settings.file import Settings
from flex_api.wiring import World
from tests.memory_publisher import MemoryPublisher

AS_OF = datetime(2026, 3, 2, 2, 17, tzinfo=UTC)


@pytest.fixture
def here() -> World:
    return World(
        settings=Settings.model_validate({}),
        store=MemoryStore(),
        connect=lambda: MemoryPublisher([], "me"),
        clock=lambda: AS_OF,
        time_of_day=lambda: datetime.now(UTC),
        say=wiring.silent,
        progress=wiring.silent,
    )


def test_a_step_is_recorded_as_of_its_day_and_holds_the_lease_by_the_time_of_day(
    here: World,
) -> None:
    with lease(here, "test") as held:
        assert held.run.started == AS_OF
        with pytest.raises(Busy, match=f"{here.time_of_day():%Y-%m-%d}"):
            here.store.begin(
                NightlyRun("rival", "other.example.org:1:1", AS_OF), PATIENCE, AS_OF + PATIENCE
            )


def test_a_long_stage_does_not_lose_the_lease(here: World) -> None:
    """Every time the lease is prolonged somebody looks at the clock: once to begin, twice more in
    the background.
    """
    looks = 0
    prolonged = threading.Event()

    def time_of_day() -> datetime:
        nonlocal looks
        looks += 1
        if looks == 3:
            prolonged.set()
        return here.time_of_day()

    with lease(replace(here, time_of_day=time_of_day), "test", beats=timedelta(milliseconds=5)):
        assert prolonged.wait(300)


def missing(here: World, error: FlexError, beats: int) -> None:
    """A step whose store answers with the error at the first beats; it lasts until one was well
    again.
    """
    asked = 0
    well = threading.Event()

    class Away(MemoryStore):
        def beat(self, run_id: str, lease: timedelta, now: datetime) -> None:
            nonlocal asked
            asked += 1
            if asked <= beats:
                raise error
            super().beat(run_id, lease, now)
            well.set()

    with lease(replace(here, store=Away()), "test", beats=timedelta(milliseconds=5)):
        assert well.wait(300)


def test_a_database_that_is_away_for_a_moment_ends_no_beat(here: World) -> None:
    missing(here, StoreError("writing", "gone", kept="nothing was stored", advice=""), 3)


def test_nor_does_one_that_another_process_keeps_busy(here: World) -> None:
    missing(here, Busy("writing", "others write", kept="nothing was stored", advice=""), 3)


def test_the_beat_ends_once_the_lease_is_lost() -> None:
    beats = 0
    looked = threading.Event()

    def beat() -> None:
        nonlocal beats
        beats += 1
        looked.wait(300)
        raise LostLease("going on", "another took it", kept="", advice="")

    before = set(threading.enumerate())
    with beating("test", beat, timedelta(milliseconds=1)):
        (thread,) = set(threading.enumerate()) - before
        looked.set()
        thread.join(300)
        assert not thread.is_alive()
    assert beats == 1


def test_what_a_step_says_at_its_end_is_kept(here: World) -> None:
    with lease(here, "test"):
        pass
    (run,) = here.store.runs()
    assert (run.exit_code, run.message) == (0, "test")


def test_a_step_that_waits_begins_when_the_other_ends_and_says_for_what_it_waits(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    other = NightlyRun("other", "other.example.org:1:1", AS_OF)
    here.store.begin(other, PATIENCE, here.time_of_day())
    looks: list[float] = []

    def other_ends_at_the_third_look(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            here.store.end(replace(other, ended=AS_OF))

    monkeypatch.setattr(leases, "sleep", other_ends_at_the_third_look)
    waiting = replace(here, say=said.append)
    with lease(waiting, "nightly", waits=timedelta(minutes=1)) as held:
        assert here.store.holds(held.run.id)
    assert len(looks) == 3
    assert len(said) == 1
    assert said[0].startswith("Waiting up to 1 m 0 s: ")
    assert "other.example.org" in said[0]


def test_a_step_that_waited_in_vain_is_refused_as_one_that_does_not_wait(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.store.begin(
        NightlyRun("other", "other.example.org:1:1", AS_OF), PATIENCE, here.time_of_day()
    )
    looks: list[float] = []
    monkeypatch.setattr(leases, "sleep", looks.append)
    for waits, expected in ((timedelta(), 0), (timedelta(seconds=20), 20)):
        looks.clear()
        with pytest.raises(Busy), lease(here, "nightly", waits=waits):
            pass
        assert len(looks) == expected
    assert [run.id for run in here.store.runs()] == ["other"]

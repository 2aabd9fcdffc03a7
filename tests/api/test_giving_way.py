"""A run that only waits gives way to one that cannot wait, and never takes its lease for its
own.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from flex.errors import Busy, Unwell
from flex.model.nightly_run import NightlyRun
from flex.model.nodes import Node
from flex.store import MemoryStore, holder
from flex.store.lease_holder import PATIENCE
from flex_api import wiring
from flex_api.night import before_waves
from flex_api.night.interruptible_wait import giving_way, pause
from flex_api.night.leases import lease
from flex_api.settings.file import Settings
from flex_api.wiring import World
from tests.memory_publisher import MemoryPublisher

AS_OF = datetime(2026, 3, 2, 2, 17, tzinfo=UTC)
NODE = Node("n2", ("192.0.2.2",), 1)


def world(say: Callable[[str], None] = wiring.silent, **dns: object) -> World:
    return World(
        settings=Settings.model_validate({"dns": {"make_before_break": True, **dns}}),
        store=MemoryStore(),
        connect=lambda: MemoryPublisher([], "me"),
        clock=lambda: AS_OF,
        time_of_day=lambda: datetime.now(UTC),
        say=say,
        progress=wiring.silent,
    )


def breaks_in(here: World) -> None:
    """Somebody else takes the lease, and keeps it: what this thread writes it writes for its own
    run.
    """
    rival = NightlyRun("rival", holder(), AS_OF)
    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(
            here.store.begin, rival, PATIENCE, here.time_of_day(), breaks_in=True
        ).result()


def fails_when_broken_into(here: World) -> None:
    with lease(here, "nightly"), giving_way(here):
        breaks_in(here)
        raise Unwell("warming up", "it failed", kept="", advice="")


def waits_when_its_lease_is_lost(here: World) -> None:
    with lease(here, "nightly"):
        with ThreadPoolExecutor(1) as elsewhere:
            elsewhere.submit(here.store.end, here.store.runs()[0]).result()
        breaks_in(here)
        pause(here, 60.0)


def test_what_fails_after_somebody_broke_in_does_not_hide_that_he_did() -> None:
    """Or it would be taken back here as well, beside the one who holds the lease."""
    with pytest.raises(Busy, match="a node died meanwhile") as refused:
        fails_when_broken_into(world())
    assert "is being taken back" in refused.value.kept


def test_a_run_that_lost_its_lease_does_not_wait_with_that_of_another() -> None:
    here = world()
    with pytest.raises(Busy):
        waits_when_its_lease_is_lost(here)
    with pytest.raises(Busy):
        here.store.begin(
            NightlyRun("third", holder(), AS_OF), PATIENCE, here.time_of_day(), breaks_in=True
        )


def test_who_holds_no_lease_waits_all_the_same() -> None:
    pause(world(), 0.0)


def test_a_command_that_writes_no_text_fails_as_any_other() -> None:
    said: list[str] = []
    here = world(
        said.append,
        warm_command=["sh", "-c", "printf '\\377' ; printf '\\377 it is full' >&2; exit 1"],
    )
    before_waves.run_warm_commands(here, {NODE: ["www.example.org"]})
    (line,) = said
    assert line.startswith("Warming up failed: sh: ")
    assert line.endswith(" it is full")

"""Routing that did not reach its node is carried again: by each night, and by the health watch."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.errors import LostLease
from flex.model.drains_and_freezes import Freeze
from flex.model.retry_schedule import MOST
from flex.routing.haproxy_program import program
from flex_api import wiring
from flex_api.night import deliver_haproxy_files
from flex_api.night.leases import lease
from flex_api.night.redelivering import Redelivery, Work
from flex_api.settings import file as settings
from flex_api.wiring import World

if TYPE_CHECKING:
    from tests.api.conftest import Installation

NIGHT = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)


class Carrier:
    """A command that carries where it can, and writes down each node that it was run for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.works, self._runs = folder, folder / "works", folder / "runs"
        self.script = folder / "carry"
        self.script.write_text(f'#!/bin/sh\necho "$1" >> {self._runs}\ntest -e {self.works}\n')
        self.script.chmod(0o755)

    def runs(self) -> list[str]:
        """Since the last time."""
        found = self._runs.read_text().split() if self._runs.exists() else []
        self._runs.unlink(missing_ok=True)
        return sorted(found)

    def owed(self) -> list[str]:
        return sorted(path.parent.name for path in self.folder.glob("to/*/.owed"))


@pytest.fixture
def carrier(installation: Installation) -> Carrier:
    """No node could be reached when a plan was applied, and all can by now."""
    return installation.once(not_reached)


def not_reached(installation: Installation) -> Carrier:
    folder = installation.folder / "carrier"
    folder.mkdir()
    found = Carrier(folder)
    installation.extra += (
        "[routing]\non = true\ndeliver = "
        f'"{folder}/to/{{node}}"\ndeliver_command = '
        f'["{found.script}", "{{node}}"]\n'
    )
    installation.write_settings()
    installation.first_night()
    assert len(found.owed()) == 3
    found.runs()
    found.works.touch()
    return found


def in_mode(installation: Installation, mode: str) -> None:
    installation.mode = mode
    installation.write_settings()


@pytest.mark.slow
@pytest.mark.real
def test_a_night_that_applies_nothing_carries_what_did_not_reach_its_node(
    installation: Installation, carrier: Carrier
) -> None:
    in_mode(installation, "review")
    installation.night(2)
    assert (carrier.owed(), carrier.runs()) == ([], ["n1", "n2", "n3"])
    installation.night(2)
    assert carrier.runs() == []


@pytest.mark.real
def test_a_night_that_is_stopped_has_carried_it_before(
    installation: Installation, carrier: Carrier
) -> None:
    in_mode(installation, "review")
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(text.replace("/logs/", "/no-logs/"), encoding="utf-8")
    assert installation.night(2).code != 0
    assert carrier.owed() == []


@pytest.mark.real
@pytest.mark.parametrize("mode", ["shadow", "frozen"])
def test_where_nothing_may_change_only_people_deliver(
    installation: Installation, carrier: Carrier, mode: str
) -> None:
    if mode == "shadow":
        in_mode(installation, mode)
    else:
        assert installation.flex("freeze").code == 0
    installation.night(2)
    assert (len(carrier.owed()), carrier.runs()) == (3, [])
    assert installation.flex("route", "deliver").code == 0
    assert carrier.owed() == []


def here(installation: Installation, clock: list[datetime], said: list[str]) -> World:
    found = wiring.world(settings.load(installation.settings), lambda: clock[0], say=said.append)
    return replace(found, time_of_day=lambda: clock[0])


def at_once(work: Work) -> Callable[[], bool]:
    work()
    return lambda: True


@pytest.mark.slow
@pytest.mark.real
def test_the_watch_tries_after_growing_pauses_and_says_when_it_is_there(
    installation: Installation, carrier: Carrier
) -> None:
    in_mode(installation, "review")
    carrier.works.unlink()
    clock, said = [NIGHT], list[str]()
    watch, tried = Redelivery(here(installation, clock, said), at_once), list[int]()
    for second in range(0, 1800, 10):
        clock[0] = NIGHT + timedelta(seconds=second)
        watch.round()
        tried += [second] * bool(carrier.runs())
    pauses = [after - before for before, after in pairwise(tried)]
    assert (tried[0], pauses[:4]) == (0, [10, 20, 40, 80])
    assert max(pauses) == MOST.total_seconds()
    # Ever less often: of the first, the second, the fourth and the eighth attempt.
    assert sum("n1" in line for line in said) == 4
    carrier.works.touch()
    clock[0] += MOST
    watch.round()
    assert carrier.owed() == []
    assert sum("has reached it" in line for line in said) == 3
    carrier.runs()
    watch.round()
    assert carrier.runs() == []


class Gate:
    """The HAProxy of this machine, that refuses every configuration while it is `shut`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._shut = folder / "shut"
        script = folder / "haproxy"
        script.write_text(
            f'#!/bin/sh\nif test "$1" = -c -a -e {self._shut}; then\n'
            'echo "[ALERT] (1) : it is refused" >&2; exit 1; fi\n'
            f'exec {program().path} "$@"\n'
        )
        script.chmod(0o755)

    def shut(self) -> None:
        self._shut.touch()

    def open(self) -> None:
        self._shut.unlink()


@pytest.fixture
def gate(installation: Installation, carrier: Carrier, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Files were refused after they were delivered once: a night in mode review tried it."""
    made = Gate(installation.folder / "gate")
    monkeypatch.setenv("PATH", str(installation.folder / "gate"), prepend=os.pathsep)
    in_mode(installation, "review")
    installation.night(2)
    assert (carrier.owed(), carrier.runs()) == ([], ["n1", "n2", "n3"])
    # What is put into configurations changes, and with it the files.
    installation.extra += 'listen = ["127.0.0.1:8088"]\n'
    installation.write_settings()
    made.shut()
    installation.night(2)
    assert (carrier.owed(), carrier.runs()) == ([], [])
    return made


def rounds(
    watch: Redelivery, clock: list[datetime], seconds: range, ask: Callable[[], object]
) -> list[int]:
    """The seconds of those rounds behind which what is asked for is so."""
    found = []
    for second in seconds:
        clock[0] = NIGHT + timedelta(seconds=second)
        watch.round()
        if ask():
            found.append(second)
    return found


@pytest.mark.slow
@pytest.mark.real
def test_files_that_haproxy_refused_are_made_again_after_growing_pauses(
    installation: Installation, carrier: Carrier, gate: Gate
) -> None:
    """Nothing of them lies in any folder, so nothing is owed that could be carried."""
    clock, said = [NIGHT], list[str]()
    watch = Redelivery(here(installation, clock, said), at_once)
    refusals = list[int]()

    def told() -> bool:
        heard = [line for line in said if "n1 is as before" in line]
        is_new = len(heard) > sum(refusals)
        refusals.append(is_new)
        return is_new

    # It is said of the first, the second, the fourth and the eighth attempt.
    tried = rounds(watch, clock, range(0, 1800, 10), told)
    assert tried == [0, 10, 70, 910]
    assert all("it is refused" in line for line in said)
    assert carrier.runs() == []
    gate.open()
    clock[0] += MOST
    watch.round()
    assert (carrier.owed(), carrier.runs()) == ([], ["n1", "n2", "n3"])
    assert sum("is made again." in line for line in said) == 3
    assert sum("has reached it" in line for line in said) == 3
    there = carrier.folder / "to" / "n1" / "haproxy.cfg"
    assert "8088" in there.read_text()


@pytest.mark.real
def test_a_folder_that_could_not_be_written_gets_its_files_once_it_can(
    installation: Installation, carrier: Carrier
) -> None:
    in_mode(installation, "review")
    installation.night(2)
    folder = carrier.folder / "to" / "n2"
    folder.rename(carrier.folder / "aside")
    folder.touch()
    carrier.runs()
    clock, said = [NIGHT], list[str]()
    watch = Redelivery(here(installation, clock, said), at_once)
    watch.round()
    assert [line.partition(":")[0] for line in said] == [
        "The routing of n2 is as before, and is made again later"
    ]
    folder.unlink()
    clock[0] += timedelta(seconds=10)
    watch.round()
    assert (carrier.owed(), carrier.runs()) == ([], ["n2"])
    assert (folder / "haproxy.cfg").exists()


@pytest.mark.slow
@pytest.mark.real
def test_the_watch_makes_nothing_where_nothing_was_refused_or_a_run_is_at_work(
    installation: Installation, carrier: Carrier, gate: Gate
) -> None:
    gate.open()
    installation.night(2)
    carrier.runs()
    said = list[str]()
    world = here(installation, [NIGHT], said)
    begun = list[Work]()

    def note(work: Work) -> Callable[[], bool]:
        begun.append(work)
        return at_once(work)

    watch = Redelivery(world, note)
    for _ in range(3):
        watch.round()
    assert (len(begun), carrier.runs(), said) == (1, [], [])
    anew = Redelivery(world, note)
    with lease(world, "a night"):
        anew.round()
    assert len(begun) == 1
    anew.round()
    assert len(begun) == 2
    # A later run may have been refused, whatever it planned.
    watch.round()
    assert (len(begun), said) == (3, [])


@pytest.mark.real
def test_the_watch_starts_nothing_while_it_is_carrying_or_nothing_may_change(
    installation: Installation, carrier: Carrier
) -> None:
    in_mode(installation, "review")
    begun, has_ended = list[Work](), [False]

    def later(work: Work) -> Callable[[], bool]:
        begun.append(work)
        return lambda: has_ended[0]

    world = here(installation, [NIGHT], [])
    watch = Redelivery(world, later)
    world.store.put_freeze(Freeze(NIGHT, None, "", ""))
    watch.round()
    assert not begun
    world.store.put_freeze(None)
    watch.round()
    watch.round()
    assert len(begun) == 1
    has_ended[0] = True
    begun[0]()
    watch.round()
    assert (len(begun), carrier.owed()) == (1, [])


@pytest.mark.real
def test_what_was_put_there_while_it_was_carried_is_owed_still(
    installation: Installation, carrier: Carrier
) -> None:
    """Whoever carries last knows what the node has."""
    hosts = carrier.folder / "to" / "n1" / "hosts.map"
    assert hosts.exists(), list(hosts.parent.iterdir())
    carrier.script.write_text(f'#!/bin/sh\ntest "$1" != n1 || echo "# new" >> {hosts}\n')
    Redelivery(here(installation, [NIGHT], []), at_once).round()
    assert carrier.owed() == ["n1"]


@pytest.mark.real
def test_who_lost_the_lease_delivers_nothing(installation: Installation, carrier: Carrier) -> None:
    world = here(installation, [NIGHT], [])
    with lease(world, "route deliver") as held:
        world.store.end(replace(held.run, ended=NIGHT, exit_code=1))
        with pytest.raises(LostLease):
            deliver_haproxy_files.deliver(world.settings, world.store)
    assert (len(carrier.owed()), carrier.runs()) == (3, [])

"""Two processes on one PostgreSQL: one sleeps past its lease, another takes over, and what the
first does then counts for nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.errors import Busy, DnsError
from flex.model.drains_and_freezes import NodeOrder
from flex.store import migrate
from flex_api import wiring
from flex_api.night import failover, recovery
from flex_api.night.leases import lease
from flex_api.settings import file as settings
from flex_api.wiring import World

if TYPE_CHECKING:
    from tests.api.conftest import Installation
    from tests.postgresql import Cluster

pytestmark = pytest.mark.real

SLEEPING = Path(__file__).with_name("sleeping.py")
# Seconds. A step takes one or two; the store and the name server are each waited for no longer than
# 30.
LONGEST = 180.0
# Behind each step of the store, its journals and the name server, and before it. That a plan begins
# is marked in one transaction with the look at it: who sleeps in there keeps all writers waiting,
# and is no case of these.
STEPS = {
    "apply": ("apply", "intend", "sent", "done", "verify", "settle"),
    "accept": ("verify", "settle"),
    "down": ("order_node", "propose", "apply", "intend", "sent", "done", "verify", "settle"),
    "resume": ("refuse_late", "look", "apply", "sent", "done", "verify", "settle"),
    "undo": ("update", "refuse_late", "look", "read", "apply", "new_journal"),
    "abandon": ("refuse_late", "look", "read", "settle", "new_journal"),
}
# What is done behind these is all there was to do: nothing is left that could be refused.
LAST = {
    ("apply", "settle"),
    ("accept", "settle"),
    ("undo", "new_journal"),
    ("abandon", "new_journal"),
}
LAST |= {("down", "settle"), ("resume", "settle")}
EVERY = [
    (verb, moment)
    for verb, steps in STEPS.items()
    for step in steps
    for moment in (f"before-{step}", step)
    if (verb, moment) not in LAST
]
QUICK = [("apply", "sent"), ("down", "before-settle")]


@contextmanager
def asleep(
    installation: Installation, verb: str, moment: str, hours: int, plan: str = ""
) -> Iterator[int]:
    """The number of the process while it sleeps; it is ended with this, at the latest."""
    command = [
        sys.executable,
        str(SLEEPING),
        str(installation.settings),
        verb,
        moment,
        str(hours),
        plan,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            status = stops(process.pid)
            assert os.WIFSTOPPED(status), (
                f"it ended with {os.waitstatus_to_exitcode(status)} and met no {moment}"
            )
            yield process.pid
        finally:
            # Whatever failed: one that is stopped would be waited for, and keeps its locks. It may
            # have ended before.
            process.kill()


def stops(number: int, at_most: float = LONGEST) -> int:
    """What it stops or ends with; one that does neither is killed, so that this ends."""
    longest = threading.Timer(at_most, os.kill, (number, signal.SIGKILL))
    longest.start()
    try:
        return os.waitpid(number, os.WUNTRACED)[1]
    finally:
        longest.cancel()


def wakes(number: int) -> int:
    """The exit code of what it does when it goes on."""
    os.kill(number, signal.SIGCONT)
    return os.waitstatus_to_exitcode(stops(number))


@contextmanager
def world(installation: Installation, hours: int) -> Iterator[World]:
    here = wiring.world(settings.load(installation.settings), lambda: datetime.now(UTC))
    try:
        yield replace(here, time_of_day=lambda: datetime.now(UTC) + timedelta(hours=hours))
    finally:
        here.close()


def takes_over(installation: Installation, hours: int) -> None:
    """As another machine does after the lease has expired: what was begun is finished, and other
    changes are made.
    """
    with world(installation, hours) as here, lease(here, "the other machine"):
        recovery.finish(here)
        here.store.order_node(NodeOrder("n3", "active", given=here.time_of_day()))
        failover.take_down(here, NodeOrder("n2", "down", given=here.time_of_day()))


def all_there_is(installation: Installation) -> object:
    """In DNS, in force, and of every plan and node."""
    with world(installation, 0) as here:
        base, placement = here.store.placement()
        plans = here.store.plans(100)
        return (
            base,
            placement.to_dict("records"),
            [(one.id, one.state, one.taking_back, one.message) for one in plans],
            [
                [(row.number, row.state) for row in here.store.journal(one.id).rows()]
                for one in plans
            ],
            [(order.node, order.state) for order in here.store.node_orders()],
            here.store.attempts(),
            [installation.addresses(site) for site in sorted(set(placement["site"]))],
            installation.serial(),
        )


@pytest.fixture
def plan(installation: Installation, cluster: Cluster) -> str:
    """One that waits, on top of a partition in force."""
    url = cluster.new_database()
    migrate.upgrade(url)
    installation.extra = f'[database]\nurl = "{url}"\n'
    installation.write_settings()
    installation.first_night()
    assert installation.flex("nodes", "drain", "n3").code == 0
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json
    assert made["moves"]
    found: str = made["id"]
    # As if nobody had waited for hours with it: plans are as old as their day.
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace("[safety]\n", '[safety]\nplan_expiry = "3000d"\n'), encoding="utf-8"
    )
    return found


def test_a_process_that_neither_stops_nor_ends_is_not_waited_for_for_ever() -> None:
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        assert os.waitstatus_to_exitcode(stops(process.pid, 0.1)) == -signal.SIGKILL


def half_applied(installation: Installation, plan: str) -> None:
    with asleep(installation, "apply", "sent", 0, plan) as number:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)


def comes_too_late(installation: Installation, plan: str, verb: str, moment: str) -> None:
    if verb in ("resume", "undo", "abandon"):
        half_applied(installation, plan)
    if verb == "accept":
        by_hand(installation, plan)
    with asleep(installation, verb, moment, 2, plan) as number:
        takes_over(installation, 4)
        before = all_there_is(installation)
        # What the name servers say by now is not that plan any more, which is found before the
        # lease is asked for.
        ends = {Busy.exit_code, DnsError.exit_code} if verb == "accept" else {Busy.exit_code}
        assert wakes(number) in ends
        assert all_there_is(installation) == before
    assert installation.flex("verify").code == 0


def by_hand(installation: Installation, plan: str) -> None:
    with world(installation, 0) as here:
        here.publisher.apply(*here.store.plan(plan).zone_plans)


@pytest.mark.slow("apply-sent")
@pytest.mark.parametrize(("verb", "moment"), QUICK)
def test_who_lost_the_lease_changes_nothing(
    installation: Installation, plan: str, verb: str, moment: str
) -> None:
    comes_too_late(installation, plan, verb, moment)


@pytest.mark.torture
@pytest.mark.parametrize(("verb", "moment"), EVERY)
def test_so_it_is_at_every_stage(
    installation: Installation, plan: str, verb: str, moment: str
) -> None:
    comes_too_late(installation, plan, verb, moment)

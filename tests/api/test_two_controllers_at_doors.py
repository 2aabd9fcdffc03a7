"""Two controllers of one cluster that publishes by doors alone: where both change it at once, or
one of them dies or sleeps in the middle, doors go by one of them, and by no plan that was given up.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from flex.errors import Busy
from flex.model.orders_to_doors import DoorOrder
from flex.store import migrate
from flex_api.night import recovery
from flex_api.night.leases import lease
from tests.api.test_doors_and_dns import doors, doors_agree, store_of, without_dns
from tests.api.test_lost_lease import all_there_is, asleep, stops, takes_over, wakes, world

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.fixture
def alone(installation: Installation, request: pytest.FixtureRequest) -> Installation:
    """A partition is in force, and no zone is ours."""
    if request.param == "postgresql":
        url = request.getfixturevalue("cluster").new_database()
        migrate.upgrade(url)
        installation.extra += f'[database]\nurl = "{url}"\n'
    without_dns(installation)
    # Of no use from here on.
    (installation.folder / "flex.key").unlink()
    assert installation.night().code == 0
    assert doors_agree(installation)
    return installation


def plan_without(installation: Installation, node: str) -> str:
    """One by which the node is empty, while nobody wishes so any more."""
    assert installation.flex("nodes", "drain", node).code == 0
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json
    assert made["moves"]
    assert installation.flex("nodes", "undrain", node).code == 0
    found: str = made["id"]
    return found


def last_order(installation: Installation) -> tuple[DoorOrder | None, str]:
    with store_of(installation) as store:
        return store.door_order(), store.moved_map()


def everything(installation: Installation) -> object:
    return all_there_is(installation), last_order(installation), doors(installation)


# Before it orders, and once it has. Within the order itself all who write wait for it.
@pytest.mark.torture("postgresql-apply-door_reports")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("alone", "verb", "moment"),
    [
        ("postgresql", "apply", "door_reports"),
        ("sqlite", "down", "before-settle"),
        pytest.param("sqlite", "apply", "before-settle", marks=pytest.mark.torture),
        pytest.param("postgresql", "down", "door_reports", marks=pytest.mark.torture),
    ],
    indirect=["alone"],
)
def test_who_slept_past_the_lease_orders_nothing_any_more(
    alone: Installation, verb: str, moment: str
) -> None:
    plan = plan_without(alone, "n3")
    with asleep(alone, verb, moment, 2, plan) as number:
        takes_over(alone, 4)
        before = everything(alone)
        assert wakes(number) == Busy.exit_code
        assert everything(alone) == before
    assert "n2" not in set(doors(alone).values())
    if verb == "down":
        # That n1 is down was known before it slept. Doors lead around it, and the same verb says
        # who has its sites.
        assert set(doors(alone).values()) == {"n3"}
        assert alone.flex("nodes", "down", "n1").code == 0
    assert doors_agree(alone)


@pytest.mark.torture("sqlite-before-settle")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("alone", "moment"),
    [
        pytest.param("postgresql", "door_reports", marks=pytest.mark.torture),
        ("sqlite", "before-settle"),
        ("postgresql", "settle"),
    ],
    indirect=["alone"],
)
def test_where_one_was_killed_in_the_middle_the_other_one_finishes_what_it_began(
    alone: Installation, moment: str
) -> None:
    plan = plan_without(alone, "n3")
    with asleep(alone, "apply", moment, 0, plan) as number:
        # While it lives, nobody goes on with it.
        assert alone.flex("apply", "--resume").code == Busy.exit_code
        os.kill(number, signal.SIGKILL)
        stops(number)
    with world(alone, 1) as here, lease(here, "the other machine"):
        recovery.finish(here)
    with store_of(alone) as store:
        order = store.door_order()
        assert order
        assert (order.plan, store.in_force()) == (plan, plan)
        assert store.plans(state="applying") == ()
    assert doors_agree(alone)


@pytest.mark.slow
@pytest.mark.parametrize(
    "alone", [pytest.param("sqlite", marks=pytest.mark.torture), "postgresql"], indirect=True
)
def test_of_two_plans_that_are_applied_at_once_one_is_in_force_and_led_to(
    alone: Installation,
) -> None:
    number = _number(alone)
    plans = [plan_without(alone, node) for node in ("n1", "n2")]
    running = [alone.process("apply", plan) for plan in plans]
    codes = []
    for one in running:
        _, said = one.communicate(timeout=300)
        codes.append(one.returncode)
        assert "Traceback" not in said
    assert codes.count(0) == 1, codes
    in_force = plans[codes.index(0)]
    with store_of(alone) as store:
        order = store.door_order()
        assert order
        assert (order.plan, store.in_force()) == (in_force, in_force)
    assert _number(alone) == number + 1
    assert doors_agree(alone)
    # The one that came too late is refused from now on, too.
    late = alone.flex("apply", plans[codes.index(0) - 1])
    assert late.code not in (0, 1), late.err
    assert doors_agree(alone)


def _number(installation: Installation) -> int:
    order, _ = last_order(installation)
    return order.number if order else 0

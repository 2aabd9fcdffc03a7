"""What doors are to go by is ordered once for each change, before any node can hear of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.errors import Unverified
from flex.frame_schemas import PLACEMENT
from flex.model.orders_to_doors import DoorOrder, DoorReport
from flex.model.plan_summary import Headline
from flex.routing import host_to_node_maps
from flex.routing.host_to_node_maps import MOVED, Heading
from flex.store import MemoryStore, Store, open_store
from flex_api.night import haproxy_pools_and_files, store_order_for_doors
from flex_api.night.plan_to_route_by import plans_at_present
from flex_api.settings.file import Settings, load
from tests.rest.conftest import plan

if TYPE_CHECKING:
    from tests.api.conftest import Installation


@pytest.fixture
def with_doors(installation: Installation, tmp_path: Path) -> Installation:
    """A night has passed, and every node has its files."""
    installation.extra += (
        f'[routing]\non = true\ndoors = "all"\ndirectory = "{tmp_path}"\n'
        f'socket = "{tmp_path}/s"\ndeliver = "{tmp_path}/{{node}}/haproxy"\n'
    )
    installation.write_settings()
    assert installation.night().code == 0
    return installation


@pytest.fixture
def store(with_doors: Installation) -> Iterator[Store]:
    with open_store(load(with_doors.settings).database.url) as opened:
        yield opened


def ordered(store: Store) -> DoorOrder:
    found = store.door_order()
    assert found
    return found


def node_of(installation: Installation) -> str:
    said = installation.flex("-o", "json", "nodes", "list").json["items"]
    return str(said[0]["node"])


def heading_of(installation: Installation) -> Heading | None:
    made = installation.flex("-o", "json", "route", "config", node_of(installation))
    return host_to_node_maps.heading(made.json["files"][MOVED])


def plan_that_moves(installation: Installation) -> str:
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    row = next(row for row in rows if len(row["nodes"]) == 1)
    said = installation.flex("-o", "json", "nodes", "list").json["items"]
    there = next(one["node"] for one in said if one["node"] not in row["nodes"])
    assert installation.flex("sites", "pin", row["site"], "--nodes", there).code == 0
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of())
    return str(made.json["id"])


@pytest.mark.slow
def test_a_night_orders_once_and_the_files_say_which_order_they_are(
    with_doors: Installation, store: Store, tmp_path: Path
) -> None:
    first = ordered(store)
    assert first.plan == store.in_force()
    wanted = Heading(store.installation(), first.large, first.number)
    written = (tmp_path / node_of(with_doors) / "haproxy" / MOVED).read_text()
    assert host_to_node_maps.heading(written) == wanted
    assert (store.moved_map(), first.moved) == (written, host_to_node_maps.digest(written))
    assert with_doors.flex("route", "deliver").code == 0
    assert heading_of(with_doors) == wanted
    assert ordered(store) == first


@pytest.mark.slow
def test_a_plan_that_is_ordered_by_hand_is_kept_by_those_who_only_fetch(
    with_doors: Installation, store: Store
) -> None:
    first = ordered(store)
    plan = plan_that_moves(with_doors)
    assert ordered(store) == first
    assert with_doors.flex("route", "deliver", "--plan", plan).code == 0
    second = ordered(store)
    assert (second.plan, second.number) == (plan, first.number + 1)
    found = heading_of(with_doors)
    assert found
    assert found.order == second.number
    assert ordered(store) == second
    assert with_doors.flex("route", "deliver").code == 0
    third = ordered(store)
    assert (third.plan, third.number) == (first.plan, second.number + 1)
    assert with_doors.flex("apply", "--as-of", with_doors.as_of()).code == 0
    assert (ordered(store).plan, ordered(store).number) == (plan, third.number + 1)


@pytest.mark.slow
def test_what_is_only_shown_of_a_plan_is_no_order(with_doors: Installation, store: Store) -> None:
    first = ordered(store)
    plan = plan_that_moves(with_doors)
    node = node_of(with_doors)
    made = with_doors.flex("-o", "json", "route", "config", node, "--plan", plan)
    assert host_to_node_maps.heading(made.json["files"][MOVED]) is None
    assert ordered(store) == first


def test_who_asked_before_another_one_ordered_orders_nothing(
    with_doors: Installation, store: Store
) -> None:
    """A controller that was slow does not lead doors back to what was so before."""
    settings = load(with_doors.settings)
    last, before = store.door_order(), plans_at_present(settings, store)
    plan = plan_that_moves(with_doors)
    newer = store_order_for_doors.order(settings, store, plan)
    assert newer
    assert newer.plan == plan
    assert store_order_for_doors.doors_ordered(settings, store, before, last) is None
    assert (store.door_order(), store.moved_map()) == (newer, store.moved_map())
    assert host_to_node_maps.digest(store.moved_map()) == newer.moved
    # Nor does one that was slow with that plan bring it back.
    slow = plans_at_present(settings, store, plan)
    latest = store_order_for_doors.order(settings, store)
    assert latest
    assert latest.number > newer.number
    assert store_order_for_doors.doors_ordered(settings, store, slow, newer) is None
    assert store.door_order() == latest


class Overtaking(MemoryStore):
    """What happens `meanwhile` happens once, behind the back of whoever has just read all plans, or
    the one in force.
    """

    meanwhile: Callable[[], object] | None = None

    def headlines(self) -> tuple[Headline, ...]:
        found = super().headlines()
        self._overtake()
        return found

    def in_force(self) -> str:
        found = super().in_force()
        self._overtake()
        return found

    def _overtake(self) -> None:
        happens, self.meanwhile = self.meanwhile, None
        if happens:
            happens()


TWO_NODES = Settings.model_validate(
    {
        "node": [
            {"name": name, "addresses": [one], "ram": "1 GiB"}
            for name, one in (("n1", "192.0.2.1"), ("n2", "192.0.2.2"))
        ],
        "routing": {"on": True, "doors": "all"},
    }
)


def proposed(store: Overtaking, number: int, node: str) -> Callable[[], None]:
    """A plan that puts a site on this node. Returns what brings it into force."""
    placement = PLACEMENT.from_columns({"site": ["a.example"], "node": [node]})
    made = plan(number, base=store.in_force())
    store.propose(replace(made, state="proposed", settled=None), placement)
    return lambda: store.settle(made, placement)


def test_files_of_a_node_are_of_an_order_that_is_in_the_store_by_then() -> None:
    store = Overtaking()
    proposed(store, 1, "n1")()
    made = haproxy_pools_and_files.files(TWO_NODES, store, "n1")
    heading = host_to_node_maps.heading(made[MOVED])
    assert heading
    assert heading.order == ordered(store).number
    assert made[MOVED] == store.moved_map()


def test_who_is_overtaken_while_asking_what_to_order_orders_what_holds_by_then() -> None:
    store = Overtaking()

    def comes_into_force(number: int, node: str) -> None:
        proposed(store, number, node)()
        store_order_for_doors.order(TWO_NODES, store)

    comes_into_force(1, "n1")
    store.meanwhile = lambda: comes_into_force(2, "n2")
    store_order_for_doors.order(TWO_NODES, store)
    assert (ordered(store).plan, ordered(store).number) == (plan(2).id, 2)


def test_who_asks_while_a_plan_is_settled_does_not_lead_doors_back_to_the_one_before() -> None:
    store = Overtaking()
    proposed(store, 1, "n1")()
    settle = proposed(store, 2, "n2")
    store.update(replace(plan(2, base=plan(1).id), state="applying", settled=None))
    store_order_for_doors.order(TWO_NODES, store, plan(2).id)
    before = ordered(store)
    assert before.plan == plan(2).id
    store.meanwhile = settle
    store_order_for_doors.order(TWO_NODES, store)
    assert store.in_force() == plan(2).id
    assert ordered(store).plan == plan(2).id


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [0, 7])
def test_a_database_that_was_put_back_orders_above_what_nodes_go_by(
    with_doors: Installation, store: Store, ahead: int
) -> None:
    first = ordered(store)
    number = first.number + ahead
    store.note_door_reports([DoorReport("n1", number, "0123456789ab", datetime.now(UTC))])
    # Who only fetches decides nothing.
    assert heading_of(with_doors)
    assert ordered(store) == first
    assert with_doors.flex("route", "deliver").code == 0
    assert ordered(store).number == number + 1
    store.note_door_reports([DoorReport("n1", number + 1, ordered(store).moved, datetime.now(UTC))])
    assert with_doors.flex("route", "deliver").code == 0
    assert ordered(store).number == number + 1


@pytest.mark.slow
def test_nodes_that_only_fetch_are_ordered_by_the_night(installation: Installation) -> None:
    installation.extra += '[routing]\non = true\ndoors = "all"\n'
    installation.write_settings()
    assert installation.night().code == 0
    with open_store(load(installation.settings).database.url) as store:
        assert ordered(store).plan == store.in_force()


@pytest.mark.torture("auto")
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["shadow", "auto"])
def test_nodes_that_only_follow_are_ordered_by_hand_too(
    installation: Installation, mode: str
) -> None:
    """As is advised where a node goes by an order that the database does not know."""
    installation.extra += '[routing]\non = true\ndoors = "all"\n'
    installation.write_settings()
    assert installation.night().code == 0
    installation.mode = mode
    installation.write_settings()
    with open_store(load(installation.settings).database.url) as store:
        unknown = ordered(store).number + 7
        report = DoorReport("n1", unknown, "0123456789ab", datetime.now(UTC))
        store.note_door_reports([report])
        said = installation.flex("verify")
        assert said.code == Unverified.exit_code
        assert "`flex route deliver` orders anew" in " ".join(said.out.split())
        said = installation.flex("route", "deliver")
        assert (said.code, ordered(store).number) == (0, unknown + 1)
        assert f"Doors are to go by order {unknown + 1}." in said.out
        said = installation.flex("-o", "json", "route", "deliver")
        assert (said.json["items"], said.json["order"]) == ([], unknown + 1)

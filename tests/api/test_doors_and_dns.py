"""Doors lead visitors before DNS does, and without it. What DNS cannot follow, it does not undo."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, text

from flex.model.orders_to_doors import DoorReport
from flex.placing import failover
from flex.routing import host_to_node_maps
from flex.store import Store, open_store
from flex_api.night import before_waves
from flex_api.settings.file import load
from flex_api.wiring import World
from flex_dns.make_before_break import Coming

if TYPE_CHECKING:
    from tests.api.conftest import Installation

DOORS = '[routing]\non = true\ndoors = "all"\n'


def with_doors(installation: Installation, more: str = "") -> Installation:
    installation.extra += DOORS + more
    installation.write_settings()
    # Plans are made for the days of old logs, and applied today.
    text = installation.settings.read_text()
    installation.settings.write_text(
        text.replace("[safety]\n", '[safety]\nplan_expiry = "3000d"\n')
    )
    return installation


def without_dns(installation: Installation) -> Installation:
    """No zone, and no key: what a panel owns."""
    with_doors(installation, 'publish = "doors"\n')
    text = installation.settings.read_text()
    zones = f'key_file = "flex.key"\nzones = ["{installation.zone}"]\n'
    assert zones in text
    installation.settings.write_text(text.replace(zones, ""))
    return installation


@contextmanager
def store_of(installation: Installation) -> Iterator[Store]:
    with open_store(load(installation.settings).database.url) as opened:
        yield opened


def doors(installation: Installation) -> dict[str, str]:
    """By host name the node that all doors are to lead to."""
    with store_of(installation) as store:
        maps = {
            **host_to_node_maps.read(store.large_map()),
            **host_to_node_maps.read(store.moved_map()),
        }
    return {
        name: value.removeprefix("at_") for name, value in maps.items() if value.startswith("at_")
    }


def placed(installation: Installation) -> dict[str, set[str]]:
    rows = installation.flex("-o", "json", "sites", "list").json["items"]
    return {row["site"]: set(row["nodes"]) for row in rows}


def doors_agree(installation: Installation) -> bool:
    """Whether every site is led to a node that has it."""
    led = doors(installation)
    return all(led.get(site) in nodes for site, nodes in placed(installation).items())


def site_on_one_node(installation: Installation) -> tuple[str, str, str]:
    """A site, the node that it is on, and another node."""
    site, (here,) = next(
        (site, nodes) for site, nodes in placed(installation).items() if len(nodes) == 1
    )
    rows = installation.flex("-o", "json", "nodes", "list").json["items"]
    return site, here, next(row["node"] for row in rows if row["node"] != here)


@pytest.mark.slow
def test_a_cluster_of_which_no_zone_is_ours_has_its_nights_by_doors_alone(
    installation: Installation,
) -> None:
    without_dns(installation)
    assert installation.night().code == 0
    assert doors_agree(installation)
    serial = installation.serial()
    site, here, there = site_on_one_node(installation)
    assert installation.flex("sites", "pin", site, "--nodes", there).code == 0
    assert installation.night().code == 0
    assert (doors(installation)[site], placed(installation)[site]) == (there, {there})
    assert installation.flex("report").code == 0
    # Back to the partition before, and off a dead node.
    assert installation.flex("sites", "unpin", site).code == 0
    back = installation.flex("rollback", "--as-of", installation.as_of())
    assert back.code == 0, back.err
    assert (doors(installation)[site], doors_agree(installation)) == (here, True)
    down = installation.flex("nodes", "down", here)
    assert down.code == 0, down.err
    assert here not in set(doors(installation).values())
    assert doors_agree(installation)
    assert installation.serial() == serial


@pytest.mark.slow
def test_doctor_asks_no_name_server_of_a_cluster_that_has_none(installation: Installation) -> None:
    without_dns(installation)
    assert installation.night().code == 0
    said = installation.flex("-o", "json", "doctor").json
    dns = [row for row in said["checks"] if row["name"] == "DNS"]
    assert [row["state"] for row in dns] == ["ok"]


@pytest.mark.slow
def test_doors_lead_before_dns_and_go_back_where_dns_refuses(installation: Installation) -> None:
    with_doors(installation)
    assert installation.night().code == 0
    site, here, there = site_on_one_node(installation)
    assert installation.flex("sites", "pin", site, "--nodes", there).code == 0
    made: Any = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json
    with unreachable(installation):
        said = installation.flex("apply", made["id"])
        assert said.code == 30, said.err
        assert doors(installation)[site] == here
    assert installation.flex("apply", made["id"]).code == 0
    assert doors(installation)[site] == there
    assert doors_agree(installation)


@pytest.mark.torture("mixed")
@pytest.mark.slow("doors+dns", "mixed")
@pytest.mark.parametrize("publish", ["doors+dns", "doors", "mixed"])
def test_doors_lead_to_a_wave_once_its_nodes_are_warm_and_to_later_waves_later(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, publish: str
) -> None:
    first_night_before_gentle_moves(installation, publish)
    moves = pin_two_sites(installation, publish)
    before = doors(installation)
    seen: list[tuple[set[str], dict[str, str]]] = []

    def prepared(world: World, forced: object, coming: Coming, *_: object) -> None:
        seen.append(({name.rstrip(".") for name in coming}, doors(installation)))

    monkeypatch.setattr(before_waves, "prepare_wave", prepared)
    said = installation.night()
    assert said.code == 0, said.err
    (first, at_first), (second, later) = seen
    assert ({*first, *second}, first & second) == (set(moves), set())
    assert at_first == before
    assert later == moved(before, {site: moves[site] for site in first})
    assert doors(installation) == moved(before, moves)


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_wave_that_doors_had_not_begun(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_night_before_gentle_moves(installation, "doors")
    moves = pin_two_sites(installation, "doors")
    before = doors(installation)
    seen: list[set[str]] = []

    def dies_in_the_second(world: World, _: object, coming: Coming, *__: object) -> None:
        seen.append({name.rstrip(".") for name in coming})
        if len(seen) == 2:
            raise RuntimeError("killed")

    monkeypatch.setattr(before_waves, "prepare_wave", dies_in_the_second)
    # Where the traceback of what looks like a fault is left.
    monkeypatch.setattr(tempfile, "tempdir", str(installation.folder))
    assert installation.night().code not in (0, 30, 31)
    (done,) = seen[0]
    assert doors(installation) == moved(before, {done: moves[done]})
    # Whoever delivers meanwhile does not bring the others there before their wave.
    installation.flex("route", "deliver")
    assert doors(installation) == moved(before, {done: moves[done]})
    resumed = installation.flex("apply", "--resume")
    assert resumed.code == 0, resumed.err
    assert seen[2:] == [seen[1]]
    assert doors(installation) == moved(before, moves)


def moved(before: dict[str, str], moves: dict[str, str]) -> dict[str, str]:
    """Doors by which these sites, with all their names, are on these nodes."""
    return {name: moves.get(name.removeprefix("www."), node) for name, node in before.items()}


def first_night_before_gentle_moves(installation: Installation, publish: str) -> None:
    if publish == "doors":
        without_dns(installation)
    else:
        with_doors(installation)
    text = installation.settings.read_text()
    # Resolvers are waited for by the TTL that names had before.
    gentle = "[dns]\nttl = 1\nmake_before_break = true\nwaves = [0.01]\n"
    installation.settings.write_text(text.replace("[dns]\n", gentle))
    assert installation.night().code == 0


def pin_two_sites(installation: Installation, publish: str) -> dict[str, str]:
    """By site the node that it is to move to. One of them is led by the doors alone, where it is
    `mixed`.
    """
    nodes = {row["node"] for row in installation.flex("-o", "json", "nodes", "list").json["items"]}
    alone = {
        site: min(nodes - here) for site, here in placed(installation).items() if len(here) == 1
    }
    moves = dict(sorted(alone.items())[:2])
    for site, node in moves.items():
        assert installation.flex("sites", "pin", site, "--nodes", node).code == 0
    if publish == "mixed":
        with installation.settings.open("a") as settings:
            settings.write(f'[[routing.site]]\nname = "{min(moves)}"\npublish = "doors"\n')
    return moves


@pytest.mark.slow
def test_a_dead_node_is_led_around_though_the_name_server_died_with_it(
    installation: Installation,
) -> None:
    with_doors(installation)
    assert installation.night().code == 0
    site, here, _ = site_on_one_node(installation)
    with unreachable(installation):
        assert installation.flex("nodes", "down", here).code == 30
        led = doors(installation)
        assert (site in led, here in set(led.values())) == (True, False)
        # Whoever orders meanwhile does not bring the dead node back.
        installation.flex("route", "deliver")
        assert doors(installation) == led
    assert installation.flex("nodes", "down", here).code == 0
    assert (doors(installation)[site], doors_agree(installation)) == (led[site], True)


@pytest.mark.slow
def test_doors_lead_every_site_to_its_heir_also_before_dns_can_be_changed(
    installation: Installation,
) -> None:
    with_doors(installation)
    assert installation.night().code == 0
    before = placed(installation)
    _, dead, _ = site_on_one_node(installation)
    with unreachable(installation):
        assert installation.flex("nodes", "down", dead).code == 30
        led = {site: doors(installation)[site] for site in before}
    assert installation.flex("nodes", "down", dead).code == 0
    with store_of(installation) as store:
        (plan,) = store.plans(1)
        assert plan.quality.solver == failover.SOLVER
        heirs = store.placement_of(plan.id)
    nodes_of = {str(site): set(rows["node"]) for site, rows in heirs.groupby("site")}
    assert nodes_of.keys() == before.keys()
    for site, nodes in nodes_of.items():
        assert dead not in nodes
        assert led[site] in nodes, site
        if dead not in before[site]:
            assert nodes == before[site]
    assert {site: doors(installation)[site] for site in before} == led


@pytest.mark.slow
def test_an_error_while_doors_are_ordered_keeps_no_dead_node_in_dns(
    installation: Installation,
) -> None:
    with_doors(installation)
    assert installation.night().code == 0
    site, dead, _ = site_on_one_node(installation)
    led = doors(installation)
    with no_order_can_be_stored(installation):
        said = installation.flex("nodes", "down", dead)
        assert said.code == 32, said.err
        assert "no order was given" in said.err
        assert doors(installation) == led
    assert address_of(dead) not in installation.addresses(site)
    assert all(dead not in nodes for nodes in placed(installation).values())
    # As soon as orders can be stored again, the doors follow.
    assert installation.flex("nodes", "down", dead).code == 0
    assert dead not in set(doors(installation).values())
    assert doors_agree(installation)


def address_of(node: str) -> str:
    return f"192.0.2.{node.removeprefix('n')}"


@contextmanager
def no_order_can_be_stored(installation: Installation) -> Iterator[None]:
    """The database refuses every new order for doors."""
    engine = create_engine(load(installation.settings).database.url)
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE TRIGGER no_orders BEFORE INSERT ON door_order "
                "BEGIN INSERT INTO no_such_table VALUES (1); END"
            )
        )
    try:
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP TRIGGER no_orders"))
        engine.dispose()


@pytest.mark.slow
def test_a_node_that_comes_back_before_dns_was_changed_has_its_visitors_again(
    installation: Installation,
) -> None:
    with_doors(installation)
    assert installation.night().code == 0
    site, here, _ = site_on_one_node(installation)
    with unreachable(installation):
        assert installation.flex("nodes", "down", here).code == 30
        assert doors(installation)[site] != here
    assert installation.flex("nodes", "up", here).code == 0
    assert (doors(installation)[site], doors_agree(installation)) == (here, True)


@pytest.mark.torture("older")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "error", "words"),
    [(0, "", "it goes by no order"), (0, "HAProxy is away", "HAProxy is away")],
    ids=["older", "trouble"],
)
def test_a_node_that_has_not_heard_is_named_and_the_plan_is_in_force_all_the_same(
    installation: Installation, number: int, error: str, words: str
) -> None:
    with_doors(installation)
    settings = installation.settings.read_text()
    brief = settings.replace("[dns]\n", '[dns]\nsettle = "1s"\n', 1)
    installation.settings.write_text(brief)
    assert installation.night().code == 0
    site, here, there = site_on_one_node(installation)
    report(installation, lambda latest, node: latest if node == here else number, error)
    assert installation.flex("sites", "pin", site, "--nodes", there).code == 0
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json
    said = installation.flex("apply", made["id"])
    assert said.code == 32, said.err
    assert words in said.err
    assert "flex route show" in said.err
    assert placed(installation)[site] == {there}
    assert doors(installation)[site] == there


def report(installation: Installation, number: Callable[[int, str], int], error: str) -> None:
    """Every node says by what its door goes."""
    rows = installation.flex("-o", "json", "nodes", "list").json["items"]
    with store_of(installation) as store:
        order = store.door_order()
        assert order
        store.note_door_reports(
            [
                DoorReport(
                    row["node"],
                    number(order.number, row["node"]),
                    order.moved,
                    datetime(2026, 3, 3, tzinfo=UTC),
                    error,
                )
                for row in rows
            ]
        )


@contextmanager
def unreachable(installation: Installation) -> Iterator[None]:
    """The name server is away: nobody listens at its port."""
    text = installation.settings.read_text()
    port = f"port = {installation.server.port}\n"
    assert port in text
    installation.settings.write_text(text.replace(port, "port = 1\n"))
    try:
        yield
    finally:
        installation.settings.write_text(text)

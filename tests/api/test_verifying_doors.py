"""`flex verify` says whether doors lead to what is in force and which nodes do not go by it, with
DNS beside them or without any.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from flex.errors import Unverified
from flex.model.orders_to_doors import DoorReport
from tests.api.served import served
from tests.api.test_doors_and_dns import site_on_one_node, store_of, with_doors, without_dns

if TYPE_CHECKING:
    from tests.api.conftest import Installation

NODES = ("n1", "n2", "n3")


@pytest.fixture(params=["doors alone", "doors and DNS"])
def led(installation: Installation, request: pytest.FixtureRequest) -> Installation:
    """A night has passed. No node has said by which order it goes."""
    if request.param == "doors alone":
        without_dns(installation)
    else:
        with_doors(installation)
    assert installation.night().code == 0
    return installation


def heard(installation: Installation, *behind: str, error: str = "") -> None:
    """Every node says by what its doors go; those that are behind go by nothing yet."""
    now = datetime.now(UTC)
    with store_of(installation) as store:
        order = store.door_order()
        assert order
        reports = [
            DoorReport(node, 0, "", now, error)
            if node in behind
            else DoorReport(node, order.number, order.moved, now)
            for node in NODES
        ]
        store.note_door_reports(reports)


@pytest.mark.torture("doors alone")
@pytest.mark.slow
def test_where_all_nodes_go_by_what_is_in_force_that_is_said(led: Installation) -> None:
    heard(led)
    said = led.flex("verify")
    assert said.code == 0, said.err
    assert "doors: every node that serves goes by order 1" in said.out
    told = led.flex("-o", "json", "verify").json["doors"]
    assert (told["order"], told["differ"]) == (1, 0)
    assert (told["known"], told["unheard"]) == (True, {})


@pytest.mark.torture("doors alone")
@pytest.mark.slow
def test_where_no_node_says_what_it_goes_by_nothing_is_claimed(led: Installation) -> None:
    said = led.flex("verify")
    assert said.code == 0, said.err
    assert "no node says which one it goes by" in " ".join(said.out.split())
    assert led.flex("-o", "json", "verify").json["doors"]["known"] is False
    site, _, there = site_on_one_node(led)
    assert led.flex("sites", "pin", site, "--nodes", there).code == 0
    made = led.flex("-o", "json", "plan", "--as-of", led.as_of()).json
    said = led.flex("apply", made["id"])
    assert said.code == 0, said.err
    assert "No node says whether its doors go by order 2: " in " ".join(said.out.split())
    heard(led)
    assert "No node says" not in led.flex("apply", "--resume").out


@pytest.mark.torture("doors alone-", "doors and DNS-HAProxy is away")
@pytest.mark.slow
@pytest.mark.parametrize("error", ["", "HAProxy is away"])
def test_a_node_that_has_not_heard_is_named_with_the_reason(led: Installation, error: str) -> None:
    heard(led, "n2", error=error)
    said = led.flex("verify")
    assert said.code == Unverified.exit_code
    told = " ".join(said.out.split())
    assert "doors: n2 does not go by order 1: it goes by no order" in told
    assert error in told
    heard(led)
    assert led.flex("verify").code == 0


@pytest.mark.torture("doors and DNS")
@pytest.mark.slow
def test_a_plan_that_doors_go_by_and_that_is_not_in_force_is_said(led: Installation) -> None:
    site, _, there = site_on_one_node(led)
    assert led.flex("sites", "pin", site, "--nodes", there).code == 0
    made = led.flex("-o", "json", "plan", "--as-of", led.as_of()).json
    assert led.flex("route", "deliver", "--plan", made["id"]).code == 0
    heard(led)
    said = led.flex("verify")
    assert said.code == Unverified.exit_code
    assert "elsewhere than what is in force" in " ".join(said.out.split())
    assert led.flex("-o", "json", "verify").json["doors"]["differ"] >= 1
    # What is advised helps, though nodes follow and FLEX delivers nothing.
    assert "`flex route deliver` orders that" in " ".join(said.out.split())
    assert led.flex("route", "deliver").code == 0
    heard(led)
    assert led.flex("verify").code == 0
    # What goes before DNS by a plan goes behind it as well. Nobody waits for nodes that files are
    # carried to.
    folder = led.folder / "{node}"
    text = led.settings.read_text()
    assert text.count("[routing]\n") == 1
    led.settings.write_text(
        text.replace(
            "[routing]\n", f'[routing]\ndeliver = "{folder}"\ndeliver_command = ["true"]\n'
        )
    )
    assert led.flex("apply", made["id"]).code == 0
    heard(led)
    assert led.flex("verify").code == 0


@pytest.mark.torture("doors alone")
@pytest.mark.slow
def test_a_server_says_the_same(led: Installation) -> None:
    heard(led, "n3")
    here = led.flex("-o", "json", "verify")
    with served(led) as there:
        asked = there("-o", "json", "verify")
    assert (asked.code, asked.json["doors"]) == (here.code, here.json["doors"])


@pytest.mark.slow
def test_where_dns_was_given_away_nobody_asks_it_for_what_a_plan_put_there(
    installation: Installation,
) -> None:
    before = installation.extra
    with_doors(installation)
    assert installation.night().code == 0
    installation.extra = before
    without_dns(installation)
    heard(installation)
    said = installation.flex("verify")
    assert said.code == 0, said.err
    assert "doors: every node that serves goes by order 1" in said.out
    assert not installation.flex("-o", "json", "verify").json["servers"]

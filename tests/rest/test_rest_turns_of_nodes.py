"""Who drains a node or takes it back hears how many sites that is, also from a server."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flex_api.web import background_answers
from tests.rest.test_rest_client import flex

if TYPE_CHECKING:
    from tests.rest.conftest import Door

ANY = {"If-Match": "*"}
LEAVE, COME = "sites leave n3 with the next plan", "to n3 with the next plan"


def turn(door: Door, node: str = "n3") -> Any:
    """Any: what JSON holds."""
    answer = door.open("viewer").get(f"/api/v1/nodes/{node}/turn")
    return answer.json()["turn"] if answer.status_code == 200 else answer.status_code


def test_a_drain_says_how_many_sites_leave_the_node_and_when(door: Door) -> None:
    changed = door.open("operator").put("/api/v1/nodes/n3/drain", json={}, headers=ANY).json()
    (said,) = turn(door)
    assert LEAVE in said
    assert changed["turn"] in (None, [said]), "as far as it was known by then"
    again = door.open("operator").put("/api/v1/nodes/n3/drain", json={}, headers=ANY).json()
    assert again["turn"] == [], "it was drained before"


@pytest.mark.slow("down")
@pytest.mark.parametrize("way", ["drain", "down"])
def test_a_node_that_is_taken_back_says_how_many_come(door: Door, way: str) -> None:
    door.open("operator").put("/api/v1/nodes/n3/drain", json={}, headers=ANY)
    changed = door.open("operator").delete(f"/api/v1/nodes/n3/{way}", headers=ANY).json()
    (said,) = turn(door)
    assert COME in said
    assert changed["turn"] in (None, [said])


def test_a_dry_run_says_what_it_always_did_and_nobody_asks_for_a_node_that_is_not_there(
    door: Door,
) -> None:
    dry = (
        door.open("operator")
        .put("/api/v1/nodes/n3/drain", json={}, headers=ANY, params={"dry_run": True})
        .json()
    )
    assert (dry["turn"], dry["preview"]["moves"] > 0) == ([], True)
    assert turn(door, "n9") == 404


@pytest.mark.slow("True")
@pytest.mark.parametrize("busy", [False, True])
def test_the_command_line_says_the_same_of_a_server(
    door: Door, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], busy: bool
) -> None:
    """Also where the server had no time to work it out with the order."""
    token = tmp_path / "token"
    token.write_text(door.secrets["admin"], encoding="utf-8")
    with ExitStack() as stack:
        for _ in range(background_answers.AT_ONCE if busy else 0):
            stack.enter_context(door.app.state.house.later.turn)
        drained = flex(address, token, capsys, "nodes", "drain", "n3")
        taken_back = flex(address, token, capsys, "nodes", "undrain", "n3")
    assert any(LEAVE in note for note in drained["notes"])
    assert any(COME in note for note in taken_back["notes"])

"""A dry run says what the next plan would do, and stores nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flex.model.drains_and_freezes import Freeze
from flex.model.wish import Pin
from flex.model.zone_plan import StaysBehind
from flex.planning.plan_notes_on_sites import OF_OTHER_NAMES
from flex.routing.install_files import OWED
from flex.store import MemoryStore
from flex_api import manage_tokens
from flex_api.night import metrics_from_store
from tests.rest.conftest import NOW, ROOT, Door, fill, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.testclient import TestClient

ANY, NEW, DRY = {"If-Match": "*"}, {"If-None-Match": "*"}, {"dry_run": True}
FREE, PINNED = "/api/v1/sites/s030.example.org", "/api/v1/sites/s002.example.org/pin"
ASKERS = count()
FOUR = {"name": "n4", "addresses": ["192.0.2.40"], "ram_bytes": 2**30}


@pytest.fixture(scope="module")
def door(doors: Callable[[], Door]) -> Door:
    """One for all: what is asked here changes nothing."""
    return doors()


def fresh(door: Door) -> TestClient:
    """Somebody who has not asked yet."""
    secret = manage_tokens.create(door.store, ROOT, f"asker {next(ASKERS)}", "admin", NOW)[1]
    return door.open(headers={"Authorization": f"Bearer {secret}"})


def tried(door: Door, method: str, address: str, **more: Any) -> Any:
    """The answer of a dry run, which changed nothing, to somebody who has not asked yet: on a busy
    machine it takes so long that who asked may not ask again at once. Any: what JSON holds.
    """
    client = fresh(door)
    noted = door.store.last_number()
    answer = client.request(method, address, params=DRY, **more)
    assert (answer.status_code, door.store.last_number()) == (200, noted), answer.text
    return answer.json()


def moves(said: Any) -> set[tuple[str, str | None, str | None]]:
    return {(move["site"][:4], move["source"], move["target"]) for move in said["preview"]["items"]}


@pytest.mark.parametrize("of", ["pin", "campaigns/launch"])
def test_a_wish_that_is_only_tried_says_where_the_site_would_move(door: Door, of: str) -> None:
    body = {"nodes": ["n2"], "until": "2199-01-01T00:00:00Z"}
    said = tried(door, "PUT", f"{FREE}/{of}", json=body, headers=NEW)
    assert ("s030", "n1", "n2") in moves(said)
    preview = said["preview"]
    assert preview["items"][0]["site"] == "s030.example.org"
    assert preview["moves"] >= preview["sites"] >= 1
    assert preview["cold_bytes"] == sum(move["cold_bytes"] for move in preview["items"])
    assert (preview["worst_node"] in ("n1", "n2", "n3"), preview["worst_ratio"] > 0) == (True, True)
    assert (said["nodes"], said["notes"]) == (["n2"], [])


def test_a_wish_that_begins_later_is_tried_as_it_will_be(door: Door) -> None:
    body = {"nodes": ["n2"], "since": "2198-01-01T00:00:00Z"}
    assert ("s030", "n1", "n2") in moves(tried(door, "PUT", f"{FREE}/pin", json=body, headers=NEW))


def test_a_site_that_would_be_left_alone_moves_nowhere(door: Door) -> None:
    said = tried(door, "PUT", f"{FREE}/pin", json={"excluded": True}, headers=NEW)
    assert not [move for move in moves(said) if move[0] == "s030"]


@pytest.mark.slow
def test_without_a_wish_its_site_may_go_where_it_likes(doors: Callable[[], Door]) -> None:
    door = doors()
    door.store.put_pin(Pin("s002.example.org", ("n1",)))
    before = tried(door, "PUT", PINNED, json={"nodes": ["n1"]}, headers=ANY)["preview"]
    said = tried(door, "DELETE", PINNED, headers=ANY)
    assert said["preview"]["moves_without"] == before["moves"]
    assert "s002" not in {site for site, _, _ in moves(said)}


def test_an_impossible_wish_is_refused_in_a_dry_run_too(door: Door) -> None:
    answer = door.open("operator").put(
        f"{FREE}/pin", params=DRY, json={"nodes": ["n1"], "not_on": ["n1"]}, headers=NEW
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "infeasible")
    answer = door.open("operator").put(
        PINNED, params=DRY, json={"nodes": ["n1"]}, headers={"If-Match": '"old"'}
    )
    assert answer.status_code == 412


def test_a_node_that_would_be_drained_gives_all_its_sites_away(door: Door) -> None:
    said = tried(door, "PUT", "/api/v1/nodes/n3/drain", json={}, headers=ANY)
    _, placement = door.store.placement()
    there = {site[:4] for site in placement["site"][placement["node"] == "n3"]}
    gone = {site for site, source, _ in moves(said) if source == "n3"}
    assert gone | {"s038", "s037", "s039"} >= there
    assert "n3" not in {target for _, _, target in moves(said)}
    assert said["node"]["state"] == "active"
    assert any("s002.example.org" in note for note in said["notes"]), (
        "whose pin it suspends is named"
    )


def test_a_dead_node_that_would_be_taken_out_moves_its_own_sites_alone(door: Door) -> None:
    said = tried(door, "PUT", "/api/v1/nodes/n3/down", json={})
    assert {source for _, source, _ in moves(said)} == {"n3"}
    assert said["preview"]["worst_ratio_without"] < 0.2, (
        "as long as it is there, it is as full as the others"
    )


@pytest.mark.slow
def test_a_new_node_gets_sites(door: Door) -> None:
    said = tried(door, "POST", "/api/v1/nodes", json=FOUR)
    assert "n4" in {target for _, _, target in moves(said)}
    assert said["node"]["node"] == "n4"


@pytest.mark.slow
def test_a_larger_node_gets_more(door: Door) -> None:
    said = tried(door, "PATCH", "/api/v1/nodes/n1", json={"capacity_ratio": 3.0}, headers=ANY)
    assert {target for _, _, target in moves(said)} <= {"n1", None}
    assert said["node"]["capacity_ratio"] == 1.0


@pytest.mark.slow
def test_a_node_back_in_service_is_tried_too(doors: Callable[[], Door]) -> None:
    door = doors()
    assert (
        door.open("operator").put("/api/v1/nodes/n2/drain", json={}, headers=ANY).status_code == 200
    )
    for way in ("drain", "down"):
        said = tried(door, "DELETE", f"/api/v1/nodes/n2/{way}", headers=ANY)
        assert said["preview"]["moves"] < said["preview"]["moves_without"]


@pytest.mark.slow
def test_a_node_without_sites_is_taken_out_of_nothing(doors: Callable[[], Door]) -> None:
    door = doors()
    assert door.open("admin").post("/api/v1/nodes", json=FOUR).status_code == 201
    said = tried(door, "DELETE", "/api/v1/nodes/n4", headers=ANY)
    assert said["preview"]["moves"] < said["preview"]["moves_without"]
    answer = door.open("admin").delete("/api/v1/nodes/n1", params=DRY, headers=ANY)
    assert (answer.status_code, "partition in force" in answer.text) == (422, True)


def test_before_there_is_any_profile_a_dry_run_says_that_nothing_is_known(door: Door) -> None:
    empty = type(door)(MemoryStore())
    said = tried(empty, "POST", "/api/v1/nodes", json=FOUR)
    assert said["preview"] is None
    assert "not known" in said["notes"][-1]


@pytest.mark.slow
def test_what_is_tried_says_that_traffic_of_other_names_is_counted_at_their_sites() -> None:
    """As long as a plan finds such names: no name server is asked here."""
    door = Door(fill(MemoryStore(), read=0))
    said = "what comes by other names that do not move with their sites"

    def notes() -> list[list[str]]:
        asked = [
            fresh(door).get("/api/v1/partitions/current/frontier"),
            fresh(door).post("/api/v1/whatif", json={}),
        ]
        assert [answer.status_code for answer in asked] == [200, 200], [
            answer.text for answer in asked
        ]
        preview = tried(door, "PUT", f"{FREE}/pin", json={"nodes": ["n2"]}, headers=NEW)["preview"]
        return [*(answer.json()["notes"] for answer in asked), preview["notes"]]

    assert said not in str(notes())
    last = door.store.plans(1)[0]
    names = f"1 other name of 1 site {OF_OTHER_NAMES}: www.s030.example.org (at n1)"
    door.store.update(replace(last, notes=(names,)))
    assert [said in str(each) for each in notes()] == [True, True, True]


# How, where, with what, and under which condition. Any: what JSON holds.
Asked = tuple[str, str, dict[str, Any], dict[str, str]]
PUT_PIN: Asked = ("PUT", f"{FREE}/pin", {"nodes": ["n2"]}, NEW)
DRAIN: Asked = ("PUT", "/api/v1/nodes/n3/drain", {}, ANY)
DOWN: Asked = ("PUT", "/api/v1/nodes/n3/down", {}, ANY)
SMALLER: Asked = ("PATCH", "/api/v1/nodes/n3", {"capacity_ratio": 0.5}, ANY)
ADD: Asked = ("POST", "/api/v1/nodes", FOUR, {})
WWW = f"1 other name of 1 site {OF_OTHER_NAMES}: www.s030.example.org (at n1, n3)"
UNSEEN = (
    "1 other name in no zone of the settings, so where they lead is not known: "
    "s030.example.net (s030.example.org)"
)
STAYS = (
    "1 other name leads to n3 and stays there when its site leaves it: "
    "www.s030.example.org; change that where these records are kept"
)


def with_names_that_stay(**sections: Any) -> Door:
    """The newest plan found another name of a site, and a site that somebody else has on n3. Any:
    sections of settings.
    """
    door = Door(fill(MemoryStore(), read=0), settings(**sections))
    _, placement = door.store.placement()
    (theirs, *_) = placement["site"][placement["node"] == "n3"]
    last = door.store.plans(1)[0]
    zone_plan = replace(
        last.zone_plans[0],
        foreign=(
            f"{theirs}. (holds addresses without our marker)",
            "www.s030.example.org. (another name of s030.example.org)",
        ),
        stay_behind=(StaysBehind("www.s030.example.org", "s030.example.org", ("n1", "n3")),),
    )
    notes = ("a remark", WWW, UNSEEN)
    door.store.update(replace(last, notes=notes, zone_plans=(zone_plan,)))
    return door


@pytest.fixture(scope="module")
def with_www() -> Door:
    """One for all: what is asked here changes nothing."""
    return with_names_that_stay()


@pytest.mark.parametrize(
    ("asked", "leaves"),
    [(PUT_PIN, False), (DRAIN, True), (DOWN, True), (SMALLER, False), (ADD, False)],
    ids=["pin", "drain", "down", "smaller", "add"],
)
def test_what_is_tried_says_of_other_names_what_the_plan_says(
    with_www: Door, asked: Asked, leaves: bool
) -> None:
    method, address, body, headers = asked
    said = tried(with_www, method, address, json=body, headers=headers)
    notes = said["preview"]["notes"]
    assert [note for note in notes if note in (WWW, UNSEEN)] == [WWW, UNSEEN]
    assert "a remark" not in notes
    assert any(note.startswith("what comes by other names that") for note in notes)
    assert (STAYS in notes) == leaves
    theirs = "stays where it is and is not FLEX's to move: "
    (about,) = [note for note in notes if theirs in note]
    assert about.endswith("(holds addresses without our marker)")
    stays = about.removeprefix("1 site ").removeprefix(theirs).partition(" ")[0]
    assert stays not in {move["site"] for move in said["preview"]["items"]}


def test_files_that_did_not_reach_their_node_are_said_by_pages_and_metrics(tmp_path: Path) -> None:
    """Whoever was started anew since: a file beside them says so."""
    command = {"deliver": f"{tmp_path}/{{node}}", "deliver_command": ["true"]}
    door = Door(fill(MemoryStore(), read=0), settings(routing={"on": True, **command}))
    said, metric = "has not reached n1.", "flex_route_owed_since_timestamp_seconds"

    def shown() -> tuple[str, str, str]:
        page = door.open("viewer", {"Accept": "text/html"}).get("/nodes").text
        now = datetime.now(UTC)
        from_store = metrics_from_store.metrics_text(door.settings, door.store, now)
        return page, door.open("viewer").get("/metrics").text, from_store

    page, *texts = shown()
    assert said not in page
    assert not any(metric in text for text in texts)
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / OWED).touch()
    page, *texts = shown()
    assert said in page
    assert "The health watch and each night try again" in page
    assert all(f'{metric}{{node="n1"}} ' in text for text in texts)
    door.store.put_freeze(Freeze(datetime.now(UTC)))
    page, *_ = shown()
    assert "Only flex route deliver does" in page
    (tmp_path / "n1" / OWED).unlink()
    page, *texts = shown()
    assert said not in page
    assert not any(metric in text for text in texts)


def test_what_nodes_less_would_do_says_which_names_stay_at_them(with_www: Door) -> None:
    asked = {"without_nodes": ["n3"]}
    notes = fresh(with_www).post("/api/v1/whatif", json=asked).json()["notes"]
    assert (WWW in notes, STAYS in notes) == (True, True)
    assert STAYS not in fresh(with_www).post("/api/v1/whatif", json={}).json()["notes"]


def test_a_site_that_doors_lead_to_is_not_said_to_stay() -> None:
    """It goes where they lead, whoever has its records."""
    door = with_names_that_stay(routing={"on": True, "doors": "all"})
    method, address, body, headers = DRAIN
    notes = tried(door, method, address, json=body, headers=headers)["preview"]["notes"]
    assert not [note for note in notes if "not FLEX's to move" in note]


@pytest.mark.slow
def test_how_many_sites_leave_a_drained_node_is_said_with_the_names_that_stay() -> None:
    door = with_names_that_stay()
    client = door.open("operator")
    drained = client.put("/api/v1/nodes/n3/drain", json={}, headers=ANY)
    assert drained.status_code == 200
    turn = door.open("viewer").get("/api/v1/nodes/n3/turn").json()
    assert "leave n3 with the next plan" in turn["turn"][0]
    assert [WWW in turn["turn"], STAYS in turn["turn"]] == [True, True]
    assert client.delete("/api/v1/nodes/n3/drain", headers=ANY).status_code == 200
    turn = door.open("viewer").get("/api/v1/nodes/n3/turn").json()
    assert [WWW in turn["turn"], STAYS in turn["turn"]] == [True, False]

"""Nodes wait for the next order for doors, and hear of it the moment it is there."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from flex.errors import StoreError
from flex.frame_schemas import PLACEMENT
from flex.model.drains_and_freezes import NodeOrder
from flex.model.orders_to_doors import NOT_SAID, DoorOrder, DoorReport, is_behind, next_number
from flex.model.roles_and_tokens import Role
from flex.routing import haproxy, host_to_node_maps
from flex.routing.host_to_node_maps import OWNERS, Heading, maps_of, set_heading
from flex.routing.node_file_download import HAS_LARGE, LEFT_OUT
from flex.store import MemoryStore, Store, open_store
from flex_api.night.orders_at_doors import door_states
from flex_api.web.door_watch import DoorWatch, Has, Newest, Others, report_of
from tests.migrated import new_database
from tests.rest.conftest import plan, settings
from tests.rest.test_rest_routing import of_node

if TYPE_CHECKING:
    from pathlib import Path

    from tests.rest.conftest import Door

DOORS = "/api/v1/routing/nodes/n1/doors"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
ROUTING = {"on": True, "doors": "all"}


def order(store: Store, number: int, **changes: Any) -> DoorOrder:
    """The next one, which has the number in the name of a site, too. Any: fields of an order."""
    made = maps_of({f"s{number}.example": "n1"}, host_to_node_maps.map_of({}))
    large = host_to_node_maps.digest(made.large)
    text = set_heading(made, Heading(store.installation(), large, number)).moved
    ordered = DoorOrder(number, "p", large, host_to_node_maps.digest(text), NOW)
    ordered = replace(ordered, **changes)
    last = store.door_order()
    assert store.put_door_order(ordered, text, last.number if last else 0)
    return ordered


@pytest.fixture
def all_doors(doors: Callable[..., Door]) -> Door:
    return doors(routing=ROUTING)


def test_a_node_without_an_order_is_told_the_newest_at_once(all_doors: Door) -> None:
    node = of_node(all_doors, "n1")
    ordered = order(all_doors.store, 1)
    said = node.get(DOORS, params={"wait": 0}).json()
    assert said["order"]["number"] == ordered.number
    assert said["cluster"] == all_doors.store.installation()
    assert said["moved"] == all_doors.store.moved_map()
    assert host_to_node_maps.is_whole(said["moved"])


def test_a_node_that_has_all_of_it_hears_nothing(all_doors: Door) -> None:
    node = of_node(all_doors, "n1")
    ordered = order(all_doors.store, 1)
    mine: dict[str, str | int] = {
        "have": 1,
        "moved": ordered.moved,
        "cluster": all_doors.store.installation(),
        "wait": 0,
    }
    # What it is told of its other files once, it has from then on.
    files = node.get(DOORS, params=mine).json()["files"]
    answer = node.get(DOORS, params={**mine, "files": files})
    assert (answer.status_code, answer.content) == (204, b"")
    assert [one.number for one in all_doors.store.door_reports()] == [1]


def test_the_files_of_a_node_are_called_what_the_node_calls_them(all_doors: Door) -> None:
    node = of_node(all_doors, "n1")
    files = node.get("/api/v1/routing/nodes/n1").json()["files"]
    said = node.get(DOORS, params={"have": 1, "wait": 0}).json()
    assert said["files"] == haproxy.others_digest(files)


def test_a_large_map_that_a_node_has_is_not_sent_to_it_again(all_doors: Door) -> None:
    node, path = of_node(all_doors, "n1"), "/api/v1/routing/nodes/n1"
    whole = node.get(path).json()["files"]
    has = {HAS_LARGE: host_to_node_maps.digest(whole[OWNERS])}
    answer = node.get(path, headers=has)
    less = answer.json()["files"]
    assert less.pop(LEFT_OUT) == has[HAS_LARGE]
    assert less | {OWNERS: whole[OWNERS]} == whole
    assert OWNERS not in less
    assert answer.headers["Vary"] == HAS_LARGE
    assert node.get(path, headers={HAS_LARGE: "0" * 12}).json()["files"] == whole
    # What is in a cache for one of them is not what the other one has.
    tagged = {"If-None-Match": answer.headers["ETag"]}
    assert node.get(path, headers=has | tagged).status_code == 304
    assert node.get(path, headers=tagged).status_code == 200


@pytest.mark.parametrize("role", [None, "viewer", "operator", "approver", "admin"])
def test_only_the_node_itself_says_what_it_goes_by(all_doors: Door, role: Role | None) -> None:
    order(all_doors.store, 1)
    for client in (all_doors.open(role), of_node(all_doors, "n2")):
        answer = client.get(DOORS, params={"have": 7, "wait": 0})
        assert answer.status_code in (401, 403)
    assert all_doors.store.door_reports() == ()


def test_a_node_that_does_not_serve_is_told_nothing_and_said_nothing_of(all_doors: Door) -> None:
    node = of_node(all_doors, "n9")
    answer = node.get("/api/v1/routing/nodes/n9/doors", params={"wait": 0})
    assert answer.status_code == 404
    assert all_doors.store.door_reports() == ()


@pytest.mark.parametrize(
    "given",
    [
        {"have": -1},
        {"have": 10**16},
        {"wait": 61},
        {"wait": "nan"},
        {"error": "x" * 301},
        {"error": "a\nb"},
        {"moved": "x" * 65},
        {"other": 1},
    ],
)
def test_what_is_no_word_of_a_node_is_refused(all_doors: Door, given: dict[str, str]) -> None:
    node = of_node(all_doors, "n1")
    assert node.get(DOORS, params=given).status_code in (400, 422)
    assert all_doors.store.door_reports() == ()


def test_without_doors_for_all_sites_no_order_counts(doors: Callable[..., Door]) -> None:
    door = doors(routing={"on": True})
    order(door.store, 1)
    said = of_node(door, "n1").get(DOORS, params={"wait": 0}).json()
    assert (said["order"], said["moved"]) == (None, "")


def test_lists_and_metrics_say_who_goes_by_what_and_who_has_not_heard(all_doors: Door) -> None:
    store = all_doors.store
    order(store, 1)
    newest = order(store, 2)
    store.note_door_reports(
        [
            DoorReport("n1", 2, newest.moved, NOW),
            DoorReport("n2", 1, "m1", NOW, "HAProxy does not answer"),
        ]
    )
    said = all_doors.open("viewer").get("/api/v1/routing").json()
    assert said["order"]["number"] == 2
    rows = {row["node"]: row for row in said["nodes"]}
    assert (rows["n1"]["order"], rows["n1"]["unheard"]) == (2, "")
    assert rows["n1"]["order_since"] == "2026-03-01T00:00:00Z"
    assert (rows["n2"]["order"], rows["n3"]["order"]) == (1, 0)
    assert "HAProxy does not answer" in rows["n2"]["unheard"]
    assert "flex route follow" in rows["n3"]["unheard"]
    metrics = all_doors.open("viewer").get("/metrics").text
    for line in (
        "flex_route_order 2",
        'flex_route_node_order{node="n2"} 1',
        'flex_route_unheard{node="n1"} 0',
        'flex_route_unheard{node="n3"} 1',
    ):
        assert f"{line}\n" in metrics
    page = all_doors.open("viewer").get("/routing").text
    assert "HAProxy does not answer" in page
    assert "2 nodes have not heard of the newest order" in page


def test_sites_whose_requests_wait_are_counted_with_since_when(all_doors: Door) -> None:
    store, viewer = all_doors.store, all_doors.open("viewer")
    last = order(store, 1)
    assert viewer.get("/api/v1/routing").json()["order"]["held_since"] is None
    assert "flex_route_held_sites 0\n" in viewer.get("/metrics").text
    held = frozenset({"a.example", "b.example"})
    new = replace(last, number=2, waiting=held, held=held, held_since=NOW)
    assert store.put_door_order(new, "", 1)
    said = viewer.get("/api/v1/routing").json()["order"]
    assert said["sites_held"] == 2
    assert datetime.fromisoformat(said["held_since"]) == NOW
    assert "Requests for 2 sites wait at every door since" in viewer.get("/routing").text
    metrics = viewer.get("/metrics").text
    since = f"flex_route_held_since_timestamp_seconds {NOW.timestamp():.0f}"
    assert "flex_route_held_sites 2\n" in metrics
    assert since in metrics.replace(".0\n", "\n")


def test_a_node_says_which_held_names_it_is_still_answering(all_doors: Door) -> None:
    """Also none at all, which is another thing than saying nothing of it."""
    store = all_doors.store
    order(store, 1)
    node = of_node(all_doors, "n1")
    heard: tuple[tuple[dict[str, str | int], tuple[tuple[str, int], ...], int], ...]
    heard = (
        ({}, (), NOT_SAID),
        (
            {"busy": "a.example:3,b.example:1", "busy_names": 7},
            (("a.example", 3), ("b.example", 1)),
            7,
        ),
        ({"busy": "", "busy_names": 0}, (), 0),
    )
    for said, busy, names in heard:
        asked = {"have": 1, "goes": 1, "moved": "m1", "wait": 0, **said}
        assert node.get(DOORS, params=asked).is_success
        _until_noted(store, "n1", busy, names)
    for wrong in ({"busy": "a.example"}, {"busy": "a:1;b:2"}, {"busy_names": "-1"}):
        answer = node.get(DOORS, params=wrong)
        assert answer.status_code == 422


def _until_noted(store: Store, node: str, busy: tuple[tuple[str, int], ...], names: int) -> None:
    for _ in range(2_000):
        found = {report.node: report for report in store.door_reports()}.get(node)
        if found and (found.busy, found.busy_names) == (busy, names):
            return
        time.sleep(0.01)
    pytest.fail(f"not noted: {busy}, {names}; {store.door_reports()}")


def test_sites_that_wait_for_their_wave_are_counted(all_doors: Door) -> None:
    store = all_doors.store
    last = order(store, 1)
    waiting = frozenset({"a.example", "b.example"})
    new = replace(last, number=2, waiting=waiting)
    assert store.put_door_order(new, "", 1)
    said = all_doors.open("viewer").get("/api/v1/routing").json()
    assert said["order"]["sites_waiting"] == 2
    page = all_doors.open("viewer").get("/routing").text
    assert "2 sites wait for their wave and are led as before" in page


def test_what_a_database_that_was_put_back_does_not_know_is_said(all_doors: Door) -> None:
    store = all_doors.store
    order(store, 2)
    store.note_door_reports([DoorReport("n1", 5, "m5", NOW), DoorReport("n2", 2, "other", NOW)])
    states = door_states(settings(routing=ROUTING), store)
    assert ["does not know" in one.unheard for one in states] == [True, True, False]


def test_an_order_that_nobody_can_have_given_is_named_and_not_ordered_above(
    all_doors: Door,
) -> None:
    """Else whoever has one node's token ends the orders of all."""
    store, far = all_doors.store, 10**15
    last = order(store, 22)
    said: dict[str, str | int]
    said = {"have": far, "goes": far, "moved": "abcdefabcdef", "files": "x", "wait": 0}
    assert of_node(all_doors, "n2").get(DOORS.replace("n1", "n2"), params=said).is_success
    for _ in range(2_000):
        if store.door_reports():
            break
        time.sleep(0.01)
    reports = store.door_reports()
    assert [(one.node, one.number) for one in reports] == [("n2", far)]
    assert not is_behind(last, reports)
    assert next_number(last, reports) == 23
    rows = all_doors.open("viewer").get("/api/v1/routing").json()["nodes"]
    (why,) = [row["unheard"] for row in rows if row["node"] == "n2"]
    assert f"order {far}, which FLEX cannot have given" in why
    # Where that happened before, nodes go on from there.
    order(store, far + 1)
    node = of_node(all_doors, "n1")
    answer = node.get(DOORS, params={"have": far + 1, "wait": 0})
    assert answer.json()["order"]["number"] == far + 1


def test_a_token_that_is_revoked_while_its_node_waits_gets_no_order(all_doors: Door) -> None:
    store, node = all_doors.store, of_node(all_doors, "n1")
    order(store, 1)
    files = node.get(DOORS, params={"have": 0, "wait": 0}).json()["files"]
    asked: dict[str, str | int] = {"have": 1, "wait": 30, "files": files}
    (token,) = [one for one in store.tokens() if one.name == "node@n1"]
    with ThreadPoolExecutor(1) as aside:
        waits = aside.submit(node.get, DOORS, params=asked)
        while [one.number for one in store.door_reports()] != [1]:
            time.sleep(0.01)
        # As another process does it.
        assert store.revoke_token(token.id, datetime.now(UTC))
        order(store, 2)
        assert waits.result(60).status_code == 401


def test_a_node_that_waits_hears_of_files_that_change_without_an_order(all_doors: Door) -> None:
    """As where a plan comes into force that has a site on several nodes."""
    store, node = all_doors.store, of_node(all_doors, "n1")
    order(store, 1)

    def ask(wait: int, files: str, goes: int = 1) -> str:
        """What it is told that its files are called; "" where it is told nothing."""
        asked: dict[str, str | int] = {"have": 1, "wait": wait, "files": files}
        asked["goes"] = goes
        answer = node.get(DOORS, params=asked)
        return str(answer.json()["files"]) if answer.content else ""

    files = ask(30, "", goes=0)
    assert files
    with ThreadPoolExecutor(1) as aside:
        waits = aside.submit(ask, 60, files)
        # What it says with the question is noted by whoever tells those that wait.
        while [one.number for one in store.door_reports()] != [1]:
            time.sleep(0.01)
        rows = {"site": ["shop.example"] * 2, "node": ["n1", "n2"]}
        made, placement = plan(9, base=store.in_force()), PLACEMENT.from_columns(rows)
        store.propose(replace(made, state="proposed", settled=None), placement)
        store.settle(made, placement)
        began = time.monotonic()
        # It is to ask again, or is told at once.
        told = waits.result(90) or ask(60, files)
        assert time.monotonic() - began < 30
    assert told not in ("", files)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(new_database(tmp_path / "flex.db")) as opened:
        yield opened


def test_what_a_nodes_other_files_are_is_found_anew_where_an_order_may_change_them(
    store: Store,
) -> None:
    watch = DoorWatch(store, has_doors=True)

    def wait(number: int, changes: int | None = None) -> Newest | None:
        return asyncio.run(watch.next_after(Has("n1", "", number), 60, changes))

    def are_the_same(number: int, **changes: Any) -> bool:
        """Any: fields of an order."""
        watch.note_others("n1", Others("files", math.inf, watch.changes))
        order(store, number, **changes)
        assert wait(number - 1)
        return watch.others_of("n1") == "files"

    are_the_same(1)
    # A site is led elsewhere, by the same plan.
    assert are_the_same(2)
    assert not are_the_same(3, plan="another")
    # Sites move one by one.
    assert not are_the_same(4, plan="another", held=frozenset({"a.example"}))
    assert are_the_same(5, plan="another", waiting=frozenset({"b.example"}))
    assert not are_the_same(6, plan="another")
    before = watch.changes
    assert not are_the_same(7, plan="another", large="of more names")
    # Who has the order from elsewhere, and asked before this process saw it, is to ask again.
    began = time.monotonic()
    assert wait(7, before) is None
    assert time.monotonic() - began < 30


def test_a_node_that_waits_hears_that_another_one_is_down(all_doors: Door) -> None:
    """Its pools are without that one, also where no plan and no order follows."""
    store, node = all_doors.store, of_node(all_doors, "n1")
    order(store, 1)

    def ask(wait: int, files: str, goes: int) -> int:
        asked = {"have": "1", "wait": str(wait), "files": files, "goes": str(goes)}
        return node.get(DOORS, params=asked).status_code

    files = node.get(DOORS, params={"have": 1, "wait": 30, "goes": 0}).json()["files"]
    with ThreadPoolExecutor(1) as aside:
        waits = aside.submit(ask, 60, files, 1)
        while [one.number for one in store.door_reports()] != [1]:
            time.sleep(0.01)
        store.order_node(NodeOrder("n3", "down", datetime.now(UTC)))
        began = time.monotonic()
        told = waits.result(90)
        assert 200 in (told, ask(60, files, 1))
        assert time.monotonic() - began < 30


def test_a_thousand_nodes_wait_by_one_thread_and_all_are_told(
    store: Store,
) -> None:
    order(store, 1)
    watch, before = DoorWatch(store, has_doors=True), threading.active_count()

    async def wait(number: int) -> int:
        newest = await watch.next_after(Has(f"n{number}", "", 1), 60)
        assert newest
        return newest.order.number

    async def all_of_them() -> list[int]:
        waiting = [asyncio.create_task(wait(number)) for number in range(1_000)]
        await asyncio.sleep(0)
        assert threading.active_count() <= before + 1
        await asyncio.to_thread(order, store, 2)
        return await asyncio.gather(*waiting)

    assert asyncio.run(all_of_them()) == [2] * 1_000


def test_what_a_thousand_nodes_say_is_kept_by_few_transactions(
    store: Store,
) -> None:
    order(store, 1)
    watch, before = DoorWatch(store, has_doors=True), store.stamp()

    async def say() -> None:
        for number in range(1_000):
            node = f"n{number}"
            watch.note(Has(node, "", 1), report_of(node, 1, "m1", ""))
        while len(store.door_reports()) < 1_000:
            await asyncio.sleep(0.01)

    asyncio.run(say())
    # SQLite counts the transactions that others committed.
    assert before is not None
    assert (store.stamp() or 0) - before < 50
    # Saying it again writes nothing.
    stamp = store.stamp()
    watch.note(Has("n1", "", 1), report_of("n1", 1, "m1", ""))
    assert store.stamp() == stamp


def test_a_node_that_asks_again_leaves_no_question_behind(store: Store) -> None:
    order(store, 1)
    watch = DoorWatch(store, has_doors=True)

    async def ask_twice() -> tuple[object, object]:
        first = asyncio.create_task(watch.next_after(Has("n1", "", 1), 60))
        await asyncio.sleep(0)
        second = asyncio.create_task(watch.next_after(Has("n1", "", 1), 60))
        told = await first
        order(store, 2)
        return told, await second

    first, second = asyncio.run(ask_twice())
    assert first is None
    assert second


def test_a_store_that_is_away_is_said_and_the_next_question_is_answered() -> None:
    class Failing(MemoryStore):
        is_away = True

        def door_order(self) -> DoorOrder | None:
            if self.is_away:
                raise StoreError("reading", "it is away", kept="all", advice="wait")
            return super().door_order()

    store = Failing()
    watch = DoorWatch(store, has_doors=True)
    with pytest.raises(StoreError):
        asyncio.run(watch.next_after(Has("n1", "", 0), 60))
    store.is_away = False
    order(store, 1)
    assert asyncio.run(watch.next_after(Has("n1", "", 0), 60))


def test_a_report_of_another_clusters_order_is_no_order_of_ours(
    store: Store,
) -> None:
    order(store, 1)
    watch = DoorWatch(store, has_doors=True)

    async def say() -> None:
        watch.note(Has("n1", "c0ffee", 9), report_of("n1", 9, "m9", ""))
        assert await watch.next_after(Has("n1", "c0ffee", 9), 60)
        while not store.door_reports():
            await asyncio.sleep(0.01)

    asyncio.run(say())
    assert store.door_reports()[0].number == 0


def test_a_large_map_is_told_whole(all_doors: Door) -> None:
    store = all_doors.store
    owner_of = {f"site{number}.example": "n1" for number in range(20_000)}
    made = maps_of(owner_of, host_to_node_maps.map_of({}))
    large = host_to_node_maps.digest(made.large)
    text = set_heading(made, Heading(store.installation(), large, 1)).moved
    moved = host_to_node_maps.digest(text)
    assert store.put_door_order(DoorOrder(1, "p", large, moved, NOW), text, 0)
    answer = of_node(all_doors, "n1").get(DOORS, params={"wait": 0})
    assert json.loads(answer.content)["moved"] == text


@pytest.mark.slow
def test_how_long_a_node_waits_is_no_time_that_an_answer_takes(all_doors: Door) -> None:
    """Else the alarm for slow answers would never be silent."""
    node = of_node(all_doors, "n1")
    order(all_doors.store, 1)
    files = node.get(DOORS, params={"have": 1, "wait": 0}).json()["files"]
    for _ in range(3):
        answer = node.get(DOORS, params={"have": 1, "wait": 1.5, "files": files})
        assert answer.status_code == 204
    metrics = all_doors.open("viewer").get("/metrics").text
    found = [
        line
        for line in metrics.splitlines()
        if "/doors" in line and "_sum{" in line and "2xx" in line
    ]
    assert len(found) == 1
    # It waited for 4.5 s.
    assert float(found[0].split()[-1]) < 4.5 / 2

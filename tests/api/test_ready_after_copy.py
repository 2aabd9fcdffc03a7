"""A site that commands bring to its new node is asked for once they have brought it."""

from __future__ import annotations

import socket
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.model.wish import Pin
from flex.planning.movement_rules import REST
from flex_api.night import (
    go_on_with_moves,
    nightly,
    plan_of_movable_sites,
    route_and_publish_plan,
)
from flex_api.night.move_watch_round import WatchOfMoves
from flex_api.settings import file as config
from tests.api.nights import NODES, SITES, loads
from tests.api.ready_servers import Respond, page
from tests.api.test_ready_plans import GONE, GOOD, Asked, cluster

if TYPE_CHECKING:
    from flex.model.plan import Plan

__all__ = ["cluster"]

ONE, OTHER = SITES[30], SITES[31]


@pytest.fixture
def disks(cluster: Asked, tmp_path: Path) -> Path:
    """A node knows a site once its folder is there."""
    cluster.night(loads(0))
    folder = tmp_path / "disks"
    for node in NODES:
        (folder / node).mkdir(parents=True)
    for site in SITES:
        for node in cluster.nodes_of(site):
            (folder / node / site).mkdir()
    for node in NODES:
        for site in SITES:
            knows(cluster, folder, node, site)
    path = tmp_path / "flex.toml"
    hook = f"""
[[move.hook]]
stage = "copy"
command = ["mkdir", "{folder}/{{to}}/{{site}}"]
undo = ["rm", "-rf", "{folder}/{{to}}/{{site}}"]
retries = 0
"""
    path.write_text(path.read_text() + hook)
    object.__setattr__(cluster.world, "settings", config.load(path))
    return folder


def knows(cluster: Asked, folder: Path, node: str, site: str) -> None:
    def respond(connection: socket.socket, path: str) -> None:
        known = GOOD if (folder / node / site).exists() else GONE
        known(connection, path)

    cluster.answers(node, [site], respond)


def pinned(cluster: Asked, site: str) -> str:
    (here,) = cluster.nodes_of(site)
    target = NODES[(NODES.index(here) + 1) % len(NODES)]
    cluster.world.store.put_pin(Pin(site, nodes=(target,), author="ann"))
    return target


def carried_out(cluster: Asked) -> Plan:
    cluster.learn(loads(0))
    made = nightly.propose(cluster.world).plan
    wanted = plan_of_movable_sites.bring_and_narrow(cluster.world, made)
    return route_and_publish_plan.carry_out(cluster.world, wanted)


@pytest.mark.slow
def test_it_moves_once_its_content_is_there(cluster: Asked, disks: Path) -> None:
    target = pinned(cluster, ONE)
    made = carried_out(cluster)
    assert made.not_ready == ()
    assert cluster.nodes_of(ONE) == {target}
    assert (ONE, target) in cluster.asked
    assert (disks / target / ONE).exists()


@pytest.mark.slow
def test_it_stays_where_the_node_is_not_ready_all_the_same_and_the_copy_goes(
    cluster: Asked, disks: Path
) -> None:
    before = cluster.nodes_of(ONE)
    target = pinned(cluster, ONE)
    other = pinned(cluster, OTHER)
    cluster.answers(target, [ONE], GONE)
    carried_out(cluster)
    assert cluster.nodes_of(ONE) == before
    assert cluster.nodes_of(OTHER) == {other}
    assert not (disks / target / ONE).exists()
    [move] = cluster.world.store.site_moves(site=ONE)
    assert move.state == "stayed"
    assert "it answers 404, and the old node 200" in move.reason
    # A plan of the same day goes around it.
    again = nightly.propose(cluster.world).plan
    assert ONE not in {one.site for one in again.moves}
    in_spite = nightly.propose(cluster.world, (REST,)).plan
    assert (ONE, target) in {(one.site, one.target) for one in in_spite.moves}
    assert move.rests_until
    assert move.for_now


# What a command does that copies a site to the folder $1, by what it is that goes wrong.
FAULTS = {
    "hangs": 'mkdir "$1"; sleep 60',
    "lies": "exit 0",
    "brings it somewhere else": 'mkdir "$1-"',
    "fails half-way": 'mkdir "$1"; exit 1',
    "is killed": 'mkdir "$1"; kill -9 $$',
    "says never": "exit 78",
    "says not now": 'mkdir "$1"; exit 75',
    "takes back": 'mkdir "$1"; exit 70',
    "is not there": "/nowhere/copy",
    "says too much": 'mkdir "$1"; head -c 3000000 /dev/zero; exit 1',
}
# One plan may move as many, and as light ones may stay.
FAILING = dict(zip(SITES[42:52], FAULTS, strict=True))
WELL = SITES[52:]


@pytest.mark.slow
def test_sites_whose_commands_fail_in_any_way_stay_and_all_others_move(
    cluster: Asked, disks: Path, tmp_path: Path
) -> None:
    for site, fault in FAILING.items():
        (disks / f"{site}.sh").write_text(FAULTS[fault])
    for site in WELL:
        # Whatever it leaves running does not hold the move.
        (disks / f"{site}.sh").write_text('mkdir "$1"; sleep 5 &')
    path = tmp_path / "flex.toml"
    text = path.read_text()
    command = f'["sh", "{disks}/{{site}}.sh", "{disks}/{{to}}/{{site}}"]\ntimeout = "2s"'
    text = text.replace(f'["mkdir", "{disks}/{{to}}/{{site}}"]', command)
    path.write_text(text.replace("[[move.hook]]", "[move]\nat_once = 40\n[[move.hook]]", 1))
    object.__setattr__(cluster.world, "settings", config.load(path))
    before = {site: cluster.nodes_of(site) for site in SITES}
    target = {site: pinned(cluster, site) for site in [*FAILING, *WELL]}
    carried_out(cluster)
    moves = cluster.world.store.site_moves()
    assert {move.site for move in moves if move.state == "stayed" and move.reason} == {*FAILING}
    for site in FAILING:
        assert cluster.nodes_of(site) == before[site]
        assert not (disks / target[site] / site).exists()
    assert {site: cluster.nodes_of(site) for site in WELL} == {one: {target[one]} for one in WELL}


def test_a_last_command_that_fails_is_told_until_it_is_done(
    cluster: Asked, disks: Path, tmp_path: Path
) -> None:
    switch = tmp_path / "on"
    hook = f"""
[[move.hook]]
stage = "release"
name = "cron-on"
command = ["test", "-e", "{switch}"]
retries = 0
"""
    path = tmp_path / "flex.toml"
    path.write_text(path.read_text() + hook)
    said: list[str] = []
    object.__setattr__(cluster.world, "settings", config.load(path))
    object.__setattr__(cluster.world, "say", said.append)
    target = pinned(cluster, ONE)
    go_on_with_moves.mark_moves_made(cluster.world, carried_out(cluster))
    why = "release (cron-on): it ended with 1; the next run tries it again"
    told = f"{ONE} is at {target}, but not whole: {why}."
    (move,) = cluster.world.store.site_moves(site=ONE)
    assert (move.state, move.reason) == ("moved", why)
    assert said.count(told) == 1
    later = cluster.world.time_of_day() + timedelta(days=3)
    assert cluster.world.store.count_site_moves(later).failed == {"release": 1}
    go_on_with_moves.go_on(cluster.world)
    assert said.count(told) == 2
    switch.touch()
    go_on_with_moves.go_on(cluster.world)
    (move,) = cluster.world.store.site_moves(site=ONE)
    assert move.reason == ""
    assert cluster.world.store.count_site_moves(later).failed == {}
    assert said.count(told) == 2


def watched(cluster: Asked, tmp_path: Path, sources: str = "") -> str:
    """A site that moved. Its new node."""
    path = tmp_path / "flex.toml"
    text = path.read_text().replace("[move.ready]", '[move]\nwatch = "1h"\n[move.ready]')
    # What the old node still has is no trouble on the way back.
    text = text.replace('["mkdir", ', '["mkdir", "-p", ')
    path.write_text(text + sources)
    object.__setattr__(cluster.world, "settings", config.load(path))
    target = pinned(cluster, ONE)
    go_on_with_moves.mark_moves_made(cluster.world, carried_out(cluster))
    cluster.world.store.drop_pin(ONE)
    return target


def watch_of(cluster: Asked) -> tuple[str, str]:
    move = cluster.world.store.site_moves(site=ONE)[-1]
    runs = cluster.world.store.stage_runs([move.id])
    (watch,) = [run for run in runs if run.stage == "watch"]
    return watch.state, watch.said


def test_where_neither_doors_nor_logs_count_answers_no_move_is_called_well(
    cluster: Asked, disks: Path, tmp_path: Path
) -> None:
    watched(cluster, tmp_path)
    cluster.clock[0] += timedelta(hours=2)
    WatchOfMoves(cluster.world).round()
    state, said = watch_of(cluster)
    assert state == "failed"
    assert said.startswith("nobody can tell: no request for it was counted at its new node")


def in_log(cluster: Asked, folder: Path, node: str, status: int, minutes: float) -> None:
    """A hundred requests for the site, so long ago."""
    when = cluster.world.time_of_day() - timedelta(minutes=minutes)
    line = (
        f"{ONE}:80 192.0.2.1 - - [{when:%d/%b/%Y:%H:%M:%S} +0000] "
        f'"GET / HTTP/1.1" {status} 100 "-" "x"\n'
    )
    with (folder / f"{node}.log").open("a") as log:
        log.write(100 * line)


def sources(folder: Path) -> str:
    return "".join(
        f'[[ingest.source]]\nglob = "{folder}/{node}.log"\nnode = "{node}"\n' for node in NODES
    )


def set_again(cluster: Asked, tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "flex.toml"
    path.write_text(path.read_text().replace(old, new))
    object.__setattr__(cluster.world, "settings", config.load(path))


@pytest.mark.parametrize("status", [200, 500])
def test_without_doors_logs_tell_whether_a_site_is_worse_off(
    cluster: Asked, disks: Path, tmp_path: Path, status: int
) -> None:
    (old,) = cluster.nodes_of(ONE)
    in_log(cluster, tmp_path, old, 200, 20)
    target = watched(cluster, tmp_path, sources(tmp_path))
    # The next day's log begins, and the last one is away.
    (tmp_path / f"{old}.log").unlink()
    cluster.clock[0] += timedelta(minutes=10)
    watch = WatchOfMoves(cluster.world)
    watch.round()
    assert watch_of(cluster)[0] == "begun"
    in_log(cluster, tmp_path, target, status, 1)
    watch.round()
    assert cluster.nodes_of(ONE) == {old if status == 500 else target}
    cluster.clock[0] += timedelta(minutes=55)
    watch.round()
    state, said = watch_of(cluster)
    assert state == ("undone" if status == 500 else "done")
    assert said.startswith("100% of 100 requests failed" if status == 500 else "100 requests; 100")


@pytest.mark.parametrize(
    ("well", "answer", "state", "why"),
    [
        (0, page("", 500), "undone", "100% of 100 requests failed, and fewer than 20 were counted"),
        (0, GOOD, "failed", "nobody can tell: 100 of 100 requests failed, and 0 of 0 before"),
        (2, page("", 500), "failed", "nobody can tell: 100 of 300 requests failed, and 0 of 0"),
    ],
)
def test_where_nobody_counted_before_a_site_goes_back_only_if_it_clearly_fails(
    cluster: Asked, disks: Path, tmp_path: Path, well: int, answer: Respond, state: str, why: str
) -> None:
    target = watched(cluster, tmp_path, sources(tmp_path))
    cluster.answers(target, [ONE], answer)
    cluster.clock[0] += timedelta(minutes=10)
    for status in (500, *well * [200]):
        in_log(cluster, tmp_path, target, status, 1)
    watch = WatchOfMoves(cluster.world)
    watch.round()
    cluster.clock[0] += timedelta(minutes=55)
    watch.round()
    assert watch_of(cluster)[0] == state
    assert watch_of(cluster)[1].startswith(why)


@pytest.mark.slow
def test_a_site_that_doors_do_not_lead_to_is_watched_by_logs_where_doors_are_on(
    cluster: Asked, disks: Path, tmp_path: Path
) -> None:
    (old,) = cluster.nodes_of(ONE)
    in_log(cluster, tmp_path, old, 200, 20)
    target = watched(cluster, tmp_path, sources(tmp_path))
    doors = '[routing]\non = true\ndoors = "all"\npublish = "dns"\nsockets = "/nowhere/{node}"\n'
    set_again(cluster, tmp_path, "[move]", f"{doors}[move]")
    cluster.clock[0] += timedelta(minutes=10)
    in_log(cluster, tmp_path, target, 500, 1)
    WatchOfMoves(cluster.world).round()
    assert watch_of(cluster)[1].startswith("100% of 100 requests failed")


@pytest.mark.slow
def test_a_long_watch_counts_what_came_in_all_of_it(
    cluster: Asked, disks: Path, tmp_path: Path
) -> None:
    (old,) = cluster.nodes_of(ONE)
    in_log(cluster, tmp_path, old, 200, 20)
    target = watched(cluster, tmp_path, sources(tmp_path))
    set_again(cluster, tmp_path, 'watch = "1h"', 'watch = "6h"')
    watch = WatchOfMoves(cluster.world)
    for _ in range(4):
        cluster.clock[0] += timedelta(hours=1)
        in_log(cluster, tmp_path, target, 200, 1)
        watch.round()
    # Quiet hours.
    cluster.clock[0] += timedelta(minutes=130)
    watch.round()
    assert watch_of(cluster) == ("done", "400 requests; 100 requests before")

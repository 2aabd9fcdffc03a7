"""What goes with a site that moves: its content is at the new node before DNS names it, or the site
stays.

Folders stand for the nodes' disks, and small shell scripts for the hooks of an operator.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.errors import Held
from flex.model.stray_requests import Counted, StrayReading
from flex.model.wish import Pin
from flex.planning.movement_rules import REST
from flex.store import open_store
from flex_api.night import (
    bring_what_sites_need,
    go_on_with_moves,
    nightly,
    plan_of_movable_sites,
)
from flex_api.settings import file as config
from flex_api.settings.move_commands import Hook, Move
from tests.api.nights import SITES, Cluster, four_nodes, loads
from tests.api.test_doors_and_dns import DOORS, store_of
from tests.api.test_edited import edit

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.api.conftest import Installation

pytestmark = pytest.mark.real

# Wherever it is, the cluster is balanced.
LIGHT = SITES[50]
# Copies a site's folder, in two steps: the first alone is not the whole.
COPY = """#!/bin/sh
set -e
disks=$1 site=$2 from=$3 to=$4
echo "copy $site $from $to" >> "$disks/log"
if [ -e "$disks/trouble-$site" ]; then
    mkdir -p "$disks/$to/$site"
    echo "no room left on $to" >&2
    exit "$(cat "$disks/trouble-$site")"
fi
# A pipe that somebody reads when it is time to go on.
if [ -e "$disks/wait-$site" ]; then echo x > "$disks/wait-$site"; fi
rm -rf "$disks/$to/$site.half"
cp -r "$disks/$from/$site" "$disks/$to/$site.half"
rm -rf "$disks/$to/$site"
mv "$disks/$to/$site.half" "$disks/$to/$site"
"""
REMOVE = """#!/bin/sh
echo "remove $2 $3" >> "$1/log"
rm -rf "$1/$3/$2" "$1/$3/$2.half"
"""


class Disks:
    """Where the nodes' contents lie, with the hooks that know of it."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.folder = installation.settings.parent / "disks"
        self.folder.mkdir()
        self.copy = self._script("copy", COPY)
        self.remove = self._script("remove", REMOVE)

    def _script(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="ascii")
        path.chmod(0o755)
        return path

    def set_hooks(self, more: str = "", clean_after: str = "3d", rest: str = "7d") -> None:
        disks = self.folder
        own = f"""
[move]
clean_after = "{clean_after}"
rest = "{rest}"

[[move.hook]]
stage = "copy"
name = "files"
command = ["{self.copy}", "{disks}", "{{site}}", "{{from}}", "{{to}}"]
undo = ["{self.remove}", "{disks}", "{{site}}", "{{to}}"]
retries = 0

[[move.hook]]
stage = "clean"
command = ["{self.remove}", "{disks}", "{{site}}", "{{from}}"]
{more}
"""
        text = self.installation.settings.read_text(encoding="utf-8")
        self.installation.settings.write_text(text.partition("\n[move]")[0] + own, encoding="utf-8")

    def fill(self) -> dict[str, str]:
        """Each site's content at its node. The node of each site on one node."""
        found = {}
        said = self.installation.flex("-o", "json", "sites", "list")
        for row in said.json["items"]:
            for node in row["nodes"]:
                here = self.folder / node / row["site"]
                here.mkdir(parents=True)
                (here / "index.html").write_text(row["site"], encoding="ascii")
            if len(row["nodes"]) == 1:
                found[row["site"]] = row["nodes"][0]
        return found

    def has(self, node: str, site: str) -> bool:
        return (self.folder / node / site / "index.html").exists()

    @property
    def log(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text(encoding="ascii").splitlines() if path.exists() else []

    def trouble(self, site: str, code: int) -> None:
        (self.folder / f"trouble-{site}").write_text(f"{code}", encoding="ascii")

    def no_trouble(self, site: str) -> None:
        (self.folder / f"trouble-{site}").unlink()


def later(installation: Installation, hours: int = 1) -> None:
    """All that has moved did so that much earlier: resolvers hold no old answers any more."""
    settings = config.load(installation.settings)
    with open_store(settings.database.url) as store:
        moved = [
            replace(move, ended=move.ended - timedelta(hours=hours))
            for move in store.site_moves(only_open=True)
            if move.ended
        ]
        assert moved, "nothing has moved"
        store.put_site_moves(moved)


@pytest.fixture
def disks(installation: Installation) -> Disks:
    installation.first_night()
    found = Disks(installation)
    found.set_hooks()
    return found


def pin(installation: Installation, site: str, node: str) -> None:
    said = installation.flex("sites", "pin", site, "--nodes", node)
    assert said.code == 0, said.err


def other_than(node: str) -> str:
    return "n1" if node == "n2" else "n2"


@pytest.mark.slow
def test_a_site_is_at_its_new_node_before_dns_says_so_and_leaves_the_old_one_later(
    installation: Installation, disks: Disks
) -> None:
    homes = disks.fill()
    site, home = next(iter(homes.items()))
    new = other_than(home)
    pin(installation, site, new)

    said = installation.run()

    assert said.code == 0, said.err
    assert installation.addresses(site) == [f"192.0.2.{new[1:]}"]
    assert disks.has(new, site)
    # Visitors at old addresses are still served.
    assert disks.has(home, site)

    disks.set_hooks(clean_after="0s")
    assert installation.run().code == 0
    # So they are as long as resolvers hold old answers, whatever the setting says.
    assert disks.has(home, site)

    later(installation)
    again = installation.run()

    assert again.code == 0, again.err
    assert not disks.has(home, site)
    assert disks.has(new, site)
    assert f"remove {site} {home}" in disks.log


def test_a_site_whose_content_cannot_be_copied_stays_and_the_others_move(
    installation: Installation, disks: Disks
) -> None:
    homes = disks.fill()
    (bad, bad_home), (good, good_home) = list(homes.items())[:2]
    pin(installation, bad, other_than(bad_home))
    pin(installation, good, other_than(good_home))
    disks.trouble(bad, 1)

    said = installation.run()

    told = said.out + said.err
    assert f"{bad} stays where it is: copy (files): it ended with 1; `flex" in told
    assert installation.addresses(bad) == [f"192.0.2.{bad_home[1:]}"]
    assert installation.addresses(good) == [f"192.0.2.{other_than(good_home)[1:]}"]
    # What was begun for it is taken back.
    assert not (disks.folder / other_than(bad_home) / bad).exists()
    assert installation.flex("verify").code == 0

    disks.no_trouble(bad)
    again = installation.night()

    # It rests, and says why.
    assert again.code == 0, again.err
    assert installation.addresses(bad) == [f"192.0.2.{bad_home[1:]}"]
    assert f"{bad} stays where it is: its move to" in again.out
    assert "past it: --force move.rest" in again.out

    [move] = installation.flex("-o", "json", "moves", "--site", bad).json["items"]
    assert (move["state"], move["reason"]) == (
        "stayed",
        "copy (files): it ended with 1; `flex moves` shows what it printed",
    )
    said_by = [(run["stage"], run["state"], run["said"]) for run in move["stages"]]
    printed = f"no room left on {other_than(bad_home)}"
    assert said_by == [("copy", "undone", printed)]
    shown = installation.flex("moves").out
    assert "no room left on" in " ".join(shown.split())
    assert "copy (files) undone" in shown

    # Somebody says that it may.
    assert installation.flex("moves", "again", bad).code == 0
    assert installation.flex("moves", "again", bad).code == 3
    last = installation.run()
    assert last.code == 0, last.err
    assert installation.addresses(bad) == [f"192.0.2.{other_than(bad_home)[1:]}"]


@pytest.mark.slow
def test_a_hook_that_hangs_half_way_is_ended_and_taken_back_and_the_others_move(
    installation: Installation, disks: Disks
) -> None:
    homes = disks.fill()
    (bad, bad_home), (good, good_home) = list(homes.items())[:2]
    pin(installation, bad, other_than(bad_home))
    pin(installation, good, other_than(good_home))
    file = installation.settings
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("retries = 0\n", 'retries = 0\ntimeout = "10s"\n'))
    disks.copy.write_text(COPY.replace("rm -rf", f"[ $site != {bad} ] || sleep 600\nrm -rf", 1))
    (disks.folder / other_than(bad_home) / bad).mkdir(parents=True)

    said = installation.run()

    told = said.out + said.err
    assert f"{bad} stays where it is: copy (files): it took longer than 10 s" in told
    assert installation.addresses(bad) == [f"192.0.2.{bad_home[1:]}"]
    assert installation.addresses(good) == [f"192.0.2.{other_than(good_home)[1:]}"]
    assert not (disks.folder / other_than(bad_home) / bad).exists()
    assert disks.has(bad_home, bad)


def test_a_site_that_can_be_brought_neither_there_nor_back_is_not_led_to_its_new_node(
    tmp_path: Path,
) -> None:
    cluster = four_nodes(tmp_path)
    first = cluster.night(loads(0))
    hook = Hook(stage="copy", command=("false",), undo=("false",), retries=0)
    more = {"move": Move(hook=(hook,))}
    settings = cluster.world.settings.model_copy(update=more)
    world = cluster.world = replace(cluster.world, settings=settings)
    (home,) = cluster.nodes_of(SITES[0])
    world.store.put_pin(Pin(SITES[0], nodes=(other_than(home),)))
    made = nightly.propose(world).plan
    assert SITES[0] in {move.site for move in made.moves}
    with pytest.raises(Held, match="nothing of it is left"):
        plan_of_movable_sites.bring_and_narrow(world, made)
    assert world.store.in_force() == first.id
    assert {move.state for move in world.store.site_moves()} == {"taking back"}


def test_a_site_moves_nowhere_before_its_last_move_is_taken_back(tmp_path: Path) -> None:
    cluster = four_nodes(tmp_path)
    cluster.night(loads(0))
    log, ok = tmp_path / "log", tmp_path / "ok"
    note = ("sh", "-c", f'echo "$0 $1" >> {log}; test -e {ok}')
    hook = Hook(stage="copy", command=(*note, "copy", "{to}"), undo=(*note, "undo", "{to}"))
    hook = hook.model_copy(update={"retries": 0})
    (home,) = cluster.nodes_of(LIGHT)
    first, second = sorted({"n1", "n2", "n3", "n4"} - {home})[:2]

    def go_to(node: str) -> None:
        cluster.world.store.put_pin(Pin(LIGHT, nodes=(node,)))
        made = nightly.propose(cluster.world, (REST,)).plan
        try:
            plan_of_movable_sites.bring_and_narrow(cluster.world, made)
        finally:
            left = bring_what_sites_need.staying(cluster.world, made)
            assert (LIGHT in left) != ok.exists()

    _with_hooks(cluster, hook)
    for node in (first, second):
        with pytest.raises(Held, match="nothing of it is left"):
            go_to(node)
    ok.touch()
    go_to(second)
    assert log.read_text().splitlines() == [
        f"copy {first}",
        *3 * [f"undo {first}"],
        f"copy {second}",
    ]


@pytest.mark.parametrize("moves_again", [False, True])
def test_what_a_move_did_is_left_where_its_site_has_gone_elsewhere_meanwhile(
    tmp_path: Path, moves_again: bool
) -> None:
    cluster = four_nodes(tmp_path)
    cluster.night(loads(0))
    hook = Hook(stage="copy", command=("false",), undo=("test", "-e", f"{tmp_path}/ok"), retries=0)
    (home,) = cluster.nodes_of(LIGHT)
    first, second, third = sorted({"n1", "n2", "n3", "n4"} - {home})
    _with_hooks(cluster, hook)
    cluster.world.store.put_pin(Pin(LIGHT, nodes=(first,)))
    with pytest.raises(Held, match="nothing of it is left"):
        plan_of_movable_sites.bring_and_narrow(cluster.world, nightly.propose(cluster.world).plan)
    # By a plan that asks for nothing, as one for a dead node does.
    _with_hooks(cluster)
    cluster.world.store.put_pin(Pin(LIGHT, nodes=(second,)))
    cluster.night(loads(0))
    assert cluster.nodes_of(LIGHT) == {second}
    _with_hooks(cluster, hook)
    (tmp_path / "ok").touch()
    if moves_again:
        cluster.world.store.put_pin(Pin(LIGHT, nodes=(third,)))
        made = nightly.propose(cluster.world, (REST,)).plan
        with pytest.raises(Held, match="nothing of it is left"):
            plan_of_movable_sites.bring_and_narrow(cluster.world, made)
    else:
        go_on_with_moves.go_on(cluster.world)
    (move,) = [move for move in cluster.world.store.site_moves() if move.target == first]
    assert move.state == "stayed"
    assert f"it is not taken back, as the site has left {home}" in move.reason
    assert not [*(cluster.world.settings.ingest.directory / "moves").glob(f"{move.id}*")]


def _with_hooks(cluster: Cluster, *hooks: Hook) -> None:
    settings = cluster.world.settings.model_copy(update={"move": Move(hook=hooks)})
    cluster.world = replace(cluster.world, settings=settings)


@pytest.mark.slow
@pytest.mark.parametrize(("code", "is_held"), [(75, False), (78, True)])
def test_a_hook_that_says_not_now_is_asked_again_and_one_that_says_never_is_not(
    installation: Installation, disks: Disks, code: int, is_held: bool
) -> None:
    site, home = next(iter(disks.fill().items()))
    new = other_than(home)
    pin(installation, site, new)
    disks.trouble(site, code)
    assert installation.run().code in (0, 22)
    assert installation.addresses(site) == [f"192.0.2.{home[1:]}"]
    disks.no_trouble(site)

    again = installation.night()

    # A plan of the same day goes around it.
    assert again.code == 0, again.err
    assert installation.addresses(site) == [f"192.0.2.{home[1:]}"]
    assert f"{site} stays where it is: its move to {new} failed" in again.out
    assert ("`flex moves again" in again.out) == is_held

    with store_of(installation) as store:
        [move] = store.site_moves(site=site)
        assert move.ended
        assert move.rests_until
        a_day_ago = timedelta(days=1)
        store.put_site_moves(
            [
                replace(
                    move,
                    begun=move.begun - a_day_ago,
                    ended=move.ended - a_day_ago,
                    rests_until=move.rests_until - (not is_held) * a_day_ago,
                )
            ]
        )
    assert installation.night().code == 0
    there = home if is_held else new
    assert installation.addresses(site) == [f"192.0.2.{there[1:]}"]


@pytest.mark.slow
@pytest.mark.parametrize(("code", "moves"), [(75, True), (1, False)])
def test_a_plan_that_could_not_be_carried_out_for_now_can_be_tried_again(
    installation: Installation, disks: Disks, code: int, *, moves: bool
) -> None:
    disks.set_hooks(rest="6h")
    homes = disks.fill()
    site, home = next(iter(homes.items()))
    new = other_than(home)
    pin(installation, site, new)
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of())
    for one in homes:
        disks.trouble(one, code)
    apply = ("apply", made.json["id"], "--as-of", installation.as_of())
    assert installation.flex(*apply).code == 22
    assert installation.addresses(site) == [f"192.0.2.{home[1:]}"]
    for one in homes:
        disks.no_trouble(one)

    again = installation.flex(*apply)

    assert (again.code == 0) == moves, again.err
    there = new if moves else home
    assert installation.addresses(site) == [f"192.0.2.{there[1:]}"]


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_copies_is_gone_on_with_by_the_next(
    installation: Installation, disks: Disks
) -> None:
    site, home = next(iter(disks.fill().items()))
    new = other_than(home)
    pin(installation, site, new)
    waits = disks.folder / f"wait-{site}"
    os.mkfifo(waits)
    killed = installation.process("run", "--as-of", installation.as_of())
    until(lambda: any(f"copy {site}" in line for line in disks.log))
    killed.kill()
    killed.communicate()

    # Its command is still at work: nobody begins a second one beside it.
    said = installation.run()
    assert "still at work" in said.out + said.err
    assert len([line for line in disks.log if f"copy {site}" in line]) == 1
    assert installation.addresses(site) == [f"192.0.2.{home[1:]}"]

    waits.read_text(encoding="ascii")
    waits.unlink()
    until(lambda: disks.has(new, site))
    again = installation.run()
    assert again.code == 0, again.err
    assert installation.addresses(site) == [f"192.0.2.{new[1:]}"]
    moves = installation.flex("-o", "json", "moves", "--site", site).json["items"]
    assert [move["state"] for move in moves] == ["moved", "stayed"]


@pytest.mark.slow
def test_a_way_back_that_fails_does_not_remove_the_copy_that_the_way_there_left(
    installation: Installation, disks: Disks
) -> None:
    site, home = next(iter(disks.fill().items()))
    new = other_than(home)
    pin(installation, site, new)
    assert installation.run().code == 0
    assert installation.flex("sites", "unpin", site).code == 0
    pin(installation, site, home)
    disks.trouble(site, 1)

    said = installation.run()

    assert f"{site} stays where it is" in said.out + said.err
    assert installation.addresses(site) == [f"192.0.2.{new[1:]}"]
    assert disks.has(home, site)
    assert f"remove {site} {home}" not in disks.log
    [back, _] = installation.flex("-o", "json", "moves", "--site", site).json["items"]
    assert "it is what an earlier move left" in back["reason"]


@pytest.mark.slow
def test_the_old_copy_is_left_where_the_new_node_died_meanwhile(
    installation: Installation, disks: Disks
) -> None:
    site, home = next(iter(disks.fill().items()))
    new = other_than(home)
    pin(installation, site, new)
    assert installation.run().code == 0
    assert installation.flex("sites", "unpin", site).code == 0
    disks.set_hooks(clean_after="0s")
    later(installation)
    given_up = installation.flex("nodes", "down", new, "--without-content")
    assert given_up.code == 0, given_up.err

    installation.run()

    assert disks.has(home, site)
    assert f"remove {site} {home}" not in disks.log


@pytest.mark.torture("False")
@pytest.mark.slow
@pytest.mark.parametrize("is_read", [True, False])
def test_the_old_copy_is_left_as_long_as_doors_count_visitors_there(
    installation: Installation, disks: Disks, *, is_read: bool
) -> None:
    """Or while nobody knows what they count."""
    site, home = next(iter(disks.fill().items()))
    pin(installation, site, other_than(home))
    assert installation.run().code == 0
    disks.set_hooks(DOORS, "0s")
    later(installation)
    visits = StrayReading(9_000, 1, 7, (Counted(site, 7, 60.0),))
    if is_read:
        with store_of(installation) as store:
            store.note_strays(home, visits, datetime.now(UTC))
    installation.run()
    assert disks.has(home, site)

    # Some never ask DNS again.
    later(installation, 24 * 31)
    installation.run()
    assert not disks.has(home, site)


@pytest.mark.slow
def test_nothing_is_removed_while_changes_are_frozen(
    installation: Installation, disks: Disks
) -> None:
    site, home = next(iter(disks.fill().items()))
    pin(installation, site, other_than(home))
    assert installation.run().code == 0
    disks.set_hooks(clean_after="0s")
    later(installation)
    assert installation.flex("freeze").code == 0
    installation.run()
    assert disks.has(home, site)
    assert installation.flex("thaw").code == 0
    assert installation.run().code == 0
    assert not disks.has(home, site)


@pytest.mark.slow
def test_a_copy_is_left_where_somebody_led_dns_back_to_it(
    installation: Installation, disks: Disks
) -> None:
    site, home = next(iter(disks.fill().items()))
    new = other_than(home)
    pin(installation, site, new)
    assert installation.run().code == 0
    edit(installation, f"{site}.", "A", f"192.0.2.{home[1:]}")
    disks.set_hooks(clean_after="0s")
    later(installation)
    installation.run()
    assert disks.has(home, site)


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it did not become so")


@pytest.mark.slow
def test_a_hook_that_cannot_be_run_is_one_clear_error_and_nothing_is_changed(
    installation: Installation, disks: Disks
) -> None:
    site, home = next(iter(disks.fill().items()))
    pin(installation, site, other_than(home))
    disks.copy.chmod(0o644)
    check_that_none_is_run(installation, disks, "is not there, or is not executable")
    disks.copy.chmod(0o755)
    for text, told in (
        ("echo a script without its first line\n", "is no program"),
        ("#!/nowhere/sh\n", "needs /nowhere/sh, which is not there"),
        ("#!sh\n", "needs sh, which is not there"),
        ("#!/bin/sh\r\n", "needs '/bin/sh\\r', which is not there"),
        ("#!\n", "needs a program behind #!"),
    ):
        disks.copy.write_text(text)
        check_that_none_is_run(installation, disks, told)
    assert installation.addresses(site) == [f"192.0.2.{home[1:]}"]


def check_that_none_is_run(installation: Installation, disks: Disks, told: str) -> None:
    checked = installation.flex("config", "check")
    assert "copy (files)" in checked.out + checked.err
    assert told in checked.out + checked.err
    said = installation.run()
    assert said.code == 3
    assert told in said.err
    assert "nothing was changed" in said.err
    assert disks.log == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('command = ["cp", "{sit}"]', "{sit} stands for nothing"),
        ('command = ["cp", "/srv/{site/"]', "{site stands for nothing"),
        ('command = ["cp"]\nstage = "hold"', "prepare, copy, final copy, check, release, clean"),
        ('command = ["cp"]\nclasses = ["gold"]', "for the class 'gold'"),
    ],
)
def test_hooks_that_mean_nothing_are_told_with_what_would_do(
    installation: Installation, line: str, told: str
) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    stage = "" if "stage" in line else 'stage = "copy"\n'
    installation.settings.write_text(f"{text}\n[[move.hook]]\n{stage}{line}\n", encoding="utf-8")
    said = installation.flex("plan")
    assert said.code == 3
    assert told in said.err

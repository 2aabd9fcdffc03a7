"""A flip of doors reaches nodes that follow within a moment, whatever is killed on the way: real
servers, followers and HAProxies.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench import forked_flex
from flex.routing import host_to_node_maps
from flex.routing.flex_server_client import Asker
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.host_to_node_maps import MOVED, OWNERS, Heading, maps_of, set_heading
from flex.routing.traffic_reporter import StraysReporter
from flex_api import wiring
from flex_api.night.doors_behind_order import who_has_not_heard
from tests.migrated import new_database
from tests.routing.conftest import Members
from tests.routing.following import PATIENCE, Following, end, until

pytestmark = pytest.mark.real

SITE = "shop.example"
OTHER = "blog.example"
HOME = {SITE: "n0", OTHER: "n1"}
AWAY = {SITE: "n1", OTHER: "n1"}


@pytest.fixture
def following(found: HaproxyProgram, members: Members, tmp_path: Path) -> Iterator[Following]:
    with ExitStack() as stack:
        url = new_database(tmp_path / "flex.db")
        made = Following(tmp_path, found, members, stack, url)
        made.begin(HOME)
        made.until_all_go_by(1)
        made.until_all_say(1)
        yield made


@pytest.mark.slow
def test_a_flip_is_at_all_nodes_and_known_to_be_there(following: Following) -> None:
    assert [following.answers(node, SITE) for node in following.nodes] == ["n0", "n0"]
    order = following.flip(AWAY)
    following.until_all_go_by(order.number)
    assert [following.answers(node, SITE) for node in following.nodes] == ["n1", "n1"]
    world = wiring.world(following.settings_of("n0"), lambda: datetime.now(UTC))
    assert who_has_not_heard(world, order.number, PATIENCE) == {}
    world.close()
    following.until_all_say(order.number)
    again = following.flip(AWAY)
    assert again.number == order.number + 1, "another plan is another order"
    following.until_all_say(again.number)
    # Nothing was reloaded for it, and no large map was fetched.
    assert "reload" not in following.log()


@pytest.mark.slow
def test_who_has_not_heard_is_asked_over_sockets_of_haproxies(
    found: HaproxyProgram, members: Members, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        url = new_database(tmp_path / "flex.db")
        made = Following(tmp_path, found, members, stack, url, ("n0",))
        made.begin(HOME)
        made.until_all_go_by(1)
        file = tmp_path / "n0" / "flex.toml"
        sockets = f"sockets = '{tmp_path}/{{node}}/haproxy/s'\nmaster ="
        file.write_text(file.read_text().replace("master =", sockets, 1))
        world = stack.enter_context(
            closing(wiring.world(made.settings_of("n0"), lambda: datetime.now(UTC)))
        )
        assert who_has_not_heard(world, 1, PATIENCE) == {}
        # What was carried to it counts only once its HAProxy goes by it.
        end(made.followers["n0"], signal.SIGKILL)
        order = made.flip(AWAY)
        assert who_has_not_heard(world, order.number, 0.0, {"n0"}) == {
            "n0": "it goes by order 1, not by order 2"
        }
        made.start_follower("n0")
        assert who_has_not_heard(world, order.number, PATIENCE) == {}
        # The database is put back, and by the same numbers other things are ordered.
        stats = made.sockets("n0").stats
        moved = f"{made.here('n0')}/{MOVED}"
        end(made.followers["n0"], signal.SIGKILL)
        # As where it was started while its large map was cut.
        owners = f"{made.here('n0')}/{OWNERS}"
        stats.ask("del", "map", owners, SITE)
        assert who_has_not_heard(world, order.number, 0.0) == {
            "n0": "HAProxy has 1 of the 2 entries of owners.map"
        }
        stats.ask("add", "map", owners, SITE, "at_n0")
        for key, value, why in (
            (":order", "7", "it goes by an order 7 that this database does not know"),
            (":order", "2", ""),
            (":digest", "0" * 12, "it goes by an order 2 that this database does not"),
            (":cluster", "stranger", "it goes by order 2 of another cluster"),
        ):
            stats.ask("set", "map", moved, key, value)
            said = who_has_not_heard(world, order.number, 0.0).get("n0", "")
            assert said.startswith(why), said
            assert bool(said) == bool(why)
        made.haproxies["n0"].close()
        assert "n0" in who_has_not_heard(world, order.number, 0.0)


@pytest.mark.slow
def test_a_new_large_map_is_made_by_nodes_of_what_they_have_and_not_sent(
    following: Following,
) -> None:
    names = [f"s{number}.example" for number in range(6_000)]
    few = {name: "n0" if place < 1_600 else "n1" for place, name in enumerate(names)}
    everywhere = dict.fromkeys(names, "n1")
    # The large map has two names so far. They hear of the others by the small one, then make one.
    for owner_of in (few | HOME, few | HOME, everywhere | HOME):
        following.until_all_go_by(following.flip(owner_of).number)
    large = following.store().large_map_digest()
    order = following.flip(everywhere | HOME)
    assert order.large != large, "more than a quarter of all names have moved"
    following.until_all_go_by(order.number)
    for node in following.nodes:
        text = (following.here(node) / OWNERS).read_text()
        assert host_to_node_maps.digest(text) == order.large
        assert host_to_node_maps.read(text)["s7.example"] == "at_n1"
        assert following.answers(node, "s7.example") == "n1"
    spared = "without the large map, which is here"
    # Both large maps: of all names that are new, and of those that have moved. A follower says so
    # a moment after its door goes by the order.
    until(
        "each node has said twice that it was not sent the large map",
        lambda: following.log().count(spared) >= 2 * len(following.nodes),
        following.log,
    )
    assert following.log().count(spared) == 2 * len(following.nodes)


@pytest.mark.slow
def test_a_node_that_follows_reports_what_came_to_its_door(following: Following) -> None:
    store = following.store()
    until(
        "both followers have reported by themselves",
        lambda: [door.node for door in store.doors_read()] == ["n0", "n1"],
        following.log,
    )
    for _ in range(2):
        assert following.answers("n1", SITE) == "n0"
    said: list[str] = []
    reporter = StraysReporter(
        f"http://127.0.0.1:{following.ports['n1']}/api/v1/routing/nodes/n1",
        (following.folder / "n1" / "token").read_text(),
        lambda: following.sockets("n1").stats,
        said.append,
        threading.Event(),
        Asker(),
    )
    assert reporter.report()
    assert [(one.node, one.name, one.requests) for one in store.strays()] == [("n1", SITE, 2)]
    assert (said, "was not reported" in following.log()) == ([], False)


@pytest.mark.slow
def test_a_follower_that_was_killed_takes_up_what_it_missed(following: Following) -> None:
    end(following.followers["n0"], signal.SIGKILL)
    order = following.flip(AWAY)
    following.until_all_go_by(order.number, "n1")
    world = wiring.world(following.settings_of("n0"), lambda: datetime.now(UTC))
    unheard = who_has_not_heard(world, order.number, 0.2)
    world.close()
    assert list(unheard) == ["n0"]
    assert "it goes by order 1" in unheard["n0"]
    assert following.answers("n0", SITE) == "n0"
    following.start_follower("n0")
    following.until_all_go_by(order.number)
    following.until_all_say(order.number)
    assert end(following.followers["n0"]) == 0


@pytest.mark.slow
def test_an_haproxy_that_came_up_with_older_files_is_told_again(
    following: Following, tmp_path: Path
) -> None:
    here = following.here("n0")
    old = {name: (here / name).read_text() for name in (MOVED, "hosts.map")}
    order = following.flip(AWAY)
    following.until_all_say(order.number)
    new = {name: (here / name).read_text() for name in old}
    following.haproxies.pop("n0").close()
    # It loads the files of before, as where somebody put them back for a moment.
    for name, text in old.items():
        (here / name).write_text(text)
    following.start_haproxy("n0")
    for name, text in new.items():
        (here / name).write_text(text)
    following.until_all_go_by(order.number)
    following.until_all_say(order.number)


@pytest.mark.slow
def test_an_haproxy_that_came_up_with_a_cut_large_map_has_all_names_again(
    following: Following,
) -> None:
    """Else it would answer for the lost names itself, by whatever order."""
    owners = following.here("n0") / OWNERS
    whole = owners.read_text()
    following.haproxies.pop("n0").close()
    owners.write_text("".join(whole.splitlines(keepends=True)[:1]))
    following.start_haproxy("n0")
    until("the map is whole", lambda: owners.read_text() == whole, following.log)
    following.until_all_say(1)
    assert following.answers("n0", OTHER) == "n1"


@pytest.mark.slow
def test_an_haproxy_that_is_away_is_named_and_told_once_it_is_back(following: Following) -> None:
    following.haproxies.pop("n0").close()
    store = following.store()

    def error() -> str:
        return store.door_reports()[0].error

    order = following.flip(AWAY)
    until("the node says that HAProxy is away", lambda: "HAProxy" in error(), error)
    following.until_all_go_by(order.number, "n1")
    following.start_haproxy("n0")
    following.until_all_go_by(order.number)
    following.until_all_say(order.number)
    assert not error(), "what says where it is says that all is well, too"


@pytest.mark.slow
def test_while_the_server_is_away_the_last_order_stays_and_then_the_newest_comes(
    following: Following,
) -> None:
    end(following.servers["n0"], signal.SIGKILL)
    order = following.flip(AWAY)
    following.until_all_go_by(order.number, "n1")
    assert following.answers("n0", SITE) == "n0"
    following.start_server("n0")
    following.until_all_say(order.number)
    assert following.log().count("All is well again.") >= 1


@pytest.mark.slow
def test_a_server_that_ends_keeps_nobody_waiting(following: Following) -> None:
    """Nodes wait half a minute for an answer; the server has 10 seconds to end."""
    following.servers["n0"].terminate()
    assert following.servers["n0"].wait(10) == 128 + signal.SIGTERM


def once(following: Following, node: str, *more: str) -> subprocess.CompletedProcess[str]:
    here = following.here(node)
    token = following.folder / node / "token"
    command = ["route", "follow", "--once", "--from", following.address(node)]
    where = ["--token-file", str(token), "--to", str(here), "--master", str(here / "m")]
    return forked_flex.run(*command, *where, *more, seconds=PATIENCE)


def headed(following: Following, number: int, cluster: str = "") -> str:
    here = following.here("n0")
    large = (here / host_to_node_maps.OWNERS).read_text()
    made = maps_of({SITE: "n0", OTHER: "n0"}, large)
    name = cluster or following.store().installation()
    heading = Heading(name, host_to_node_maps.digest(large), number)
    return set_heading(made, heading).moved


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "cluster", "said"),
    [
        (9, "", "the newer order 9 is in force"),
        (1, "", "another one of the same number"),
        (1, "c0ffee", "of the cluster c0ffee"),
    ],
)
def test_an_older_map_and_one_of_another_cluster_are_refused_and_nothing_changes(
    following: Following, number: int, cluster: str, said: str
) -> None:
    end(following.followers["n0"])
    sockets = following.sockets("n0")
    here = following.here("n0")
    text = headed(following, number, cluster)
    (here / MOVED).write_text(text)
    sockets.stats.replace_map(str(here / MOVED), text)
    before = {path.name: path.read_bytes() for path in here.glob("*.map")}
    apply = ["route", "apply", "--from", following.address("n0")]
    where = ["--to", str(here), "--master", str(here / "m")]
    token = ["--token-file", str(following.folder / "n0" / "token")]
    done = forked_flex.run(*apply, *where, *token, seconds=PATIENCE)
    assert done.returncode == 3, done.stderr
    assert said in " ".join(done.stderr.split())
    assert {path.name: path.read_bytes() for path in here.glob("*.map")} == before
    if cluster:
        done = once(following, "n0")
        assert done.returncode == 3, done.stderr
        assert said in " ".join(done.stderr.split())
        assert once(following, "n0", "--other-cluster").returncode == 0
        assert following.goes_by("n0") == 1


@pytest.mark.slow
def test_another_nodes_token_and_a_persons_open_no_orders(following: Following) -> None:
    end(following.followers["n0"])
    token = following.folder / "n0" / "token"
    shutil.copy(following.folder / "n1" / "token", token)
    done = once(following, "n0")
    assert done.returncode == 26, done.stderr
    assert "n1" in done.stderr
    assert following.goes_by("n0") == 1


@pytest.mark.torture
def test_whatever_is_killed_while_doors_flip_all_agree_in_the_end(following: Following) -> None:
    """kill -9 of followers, servers and HAProxies at random moments."""
    drawn = random.Random(22)
    for number in range(30):
        order = following.flip(AWAY if number % 2 == 0 else HOME)
        node = drawn.choice(following.nodes)
        if drawn.random() < 0.3:
            following.until_all_go_by(order.number, node)
        match drawn.choice(["follower", "server", "haproxy"]):
            case "follower":
                end(following.followers[node], signal.SIGKILL)
                following.start_follower(node)
            case "server":
                end(following.servers[node], signal.SIGKILL)
                following.start_server(node)
            case _:
                kill_haproxy(following, node)
    last = following.flip(AWAY)
    following.until_all_go_by(last.number)
    following.until_all_say(last.number)
    assert [following.answers(node, SITE) for node in following.nodes] == ["n1", "n1"]


def kill_haproxy(following: Following, node: str) -> None:
    """The master and all of its workers; systemd would start it again."""
    answer = following.sockets(node).master.ask("show", "proc")
    found = re.findall(r"^(\d+)\s+(?:master|worker)", answer, re.MULTILINE)
    for pid in map(int, found):
        os.kill(pid, signal.SIGKILL)
    following.haproxies.pop(node).close()
    following.start_haproxy(node)

"""What is in force is what HAProxy has in memory. A map that was cut on the disk, or that is of
somebody else, is named, put right, and never taken for that.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flex.errors import FlexError
from flex.routing import apply_to_haproxy, haproxy, host_to_node_maps, node_file_download
from flex.routing.haproxy_socket import Socket
from flex.routing.host_to_node_maps import MOVED, OWNERS, Heading
from tests.routing.test_follow_answers import Here, Server, here, owners, sealed, server
from tests.routing.test_follower_in_trouble import order_4
from tests.routing.test_trouble_at_nodes import carried

__all__ = ["here", "server"]

pytestmark = pytest.mark.real

# Nobody listens there.
AWAY = "http://127.0.0.1:9/nodes/n1"


def says_what_is_here(here: Here, server: Server) -> None:
    """The newest order of the server is the one that the node has."""
    server.files = here.files(owners(3, "n2"))
    server.says(owners(3, "n2").moved, haproxy.others_digest(server.files))


@pytest.fixture
def at_3(here: Here, server: Server) -> Here:
    """By which shop.example is at n2, as the small map says, and blog.example at n1."""
    apply_to_haproxy.enforce(here.files(owners(3, "n2")), here.folder, here.found, here.sockets)
    says_what_is_here(here, server)
    return here


def cut(path: Path, lines: int) -> None:
    """The same file, with less in it."""
    kept = path.read_text().splitlines(keepends=True)[:lines]
    path.write_text("".join(kept))


def restarted(here: Here) -> None:
    """It reads what is on the disk."""
    apply_to_haproxy.reload(here.sockets.master)


def in_memory(here: Here, name: str) -> dict[str, str]:
    """As HAProxy has it."""
    said = here.sockets.stats.ask("show", "map", f"{here.folder}/{name}")
    return dict(line.split(" ")[1:] for line in said.splitlines())


def is_whole(here: Here) -> bool:
    """On the disk, and in memory."""
    there, files = node_file_download.files_in_force(here.folder), here.files(owners(3, "n2"))
    return (
        bool(there and there.files == files)
        and in_memory(here, MOVED) == entries_of(files[MOVED])
        and in_memory(here, OWNERS) == entries_of(files[OWNERS])
    )


def entries_of(text: str) -> dict[str, str]:
    return dict(line.split(" ") for line in text.splitlines())


# How many lines of each are left: what the map says of itself, and not all names.
LEFT = {OWNERS: 2, MOVED: 4}


@pytest.mark.parametrize("name", LEFT)
def test_a_map_that_haproxy_was_started_with_when_it_was_cut_is_named_and_put_right(
    at_3: Here, server: Server, name: str
) -> None:
    cut(at_3.folder / name, LEFT[name])
    restarted(at_3)
    assert not is_whole(at_3)
    follower = at_3.follower(server.url)
    follower.once()
    assert is_whole(at_3)
    # FLEX hears that this node goes by no order, and why, until it does.
    assert "goes=0" in server.asked[0]
    assert "error=" in server.asked[0]
    assert name in at_3.said[0]
    follower.once()
    assert "goes=3" in server.asked[-1]


@pytest.mark.parametrize("name", LEFT)
def test_a_map_that_is_cut_while_haproxy_runs_is_put_right_before_it_reads_it(
    at_3: Here, server: Server, name: str
) -> None:
    follower = at_3.follower(server.url)
    follower.once()
    begun = at_3.worker
    cut(at_3.folder / name, LEFT[name])
    assert follower._is_elsewhere()
    follower.once()
    assert is_whole(at_3)
    assert at_3.worker == begun, "nothing had to be reloaded"
    restarted(at_3)
    assert is_whole(at_3)
    assert not follower._is_elsewhere()


@pytest.mark.parametrize("name", LEFT)
def test_an_haproxy_that_read_a_cut_map_is_told_all_of_it_by_the_disk(
    at_3: Here, name: str
) -> None:
    """Where somebody put the map back, and the server is away."""
    before = (at_3.folder / name).read_text()
    cut(at_3.folder / name, LEFT[name])
    restarted(at_3)
    (at_3.folder / name).write_text(before)
    assert not is_whole(at_3)
    begun = at_3.worker
    with pytest.raises(FlexError):
        at_3.follower(AWAY).once()
    assert is_whole(at_3)
    assert at_3.worker == begun


@pytest.mark.parametrize("name", LEFT)
def test_files_that_are_applied_again_reach_an_haproxy_that_read_a_cut_map(
    at_3: Here, name: str
) -> None:
    files = at_3.files(owners(3, "n2"))
    cut(at_3.folder / name, LEFT[name])
    restarted(at_3)
    (at_3.folder / name).write_text(files[name])

    def applied() -> str:
        return apply_to_haproxy.enforce(files, at_3.folder, at_3.found, at_3.sockets)

    assert (applied(), applied()) == ("commands", "nothing")
    assert is_whole(at_3)


def test_an_haproxy_that_never_has_all_names_is_named_and_told_once(
    at_3: Here, server: Server
) -> None:
    """As where one of another version counts otherwise."""
    told: list[str] = []

    class Forgetful(Socket):
        def replace_map(self, path: str, text: str, *then: tuple[str, ...]) -> str:
            said = super().replace_map(path, text, *then)
            told.append(path)
            self.ask("del", "map", path, "blog.example")
            return said

    stats = Forgetful(at_3.sockets.stats.path)
    stats.ask("del", "map", f"{at_3.folder}/{OWNERS}", "blog.example")
    follower = at_3.follower(server.url)
    sockets = replace(at_3.sockets, stats=stats)
    follower.node = replace(follower.node, sockets_of=lambda _: sockets)
    for _ in range(3):
        with pytest.raises(FlexError, match="2 of the 3 entries of owners"):
            follower.once()
    assert told == [f"{at_3.folder}/{OWNERS}"]
    assert "goes=0" in server.asked[-1]


def of_another_cluster(here: Here) -> str:
    return owners(999, cluster="theirs").moved


def of_no_order(here: Here) -> str:
    return "garbage\n"


def of_nobody_knows_when(here: Here) -> str:
    return owners(999, "n2").moved


def with_other_names(here: Here) -> str:
    made = sealed(owners(3, "n2").moved + "stranger.example at_n9\n")
    return made.replace(":order 4", ":order 3")


SPOILED: list[Callable[[Here], str]] = [
    of_another_cluster,
    of_no_order,
    of_nobody_knows_when,
    with_other_names,
]


@pytest.mark.slow(
    "False-of_nobody_knows_when",
    "True-with_other_names",
    "True-of_nobody_knows_when",
    "True-of_another_cluster",
    "False-with_other_names",
    "True-of_no_order",
)
@pytest.mark.parametrize("spoiled", SPOILED)
@pytest.mark.parametrize("is_away", [False, True])
def test_a_small_map_that_haproxy_does_not_go_by_gives_way_to_the_one_it_goes_by(
    at_3: Here, server: Server, spoiled: Callable[[Here], str], is_away: bool
) -> None:
    begun = at_3.worker
    (at_3.folder / MOVED).write_text(spoiled(at_3))
    follower = at_3.follower(AWAY if is_away else server.url)
    if is_away:
        with pytest.raises(FlexError):
            follower.once()
    else:
        follower.once()
        # What it says that it goes by is what HAProxy goes by.
        assert "have=3&goes=3" in server.asked[0]
        assert "cluster=ours" in server.asked[0]
    assert f"HAProxy goes by order 3, and not by {at_3.folder}/{MOVED}" in str(at_3.said)
    assert is_whole(at_3)
    restarted(at_3)
    assert is_whole(at_3)
    order_4(at_3, server)
    at_3.follower(server.url).once()
    assert at_3.goes_by == 4
    assert at_3.worker != begun


def test_files_of_another_cluster_on_the_disk_are_not_told_to_haproxy(
    at_3: Here, server: Server
) -> None:
    """All of them, of one version."""
    large = host_to_node_maps.map_of({"theirs.example": "n9"})
    theirs = host_to_node_maps.set_heading(
        host_to_node_maps.maps_of({"theirs.example": "n1"}, large),
        Heading("theirs", host_to_node_maps.digest(large), 999),
    )
    layout = replace(at_3.layout, connections=2_000)
    for name, text in replace(at_3, layout=layout).files(theirs).items():
        (at_3.folder / name).write_text(text)
    at_3.follower(server.url).once()
    assert is_whole(at_3)


@pytest.mark.slow
def test_files_are_applied_where_a_small_map_of_another_cluster_lies(
    at_3: Here, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (at_3.folder / MOVED).write_text(of_another_cluster(at_3))
    order_4(at_3, server)
    come = carried(dict(server.files), tmp_path_factory.mktemp("come") / "files")
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "flex"),
            *("route", "apply", "--from", come, "--to", str(at_3.folder)),
            *("--master", str(at_3.folder / "m")),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert at_3.goes_by == 4


def test_an_order_that_only_the_disk_has_is_told_to_haproxy_as_before(at_3: Here) -> None:
    """Where all files are of one version, and the order is newer."""
    for name, text in at_3.files(owners(4)).items():
        (at_3.folder / name).write_text(text)
    with pytest.raises(FlexError):
        at_3.follower(AWAY).once()
    assert at_3.goes_by == 4
    assert sum("told order 4 again" in line for line in at_3.said) == 1

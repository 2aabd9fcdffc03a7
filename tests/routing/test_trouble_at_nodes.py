"""Trouble on a node and bad input from outside: each is one line that says what was asked, what
came back and what stayed, nothing changes, and once it is over the node goes by the next order.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from flex.errors import FlexError, NotWritten
from flex.routing import apply_to_haproxy, haproxy, node_file_download
from flex.routing.haproxy import CONFIGURATION
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.host_to_node_maps import MOVED, OWNERS
from flex.routing.refuse_older_maps import refuse_older
from tests.routing.test_follow_answers import Here, Server, begun, here, owners, server
from tests.routing.test_follower_in_trouble import order_4

__all__ = ["here", "server"]

pytestmark = pytest.mark.real

Files = dict[str, str]
# How files that were carried here may be wrong: what is done to them, and what is said of it.
WRONG: dict[str, tuple[Callable[[Here, Files], Files], str]] = {
    "the small map is cut": (
        lambda _, files: files | {MOVED: files[MOVED][:-3]},
        "not all files of one version",
    ),
    "the large map is cut": (
        lambda _, files: files | {OWNERS: files[OWNERS][:-3]},
        "not all files of one version",
    ),
    "the large map lacks a line": (
        lambda _, files: files | {OWNERS: "".join(files[OWNERS].splitlines(keepends=True)[:-1])},
        "not all files of one version",
    ),
    "a map is away": (
        lambda _, files: {name: files[name] for name in files if name != OWNERS},
        "not all files of one version",
    ),
    "the configuration is away": (
        lambda _, files: {name: files[name] for name in files if name != CONFIGURATION},
        "not all files of one version",
    ),
    "the configuration is of another version": (
        lambda _, files: files | {CONFIGURATION: files[CONFIGURATION] + "\n"},
        "not all files of one version",
    ),
    "there is nothing": (lambda *_: {}, "not all files of one version"),
    "they are of another cluster": (
        lambda here, _: here.files(owners(9, cluster="theirs")),
        "of the cluster ours",
    ),
    "they are older": (
        lambda here, _: here.files(owners(2, "n2")),
        "the newer order 3 is in force",
    ),
    "another order has the number": (
        lambda here, _: here.files(owners(3, "n2")),
        "another one of the same number is in force",
    ),
}


def carried(files: Files, to: Path) -> str:
    to.mkdir(exist_ok=True)
    for path in to.iterdir():
        path.unlink()
    for name, text in files.items():
        (to / name).write_text(text)
    return str(to)


def applied(here: Here, where: str) -> str:
    """As `flex route apply --from` does."""
    taken = node_file_download.pull(where, here.folder)
    return apply_to_haproxy.enforce(
        taken.files, here.folder, here.found, here.sockets, refuse_older
    )


def way(verb: str, here: Here, server: Server, come: Path) -> Callable[[], object]:
    """By which the node is told of order 4."""
    if verb == "follow":
        return here.follower(server.url).once
    return partial(applied, here, carried(here.files(owners(4, "n2")), come / "files"))


def everything(here: Here) -> tuple[int, str, dict[str, bytes]]:
    kept = {
        path.name: path.read_bytes()
        for path in here.folder.iterdir()
        if path.is_file() and path.name != "haproxy.log"
    }
    return here.goes_by, here.worker, kept


@pytest.mark.parametrize("kind", WRONG)
def test_files_that_are_wrong_are_refused_in_one_line_and_nothing_changes(
    here: Here, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    spoil, said = WRONG[kind]
    come, before = tmp_path_factory.mktemp("come"), everything(here)
    new = here.files(owners(4, "n2"))
    with pytest.raises(FlexError) as refused:
        applied(here, carried(spoil(here, new), come / "files"))
    assert said in refused.value.answer
    assert refused.value.kept
    assert refused.value.advice
    assert "\n" not in str(refused.value)
    assert everything(here) == before
    assert applied(here, carried(new, come / "files")) == "commands"
    assert here.goes_by == 4


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        (owners(4).moved[:-5], "it is not whole"),
        (owners(4).moved + "x.example at_n1\n", "it is not whole"),
        (owners(2).moved, "the newer order 3 is in force"),
        (owners(3, "n2").moved, "another one of the same number is in force"),
        (owners(9, cluster="theirs").moved, "of the cluster ours"),
    ],
    ids=["cut", "longer", "older", "same number", "another cluster"],
)
def test_an_order_that_is_wrong_is_refused_in_one_line_and_the_server_is_told(
    here: Here, server: Server, moved: str, said: str
) -> None:
    before = everything(here)
    server.says(moved, haproxy.others_digest(here.files(owners(3))))
    follower = here.follower(server.url)
    for _ in range(2):
        with pytest.raises(FlexError) as refused:
            follower.once()
        assert said in refused.value.answer
        assert "\n" not in str(refused.value)
    assert everything(here) == before
    assert said in follower.told
    # The next question says why this node does not go by it, and it still goes by 3.
    assert "goes=3" in server.asked[-1]
    assert "error=" in server.asked[-1]
    order_4(here, server)
    follower.once()
    assert here.goes_by == 4


def worker_of(here: Here) -> int:
    return int(here.worker.removeprefix("Pid: "))


@contextmanager
def without_descriptors(pid: int) -> Iterator[None]:
    """HAProxy has all that it may have."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@pytest.mark.slow
def test_an_haproxy_out_of_descriptors_is_away_and_told_once_it_has_some(
    here: Here, server: Server
) -> None:
    order_4(here, server)
    before, here.patience = everything(here), 1.0
    follower = here.follower(server.url)
    with without_descriptors(worker_of(here)), pytest.raises(FlexError) as refused:
        follower.once()
    assert "telling HAProxy" in refused.value.asked
    assert refused.value.kept == "HAProxy goes on as it did"
    until_it_answers(here)
    assert everything(here) == before
    follower.once()
    assert here.goes_by == 4


def until_it_answers(here: Here) -> None:
    for _ in range(30):
        with suppress(FlexError):
            assert here.goes_by
            return
    pytest.fail("HAProxy does not answer")


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["follow", "apply"])
def test_an_haproxy_that_is_away_is_one_line_and_files_wait_for_it(
    here: Here, server: Server, tmp_path_factory: pytest.TempPathFactory, verb: str
) -> None:
    """Its sockets are gone, as where it ended."""
    order_4(here, server)
    socket_of = here.folder / "s"
    aside = socket_of.rename(here.folder / "aside")
    master = (here.folder / "m").rename(here.folder / "m-aside")
    take = way(verb, here, server, tmp_path_factory.mktemp("come"))
    with pytest.raises(FlexError) as refused:
        take()
    assert "HAProxy" in refused.value.asked
    assert "\n" not in str(refused.value)
    assert "its start" in refused.value.kept
    aside.rename(socket_of)
    master.rename(here.folder / "m")
    assert here.goes_by == 3
    there = node_file_download.files_in_force(here.folder)
    assert there
    assert there.files == here.files(owners(4, "n2"))
    take()
    assert here.goes_by == 4


@contextmanager
def disk_of_its_own(folder: Path) -> Iterator[Path]:
    """A small file system, which refuses with ENOSPC once it is full."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"nobody may mount here: {mounted.stderr.decode():.100}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    try:
        yield
    finally:
        filler.unlink()


@pytest.mark.parametrize("verb", ["follow", "apply"])
def test_on_a_disk_without_a_byte_left_all_is_as_it_was_until_there_is_room(
    found: HaproxyProgram, server: Server, tmp_path_factory: pytest.TempPathFactory, verb: str
) -> None:
    come = tmp_path_factory.mktemp("come")
    with disk_of_its_own(tmp_path_factory.mktemp("disk")) as disk, begun(found, disk) as here:
        order_4(here, server)
        take, before = way(verb, here, server, come), everything(here)
        with full(disk), pytest.raises(NotWritten) as refused:
            take()
        assert "No space left on device" in str(refused.value)
        assert "\n" not in str(refused.value)
        assert everything(here) == before
        take()
        assert here.goes_by == 4

"""A follower that was killed, that can write nothing, or that is not alone changes nothing, or all
of it, and what is left of that is no trouble for the next one.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bench import forked_flex
from flex.errors import BadInput, BadSetting, FlexError, NotRunning, NotWritten
from flex.routing import haproxy, install_files, node_file_download
from flex.routing.haproxy import HOSTS
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.host_to_node_maps import MOVED
from tests.routing.test_follow_answers import ADDRESS, Here, Server, begun, here, owners, server

__all__ = ["here", "server"]

pytestmark = pytest.mark.real


@contextmanager
def at_most(kind: int, number: int) -> Iterator[None]:
    """As if the machine had no more of that for this process."""
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (number, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


def order_4(here: Here, server: Server) -> None:
    server.says(owners(4, "n2").moved, haproxy.others_digest(here.files(owners(3))))
    server.files = here.files(owners(4, "n2"))


@pytest.mark.parametrize("written", [(), (HOSTS,), (MOVED,), (HOSTS, MOVED)])
def test_what_a_killed_writer_left_is_made_good_and_nobody_is_told_otherwise(
    here: Here, server: Server, written: tuple[str, ...]
) -> None:
    """As `kill -9` leaves it before HAProxy was told."""
    order_4(here, server)
    new = here.files(owners(4, "n2"))
    for name in written:
        (here.folder / name).write_text(new[name])
    for left in (".next-killed", ".held-killed"):
        (here.folder / left).mkdir()
        (here.folder / left / "owners.map").write_text("x" * 1_000)
    follower = here.follower(server.url)
    follower.once()
    follower.once()
    assert here.goes_by == 4
    there = node_file_download.files_in_force(here.folder)
    assert there
    assert there.files == new
    assert not [*here.folder.glob(".next-*"), *here.folder.glob(".held-*")]
    # It says that it goes by order 4 only once HAProxy does.
    told = [path.partition("goes=")[2][0] for path in server.asked if "goes=" in path]
    assert told[0] == ("4" if len(written) == 2 else "3")
    assert told[-1] == "4"


def test_an_haproxy_that_heard_more_than_the_disk_does_not_go_back(
    here: Here, server: Server
) -> None:
    """As `kill -9` leaves it once HAProxy was told."""
    new, stats = here.files(owners(4, "n2")), here.sockets.stats
    path, version = f"{here.folder}/{HOSTS}", haproxy.version(new)
    told = ("set", "map", path, haproxy.VERSION, version)
    assert stats.replace_map(f"{here.folder}/{MOVED}", new[MOVED], told) == ""
    begun = here.worker
    follower = here.follower("http://127.0.0.1:9/nodes/n1")
    for _ in range(2):
        with pytest.raises(FlexError):
            follower.once()
        assert here.goes_by == 4
    order_4(here, server)
    follower = here.follower(server.url)
    follower.once()
    follower.once()
    assert here.goes_by == 4
    assert node_file_download.files_in_force(here.folder) == node_file_download.Pulled(new)
    assert here.worker == begun


def test_what_cannot_be_put_in_place_is_taken_back_from_haproxy_too(
    here: Here, server: Server
) -> None:
    order_4(here, server)
    in_the_way = here.folder / f"{MOVED}.before"
    in_the_way.mkdir()
    follower = here.follower(server.url)
    with pytest.raises(NotWritten):
        follower.once()
    assert here.goes_by == 3
    assert node_file_download.files_in_force(here.folder) == node_file_download.Pulled(
        here.files(owners(3))
    )
    in_the_way.rmdir()
    follower.once()
    assert here.goes_by == 4


def test_on_a_full_disk_all_is_as_it_was_until_there_is_room(here: Here, server: Server) -> None:
    order_4(here, server)
    follower, before = here.follower(server.url), here.state()
    with at_most(resource.RLIMIT_FSIZE, 16), pytest.raises(NotWritten):
        follower.once()
    assert (here.goes_by, here.state()) == (3, before)
    assert "File too large" in follower.told
    follower.once()
    assert here.goes_by == 4


def test_without_descriptors_all_is_as_it_was_until_there_are_some(
    here: Here, server: Server
) -> None:
    order_4(here, server)
    follower, before = here.follower(server.url), here.state()
    with at_most(resource.RLIMIT_NOFILE, 3), pytest.raises(FlexError) as refused:
        follower.once()
    assert "Too many open files" in str(refused.value)
    assert (here.goes_by, here.state()) == (3, before)
    follower.once()
    assert here.goes_by == 4


def test_an_haproxy_that_cannot_have_as_many_descriptors_goes_on_as_before(
    here: Here, server: Server
) -> None:
    """More than any process of this kernel may have."""
    order_4(here, server)
    most = int(Path("/proc/sys/fs/nr_open").read_text(encoding="ascii"))
    made = replace(here, layout=replace(here.layout, connections=most))
    server.files = made.files(owners(4, "n2"))
    server.says(owners(4, "n2").moved, haproxy.others_digest(server.files))
    follower, before = here.follower(server.url), here.state()
    with pytest.raises(NotWritten):
        follower.once()
    assert (here.goes_by, here.state()) == (3, before)
    assert "configuration" in follower.told
    order_4(here, server)
    follower.once()
    assert here.goes_by == 4


def test_an_haproxy_that_does_not_run_has_the_newest_files_at_its_start(
    found: HaproxyProgram, tmp_path: Path, server: Server
) -> None:
    """Whatever kept it from running, such as limits that are too high, they may have mended."""
    with begun(found, tmp_path) as here:
        order_4(here, server)
    follower = here.follower(server.url)
    with pytest.raises(NotRunning):
        follower.once()
    there = node_file_download.files_in_force(here.folder)
    assert there
    assert there.files == here.files(owners(4, "n2"))
    assert "it does not run" in follower.told
    # It is not asked for again, and nobody is told that HAProxy goes by it.
    asked = len(server.asked)
    with pytest.raises(FlexError):
        follower.once()
    told = [path for path in server.asked[asked:] if "goes=" in path]
    assert told
    assert all("have=4&goes=0" in path for path in told)
    port = int(here.layout.listen[0].rpartition(":")[2])
    with start_with_master(found, here.folder, port, here.folder / "m", ADDRESS):
        follower.once()
        follower.once()
        assert here.goes_by == 4
        assert not install_files.is_untold(here.folder)
        assert "goes=4" in server.asked[-1]
        begun_at = here.worker
        follower.once()
        assert here.worker == begun_at


@pytest.mark.parametrize("now", [0.0, 4_000_000_000.0])
def test_a_clock_that_is_decades_wrong_makes_no_difference(
    here: Here, server: Server, monkeypatch: pytest.MonkeyPatch, now: float
) -> None:
    monkeypatch.setattr(time, "time", lambda: now)
    for path in here.folder.iterdir():
        if path.is_file():
            os.utime(path, (now, now))
    follower = here.follower(server.url)
    order_4(here, server)
    follower.once()
    assert here.goes_by == 4
    # It goes back for no clock either.
    own = haproxy.others_digest(here.files(owners(4, "n2")))
    server.says(owners(3).moved, own)
    with pytest.raises(BadInput):
        follower.once()
    assert here.goes_by == 4


@pytest.mark.slow
def test_an_haproxy_that_is_too_old_is_one_clear_error_and_nothing_begins(tmp_path: Path) -> None:
    old = tmp_path / "haproxy"
    old.write_text("#!/bin/sh\necho HAProxy version 2.4.22-1 2024/01/01\n")
    old.chmod(0o700)
    token = tmp_path / "token"
    token.write_text("flex_token")
    folder = tmp_path / "files"
    folder.mkdir()
    url = "http://127.0.0.1:9/api/v1/routing/nodes/n1"
    for verb in ("follow", "apply"):
        words = ("route", verb, "--from", url, "--to", str(folder))
        done = forked_flex.run(
            *words,
            *("--token-file", str(token)),
            seconds=60,
            environment=os.environ | {"PATH": str(tmp_path)},
        )
        assert done.returncode == BadSetting.exit_code, done.stderr
        assert "is 2.4.22" in done.stderr
        assert "install HAProxy 2.6 or newer" in done.stderr
        assert not [*folder.iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["follow", "apply"])
def test_a_folder_that_is_named_from_where_one_stands_is_the_one_that_haproxy_reads(
    here: Here, server: Server, tmp_path: Path, verb: str
) -> None:
    """HAProxy calls its maps by whole paths: asked by others it seemed to go by nothing."""
    order_4(here, server)
    token = tmp_path / "token"
    token.write_text("flex_token")
    begun, folder = here.worker, here.folder
    words = ("--from", server.url, "--token-file", str(token), "--to", folder.name)
    once = ("--once",) if verb == "follow" else ()
    master = ("--master", str(folder / "m"))
    done = forked_flex.run(
        *("route", verb, *words, *once, *master), seconds=60, folder=folder.parent
    )
    assert done.returncode == 0, done.stderr
    assert here.goes_by == 4
    assert here.worker == begun
    assert "reload" not in done.stderr


def test_two_followers_of_one_node_do_no_harm(here: Here, server: Server) -> None:
    own = haproxy.others_digest(here.files(owners(3)))
    for number in range(4, 10):
        server.says(owners(number, "n2" if number % 2 else "n1").moved, own)
        both = [here.follower(server.url) for _ in range(2)]
        wrong: list[FlexError] = []

        def run(number: int, wrong: list[FlexError] = wrong) -> None:
            try:
                both[number].once()  # noqa: B023 - it is joined within the round
            except FlexError as error:
                wrong.append(error)

        threads = [threading.Thread(target=run, args=(which,)) for which in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (here.goes_by, wrong) == (number, [])
        there = node_file_download.files_in_force(here.folder)
        assert there
        assert haproxy.is_whole(there.files)
    assert set(install_files.there_of(here.folder)) == set(here.files(owners(3)))

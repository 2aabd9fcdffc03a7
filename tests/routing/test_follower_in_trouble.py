"""A follower that was killed, that can write nothing, or that is not alone changes nothing, or all
of it, and what is left of that is no trouble for the next one.
"""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flex.errors import FlexError, NotWritten
from flex.routing import fetch_files, haproxy, install_files
from flex.routing.haproxy import HOSTS
from flex.routing.host_to_node_maps import MOVED
from tests.routing.test_follow_answers import Here, Server, here, owners, server

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
    there = fetch_files.in_force(here.folder)
    assert there
    assert there.files == new
    assert not [*here.folder.glob(".next-*"), *here.folder.glob(".held-*")]
    # It says that it goes by order 4 only once HAProxy does.
    told = [path.partition("goes=")[2][0] for path in server.asked if "goes=" in path]
    assert told[0] == ("4" if len(written) == 2 else "3")
    assert told[-1] == "4"


def test_on_a_full_disk_all_is_as_it_was_until_there_is_room(
    here: Here, server: Server
) -> None:
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
        there = fetch_files.in_force(here.folder)
        assert there
        assert haproxy.is_whole(there.files)
    assert set(install_files.there_of(here.folder)) == set(here.files(owners(3)))

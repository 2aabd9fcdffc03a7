"""A real HAProxy between visitors and the members of a site."""

from __future__ import annotations

import queue
import re
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from flex.routing.haproxy_program import HaproxyProgram, running
from flex.routing.haproxy_socket import Socket, parse_stat
from flex.routing.member_pools import LardLimits, Pool
from flex.routing.member_pools import members as members_of
from tests.routing.conftest import Distributor, Held, Members, until_closed, written

# It takes a moment; by then it never comes.
LOOKS, LOOK_SECONDS = 6_000, 0.02

pytestmark = pytest.mark.real


@pytest.fixture
def visitors(
    found: HaproxyProgram, members: Members, tmp_path: Path, another_port: int
) -> Iterator[Distributor]:
    pool = Pool(
        "shop.example", ("www.shop.example",), members_of(members.addresses), "lardr", LardLimits()
    )
    written(pool, members, tmp_path, another_port)
    with running(found, tmp_path, another_port):
        yield Distributor(another_port)


def asked(visitors: Distributor, members: Members, target: str, **more: str) -> Held:
    """The request as a member got it, answered."""
    with visitors.send(target, x_now="1000", **more) as visitor:
        held = members.asked.get(timeout=300)
        held.answer()
        assert until_closed(visitor).endswith(b"ok")
    return held


def test_a_target_stays_with_its_member_and_targets_are_spread_over_all(
    visitors: Distributor, members: Members
) -> None:
    first = {target: asked(visitors, members, f"/{target}").node for target in range(60)}
    again = {target: asked(visitors, members, f"/{target}?page=2").node for target in range(60)}
    assert first == again
    assert min(Counter(first.values()).values()) >= 60 // 4 // 3
    assert len(set(first.values())) == 4


def test_the_member_hears_who_asks_and_nothing_that_he_claims_to_be_last(
    visitors: Distributor, members: Members
) -> None:
    held = asked(visitors, members, "/", X_Forwarded_For="203.0.113.9")
    told = re.findall(rb"(?im)^x-forwarded-for: (.*?)\r?$", held.head)
    assert told[-1] == b"127.0.0.1"
    assert held.head.lower().count(b"x-forwarded-for: 127.0.0.1") == 1


@pytest.mark.parametrize("host", ["www.shop.example", "WWW.Shop.Example:8080", "shop.example"])
def test_every_name_of_the_site_leads_to_its_members(
    visitors: Distributor, members: Members, host: str
) -> None:
    nodes = {asked(visitors, members, f"/{number}", host=host).node for number in range(40)}
    assert nodes == set(members.addresses)


@pytest.mark.parametrize(
    "host", ["other.example", "site_door", "shop.example.evil", "here", "_", "[::1]", "version"]
)
def test_other_names_stay_on_this_node(visitors: Distributor, members: Members, host: str) -> None:
    assert {asked(visitors, members, f"/{number}", host=host).node for number in range(8)} == {"n0"}


@pytest.mark.parametrize(
    "target", ["/a%0aset-var", "/;show%20stat", "/%[env(HOME)]", "/{%20var(txn.set)%20}"]
)
def test_words_of_haproxy_in_a_path_are_a_path(
    visitors: Distributor, members: Members, target: str
) -> None:
    assert asked(visitors, members, target).head.startswith(f"GET {target} ".encode())


def test_when_a_member_goes_the_others_answer_for_it(
    visitors: Distributor, members: Members
) -> None:
    targets = [f"/{number}" for number in range(40)]
    before = {target: asked(visitors, members, target).node for target in targets}
    gone = before[targets[0]]
    members.stop(gone)
    after = {target: asked(visitors, members, target).node for target in targets}
    assert gone not in after.values()
    assert [after[target] for target in targets if before[target] != gone] == [
        node for node in before.values() if node != gone
    ]


@pytest.fixture
def crowded(
    found: HaproxyProgram, members: Members, tmp_path: Path, another_port: int
) -> Iterator[Distributor]:
    """The paper's S of four members is 6: three times 2, and 1 less 1."""
    pool = Pool(
        "shop.example", (), members_of(members.addresses), "lardr", LardLimits(low=1, high=2)
    )
    written(pool, members, tmp_path, another_port)
    with running(found, tmp_path, another_port):
        yield Distributor(another_port)


def let_in(members: Members, least: int) -> list[Held]:
    """Those that have got to members when no more come: so many at least, however long that
    takes.
    """
    held = [members.asked.get(timeout=300) for _ in range(least)]
    with suppress(queue.Empty):
        while True:
            held.append(members.asked.get(timeout=1))
    return held


def everybody_gets_in(first: list[Held], visitors: list[socket.socket], members: Members) -> bool:
    for held in first:
        held.answer()
    for _ in range(len(visitors) - len(first)):
        members.asked.get(timeout=300).answer()
    return all(until_closed(visitor).endswith(b"ok") for visitor in visitors)


def test_a_crowd_waits_at_the_door_and_everybody_gets_in(
    crowded: Distributor, members: Members
) -> None:
    visitors = [crowded.send(f"/{number}", x_now="1000") for number in range(40)]
    first = let_in(members, 6)
    # Those that came before there was a crowd, and those that the doors let in beside them.
    assert len(first) <= 6 + 4 + 1
    assert everybody_gets_in(first, visitors, members)


@pytest.mark.slow
def test_when_members_go_fewer_are_let_in(
    crowded: Distributor, members: Members, tmp_path: Path
) -> None:
    members.stop("n2")
    members.stop("n3")
    haproxy = Socket(str(tmp_path / "s"))
    for _ in range(LOOKS):
        rows = [
            row for row in parse_stat(haproxy.ask("show", "stat")) if row.server in ("s4", "s8")
        ]
        if sum(row.status == "DOWN" for row in rows) == 2:
            break
        time.sleep(LOOK_SECONDS)
    else:
        pytest.fail("HAProxy never noticed that members are gone")
    visitors = [crowded.send(f"/{number}", x_now="1000") for number in range(40)]
    first = let_in(members, 2)
    # Two are left, for whom S is 2.
    assert len(first) <= 2 + 2 + 1
    assert everybody_gets_in(first, visitors, members)


def test_few_visitors_never_see_the_door(crowded: Distributor, members: Members) -> None:
    held = asked(crowded, members, "/")
    assert held.head.lower().count(b"x-forwarded-for: 127.0.0.1") == 1


def test_a_popular_target_has_several_members_before_any_of_them_is_overloaded(
    found: HaproxyProgram, members: Members, tmp_path: Path, another_port: int
) -> None:
    pool = Pool("shop.example", (), members_of(members.addresses), popular=(("/hot", 0b0101),))
    written(pool, members, tmp_path, another_port)
    with running(found, tmp_path, another_port):
        nodes = {}
        for path in ("/hot?a=1", "/cold"):
            visitors = [Distributor(another_port).send(path, x_now="1000") for _ in range(6)]
            held = [members.asked.get(timeout=300) for _ in visitors]
            nodes[path] = Counter(each.node for each in held)
            for each in held:
                each.answer()
            assert all(until_closed(visitor).endswith(b"ok") for visitor in visitors)
    assert nodes["/hot?a=1"] == {"n0": 3, "n2": 3}
    assert len(nodes["/cold"]) == 1


@pytest.fixture(params=["lardr", "least_connections"])
def split(
    request: pytest.FixtureRequest,
    found: HaproxyProgram,
    members: Members,
    tmp_path: Path,
    another_port: int,
) -> Iterator[Distributor]:
    made = members_of(members.addresses)
    pool = Pool(
        "shop.example",
        (),
        made,
        str(request.param),
        LardLimits(),
        dynamic=("n1", "n2"),
        endings=(".php",),
    )
    written(pool, members, tmp_path, another_port)
    with running(found, tmp_path, another_port):
        yield Distributor(another_port)


def test_what_is_computed_goes_to_the_nodes_that_compute(
    split: Distributor, members: Members
) -> None:
    assert {asked(split, members, f"/{number}.php?a=1").node for number in range(12)} <= {
        "n1",
        "n2",
    }
    assert len({asked(split, members, f"/{number}.html").node for number in range(40)}) == 4


def test_where_nobody_computes_the_others_do(split: Distributor, members: Members) -> None:
    members.stop("n1")
    members.stop("n2")
    assert {asked(split, members, f"/{number}.php").node for number in range(12)} <= {"n0", "n3"}

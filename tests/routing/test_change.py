"""Which changes take commands and which a reload, and that a real HAProxy then does what the files
say.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.errors import Away, BadInput, NotRunning, NotWritten, Unknown
from flex.routing import haproxy_socket, install_files
from flex.routing.apply_to_haproxy import HANDS_ON, Sockets, enforce
from flex.routing.haproxy import CONFIGURATION, HOSTS, VERSION, files, version
from flex.routing.haproxy_commands import HaproxyChange, Words, change
from flex.routing.haproxy_program import HaproxyProgram, start_with_master
from flex.routing.haproxy_socket import Socket
from flex.routing.haproxy_state import distributor
from flex.routing.member_pools import Member, Pool, members
from flex.routing.ports_and_paths import Layout
from tests.ports import any_port
from tests.routing.conftest import Distributor, Members, until_closed
from tests.thorough import times

NODES = {"n0": "192.0.2.1", "n1": "192.0.2.2", "n2": "2001:db8::3"}
SHOP = Pool("shop.example", ("www.shop.example",), members(NODES))


def made(*pools: Pool, nodes: Mapping[str, str] = NODES) -> dict[str, str]:
    return files("n0", nodes, pools, Layout(directory="/d"))


def between(before: Pool, after: Pool) -> HaproxyChange:
    return change(made(before), made(after), "/d")


def told(before: Pool, after: Pool) -> tuple[Words, ...]:
    """The commands before the last, which says the version that is in force then."""
    *others, last = between(before, after).commands
    assert last == ("set", "map", "/d/hosts.map", VERSION, version(made(after)))
    return tuple(others)


def with_second(**changes: object) -> Pool:
    first, second, *others = SHOP.members
    return replace(SHOP, members=(first, replace(second, **changes), *others))  # type: ignore[arg-type]  # fields


def test_what_did_not_change_is_not_told() -> None:
    assert between(SHOP, SHOP) == HaproxyChange()


def test_a_member_that_leaves_gets_no_more_requests_and_comes_back_by_commands() -> None:
    name = f"{SHOP.name}/s2"
    assert told(SHOP, with_second(leaving=True)) == (("set", "server", name, "state", "maint"),)
    assert told(with_second(leaving=True), SHOP) == (("set", "server", name, "state", "ready"),)


def test_weights_and_addresses_are_told_by_commands() -> None:
    name = f"{SHOP.name}/s2"
    assert told(SHOP, with_second(weight=50, address="192.0.2.99")) == (
        ("set", "server", name, "addr", "192.0.2.99", "port", "8080"),
        ("set", "server", name, "weight", "50"),
    )


def test_host_names_are_told_by_commands() -> None:
    assert told(SHOP, replace(SHOP, hosts=("m.shop.example",))) == (
        ("del", "map", "/d/hosts.map", "www.shop.example"),
        ("add", "map", "/d/hosts.map", "m.shop.example", SHOP.name),
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(SHOP, policy="lard"),
        replace(SHOP, members=SHOP.members[:2]),
        replace(SHOP, members=(*SHOP.members, Member("n3", "192.0.2.4", 3))),
        replace(SHOP, by_query=True),
        replace(SHOP, popular=(("/hot", 3),)),
    ],
)
def test_structure_takes_a_reload(other: Pool) -> None:
    assert between(SHOP, other) == HaproxyChange(reload=True)
    assert between(other, SHOP) == HaproxyChange(reload=True)


def test_where_there_was_nothing_everything_is_read() -> None:
    assert change({}, made(SHOP), "/d").reload


@settings(max_examples=times(40))
@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_was_there_before_the_change_can_be_told(configuration: str, hosts: str) -> None:
    hosts = "".join(
        f"{line.strip()} x\n"
        for line in hosts.splitlines()
        if line.strip() and " " not in line.strip()
    )
    assert change({CONFIGURATION: configuration, HOSTS: hosts}, made(SHOP), "/d").reload


class Node:
    """A HAProxy with a master process, as systemd runs it, and what its folder says."""

    def __init__(self, found: HaproxyProgram, folder: Path, at: Members, port: int) -> None:
        self.found, self.folder, self.at, self.port = found, folder, at, port
        self.peers_port = any_port()
        self.sockets = Sockets(Socket(str(folder / "s")), Socket(str(folder / "m")), hands_on=0)

    def files(self, *pools: Pool) -> dict[str, str]:
        layout = Layout(
            directory=str(self.folder),
            listen=(f"127.0.0.1:{self.port}",),
            origin=self.at.addresses["n0"],
            origin_port=self.at.port,
            peers_port=self.peers_port,
            socket=str(self.folder / "s"),
            metrics="",
            threads=1,
            connections=1_000,
        )
        return files("n0", {"n0": "127.0.0.1"}, pools, layout)

    def enforce(self, *pools: Pool) -> str:
        return enforce(self.files(*pools), self.folder, self.found, self.sockets)

    def asked(self, count: int = 40, host: str = "shop.example") -> set[str]:
        """Which members answer."""
        nodes = set()
        for number in range(count):
            with Distributor(self.port).send(f"/{number}", host) as visitor:
                held = self.at.asked.get(timeout=300)
                nodes.add(held.node)
                held.answer()
                assert until_closed(visitor).endswith(b"ok")
        return nodes


@pytest.fixture
def node(
    found: HaproxyProgram, members: Members, tmp_path: Path, another_port: int
) -> Iterator[Node]:
    made = Node(found, tmp_path, members, another_port)
    install_files.put(made.files(shop(members)), tmp_path, found)
    with start_with_master(found, tmp_path, another_port, tmp_path / "m"):
        _await_answer(made.sockets.stats)
        yield made


def _await_answer(stats: Socket) -> None:
    """HAProxy listens for visitors a moment before it does on its socket."""
    for _ in range(600):
        with suppress(Away):
            stats.ask("show", "info")
            return
        time.sleep(0.05)
    pytest.fail("HAProxy does not answer on its socket")


def shop(at: Members, **changes: object) -> Pool:
    made = Pool(
        "shop.example", (), members({name: at.addresses[name] for name in ("n0", "n1", "n2")})
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # fields


def leaving(at: Members, name: str) -> Pool:
    pool = shop(at)
    return replace(
        pool, members=tuple(replace(each, leaving=each.node == name) for each in pool.members)
    )


@pytest.mark.real
def test_a_member_leaves_and_comes_back_without_a_reload(node: Node, members: Members) -> None:
    assert node.asked() == {"n0", "n1", "n2"}
    assert node.enforce(leaving(members, "n1")) == "commands"
    assert node.asked() == {"n0", "n2"}
    assert node.enforce(leaving(members, "n1")) == "nothing"
    assert node.enforce(shop(members)) == "commands"
    assert "n1" in node.asked(400)


@pytest.mark.real
def test_a_request_that_a_leaving_member_has_begun_is_answered(
    node: Node, members: Members
) -> None:
    with Distributor(node.port).send("/slow") as visitor:
        held = members.asked.get(timeout=300)
        assert node.enforce(leaving(members, held.node)) == "commands"
        held.answer()
        assert until_closed(visitor).endswith(b"ok")


@pytest.mark.real
def test_a_further_member_takes_a_reload_and_no_request_is_lost_in_it(
    node: Node, members: Members
) -> None:
    with Distributor(node.port).send("/slow") as visitor:
        held = members.asked.get(timeout=300)
        grown = Pool("shop.example", (), members_of(members))
        assert node.enforce(grown) == "reload"
        assert node.asked(100) == set(members.addresses)
        held.answer()
        assert until_closed(visitor).endswith(b"ok")


@pytest.mark.slow
@pytest.mark.real
def test_what_members_have_is_known_after_a_reload(node: Node, members: Members) -> None:
    """However soon: it is waited for until HAProxy hands its tables on, which it does not as long
    as it listens whether somebody hands it any.
    """
    stats, table = node.sockets.stats, shop(members).name
    node.sockets = replace(node.sockets, hands_on=HANDS_ON)
    node.asked(20)
    before = {
        each.key: each.set for each in haproxy_socket.targets(stats.ask("show", "table", table))
    }
    assert node.enforce(Pool("shop.example", (), members_of(members))) == "reload"
    after: dict[str, int] = {}
    deadline = time.monotonic() + 120
    while after != before and time.monotonic() < deadline:
        after = {
            each.key: each.set for each in haproxy_socket.targets(stats.ask("show", "table", table))
        }
    assert len(before) == 20
    assert after == before


def members_of(at: Members) -> tuple[Member, ...]:
    return members(at.addresses)


@pytest.mark.real
def test_host_names_come_and_go_without_a_reload(node: Node, members: Members) -> None:
    assert node.enforce(shop(members, hosts=("www.shop.example",))) == "commands"
    assert len(node.asked(host="www.shop.example")) == 3
    assert node.enforce(shop(members)) == "commands"
    assert node.asked(host="www.shop.example") == {"n0"}


@pytest.mark.real
def test_what_haproxy_refuses_is_taken_back_and_the_old_one_serves_on(
    node: Node, members: Members
) -> None:
    before = (node.folder / CONFIGURATION).read_text()
    wrong = node.files(shop(members))
    wrong[CONFIGURATION] += "nonsense\n"
    with pytest.raises(BadInput, match="nonsense"):
        enforce(wrong, node.folder, node.found, node.sockets)
    # Unchecked, as where the files are written on another machine.
    with pytest.raises(NotWritten, match="could not load"):
        enforce(wrong, node.folder, None, node.sockets)
    assert (node.folder / CONFIGURATION).read_text() == before
    # Nor does --back lead to what was refused.
    assert not list(node.folder.glob("*.before"))
    assert node.asked() == {"n0", "n1", "n2"}
    assert node.enforce(shop(members, policy="lard")) == "reload"


@pytest.mark.real
def test_files_that_nobody_told_haproxy_of_are_told(node: Node, members: Members) -> None:
    lard = shop(members, policy="lard")
    install_files.put(node.files(lard), node.folder, node.found)
    assert node.enforce(lard) == "reload"
    assert node.enforce(lard) == "nothing"
    install_files.put(node.files(leaving(members, "n1")), node.folder, node.found)
    assert node.enforce(shop(members)) == "reload"
    assert node.asked() == {"n0", "n1", "n2"}


def test_files_that_cannot_all_be_put_there_are_all_as_before(
    members: Members, tmp_path: Path
) -> None:
    before = files("n0", members.addresses, [shop(members)], Layout())
    install_files.put(before, tmp_path, None)
    (tmp_path / "popular.map.before").mkdir()
    with pytest.raises(NotWritten, match="writing"):
        install_files.put(
            files("n0", members.addresses, [shop(members, hosts=("a.example",))], Layout()),
            tmp_path,
            None,
        )
    assert {name: (tmp_path / name).read_text() for name in before} == before


@pytest.mark.real
def test_the_version_before_comes_back(node: Node, members: Members) -> None:
    first = node.files(shop(members))
    node.enforce(shop(members, policy="lard", popular=(("/hot", 3),)))
    before = install_files.one_before(node.folder)
    assert before == first
    assert enforce(before, node.folder, node.found, node.sockets) == "reload"
    assert distributor([], node.sockets.stats, str(node.folder)).version == version(first)
    (node.folder / "hosts.map.before").unlink()
    with pytest.raises(Unknown, match="there is none"):
        install_files.one_before(node.folder)


@pytest.mark.slow
@pytest.mark.real
def test_where_no_haproxy_runs_the_files_wait_for_its_start(
    found: HaproxyProgram, members: Members, tmp_path: Path
) -> None:
    node = Node(found, tmp_path, members, 1)
    with pytest.raises(NotRunning) as said:
        node.enforce(shop(members))
    assert said.value.kept == f"the files wait in {tmp_path} for its start"
    assert (tmp_path / CONFIGURATION).exists()
    assert install_files.is_untold(tmp_path)


@pytest.mark.real
def test_what_came_while_no_haproxy_ran_is_read_anew_by_one_that_began_meanwhile(
    node: Node, members: Members
) -> None:
    """It may have found some of the files as they were before, whatever version it says."""
    there = node.files(shop(members))
    with install_files.alone(node.folder):
        changed = node.files(leaving(members, "n1"))
        install_files.placed(changed, node.folder, node.found, untold=True)
    assert enforce(there, node.folder, node.found, node.sockets) == "reload"
    assert not install_files.is_untold(node.folder)
    assert enforce(there, node.folder, node.found, node.sockets) == "nothing"


@pytest.mark.real
@pytest.mark.parametrize(("gone", "told"), [("m", "commands"), ("s", "reload")])
def test_an_haproxy_of_which_one_socket_is_heard_runs(
    node: Node, members: Members, gone: str, told: str
) -> None:
    (node.folder / gone).unlink()
    assert node.enforce(leaving(members, "n1")) == told
    assert not install_files.is_untold(node.folder)


@pytest.mark.real
def test_what_a_running_haproxy_knows_is_read(node: Node, members: Members) -> None:
    node.asked(30)
    name = shop(members).name
    sets = list(haproxy_socket.targets(node.sockets.stats.ask("show", "table", name)))
    assert len(sets) == 30
    assert {each.set for each in sets} == {1, 2, 4}
    rows = [
        row
        for row in haproxy_socket.parse_stat(node.sockets.stats.ask("show", "stat"))
        if row.backend == name
    ]
    assert sum(row.served for row in rows if row.server in ("s1", "s2", "s4")) == 30


@pytest.mark.real
def test_a_distributor_says_by_which_version_it_goes_and_who_has_which_path(
    node: Node, members: Members
) -> None:
    for pool in (shop(members), leaving(members, "n1"), shop(members, policy="lard")):
        node.enforce(pool)
        node.asked(10)
        expected = {"shop.example": [f"/{number}" for number in range(10)]}
        said = distributor([pool], node.sockets.stats, str(node.folder), expected)
        assert (said.node, said.version) == ("n0", version(node.files(pool)))
        (site,) = said.sites
        assert {each.target for each in site.busiest} == set(expected["shop.example"])
        assert all(
            each.nodes and set(each.nodes) <= set(members.addresses) for each in site.busiest
        )
        assert site.targets == 10 <= sum(member.targets for member in site.members)


def test_a_socket_that_nobody_listens_on_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Away) as said:
        Socket(str(tmp_path / "none")).ask("show", "info")
    assert "\n" not in said.value.answer


@pytest.mark.real
def test_who_comes_while_another_has_files_told_waits_for_it(node: Node, members: Members) -> None:
    """Two at once, with other wishes: HAProxy goes by the one or the other, and so do all files."""
    wishes = [
        node.files(shop(members, policy=policy))
        for policy in ("lard", "bounded_hash", "least_connections")
    ]
    with ThreadPoolExecutor() as side_by_side:
        told = list(
            side_by_side.map(
                lambda made: enforce(made, node.folder, node.found, node.sockets), wishes
            )
        )
    assert told == ["reload"] * 3
    there = {name: (node.folder / name).read_text() for name in wishes[0]}
    assert there in wishes
    assert distributor([], node.sockets.stats, str(node.folder)).version == version(there)

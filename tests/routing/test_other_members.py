"""A site that several nodes have is answered while one of them is up, also where the nodes that are
asked have none of its content: real HAProxies on loopback.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flex.routing.haproxy import CONFIGURATION
from flex.routing.haproxy_program import HaproxyProgram
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import Pool
from flex.routing.member_pools import members as members_at
from tests.routing.conftest import Members, until_closed
from tests.routing.test_doors import NAMES, Cluster, header
from tests.routing.test_doors_by_sni import BySni

SHOP = "shop.example"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def shared(cluster: Cluster, having: list[str]) -> dict[str, str]:
    """The owners of all names, where the site is at these nodes; the first one owns its name."""
    at = cluster.members.addresses
    pool = members_at({node: at[node] for node in sorted(having)})
    cluster.content = "owner"
    cluster.pools = (Pool(SHOP, (), pool),)
    cluster.others = {SHOP: having[1:]}
    return NAMES | {SHOP: having[0]}


@pytest.fixture
def cluster(found: HaproxyProgram, members: Members, tmp_path: Path) -> Cluster:
    return Cluster(found, tmp_path, members)


@pytest.mark.torture("having0", "having1")
@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("having", [["n1", "n2"], ["n2", "n1"], ["n1", "n2", "n3"]])
def test_while_one_member_is_up_a_door_of_no_member_leads_to_it(
    cluster: Cluster, stack: ExitStack, having: list[str]
) -> None:
    cluster.start(stack, shared(cluster, having))
    for gone, *left in (having[number:] for number in range(len(having) - 1)):
        cluster.end(gone)
        cluster.members.stop(gone)
        # From the first request on: those before the first check was missed wait for it.
        for _ in range(3):
            held = cluster.answered("n0", SHOP, "X-Flex-Visitor: 198.51.100.9\r\n")
            assert held.node in left
            assert header(held, "x-forwarded-for") == ["127.0.0.1"]
            assert header(held, "x-flex-visitor") == []
    cluster.end(having[-1])
    with cluster.ask("n0", SHOP) as connection:
        assert until_closed(connection).startswith(b"HTTP/1.1 503 ")
    # A site that its owner alone has is nobody else's.
    assert cluster.answered("n0", "a.example").node == "n0"
    with cluster.ask("n0", "b.example") as connection:
        assert until_closed(connection).startswith(b"HTTP/1.1 503 ")


@pytest.mark.slow
@pytest.mark.real
def test_a_member_that_is_back_has_its_visitors_again(cluster: Cluster, stack: ExitStack) -> None:
    cluster.start(stack, shared(cluster, ["n1", "n2"]))
    stats = Socket(str(cluster.folder / "n0" / "s"))
    stats.ask("set", "server", "at_n1/inner", "state", "maint")
    cluster.members.stop("n1")
    assert cluster.answered("n0", SHOP).node == "n2"
    cluster.members.start("n1")
    stats.ask("set", "server", "at_n1/inner", "state", "ready")
    cluster.members.stop("n2")
    # Its pool finds within seconds that the other one is away.
    assert cluster.answered("n0", SHOP).node == "n1"


@pytest.mark.slow
@pytest.mark.real
def test_a_flip_says_the_other_members_anew_without_a_reload(
    cluster: Cluster, stack: ExitStack
) -> None:
    owners = shared(cluster, ["n1", "n2"])
    cluster.pools = ()
    cluster.start(stack, owners)
    cluster.end("n1")
    assert cluster.answered("n0", SHOP).node == "n2"
    cluster.others = {SHOP: ["n3"]}
    assert cluster.flip("n0", owners) == "commands"
    assert cluster.answered("n0", SHOP).node == "n3"
    cluster.others = {}
    assert cluster.flip("n0", owners) == "commands"
    with cluster.ask("n0", SHOP) as connection:
        assert until_closed(connection).startswith(b"HTTP/1.1 503 ")


@pytest.mark.slow
@pytest.mark.real
def test_maps_that_contradict_each_other_send_no_request_around_in_circles(
    cluster: Cluster, stack: ExitStack
) -> None:
    owners = NAMES | {SHOP: "n1"}
    cluster.content, cluster.others = "owner", {SHOP: ["n2"]}
    cluster.start(stack, owners)
    # n2 takes n1 for the owner, and itself for none.
    cluster.others = {SHOP: ["n0"]}
    assert cluster.flip("n2", owners) == "commands"
    cluster.end("n1")
    assert cluster.answered("n0", SHOP).node == "n2"
    assert cluster.answered("n2", SHOP).node == "n0"
    # A name with a number is no name that a visitor can ask for.
    assert cluster.answered("n3", f"{SHOP}:2").node == "n2"


@pytest.mark.torture("False")
@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("proxied", [False, True])
def test_a_connection_by_sni_goes_to_another_member_too(
    found: HaproxyProgram, members: Members, tmp_path: Path, stack: ExitStack, proxied: bool
) -> None:
    cluster = BySni(found, tmp_path, members, proxied=proxied)
    cluster.serve(stack)
    cluster.start(stack, shared(cluster, ["n1", "n2", "n3"]))
    visitor = " 127.0.0.1" if proxied else ""
    for gone, next_one in (("n1", "n2"), ("n2", "n3")):
        cluster.web_servers.pop(gone).close()
        for _ in range(3):
            assert cluster.reached("n0", SHOP) == f"{next_one}{visitor}"
    cluster.web_servers.pop("n3").close()
    with pytest.raises((ssl.SSLError, ConnectionError)):
        cluster.reached("n0", SHOP)


def test_where_every_node_has_all_content_no_line_speaks_of_other_members(
    found: HaproxyProgram, members: Members, tmp_path: Path
) -> None:
    cluster = Cluster(found, tmp_path, members)
    assert "up_" not in cluster.files("n0", NAMES)[CONFIGURATION]

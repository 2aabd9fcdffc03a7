"""Which sites on several nodes have a pool, and which names and targets it knows: one odd site is
its own trouble.
"""

from __future__ import annotations

from dataclasses import replace

from flex.model.nodes import Node
from flex.routing.member_pools import MOST_MEMBERS, members
from flex.store.memory import MemoryStore
from flex_api.night.haproxy_pools_and_files import AskedFiles, ServingNodes, build_pools, popular
from flex_api.night.unused_routing import misnamed_sites
from flex_api.settings.file import Settings
from flex_api.settings.routing_and_warming import RoutedSite, Routing
from flex_api.settings.whole_settings import Ingest

NODES = tuple(Node(f"n{number}", (f"192.0.2.{number}",), 2**30) for number in range(1, 21))
NAMES = [node.name for node in NODES]


def served(**sites: list[str]) -> ServingNodes:
    return ServingNodes({name.replace("_", "."): nodes for name, nodes in sites.items()}, {}, {})


def test_a_site_that_cannot_be_routed_is_named_and_the_others_are_routed() -> None:
    everybody = ServingNodes(
        {"all.example": NAMES, "a_b.example": NAMES[:2], "shop.example": NAMES[:2]}, {}, {}
    )
    found = build_pools(NODES, everybody, Settings(), {})
    assert [pool.site for pool in found.pools] == ["shop.example"]
    assert "20 nodes" in found.left_out["all.example"]
    assert "host name" in found.left_out["a_b.example"]


def test_where_too_many_would_share_a_pool_those_that_leave_are_out_of_it_at_once() -> None:
    found = build_pools(
        NODES,
        ServingNodes({"shop.example": NAMES[:10]}, {"shop.example": NAMES[10:]}, {}),
        Settings(),
        {},
    )
    (pool,) = found.pools
    assert len(pool.members) == MOST_MEMBERS
    assert {member.node for member in pool.members if not member.leaving} == set(NAMES[:10])


def test_a_name_is_that_of_the_site_that_is_called_so() -> None:
    settings = Settings(ingest=Ingest(aliases={"Other.Example": "shop.example"}))
    pair = NAMES[:2]
    everybody = served(shop_example=pair, other_example=pair, news_example=pair)
    found = build_pools(NODES, everybody, settings, {})
    assert found.left_out == {}
    named = [host for pool in found.pools for host in (pool.site, *pool.hosts)]
    assert len(named) == len(set(named))
    assert "other.example" in named


def test_a_path_that_is_too_long_for_a_map_keeps_nothing_from_being_routed() -> None:
    joined = members({"n1": "192.0.2.1", "n2": "192.0.2.2"})
    asked = AskedFiles(("/" + "a" * 3_000, "/hot", "/cold"), (900, 900, 1), 1)
    assert popular(asked, joined) == (("/hot", 3),)


def test_a_member_keeps_its_slot_while_another_is_down_or_a_further_one_comes() -> None:
    first = build_pools(NODES[1:5], served(shop_example=NAMES[1:5]), Settings(), {})
    down = (NODES[0], replace(NODES[1], state="down"), *NODES[2:5])
    found = build_pools(down, served(shop_example=NAMES[:5]), Settings(), first.slots)
    before, after = (
        {member.node: member.slot for member in one.pools[0].members} for one in (first, found)
    )
    assert after == {node: slot for node, slot in before.items() if node != "n2"} | {"n1": 4}
    assert found.slots["shop.example"].items() >= first.slots["shop.example"].items()


def test_plans_count_on_a_shared_working_set_only_where_targets_are_told_apart() -> None:
    own = (RoutedSite(name="all.example", policy="least_connections"),)
    found = Routing(on=True, site=own).sites_routed_by_content(["by-others.example"])
    assert "shop.example" in found
    assert not [name for name in ("all.example", "/shop/", "a_b.example") if name in found]
    assert "by-others.example" in found
    least = Routing(
        on=True, policy="least_connections", site=(RoutedSite(name="shop.example", policy="lard"),)
    )
    assert [
        name
        for name in ("shop.example", "all.example")
        if name in least.sites_routed_by_content([])
    ] == ["shop.example"]
    assert "shop.example" not in Routing().sites_routed_by_content(["by-others.example"])
    assert "by-others.example" in Routing().sites_routed_by_content(["by-others.example"])


def test_before_the_first_placement_only_what_cannot_be_is_misnamed() -> None:
    one = RoutedSite(name="shop.example", dynamic=("n1",))
    assert misnamed_sites(Settings(routing=Routing()), MemoryStore()) == []
    (nobody,) = misnamed_sites(Settings(routing=Routing(site=(one,))), MemoryStore())
    assert "there is no node of that name" in nobody
    many = tuple(RoutedSite(name=f"{number}.example", dynamic=("n1",)) for number in range(30))
    assert misnamed_sites(Settings(routing=Routing(site=many)), MemoryStore())[20:] == [
        "and 10 more of the kind"
    ]

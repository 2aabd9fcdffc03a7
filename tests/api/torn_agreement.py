"""What doors, DNS and the partition in force say of each site of a `TornCluster`, and whether they
agree.
"""

from __future__ import annotations

from collections.abc import Mapping

from flex.frame_schemas import texts
from flex.model.led_by_doors_or_dns import Way
from flex.routing import host_to_node_maps
from flex.store import Store
from tests.api.torn_cluster import Node, TornCluster, until
from tests.api.torn_visitors import ask


def placed(cluster: TornCluster) -> dict[str, set[str]]:
    store = cluster.store()
    _, placement = store.placement()
    store.close()
    return {str(site): set(texts(rows["node"])) for site, rows in placement.groupby("site")}


def led_by(store: Store) -> dict[str, str]:
    """The member that doors are asked to lead each name to."""
    return {
        **host_to_node_maps.read(store.large_map()),
        **host_to_node_maps.read(store.moved_map()),
    }


def look(cluster: TornCluster, way_of: Mapping[str, Way], *away: str) -> dict[str, set[str]]:
    """The nodes of each site in force: there every door leads all names of a site that doors
    publish, so does the order, and DNS has their addresses of one that it publishes. Nobody looks
    at nodes that are away.
    """
    store = cluster.store()
    order, led = store.door_order(), led_by(store)
    assert order
    assert order.plan == store.in_force()
    assert store.plans(state="applying") == ()
    store.close()
    there = [node for node in cluster.nodes.values() if node.name not in away]
    for node in there:
        until(
            f"{node.name} goes by order {order.number}",
            lambda node=node: cluster.goes_by(node) == order.number,  # type: ignore[misc]
            lambda node=node: f"it goes by {cluster.goes_by(node)}; {cluster.log()}",  # type: ignore[misc]
        )
    nodes_of = placed(cluster)
    for site, nodes in nodes_of.items():
        way = way_of[site]
        addresses = [cluster.nodes[node].address for node in nodes if way != "doors"]
        addresses += ["127.0.0.1"] if "n1" in nodes and way != "doors" else []
        assert cluster.installation.addresses(site) == sorted(addresses), site
        if way == "dns":
            assert led.get(site, "nobody") == "nobody"
        else:
            # By their doors at_ its web server, or st_ that of one writer; held nowhere.
            kind, _, owner = led[site].partition("_")
            assert kind in ("at", "st"), led[site]
            assert owner in nodes, site
            for node in there:
                _until_led(cluster, node, site, nodes)
    return nodes_of


def _until_led(cluster: TornCluster, node: Node, site: str, nodes: set[str]) -> None:
    """A neighbour that came back is found by the next two checks."""
    for host in (site, f"www.{site}"):
        for way, at in cluster.doors(node).items():
            until(
                f"{node.name} leads {host} by {way} to {nodes}",
                lambda way=way, at=at, host=host: (  # type: ignore[misc]
                    ask(node.name, way, at, host).node in nodes
                ),
                lambda way=way, at=at, host=host: (  # type: ignore[misc]
                    f"{ask(node.name, way, at, host)} {cluster.log()}"
                ),
            )

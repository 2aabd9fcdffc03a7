"""How long it takes until every door leads around a dead node, from `flex nodes down` on.

Each node has an HAProxy, `flex route follow` and a server, as in follow_doors.py, and 10,000 sites
of its own. One after the other is said to be dead, and comes back with its sites. Timed from the
moment before the verb is started, as a process, until the HAProxy of the last living node says that
it goes by an order by which each site of the dead node has an heir. Everything is on this machine.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from statistics import median

from bench.figures import Figures
from bench.routing.follow_doors import FLEX, Cluster, following_cluster, put_in_force
from flex.errors import FlexError
from flex.frame_schemas import PROFILES, SPREADS
from flex.model.period import Period
from flex.routing import haproxy_program, host_to_node_maps, owners_map
from flex.routing.haproxy_socket import Socket
from flex_api.night import haproxy_pools_and_files, store_order_for_doors
from flex_api.settings.file import Settings, load

# Sites of the node that dies.
SITES = int(os.environ.get("SITES", "10_000"))
NODES = 4
ROUNDS = int(os.environ.get("ROUNDS", "5"))
PATIENCE = 300.0


def measure() -> Figures:
    routing = 'publish = "doors"\n'
    with following_cluster(SITES * NODES, NODES, _begin, routing) as cluster:
        nodes = list(cluster.addresses)
        took, verbs = [], []
        for number in range(ROUNDS):
            seconds, verb = _fail(cluster, nodes[number % NODES])
            took.append(seconds)
            verbs.append(verb)
    return {
        "failover_sites": SITES,
        "failover_nodes": NODES,
        "failover_rounds": ROUNDS,
        "failover_load_average": os.getloadavg()[0],
        "failover_10000_s": median(took),
        "failover_10000_s_max": max(took),
        "failover_verb_s": median(verbs),
    }


def _begin(cluster: Cluster) -> None:
    """Every site is on one node, and was asked for as much as any other."""
    store, nodes, sites = cluster.store, list(cluster.addresses), list(cluster.owner_of)
    _put_back(cluster, "bench")
    figures = dict.fromkeys(PROFILES.columns, [1_000] * len(sites))
    profiles = PROFILES.from_columns({**figures, "site": sites})
    period = Period.days_before(store.plan("bench").created, 1)
    store.put_profiles(period, profiles, SPREADS.empty())
    for node in nodes:
        files = haproxy_pools_and_files.files(_settings(cluster, node), store, node)
        haproxy_program.write(files, cluster.here(node))


def _put_back(cluster: Cluster, plan: str) -> None:
    """All nodes have the same number of sites, by a plan of that name."""
    nodes, sites = list(cluster.addresses), list(cluster.owner_of)
    placed = [nodes[number % NODES] for number in range(len(sites))]
    put_in_force(cluster.store, {"site": sites, "node": placed}, plan)
    order = store_order_for_doors.order(_settings(cluster, nodes[0]), cluster.store)
    assert order
    cluster.number = order.number


def _settings(cluster: Cluster, node: str) -> Settings:
    return load(cluster.here(node).parent / "flex.toml")


def _fail(cluster: Cluster, dead: str) -> tuple[float, float]:
    """Seconds until all doors lead to heirs, and until the verb has ended."""
    living = [node for node in cluster.addresses if node != dead]
    before = cluster.store.door_order()
    assert before
    begun = time.perf_counter()
    verb = _start(cluster, living[0], "nodes", "down", dead)
    took = _until_led_around(cluster, living, before.number, dead) - begun
    assert verb.wait(PATIENCE) in (0, 32)
    ended = time.perf_counter() - begun
    _until_well(cluster, living)
    assert _start(cluster, living[0], "nodes", "up", dead).wait(PATIENCE) == 0
    _put_back(cluster, f"behind {before.number}")
    _until_well(cluster, list(cluster.addresses))
    return took, ended


def _start(cluster: Cluster, node: str, *words: str) -> subprocess.Popen[bytes]:
    here = cluster.here(node).parent
    command = [str(FLEX), "--config", str(here / "flex.toml"), *words]
    with (here / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def _until_led_around(cluster: Cluster, living: list[str], before: int, dead: str) -> float:
    """The moment in which the last of them was seen to lead nobody to the dead node."""
    seen: dict[str, float] = {}
    end = time.monotonic() + PATIENCE
    while len(seen) < len(living):
        assert time.monotonic() < end, f"only {sorted(seen)} lead around {dead}"
        for node in living:
            if node not in seen and _goes_by(cluster, node) > before:
                seen[node] = time.perf_counter()
        time.sleep(0.002)
    led = {
        **host_to_node_maps.read(cluster.store.large_map()),
        **host_to_node_maps.read(cluster.store.moved_map()),
    }
    assert set(led) >= set(cluster.owner_of)
    assert not any(led[site] == f"at_{dead}" for site in cluster.owner_of)
    return max(seen.values())


def _until_well(cluster: Cluster, nodes: list[str]) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        order = cluster.store.door_order()
        assert order
        if all(_goes_by(cluster, node) == order.number for node in nodes):
            return
        assert time.monotonic() < end, "not all go by the newest order"
        time.sleep(0.1)


def _goes_by(cluster: Cluster, node: str) -> int:
    with suppress(FlexError):
        stats = Socket(str(cluster.here(node) / "s"))
        return owners_map.order_in_force(stats, cluster.here(node))[0]
    return 0

"""What each node will have to do under a partition, before it happens: a miniature replay.

Takes a sample of accesses, a partition (or none, for round robin) and the nodes. Returns a
Forecast. Does not read logs or choose the sample: logs_ingest does.

A sample that holds a share of the targets is replayed through caches of the same share of each
node's memory (cache_replay.py). The result is then scaled back up
(scale_up_sample.py).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from flex.errors import BadInput
from flex.frame_schemas import PLACEMENT
from flex.model.nodes import Node
from flex.model.predicted_node_loads import Forecast, NodeForecast
from flex.prediction.cache_replay import Ints, Sample, replay
from flex.prediction.scale_up_sample import Spread, scale_of, scale_up

if TYPE_CHECKING:
    import numpy.typing as npt

ROUND_ROBIN = "round robin"
# The node of an access that no node serves: no position in `nodes`.
NOWHERE = -1
# More memory than this holds whatever there is, and still leaves room to count in.
MOST_RAM = 2**62


@dataclass(frozen=True, slots=True)
class Server:
    """How fast a node of capacity 1 serves, as the FLEX paper (HPL-2000-28, section 4) assumes it.

    `operations` answers of `answer` bytes a second from memory, `disk_penalty` times fewer from
    disk; the time for an answer grows with its size. To pass a request on to another node takes
    `forwarding` seconds: CPU time of HAProxy 2.6, as bench/routing/doors.py measured it.
    """

    operations: float = 1000.0
    answer: float = 14.6 * 1024
    disk_penalty: float = 10.0
    forwarding: float = 15e-6

    def seconds(self, node: NodeForecast) -> float:
        """How long a node of capacity 1 works on all that it is asked for."""
        from_memory = node.bytes - node.disk_bytes
        answering = (from_memory + node.disk_bytes * self.disk_penalty) / (
            self.answer * self.operations
        )
        return answering + node.passed_on * self.forwarding


PAPER = Server()


def forecast(
    sample: Sample,
    partition: pd.DataFrame,
    nodes: Sequence[Node],
    *,
    policy: str,
    cache: str = "lru",
) -> Forecast:
    """The load of each node when it serves what the PLACEMENT gives it.

    A site on several nodes is split among them at random, the same way each time. Accesses to sites
    that have no node here are left out and counted. A target larger than a node's memory is read
    from disk each time it is asked for; in a sample that holds for targets larger than the sample's
    share of the memory. Each node's memory is a cache of the policy named, one of flex.caches.
    """
    PLACEMENT.check(partition)
    names = [node.name for node in nodes]
    row_site, row_node = _rows(sample.sites, partition, names)
    spread = Spread(
        len(nodes),
        row_site,
        row_node,
        np.zeros(len(sample.sites), dtype=np.bool_),
        np.empty(0, dtype=np.int64),
    )
    node = _route(sample.site[sample.target], row_site, row_node, len(sample.sites))
    return _forecast_by_replay(sample, node, nodes, policy, cache, spread)


def round_robin(
    sample: Sample,
    nodes: Sequence[Node],
    *,
    sites: Collection[str] | None = None,
    cache: str = "lru",
) -> Forecast:
    """The load of each node when every access goes to the next active one: the paper's ideal round
    robin.

    To be compared with a partition's, it must leave out what that leaves out: only accesses to
    `sites` are served.
    """
    active = np.flatnonzero([node.takes_sites for node in nodes])
    known = (
        np.ones(len(sample.sites), dtype=np.bool_)
        if sites is None
        else pd.Index(sample.sites).isin(list(sites))
    )
    served = np.flatnonzero(known[sample.site[sample.target]])
    node = np.full(len(sample.target), NOWHERE, dtype=np.int64)
    node[served] = assign_in_turn(len(served), active)
    nobody = np.empty(0, dtype=np.int64)
    spread = Spread(len(nodes), nobody, nobody, known, active)
    return _forecast_by_replay(sample, node, nodes, ROUND_ROBIN, cache, spread)


def add_forwarding(
    forecast: Forecast, nodes: Sequence[Node], requests: Ints, sent: Ints
) -> Forecast:
    """The same, where the doors of the nodes pass on so many requests and bytes besides, each by
    the position of its node.
    """
    of_nodes = [
        _set_seconds(replace(node_forecast, passed_on=passed, passed_on_bytes=bytes_), node)
        for node_forecast, node, passed, bytes_ in zip(
            forecast.nodes, nodes, requests.tolist(), sent.tolist(), strict=True
        )
    ]
    new_forecast = replace(forecast, nodes=tuple(of_nodes))
    return replace(new_forecast, throughput=throughput(new_forecast, nodes))


def throughput(forecast: Forecast, nodes: Sequence[Node] = ()) -> float:
    """Requests a second the cluster can serve in these proportions, until its busiest node has no
    time left.

    A node that `nodes` does not name has capacity 1. 0 when the forecast has no byte to serve.
    """
    capacity = {node.name: node.capacity for node in nodes}
    busiest = max(
        (PAPER.seconds(node) / capacity.get(node.node, 1.0) for node in forecast.nodes),
        default=0.0,
    )
    return sum(node.requests for node in forecast.nodes) / busiest if busiest else 0.0


def operations(node: NodeForecast) -> float:
    """Requests a second it can serve in these proportions."""
    return node.requests / node.seconds if node.seconds else 0.0


def utilisation(node: NodeForecast, period: float) -> float:
    """The share of a period of so many seconds that it is at work."""
    return node.seconds / period if period else 0.0


def busiest_utilisation(node: NodeForecast) -> float:
    """The share of its busiest hour that it is at work. Over 1 is more than it can serve."""
    return node.seconds * node.busiest / 3600


def route(sites: Sequence[str], site: Ints, partition: pd.DataFrame, nodes: Sequence[str]) -> Ints:
    """The node (a position in `nodes`) of each access to sites[site[i]]; NOWHERE for a site without
    a known node.
    """
    return _route(site, *_rows(sites, partition, nodes), len(sites))


def _route(site: Ints, row_site: Ints, row_node: Ints, sites: int) -> Ints:
    options = row_node[np.argsort(row_site, kind="stable")]
    count = np.bincount(row_site, minlength=sites)
    first = np.cumsum(count) - count
    routed = np.full(len(site), NOWHERE, dtype=np.int64)
    copies = count[site]
    served, several = np.flatnonzero(copies > 0), np.flatnonzero(copies > 1)
    routed[served] = options[first[site[served]]]
    replica = _dice(several) % copies[several].astype(np.uint64)
    routed[several] = options[first[site[several]] + replica.astype(np.int64)]
    return routed


def _rows(sites: Sequence[str], partition: pd.DataFrame, nodes: Sequence[str]) -> tuple[Ints, Ints]:
    """Positions of site and node of each row of which both are known."""
    row_site = pd.Index(list(sites), dtype="str").get_indexer(pd.Index(partition["site"]))
    row_node = pd.Index(list(nodes), dtype="str").get_indexer(pd.Index(partition["node"]))
    known = (row_site >= 0) & (row_node >= 0)
    return row_site[known], row_node[known]


def assign_in_turn(accesses: int, nodes: Ints) -> Ints:
    """Access i goes to the i-th of the nodes, over and over; NOWHERE when there is none."""
    if not len(nodes):
        return np.full(accesses, NOWHERE, dtype=np.int64)
    return np.resize(nodes, accesses).astype(np.int64)


def _dice(position: Ints) -> npt.NDArray[np.uint64]:
    """splitmix64 of each position: as good as random, and the same on every machine and in every
    run.
    """
    x = (position.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def _forecast_by_replay(
    sample: Sample, node: Ints, nodes: Sequence[Node], policy: str, cache: str, spread: Spread
) -> Forecast:
    if not 0 < sample.rate <= 1:
        raise _bad_rate(sample.rate)
    served = node != NOWHERE
    kept = replace(sample, target=sample.target[served], time=sample.time[served])
    whole = np.array([min(node.ram, MOST_RAM) for node in nodes], dtype=np.float64)
    scale = scale_of(sample, spread, whole)
    ram = (whole * (scale.memory if scale else sample.rate)).astype(np.int64)
    counts = scale_up(scale, sample.rate, replay(kept, node[served], ram, cache)).T.tolist()
    busiest = _busiest(kept, node[served], len(nodes)).tolist()
    forecasts = tuple(_forecast_node(*each) for each in zip(nodes, counts, busiest, strict=True))
    left_out = scale.left_out if scale else round(np.count_nonzero(~served) / sample.rate)
    new_forecast = Forecast(policy, sample.rate, forecasts, left_out)
    return replace(new_forecast, throughput=throughput(new_forecast, nodes))


def _forecast_node(node: Node, counts: Sequence[int], busiest: float) -> NodeForecast:
    node_forecast = NodeForecast(node.name, *counts)
    return _set_seconds(replace(node_forecast, busiest=busiest), node)


def _set_seconds(node_forecast: NodeForecast, node: Node) -> NodeForecast:
    return replace(node_forecast, seconds=PAPER.seconds(node_forecast) / node.capacity)


def _busiest(sample: Sample, node: Ints, nodes: int) -> npt.NDArray[np.float64]:
    """For each node, the share of its bytes that it sends in its busiest hour."""
    if not len(node):
        return np.zeros(nodes)
    # Hours in which nobody asked for anything have no number: a clock that is years off takes no
    # more room.
    hour = np.cumsum(np.diff(sample.time // 3600, prepend=sample.time[0] // 3600) != 0)
    hours = int(hour[-1]) + 1
    size = sample.size[sample.target].astype(np.float64)
    by_hour = np.bincount(node * hours + hour, size, nodes * hours).reshape(nodes, hours)
    total = by_hour.sum(axis=1)
    share: npt.NDArray[np.float64] = np.divide(
        by_hour.max(axis=1), total, out=np.zeros(nodes), where=total > 0
    )
    return share


def _bad_rate(rate: float) -> BadInput:
    return BadInput(
        f"a forecast from a sample of rate {rate!r}",
        "the rate is the share of the targets that the sample holds: over 0, at most 1",
        kept="nothing was predicted",
        advice="this is a fault in the program that made the sample; please report "
        "it with the input",
    )

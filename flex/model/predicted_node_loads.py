"""The forecast of a partition: what a replay of the logs in miniature predicts for each node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeForecast:
    """What a miniature replay says about one node under a partition.

    Its door passes on `passed_on` requests besides, for sites of other nodes; the answers are
    `passed_on_bytes`, and come and go over the inner network. `seconds` is how long it works on all
    of that, `busiest` the share of it in its busiest hour.
    """

    node: str
    requests: int
    misses: int
    bytes: int
    disk_bytes: int
    seconds: float = 0.0
    busiest: float = 0.0
    passed_on: int = 0
    passed_on_bytes: int = 0

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Predicted load of one partition; `sampling` is the share of targets that was replayed.

    `throughput` is how many requests a second the cluster can serve in these proportions,
    `left_out` counts the accesses to sites that had no node.
    """

    policy: str
    sampling: float
    nodes: tuple[NodeForecast, ...]
    left_out: int = 0
    throughput: float = 0.0

    @property
    def miss_ratio(self) -> float:
        requests = sum(node.requests for node in self.nodes)
        return sum(node.misses for node in self.nodes) / requests if requests else 0.0

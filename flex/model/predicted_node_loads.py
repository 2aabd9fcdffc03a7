"""The forecast of a partition: what a replay of the logs in miniature predicts for each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Whether a partition helps, or why it does not: there is one node alone; too few accesses tell
# nothing; every node has room for all files; nodes do not lack speed; a partition from scratch
# would help; it would but for what doors pass on; one site is too much of the traffic; nodes as one
# machine would help, but no such partition was found; not even that would help.
Verdict = Literal[
    "helps",
    "one node",
    "unknown",
    "fits",
    "hardly busy",
    "not yet",
    "passed on",
    "one site",
    "not found",
    "nothing to gain",
]

# Nodes that work no longer than this in their busiest hour do not lack speed. A guess.
HARDLY_BUSY = 0.05


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


@dataclass(frozen=True, slots=True)
class Benefit:
    """Whether a partition serves a cluster better than round robin, and the figures behind that.

    With round robin the busiest node works `busiest` of its busiest hour. All files take
    `files_bytes`, and the smallest node has `least_ram`. Where one `site` is the reason, it has
    `site_share` of all bytes sent.
    """

    verdict: Verdict
    busiest: float = 0.0
    files_bytes: int = 0
    least_ram: int = 0
    site: str = ""
    site_share: float = 0.0

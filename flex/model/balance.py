"""The balance of a partition: how much of the load each node gets, beside its fair share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """What a partition asks of one node, in units where the fair share of a mean node is 100.

    `fair` is this node's own share, nothing for one that takes no sites; `others` what is balanced
    besides, by name.
    """

    node: str
    access: float
    working_set: float
    sites: int
    fair: float = 100.0
    others: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Balance:
    """How evenly a partition loads the nodes. `worst` is the largest distance from a fair share, as
    a ratio.
    """

    nodes: tuple[NodeLoad, ...]
    worst: float
    worst_node: str = ""
    worst_resource: str = ""

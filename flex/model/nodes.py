"""A node: a machine that serves sites, with its addresses, its memory and its speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NodeState = Literal["active", "draining", "down"]


@dataclass(frozen=True, slots=True)
class Node:
    """A machine that serves sites. Only an active node is given new ones."""

    name: str
    addresses: tuple[str, ...]
    ram: int
    capacity: float = 1.0
    state: NodeState = "active"

    @property
    def takes_sites(self) -> bool:
        return self.state == "active"

    @property
    def is_serving(self) -> bool:
        """A node that is drained serves what it still has."""
        return self.state != "down"

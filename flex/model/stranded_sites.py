"""What becomes of sites whose content is on the nodes that have them, where such a node is dead.

Takes nothing. Returns nothing: these are values that other modules make and read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LeftAtNode:
    """The dead node that a site stays at, and why its content is nowhere else."""

    node: str
    why: str

    @property
    def sentence(self) -> str:
        return (
            f"it stays at {self.node}, which is down, as no other node has its content: {self.why}"
        )


@dataclass(frozen=True, slots=True)
class ContentOfDeadNodes:
    """Sites that a dead node had, and that no node without their content may get.

    `away` are those whose content is at dead nodes alone: they stay, and nobody answers for them.
    `elsewhere` are those that a node that serves has too: they lose the dead one, and get no other.
    """

    away: Mapping[str, LeftAtNode] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()


NO_CONTENT = ContentOfDeadNodes()

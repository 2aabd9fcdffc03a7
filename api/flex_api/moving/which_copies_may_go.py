"""Whether the copy of a site on a node may be removed: only where nobody is led to it, and nobody
may want it back.

Takes what is in force, what is coming, and the moves that are open. Returns why a copy is kept.
Whoever removes a copy asks here first: a copy too many costs room, a copy too few costs a site.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from flex.model.site_moves import SiteMove

Copy = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Copies:
    """Pairs of a site and a node. Visitors are led to those `in_force`, soon to those `coming`, and
    to those `in_dns` whoever wrote that. Nobody touches sites that FLEX is kept away from.
    """

    in_force: Collection[Copy]
    coming: Collection[Copy]
    in_dns: Collection[Copy]
    excluded: Collection[str]
    nodes: Collection[str]
    moves: Sequence[SiteMove]

    def why_kept(self, move: SiteMove, node: str) -> str:
        """Empty where this move's copy on the node may be removed."""
        copy = move.site, node
        others = [other for other in self.moves if other.id != move.id and other.site == move.site]
        reasons = {
            "the site is there": copy in self.in_force,
            "a plan that is half applied leads there": copy in self.coming,
            "DNS leads there": copy in self.in_dns,
            "people keep FLEX away from the site": move.site in self.excluded,
            "another move brings it there": any(other.target == node for other in others),
            "it is what an earlier move left": any(
                other.source == node and other.state == "moved" for other in others
            ),
            "nobody knows that node any more": node not in self.nodes,
        }
        return next((why for why, holds in reasons.items() if holds), "")

    def has_left_source(self, move: SiteMove) -> bool:
        nodes = {node for site, node in self.in_force if site == move.site}
        return bool(nodes) and move.source not in nodes

    def is_at_target(self, move: SiteMove) -> bool:
        return (move.site, move.target) in self.in_force

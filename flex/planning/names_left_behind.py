"""Which other names of sites stay where they are while their sites move by a plan.

Takes moves and zone plans. Returns the names, and a warning that names them. Does not look at DNS,
and does not say of names that stay behind at a later move: plan_notes_on_sites.py does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flex.model.plan import Move
from flex.model.zone_plan import StaysBehind, ZonePlan
from flex.site_names_in_words import first_few

# What the warning begins with.
LEFT = "left behind by this plan, as they have addresses of their own while their sites move"
# Names in the warning. A guess of what people read; programs are told all of them.
MOST = 20


def left_behind(moves: Iterable[Move], zone_plans: Iterable[ZonePlan]) -> Iterator[StaysBehind]:
    """Those of sites that leave a node, or come to another one; but for those that lead only to
    where their site comes.
    """
    targets: dict[str, set[str]] = {}
    for move in moves:
        if move.source:
            targets.setdefault(move.site, set()).add(move.target or "")
    for zone_plan in zone_plans:
        for each in zone_plan.stay_behind:
            if each.site in targets and not (
                each.nodes and targets[each.site].issuperset(each.nodes)
            ):
                yield each


def warning(moves: Iterable[Move], zone_plans: Iterable[ZonePlan]) -> Iterator[str]:
    named = [_left_name_in_words(left_name) for left_name in left_behind(moves, zone_plans)]
    if named:
        yield f"{LEFT}: {first_few(named, MOST)}"


def _left_name_in_words(left_name: StaysBehind) -> str:
    nodes = f"at {', '.join(left_name.nodes)}" if left_name.nodes else "at no node of ours"
    return f"{left_name.name} of {left_name.site} ({nodes})"

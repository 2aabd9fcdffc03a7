"""Which sites stay where they are as their last move failed.

Takes a world, and the rules that somebody goes over by name. Returns the sites with the reason.
Does not decide how long they rest: the settings and the commands of the move do.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from flex.model.site_moves import FOREVER, SiteMove, State
from flex.planning.movement_rules import REST
from flex_api.in_words import amounts
from flex_api.wiring import World

# Of moves that rest, those that were carried out.
WORSE_OFF: tuple[State, ...] = ("moved", "done", "went back")


def resting_sites(
    world: World, force: Collection[str] = (), since: datetime | None = None
) -> dict[str, str]:
    """None where the settings have no commands for moves any more, no site is watched and none has
    one writer. Where a moment is given, only those whose move failed after that, and not for now
    alone.
    """
    move, routing = world.settings.move, world.settings.routing
    if not (move.hook or move.watch or routing.has_stateful) or REST in force:
        return {}
    now = world.time_of_day()
    resting = world.store.site_moves(resting_at=now)
    return {
        move.site: _why(move, move.rests_until, now)
        for move in reversed(resting)
        if move.rests_until
        and (since is None or ((move.ended or now) > since and not move.for_now))
    }


def _why(move: SiteMove, until: datetime, now: datetime) -> str:
    ago = amounts.ago(move.ended or move.begun, now)
    failed = (
        f"it moved to {move.target} and was worse off there {ago}"
        if move.state in WORSE_OFF
        else f"its move to {move.target} failed {ago}"
    )
    rests = (
        f"`flex moves again {move.site}` lets it move again"
        if until >= FOREVER
        else f"it rests {amounts.until_text(until)} (past it: --force {REST})"
    )
    return f"{failed}, {move.reason}; {rests}"

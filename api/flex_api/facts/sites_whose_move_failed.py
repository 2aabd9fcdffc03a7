"""Which sites stay where they are as their last move failed.

Takes a world, and the rules that somebody goes over by name. Returns the sites with the reason.
Does not decide how long they rest: the settings and the commands of the move do.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from flex.model.site_moves import FOREVER, SiteMove
from flex.planning.rules_of_movement import REST
from flex_api.in_words import amounts
from flex_api.wiring import World


def resting_sites(world: World, force: Collection[str] = ()) -> dict[str, str]:
    """None where the settings have no commands for moves any more."""
    if not world.settings.move.hook or REST in force:
        return {}
    now = world.time_of_day()
    latest = {move.site: move for move in reversed(world.store.site_moves())}
    return {
        site: _why(move, move.rests_until, now)
        for site, move in latest.items()
        if move.rests_until and move.rests_until > now
    }


def _why(move: SiteMove, until: datetime, now: datetime) -> str:
    failed = (
        f"its move to {move.target} failed {amounts.ago(move.ended or move.begun, now)}"
    )
    rests = (
        f"`flex moves again {move.site}` lets it move again"
        if until >= FOREVER
        else f"it rests {amounts.until(until)} (past it: --force {REST})"
    )
    return f"{failed}, {move.reason}; {rests}"

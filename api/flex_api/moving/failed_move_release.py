"""A site that rests as its move failed may move again: somebody says so.

Takes a store, and the site. Returns its moves without their rest. Does not move it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from flex.errors import Unknown
from flex.model.site_moves import SiteMove
from flex.store import Store

# Noted in the audit log.
AGAIN = "move.again"


def let_move_again(
    store: Store, site: str, now: datetime, *, dry_run: bool = False
) -> list[SiteMove]:
    """Raises Unknown where it does not rest."""
    with store.together():
        resting = [
            move
            for move in store.site_moves(site=site)
            if move.rests_until and move.rests_until > now
        ]
        if not resting:
            raise Unknown(
                f"letting {site} move again",
                "no move of it failed, or it does not rest any more",
                advice="`flex moves` shows every move",
            )
        again = [replace(move, rests_until=None) for move in resting]
        if not dry_run:
            store.put_site_moves(again)
            store.note(AGAIN, site, {"rests_until": resting[0].rests_until}, None)
    return again

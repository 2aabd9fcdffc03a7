"""What was brought to new nodes for a plan, and what stayed: the newest move of each site.

Takes a store and a plan. Returns moves with their stages. A plan that sites had to be left out of
is replaced by a narrower one: what stayed counts for that one.
"""

from __future__ import annotations

from collections.abc import Iterator

from flex.model.plan import Plan
from flex.model.site_moves import SiteMove
from flex.store import Store
from flex_api.schemas.site_moves import SiteMoveRow, move_rows

# What the message of a plan begins with in whose place another one came, before its id.
REPLACED = "replaced by"


def moves_of_plan(store: Store, plan: Plan) -> list[SiteMoveRow]:
    """In order of sites. Nothing is looked for where nothing was ever run."""
    if not store.site_moves(1):
        return []
    newest: dict[str, SiteMove] = {}
    for id_ in (plan.id, *_plans_replaced(store, plan)):
        for move in store.site_moves(plan=id_):
            newest.setdefault(move.site, move)
    moves = [newest[site] for site in sorted(newest)]
    runs = store.stage_runs([move.id for move in moves])
    return move_rows(moves, runs, with_output=False)


def _plans_replaced(store: Store, plan: Plan) -> Iterator[str]:
    """The plans in whose place it came, the last one first."""
    messages = {
        headline.id: store.plan(headline.id).message
        for headline in store.headlines()
        if headline.state == "discarded"
        and headline.base == plan.base
        and headline.created <= plan.created
    }
    newer: str | None = plan.id
    while newer:
        begins = f"{REPLACED} {newer}"
        newer = next((id_ for id_, message in messages.items() if message.startswith(begins)), None)
        if newer:
            del messages[newer]
            yield newer

"""Moves of sites with their stages, a page at a time.

Takes a store and which moves are wanted. Returns a page, with the cursor of the next one. The
database finds the page: there may be many thousand moves.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, cast

from flex.model.site_moves import Place, State
from flex.store import Store
from flex_api.schemas.site_moves import MovesOutput, SiteMoveRow, move_rows
from flex_api.web.paging import Order, decode, encode, foreign_cursor

if TYPE_CHECKING:
    from flex_api.web.request_context import Desk

# What stands for all states in which something is still to be done.
STILL_OPEN = "open"
# Moves that the page of a site, a node or a plan shows. A guess; the page of moves has them all.
FEW_MOVES = 5
# In which orders moves are listed.
Sort = Literal["-begun", "begun"]


def page_of_moves(
    store: Store,
    limit: int,
    *,
    with_output: bool,
    site: str = "",
    plan: str = "",
    node: str = "",
    state: str = "",
    cursor: str | None = None,
    sort: Sort = "-begun",
) -> MovesOutput:
    """`with_output` of commands is for operators. `state` is one of the states of a move, or
    STILL_OPEN. Raises BadInput for a cursor that does not come from this list.
    """
    is_open, order = state == STILL_OPEN, Order.parse(sort)
    moves = store.site_moves(
        limit + 1,
        site=site,
        plan=plan,
        node=node,
        only_open=is_open,
        states=() if is_open or not state else (cast(State, state),),
        behind=_place(cursor, order) if cursor else None,
        oldest_first=not order.down,
    )
    shown, following = moves[:limit], None
    if len(moves) > limit:
        last = shown[-1]
        following = encode(order, (False, last.begun.isoformat(), last.id))
    runs = store.stage_runs([move.id for move in shown])
    items = move_rows(shown, runs, with_output=with_output)
    return MovesOutput(items=items, next=following)


def few_moves(desk: Desk, *, site: str = "", plan: str = "", node: str = "") -> list[SiteMoveRow]:
    """The newest, as the caller may see them."""
    return page_of_moves(
        desk.store,
        FEW_MOVES,
        with_output=desk.caller.may("operator"),
        site=site,
        plan=plan,
        node=node,
    ).items


def _place(cursor: str, order: Order) -> Place:
    _, begun, id_ = decode(cursor, order, (bool, str, str))
    try:
        return datetime.fromisoformat(begun).astimezone(UTC), id_
    except (ValueError, OverflowError):
        raise foreign_cursor("it does not come from a list") from None

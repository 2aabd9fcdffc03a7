"""However moves are chosen and whichever way they are read: each stands on one page, once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from flex.errors import BadInput
from flex.model.site_moves import SiteMove
from flex.store import MemoryStore, Store
from flex_api.web.moves_by_page import Sort, page_of_moves
from tests.made_up_moves import KINDS

NOW = datetime(2026, 3, 2, tzinfo=UTC)
# Several begin at one moment: then their numbers decide.
MOVES = [
    SiteMove(
        f"m{at:02}",
        f"s{at % 7}.example",
        f"n{at % 3}",
        f"n{(at + 1) % 3}",
        f"p{at % 2}",
        NOW + timedelta(seconds=at // 4),
        KINDS[at % len(KINDS)][0],
    )
    for at in range(30)
]


def read(store: Store, sort: Sort, size: int, **wanted: str) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        page = page_of_moves(store, size, with_output=True, sort=sort, cursor=cursor, **wanted)
        found += [move.id for move in page.items]
        cursor = page.next
        if cursor is None:
            return found


@pytest.mark.parametrize("size", [1, 3, 4, 30])
@pytest.mark.parametrize("sort", ["-begun", "begun"])
def test_each_move_is_on_one_page(size: int, sort: Sort) -> None:
    order = [move.id for move in MOVES]
    if sort == "-begun":
        order.reverse()
    store = MemoryStore()
    store.put_site_moves(MOVES)
    # In place of those with the same numbers.
    store.put_site_moves(MOVES[::2])
    assert read(store, sort, size) == order
    for wanted, fits in (
        ({"site": "s3.example"}, lambda one: one.site == "s3.example"),
        ({"node": "n1"}, lambda one: "n1" in (one.source, one.target)),
        ({"plan": "p1", "state": "open"}, lambda one: one.plan == "p1" and one.is_open),
        ({"state": "stayed"}, lambda one: one.state == "stayed"),
    ):
        chosen = {one.id for one in MOVES if fits(one)}
        assert read(store, sort, size, **wanted) == [id_ for id_ in order if id_ in chosen]
    assert dict(store.count_site_moves(NOW).states) == {kind[0]: 5 for kind in KINDS}


def test_a_cursor_of_another_list_is_refused() -> None:
    store = MemoryStore()
    store.put_site_moves(MOVES)
    page = page_of_moves(store, 3, with_output=True)
    for cursor, sort in ((page.next, "begun"), ("bm90IG91cnM", "-begun")):
        with pytest.raises(BadInput):
            page_of_moves(store, 3, with_output=True, cursor=cursor, sort=sort)  # type: ignore[arg-type]

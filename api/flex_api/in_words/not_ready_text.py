"""Sites that stay as their new node is not ready, in words.

Takes the rows of an output. Returns lines. Does not ask any node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flex_api.in_words import amounts
from flex_api.schemas.plan_parts import NotReadyRow

# Sites that are named with their reasons; `-o json` has all of them. A guess.
_MOST = 20


def lines(rows: Sequence[NotReadyRow]) -> Iterator[str]:
    yield f"Not ready on their new node, so held: {amounts.count(len(rows), 'site')}."
    for row in rows[:_MOST]:
        yield f"  {row.site}: {row.why}"
    if len(rows) > _MOST:
        yield f"  and {len(rows) - _MOST:,} more"

"""Lists a page at a time: by keys and not by numbers of rows, so that no row is shown twice or
skipped when the list changes.

Takes the rows and what was asked. Returns the rows of the page and the cursor of the next one. A
cursor is the sort key of the last row shown, and says nothing that the row did not say.
"""

from __future__ import annotations

import base64
import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from flex.errors import BadInput

Row = TypeVar("Row")
# Between a cursor and what stands for the filters of its list.
MARK = "."
# Any, below: what a list is sorted by, numbers or text.
Key = tuple[bool, Any, str]
# By name the fields that a list can be sorted by; which rows are wanted, all where nothing is said.
Fields = Mapping[str, Callable[[Row], object]]
Wanted = Callable[[Row], bool] | None


class Asked(Protocol):
    """What a list is asked with."""

    @property
    def sort(self) -> str: ...
    @property
    def limit(self) -> int: ...
    @property
    def cursor(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    items: tuple[Row, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class Order:
    """A field's name, and whether the largest comes first."""

    field: str
    down: bool

    @classmethod
    def parse(cls, text: str) -> Order:
        return cls(text.removeprefix("-"), text.startswith("-"))

    def __str__(self) -> str:
        return f"-{self.field}" if self.down else self.field


def page(
    rows: Sequence[Row],
    fields: Fields[Row],
    identity: Callable[[Row], str],
    asked: Asked,
) -> Page[Row]:
    """Those behind the cursor."""
    ordered = sort_rows(rows, fields, identity, sort=asked.sort)
    return page_of_ordered(ordered, fields, identity, asked)


def sort_rows(
    rows: Sequence[Row], fields: Fields[Row], identity: Callable[[Row], str], *, sort: str
) -> tuple[Row, ...]:
    """A row that has no value for the field comes last, whichever way it is sorted."""
    order = Order.parse(sort)
    key = _key(fields[order.field], identity)
    keyed = sorted(((key(row), row) for row in rows), key=lambda pair: pair[0][2])
    with_value = [pair for pair in keyed if not pair[0][0]]
    without = [pair for pair in keyed if pair[0][0]]
    # Equal rows go by name, whichever way it is sorted: a sort in reverse keeps their order, too.
    with_value.sort(key=lambda pair: pair[0][1], reverse=order.down)
    return tuple(row for _, row in (*with_value, *without))


def page_of_ordered(
    rows: Sequence[Row],
    fields: Fields[Row],
    identity: Callable[[Row], str],
    asked: Asked,
    wanted: Wanted[Row] = None,
) -> Page[Row]:
    """The same of rows that are ordered already, as far as they are wanted: no more are looked at
    than fill it.
    """
    order, cursor = Order.parse(asked.sort), asked.cursor
    key = _key(fields[order.field], identity)
    first = _first(rows, key, decode(cursor, order), down=order.down) if cursor else 0
    shown, more = _fill_page(map(rows.__getitem__, range(first, len(rows))), asked.limit, wanted)
    return Page(tuple(shown), encode(order, list(key(shown[-1]))) if more else None)


def page_in_order(
    rows: Sequence[Row],
    key: Callable[[Row], str],
    asked: Asked,
    wanted: Wanted[Row] = None,
) -> Page[Row]:
    """The same of rows that are in order of the key, each with another one."""
    order, cursor = Order.parse(asked.sort), asked.cursor
    after = str(decode(cursor, order, (str,))[0]) if cursor else None
    if order.down:
        end = len(rows) if after is None else bisect_left(rows, after, key=key)
        behind = range(end - 1, -1, -1)
    else:
        behind = range(0 if after is None else bisect_right(rows, after, key=key), len(rows))
    shown, more = _fill_page(map(rows.__getitem__, behind), asked.limit, wanted)
    return Page(tuple(shown), encode(order, [key(shown[-1])]) if more else None)


def _fill_page(rows: Iterator[Row], limit: int, wanted: Wanted[Row]) -> tuple[list[Row], bool]:
    """A page of those that are wanted, and whether there are more."""
    wanted_rows = list(islice(rows if wanted is None else filter(wanted, rows), limit + 1))
    return wanted_rows[:limit], len(wanted_rows) > limit


def _key(value: Callable[[Row], object], identity: Callable[[Row], str]) -> Callable[[Row], Key]:
    def key(row: Row) -> Key:
        sort_value = value(row)
        return sort_value is None, "" if sort_value is None else _plain(sort_value), identity(row)

    return key


def bind_cursor(cursor: str, query: Mapping[str, str]) -> str:
    """The cursor with what the list was filtered by: it goes on with nothing else."""
    return f"{cursor}{_mark(query)}"


def refuse_other_filters(query: Mapping[str, str]) -> None:
    """Raises BadInput for the cursor of a list that was filtered otherwise."""
    cursor = query.get("cursor", "")
    if cursor and cursor.partition(MARK)[1:] != _mark(query).partition(MARK)[1:]:
        raise foreign_cursor("it belongs to the list with other filters")


def _mark(query: Mapping[str, str]) -> str:
    """Nothing where nothing is filtered."""
    filters = sorted(
        (name, text) for name, text in query.items() if name not in ("limit", "cursor", "sort")
    )
    return (
        MARK + hashlib.blake2b(json.dumps(filters).encode(), digest_size=6).hexdigest()
        if filters
        else ""
    )


def _first(
    rows: Sequence[Row], key: Callable[[Row], Key], last: Sequence[Any], *, down: bool
) -> int:
    """Where the next page begins."""
    try:
        return bisect_left(rows, True, key=lambda row: _is_behind(key(row), last, down=down))
    except TypeError:
        raise foreign_cursor("it does not come from a list") from None


def _is_behind(key: Key, last: Sequence[Any], *, down: bool) -> bool:
    """Whether a row comes behind the last one shown, in the order in which they are shown."""
    missing, value, name = key
    if missing != last[0]:
        return missing
    if missing or value == last[1]:
        return name > str(last[2])
    return bool(value < last[1] if down else value > last[1])


def _plain(value: object) -> object:
    """As it survives in a cursor."""
    return value if isinstance(value, int | float | str) else str(value)


def encode(order: Order, key: Sequence[object]) -> str:
    text = json.dumps([str(order), *key], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, order: Order, types: Sequence[type] = (bool, object, str)) -> list[Any]:
    """Raises BadInput for what is none of ours, or belongs to a list in another order."""
    try:
        text = cursor.partition(MARK)[0]
        made_for, *key = json.loads(
            base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        )
    except (ValueError, TypeError, RecursionError):
        raise foreign_cursor("it does not come from a list") from None
    fits = len(key) == len(types) and all(
        isinstance(part, kind) for part, kind in zip(key, types, strict=True)
    )
    if not fits or isinstance(key[1] if len(key) > 1 else "", list | dict):
        raise foreign_cursor("it does not come from a list")
    if made_for != str(order):
        raise foreign_cursor(f"it belongs to the list sorted by {made_for}")
    return list(key)


def foreign_cursor(answer: str) -> BadInput:
    return BadInput(
        "the cursor",
        answer,
        advice="take `next` of the page before, with the same sort and filters",
    )

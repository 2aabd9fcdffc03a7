"""What takes long is worked out once, aside, and only while somebody waits for it."""

from __future__ import annotations

import threading

import pytest

from flex.errors import BadInput
from flex.model.drains_and_freezes import NodeOrder
from flex.store import MemoryStore
from flex_api.web.background_answers import AT_ONCE, FORGOTTEN, LASTING, Later

SOON, LONG = 120.0, 0.01


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def refused() -> str:
    raise BadInput("asking", "it cannot be said", advice="ask something else")


def test_it_is_worked_out_once_for_all_who_ask() -> None:
    later, numbers = Later(MemoryStore(), patience=SOON), iter(range(10))
    assert [later.ask("a", lambda: next(numbers)) for _ in range(3)] == [0, 0, 0]


def test_who_asks_too_early_gets_nothing_yet_and_the_answer_when_it_is_there() -> None:
    later, may = Later(MemoryStore(), patience=LONG), threading.Event()

    def slow() -> str:
        assert may.wait(SOON), "nobody let it go on"
        return "said"

    assert later.ask("a", slow) is None
    may.set()
    later.patience = SOON
    assert later.ask("a", slow) == "said"


def test_a_change_of_what_plans_are_made_from_asks_anew_and_so_does_time() -> None:
    store, clock = MemoryStore(), Clock()
    later, numbers = Later(store, clock, SOON), iter(range(10))
    assert later.ask("a", lambda: next(numbers)) == 0
    store.order_node(NodeOrder("n1", "draining"))
    assert later.ask("a", lambda: next(numbers)) == 1
    clock.now += LASTING + 1
    assert later.ask("a", lambda: next(numbers)) == 2


def test_an_error_is_told_and_forgotten() -> None:
    later = Later(MemoryStore(), patience=SOON)
    for _ in range(2):
        with pytest.raises(BadInput, match="it cannot be said"):
            later.ask("a", refused)
    assert later.ask("a", lambda: "said") == "said"


def test_what_nobody_asks_for_any_more_is_not_begun() -> None:
    clock, may, begun = Clock(), threading.Event(), list[str]()
    later = Later(MemoryStore(), clock, LONG)

    def note(name: str) -> str:
        begun.append(name)
        return "said"

    for number in range(AT_ONCE):
        later.ask(f"busy {number}", may.wait)
    assert later.ask("left", lambda: note("left")) is None
    clock.now += FORGOTTEN + 1
    assert later.ask("wanted", lambda: note("wanted")) is None
    may.set()
    later.patience = SOON
    assert later.ask("wanted", lambda: "never") == "said"
    assert later.held["left"].over.wait(SOON)
    assert begun == ["wanted"]

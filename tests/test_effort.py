"""What tells that something costs too much notices it, and nothing else."""

from __future__ import annotations

import re

from tests.effort import calls, grows_with


def test_calls_are_counted_those_of_c_too() -> None:
    def work(number: int) -> None:
        for _ in range(number):
            len("")

    assert calls(lambda: work(1_000)) - calls(lambda: work(0)) == 1_000


def test_what_grows_with_the_size_is_told_from_what_grows_with_its_square() -> None:
    # The search begins anew at each letter, and looks at all that follow.
    assert not grows_with(lambda size: re.search(r"a+b", "a" * size), 16_000)
    assert grows_with(lambda size: re.search(r"b", "a" * size), 1_600_000)

"""How much a test looks at.

Of random examples it is a fifth of what a test asks for, unless THOROUGH says how many times as
many; `make torture` looks at five times as many. Of cases that differ little, some are looked at in
every run and the others among the slow tests.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from hypothesis import settings

THOROUGH = float(os.environ.get("THOROUGH", "0.2"))


def times(number: int) -> int:
    return max(1, round(number * THOROUGH))


def examples(number: int) -> settings:
    return settings(max_examples=times(number))


def third_quick(values: Sequence[object]) -> list[object]:
    """Every third of them is a quick test, the others are slow ones."""
    slow = pytest.mark.slow
    return [
        value if at % 3 == 0 else pytest.param(value, marks=slow) for at, value in enumerate(values)
    ]


def first_quick(values: Sequence[object], quick: int = 1) -> list[object]:
    """The first of them are quick tests, the others slow ones."""
    first, rest = values[:quick], values[quick:]
    return [*first, *(pytest.param(value, marks=pytest.mark.slow) for value in rest)]

"""How many random examples a test looks at: two in five of what it asks for, unless THOROUGH says
how many times as many. `make torture` looks at five times as many.
"""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = float(os.environ.get("THOROUGH", "0.4"))


def times(number: int) -> int:
    return max(1, round(number * THOROUGH))


def examples(number: int) -> settings:
    return settings(max_examples=times(number))

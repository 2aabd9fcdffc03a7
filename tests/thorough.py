"""How many random examples a test looks at: so many times as many where THOROUGH says so. `make
torture` looks at five times as many; where slow tests are left out, fewer are enough.
"""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = float(os.environ.get("THOROUGH", "1"))


def times(number: int) -> int:
    return max(1, round(number * THOROUGH))


def examples(number: int) -> settings:
    return settings(max_examples=times(number))

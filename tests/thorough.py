"""How many random examples a test looks at: some in every run, so many times as many where THOROUGH
says so.

`make torture` sets it.
"""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = int(os.environ.get("THOROUGH", "1"))


def examples(number: int) -> settings:
    return settings(max_examples=number * THOROUGH)

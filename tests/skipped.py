"""Why tests were skipped: each reason once, with how many tests it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest


def reasons(reports: Iterable[pytest.TestReport]) -> list[tuple[str, int]]:
    """The most frequent first."""
    found: Counter[str] = Counter()
    for report in reports:
        # Pytest keeps the file, the line and this text of a skipped test.
        where = report.longrepr
        text = where[2] if isinstance(where, tuple) else str(where)
        found[text.removeprefix("Skipped: ")] += 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))

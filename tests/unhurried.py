"""A budget that steps alone use up: no slow or busy machine cuts an answer short."""

from __future__ import annotations

from flex.placing.problem import Budget

# More than any test takes, in seconds.
HOURS = 36_000.0


def unhurried(steps: int = Budget().steps) -> Budget:
    return Budget(steps, HOURS)

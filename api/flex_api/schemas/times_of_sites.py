"""How long answers took, and processor time, as outputs say them: none where none was counted."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

MICROSECONDS = 1_000_000


def service_seconds() -> float | None:
    field: float | None = Field(
        None, description="that answers took, by those that say it; none where none does"
    )
    return field


def cpu_seconds() -> float | None:
    field: float | None = Field(
        None, description="of processor, where nodes count it; none where none does"
    )
    return field


def measured_times(measured: Mapping[str, int]) -> dict[str, float | None]:
    """By field, from the columns of PROFILES."""
    return {
        "service_seconds": measured["service_us"] / MICROSECONDS if measured["timed"] else None,
        "cpu_seconds": measured["cpu_us"] / MICROSECONDS if measured["cpu_us"] else None,
    }

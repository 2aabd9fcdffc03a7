"""Metrics in parts: where a part cannot be made, the others are there, and say which is missing.

Takes what makes a part. Returns what it made, or something empty in its place. An alert on a dead
node must not go blind because of a list of sites that nobody can read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from flex.errors import FlexError, StoreError
from flex_api.night.prometheus_metrics import Series

Made = TypeVar("Made")


@dataclass(slots=True)
class Parts:
    """By part why it is missing; "" where it is there."""

    troubles: dict[str, str] = field(default_factory=dict)

    def make(self, part: str, work: Callable[[], Made], otherwise: Made) -> Made:
        """Raises StoreError: without the store there are no metrics at all."""
        self.troubles.setdefault(part, "")
        try:
            return work()
        except StoreError:
            raise
        except FlexError as error:
            self.troubles[part] = f"{error}; {error.advice}"
            return otherwise

    def series(self) -> Iterator[Series]:
        yield Series(
            "flex_metrics_missing",
            "gauge",
            "1 where this part of the metrics could not be made; a comment says why.",
            [({"part": part}, int(bool(why))) for part, why in self.troubles.items()],
        )

    def comments(self) -> str:
        """Lines for people, which Prometheus passes over."""
        return "".join(
            f"# missing: {part}: {' '.join(why.split())}\n"
            for part, why in self.troubles.items()
            if why
        )

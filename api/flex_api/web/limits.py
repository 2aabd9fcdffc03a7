"""How much a caller may ask: bytes in a request, requests in a second for each token."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from flex.errors import TooLarge, TooMany
from flex.model.limits_and_approvals import Stop

# More callers than anybody has: what is remembered of them stays small, whoever knocks.
MOST = 10_000


@dataclass(slots=True)
class Rate:
    """A bucket for each caller: `each` requests a second on average, twice as many at once. 0 is no
    limit.
    """

    each: float
    ticks: Callable[[], float] = time.monotonic
    buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, caller: str) -> float:
        """0 where the caller may, else in how many seconds."""
        if not self.each:
            return 0.0
        moment = self.ticks()
        left, since = self.buckets.get(caller, (2 * self.each, moment))
        left = min(2 * self.each, left + (moment - since) * self.each)
        if len(self.buckets) >= MOST:
            self.buckets.clear()
        self.buckets[caller] = (max(left - 1, 0.0) if left >= 1 else left, moment)
        return 0.0 if left >= 1 else (1 - left) / self.each


def too_many(seconds: float, each: float) -> TooMany:
    return TooMany(
        "another request",
        f"one caller may make {each:g} in a second",
        kept="nothing was read or changed",
        advice=f"ask again in {math.ceil(seconds)} s, as `Retry-After` says; "
        "api.requests_per_second sets the limit",
        seconds=seconds,
        stops=[
            Stop(
                "api.requests_per_second",
                f"{each:g} in a second",
                f"the next one is due in {seconds:.3g} s",
                "one caller asks too often",
                f"wait {math.ceil(seconds)} s, or set a larger api.requests_per_second",
            )
        ],
    )


def too_large(limit: int, actual: str = "more") -> TooLarge:
    return TooLarge(
        "the body of the request",
        f"it is larger than {limit} bytes",
        kept="nothing was read or changed",
        advice="send less; api.max_body sets the limit",
        stops=[
            Stop(
                "api.max_body",
                f"{limit} bytes",
                actual,
                "the body is too large",
                "send less, or set a larger api.max_body",
            )
        ],
    )

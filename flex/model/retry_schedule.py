"""When to try again to take a dead node out of DNS, or to deliver routing to a node: soon at first,
then after growing pauses.

Takes what was tried so far, and the time. Returns whether the next attempt is due. Does not make
the attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

# As long as a round of the health watch: what failed by chance is not waited for.
FIRST = timedelta(seconds=10)
# Who mends the name server waits no longer than this for the rest; a guess at what people put up
# with.
MOST = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Attempt:
    """How often it was tried to take the node out of DNS since it last was, and what the last
    attempt came to.
    """

    node: str
    count: int
    since: datetime
    last: datetime
    error: str

    @property
    def again(self) -> datetime:
        """When the next one is due."""
        return self.last + pause(self.count)


def pause(count: int) -> timedelta:
    """How long to wait after so many attempts."""
    # A timedelta holds no larger numbers than some tens of doublings.
    doublings = min(max(count, 1) - 1, 20)
    return min(FIRST * (1 << doublings), MOST)


def is_due(last: Attempt | None, now: datetime) -> bool:
    """Also True when the clock was set back to before the last attempt."""
    return last is None or not last.last <= now < last.again


def attempt_after_failure(before: Attempt | None, node: str, now: datetime, error: str) -> Attempt:
    """What is known after one more attempt."""
    if before is None:
        return Attempt(node, 1, now, now, error)
    return Attempt(node, before.count + 1, before.since, now, error)


def is_told(attempt: Attempt) -> bool:
    """Whether people get a mail for it: for the first, the second, the fourth, and so on, ever less
    often.
    """
    return attempt.count & (attempt.count - 1) == 0

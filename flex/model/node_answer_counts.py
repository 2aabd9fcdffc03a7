"""How nodes answer for sites: how many requests, how many went wrong, and how long answers took.

Takes and returns plain values. Doors count in spans of time, each for itself: so nobody has to
know when a door was started, or whose clock is right. Does not judge: is_site_worse_off.py does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

# Seconds of a span. An hour is four of them, so the hour before a move is known to a quarter.
SPAN = 900
# The running span, and those of the hour before.
SPANS = 5
# Host names of one node that are watched at most. A guess.
MOST_NAMES = 1_000
# Milliseconds. An answer is counted by the first that it did not exceed, a longer one apart.
# Each is twice the one before: what half of the answers took is known to a factor of two.
BOUNDS = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
# As many counts of times as there are bounds, and one for what took longer.
TIMES = len(BOUNDS) + 1
NO_TIMES = (0,) * TIMES


@dataclass(frozen=True, slots=True)
class Answers:
    """So many of the `requests` are `errors`: the answer was 5xx, or there was none. `times`
    counts the answers by how long they took.
    """

    requests: int = 0
    errors: int = 0
    times: tuple[int, ...] = NO_TIMES

    @property
    def number_of_times(self) -> int:
        return sum(self.times)

    @property
    def share_of_errors(self) -> float:
        return self.errors / self.requests if self.requests else 0.0

    def __add__(self, other: Answers) -> Answers:
        times = tuple(a + b for a, b in zip(self.times, other.times, strict=True))
        return Answers(self.requests + other.requests, self.errors + other.errors, times)


@dataclass(frozen=True, slots=True)
class AnswersOfSpan:
    """What a node answered for a host name in one span of time: the `span`-th since 1970."""

    node: str
    name: str
    span: int
    answers: Answers


def span_of(moment: datetime) -> int:
    return int(moment.timestamp()) // SPAN


def spans_until(now: datetime) -> range:
    last = span_of(now)
    return range(last - SPANS + 1, last + 1)


def total(counted: Iterable[AnswersOfSpan]) -> Answers:
    return sum((count.answers for count in counted), Answers())


def fuller(count: AnswersOfSpan, other: AnswersOfSpan | None) -> AnswersOfSpan:
    """The one that saw more, of two counts of the same span: a door that was started again begins
    anew.
    """
    if other is None or count.answers.requests >= other.answers.requests:
        return count
    return replace(count, answers=other.answers)

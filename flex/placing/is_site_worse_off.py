"""Whether a site is worse off on its new node than it was on the old one, and not by chance.

Takes what both nodes answered for it, and what counts as worse. Returns why it is, in words; empty
where it is not, or where nobody can tell. Does not move anything.

Two questions are asked.

Errors: is the share of errors more than `factor` times what it was? Where too few requests were
counted before: do more than half of them fail? Whether so many could come by
chance is asked of all errors together. If the share were just `factor` times as large now, each
error would be one of the new node with the probability q = f·a / (f·a + b), for a and b requests.
So many or more of them would come with the probability of a binomial tail (the conditional test of
two rates of Przyborowski and Wilenski, 1940).

Times: more than half of the answers took no longer than some bound at the old node; do more than
half take longer than `factor` times that now? Both halves are asked for as coins are: the tail of a
binomial with 1/2. A few very slow answers, such as large downloads, say nothing so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from flex.model.node_answer_counts import BOUNDS, Answers

# What would come so seldom by chance is not taken for chance. A site is looked at some hundred
# times while it is watched: with 10,000 sites that move that makes some million looks, and a look
# differs from the one before by few requests.
CHANCE = 1e-6
# Where so large a share fails, that alone is a reason to look.
MOST_OF_THEM = 0.5
# Terms of a tail that add less than this share of it are left out.
_NEGLIGIBLE = 1e-16


@dataclass(frozen=True, slots=True)
class Worse:
    """`requests` on either side are the fewest that say anything. A share of `errors` that is
    smaller is never worse, nor are answers that take no longer than `slow` milliseconds.
    """

    factor: float = 2.0
    requests: int = 20
    errors: float = 0.01
    slow: float = 250.0


def why_worse(before: Answers, after: Answers, worse: Worse) -> str:
    return more_errors(before, after, worse) or slower(before, after, worse)


def more_errors(before: Answers, after: Answers, worse: Worse) -> str:
    if after.requests < worse.requests:
        return ""
    share, was = after.share_of_errors, before.share_of_errors
    if share < worse.errors or share <= worse.factor * was:
        return ""
    text = f"{_share(share)} of {after.requests:,} requests failed"
    if before.requests < worse.requests:
        is_chance = tail(after.errors, after.requests, MOST_OF_THEM) > CHANCE
        return "" if is_chance else f"{text}, and fewer than {worse.requests} were counted before"
    weight = worse.factor * after.requests
    chance = tail(after.errors, after.errors + before.errors, weight / (weight + before.requests))
    if chance > CHANCE:
        return ""
    return f"{text}, and {_share(was)} of {before.requests:,} before"


def why_not_known(before: Answers, after: Answers, worse: Worse) -> str:
    """Why a site may be worse off that is not known to be; empty where it is well."""
    if not after.requests:
        return (
            "no request for it was counted at its new node, by doors or by logs that are read here"
        )
    share, was = after.share_of_errors, before.share_of_errors
    is_few = before.requests < worse.requests
    is_many = is_few and tail(after.errors, after.requests, worse.errors) <= CHANCE
    if share <= worse.factor * was or not (is_many or share > MOST_OF_THEM):
        return ""
    return (
        f"{after.errors:,} of {after.requests:,} requests failed, and {before.errors:,} of "
        f"{before.requests:,} before, which are too few to compare"
    )


def slower(before: Answers, after: Answers, worse: Worse) -> str:
    if min(before.number_of_times, after.number_of_times) < worse.requests:
        return ""
    usual = _bound_of_half(before)
    if usual is None:
        return ""
    limit = _bound_from(max(worse.factor * usual, worse.slow))
    if limit is None:
        return ""
    over = sum(after.times[BOUNDS.index(limit) + 1 :])
    if tail(over, after.number_of_times, 0.5) > CHANCE:
        return ""
    return (
        f"{over:,} of {after.number_of_times:,} answers took more than {limit:,} ms, and "
        f"most took no more than {usual:,} ms before"
    )


def _bound_of_half(answers: Answers) -> int | None:
    """The first bound that more than half of such answers keep to, of which we are sure."""
    within = 0
    for bound, count in zip(BOUNDS, answers.times, strict=False):
        within += count
        if tail(within, answers.number_of_times, 0.5) <= CHANCE:
            return bound
    return None


def _bound_from(milliseconds: float) -> int | None:
    return next((bound for bound in BOUNDS if bound >= milliseconds), None)


def tail(least: int, of: int, q: float) -> float:
    """The probability that at least so many `of` independent trials succeed, each with the
    probability q. What is no more than the mean counts as certain.
    """
    if least <= of * q:
        return 1.0
    if q <= 0.0:
        return 0.0
    log = (
        math.lgamma(of + 1)
        - math.lgamma(least + 1)
        - math.lgamma(of - least + 1)
        + least * math.log(q)
        + (of - least) * math.log1p(-q)
    )
    term, sum_ = 1.0, 1.0
    for successes in range(least, of):
        term *= (of - successes) / (successes + 1) * q / (1 - q)
        sum_ += term
        if term < _NEGLIGIBLE * sum_:
            break
    return min(1.0, math.exp(log) * sum_)


def _share(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 or not share else f"{share:.2%}"

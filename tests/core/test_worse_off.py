"""Whether a site is worse off is told by numbers that chance does not bring."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import comb

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from flex.model.node_answer_counts import BOUNDS, NO_TIMES, TIMES, Answers
from flex.placing.is_site_worse_off import CHANCE, Worse, tail, why_not_known, why_worse
from tests.thorough import first_quick

counts = st.integers(0, 100_000)
times = st.tuples(*[st.integers(0, 20_000)] * TIMES)
terms = st.builds(
    Worse,
    factor=st.floats(1.01, 50),
    requests=st.integers(1, 1000),
    errors=st.floats(0.0001, 0.99),
    slow=st.integers(0, 8192),
)


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    taken = draw(times)
    broken_off = draw(counts)
    requests = sum(taken) + broken_off
    return Answers(requests, draw(st.integers(broken_off, requests)), taken)


def of(requests: int, errors: int = 0, at: int = 0) -> Answers:
    """All of them in the same span of time to answer."""
    taken = list(NO_TIMES)
    taken[at] = requests
    return Answers(requests, errors, tuple(taken))


@pytest.mark.slow
@given(st.integers(0, 60), st.integers(0, 60), st.fractions(0, 1, max_denominator=1000))
def test_the_tail_is_that_of_a_binomial(k: int, n: int, q: Fraction) -> None:
    assume(k <= n)
    exact = sum(comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(k, n + 1))
    found = tail(k, n, float(q))
    if k <= n * float(q):
        assert found == 1.0
    else:
        assert found == pytest.approx(float(exact), rel=1e-6, abs=1e-300)


@given(answers(), terms)
def test_a_site_that_answers_as_before_is_not_worse_off(same: Answers, worse: Worse) -> None:
    assert why_worse(same, same, worse) == ""


@given(answers(), answers(), terms)
def test_fewer_requests_than_set_say_nothing(before: Answers, after: Answers, worse: Worse) -> None:
    too_few = before.requests < worse.requests and after.share_of_errors <= 1 / 2
    if after.requests < worse.requests or too_few:
        assert why_worse(before, after, worse) == ""


def test_where_too_few_were_counted_before_a_site_is_worse_off_if_most_of_its_requests_fail() -> (
    None
):
    text = "100% of 40 requests failed, and fewer than 20 were counted before"
    assert why_worse(of(0), of(40, 40), Worse()) == text
    assert why_worse(of(19), of(40, 40), Worse()) == text
    assert why_worse(of(0), of(19, 19), Worse()) == ""
    assert why_worse(of(0), of(40, 25), Worse()) == ""
    assert why_worse(of(10, 8), of(40, 40), Worse()) == ""


def test_what_is_not_known_is_said_where_a_site_may_fail() -> None:
    assert why_not_known(of(1000), of(5, 5), Worse()) == (
        "5 of 5 requests failed, and 0 of 1,000 before, which are too few to compare"
    )
    assert why_not_known(of(0), of(300, 100), Worse())
    assert why_not_known(of(0), of(0), Worse()).startswith("no request for it was counted")
    for before, after in (
        (of(0), of(100, 1)),
        (of(1000), of(1000, 20)),
        (of(9, 5), of(10, 10)),
        (of(0), of(1000)),
    ):
        assert why_not_known(before, after, Worse()) == ""


@given(answers(), answers(), terms)
def test_where_a_site_is_worse_off_it_is_not_better_off_the_other_way(
    before: Answers, after: Answers, worse: Worse
) -> None:
    said = why_worse(before, after, worse)
    if "failed" in said:
        assert after.share_of_errors > worse.factor * before.share_of_errors
        assert "failed" not in why_worse(after, before, worse)


@given(answers(), answers(), terms, st.integers(0, 1000))
def test_more_errors_make_nothing_better(
    before: Answers, after: Answers, worse: Worse, more: int
) -> None:
    if "failed" in why_worse(before, after, worse):
        errors = min(after.requests, after.errors + more)
        assert why_worse(before, replace(after, errors=errors), worse)


@given(st.integers(20, 10_000), st.integers(0, TIMES - 1), st.integers(0, TIMES - 1))
def test_a_site_is_slower_where_all_answers_take_over_twice_as_long_and_long(
    requests: int, was: int, now: int
) -> None:
    said = why_worse(of(requests, at=was), of(requests, at=now), Worse())
    twice = was < len(BOUNDS) - 1 and now >= was + 2
    noticed = now > BOUNDS.index(256)
    assert bool(said) == (twice and noticed)


def test_a_site_that_only_fails_now_is_worse_off_from_the_fewest_requests_on() -> None:
    before = of(1000)
    assert why_worse(before, of(19, 19), Worse()) == ""
    assert why_worse(before, of(20, 20), Worse()) == (
        "100% of 20 requests failed, and 0% of 1,000 before"
    )


def test_a_site_that_failed_before_is_not_worse_off() -> None:
    assert why_worse(of(1000, 800), of(1000, 1000), Worse()) == ""
    assert why_worse(of(1000, 400), of(1000, 780), Worse()) == ""


def test_a_few_slow_answers_are_not_a_slow_site() -> None:
    before, after = of(1000), of(600) + of(400, at=TIMES - 1)
    assert why_worse(before, after, Worse()) == ""
    assert "took more than 256 ms" in why_worse(before, of(300) + of(700, at=TIMES - 1), Worse())


@pytest.mark.parametrize("share", first_quick([0.002, 0.2, 0.0, 0.02, 0.7], 2))
@pytest.mark.parametrize("sizes", [(30, 30), (3000, 40), (40, 3000), (2000, 2000)])
def test_chance_alone_sends_no_site_back(share: float, sizes: tuple[int, int]) -> None:
    """Looked at again and again while requests come, as a watch does."""
    chance = random.Random(repr((share, sizes)))
    for _ in range(150):
        before = of(sizes[0], _failed(chance, sizes[0], share))
        errors = requests = 0
        while requests < sizes[1]:
            requests += 10
            errors += _failed(chance, 10, share)
            assert why_worse(before, of(requests, errors), Worse()) == ""


@pytest.mark.parametrize("quick", [0.35, 0.45])
@pytest.mark.parametrize("before", [20, 30, 60])
def test_chance_among_few_answers_before_sends_no_site_back(before: int, quick: float) -> None:
    """Most of its answers took long all the time, and by chance most of the few before did not."""
    chance = random.Random(repr((before, quick)))
    for _ in range(150):
        slow = _failed(chance, before, 1 - quick)
        late = _failed(chance, 5_000, 1 - quick)
        assert (
            why_worse(
                of(before - slow) + of(slow, at=TIMES - 1),
                of(5_000 - late) + of(late, at=TIMES - 1),
                Worse(),
            )
            == ""
        )


def _failed(chance: random.Random, requests: int, share: float) -> int:
    return sum(chance.random() < share for _ in range(requests))


def test_what_is_seldom_by_chance_is_told_and_what_is_not_is_not() -> None:
    """With as many requests before and after, it takes as many errors as the tail says."""
    for errors in range(200):
        said = why_worse(of(1000), of(1000, errors), Worse(errors=0.0001))
        assert bool(said) == ((2 / 3) ** errors <= CHANCE)

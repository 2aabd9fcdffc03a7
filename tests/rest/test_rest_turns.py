"""What takes long is answered one at a time, and nobody keeps all processors busy by asking for
it.
"""

from __future__ import annotations

import asyncio

import pytest

from flex.errors import TooMany
from flex_api.web.limit_slow_reads import PATIENCE, SHORT, Turns


class Clock:
    """Goes on by a step with each look at it, and else as it is told."""

    def __init__(self) -> None:
        self.moment, self.step = 0.0, 0.0

    def __call__(self) -> float:
        self.moment += self.step
        return self.moment


async def answered(turns: Turns, clock: Clock, caller: str, seconds: float) -> None:
    async with turns.take_turn(caller):
        clock.moment += seconds


def test_who_had_a_long_answer_waits_as_long_and_nobody_else_does() -> None:
    clock = Clock()
    turns = Turns(clock)
    asyncio.run(answered(turns, clock, "anna", 30.0))
    with pytest.raises(TooMany) as refused:
        asyncio.run(answered(turns, clock, "anna", 30.0))
    assert refused.value.seconds == 30.0
    asyncio.run(answered(turns, clock, "bert", 10.0))
    clock.moment += 20.0
    asyncio.run(answered(turns, clock, "anna", 1.0))


def test_short_answers_come_as_often_as_they_are_asked_for() -> None:
    clock = Clock()
    turns = Turns(clock)
    for _ in range(10):
        asyncio.run(answered(turns, clock, "anna", SHORT))


@pytest.mark.parametrize(("step", "ends"), [(0.0, "answered"), (PATIENCE + 1, "refused")])
def test_who_comes_second_waits_for_the_first_and_not_for_ever(step: float, ends: str) -> None:
    clock = Clock()
    turns = Turns(clock)

    async def second() -> str:
        try:
            await answered(turns, clock, "bert", 0.0)
        except TooMany:
            return "refused"
        return "answered"

    async def both() -> str:
        async with turns.take_turn("anna"):
            clock.step = step
            waiting = asyncio.create_task(second())
            await asyncio.sleep(0)
            if step:
                return await waiting
        return await waiting

    assert asyncio.run(both()) == ends

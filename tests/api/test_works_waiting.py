"""Works begin in order where there is room on their nodes, however many wait."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex_api.moving import run_side_by_side
from flex_api.moving.run_side_by_side import Limits, Pause, Steps, WorksWaiting
from tests.effort import calls


@dataclass(frozen=True, slots=True)
class Work:
    number: int
    nodes: frozenset[str]


NODES = st.frozensets(st.sampled_from("abcde"), max_size=3)


class InPlainWords:
    """What is promised: each time the first of all that has room."""

    def __init__(self, works: list[Work], per_node: int) -> None:
        self.waiting, self.per_node = list(works), per_node
        self.at_work: list[Work] = []

    def begin_next(self) -> Work | None:
        for work in self.waiting:
            used = [node for one in self.at_work for node in one.nodes]
            if all(used.count(node) < self.per_node for node in work.nodes):
                self.waiting.remove(work)
                self.at_work.append(work)
                return work
        return None

    def end(self, work: Work) -> None:
        self.at_work.remove(work)


@given(
    nodes=st.lists(NODES, max_size=14),
    per_node=st.integers(1, 3),
    steps=st.lists(st.integers(0, 30), max_size=60),
)
def test_the_first_that_has_room_begins_whatever_ends_when(
    nodes: list[frozenset[str]], per_node: int, steps: list[int]
) -> None:
    works = [Work(number, each) for number, each in enumerate(nodes)]
    ours, plain = WorksWaiting(works, per_node), InPlainWords(works, per_node)
    at_work: list[Work] = []
    for step in steps:
        # Of three steps one ends a work, where one is at work.
        if step % 3 == 0 and at_work:
            over = at_work.pop(step % len(at_work))
            ours.end(over)
            plain.end(over)
        begun = ours.begin_next()
        assert begun == plain.begin_next()
        at_work += [begun] if begun else []
        assert bool(ours) == bool(plain.waiting)


@pytest.mark.parametrize("nodes", [2, 40])
def test_many_thousand_works_take_no_longer_each_than_few(nodes: int) -> None:
    """Works without any command, which look again once: what is left is the choice of the next."""

    def run(number: int) -> None:
        done: list[int] = []

        def steps(at: int) -> Steps:
            done.append(at)
            yield Pause(0.0)

        works = [
            run_side_by_side.Work(
                frozenset((f"n{at % nodes}", f"n{(at * 7 + 1) % nodes}")),
                lambda at=at: steps(at),  # type: ignore[misc]
            )
            for at in range(number)
        ]
        run_side_by_side.run_side_by_side(works, Limits(8, 2), lambda: None)
        assert len(done) == number

    few, many = calls(lambda: run(100)), calls(lambda: run(800))
    assert many < 12 * few

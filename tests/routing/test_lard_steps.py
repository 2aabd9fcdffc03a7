"""HAProxy decides as the simulator's rules do, step by step, with the same requests under way."""

from __future__ import annotations

import random
import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from flex.routing.haproxy_program import HaproxyProgram, running
from flex.routing.member_pools import LardLimits, Pool
from flex.routing.member_pools import members as members_of
from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.lard import Lard
from flex.sim.rules.lardr import LardR
from flex.sim.rules.rule import AccessAsked, Rule, View
from tests.routing.conftest import Distributor, Held, Members, until_closed, written
from tests.thorough import times

# Small, so that a few requests overload a member; a set loses one after two of the seconds that
# requests bring.
LIMITS = LardLimits(low=2, high=3, hold=2, admission=False)
# Of memory the rules only ask what was in it beforehand, which is nothing.
JOB = cast(SimulatedJob, SimpleNamespace(low=2, high=3, patience=2, ram=(0,) * 4, pinned=()))
REFERENCE: dict[str, type[Rule]] = {"lard": Lard, "lardr": LardR}


class Load(int):
    """Requests under way; among equals the one whose place the target's hash puts first is the
    lower.
    """

    place: int

    def __lt__(self, other: int) -> bool:
        return self._key(self) < self._key(other) if isinstance(other, Load) else int(self) < other

    def __gt__(self, other: int) -> bool:
        return self._key(self) > self._key(other) if isinstance(other, Load) else int(self) > other

    @staticmethod
    def _key(load: Load) -> tuple[int, int]:
        return int(load), load.place


def load(under_way: int, place: int) -> Load:
    made = Load(under_way)
    made.place = place
    return made


@dataclass(eq=False)
class Steps:
    """One HAProxy and the rule it should follow; `now` is the time that requests bring."""

    members: Members
    distributor: Distributor
    rule: Rule
    nodes: list[str]
    now: int = 1_000
    under_way: list[tuple[Held, socket.socket]] = field(default_factory=list)

    def ask(self, target: int) -> tuple[str, str]:
        """Which member HAProxy gave the request to, and which the rule gives it to."""
        visitor = self.distributor.send(f"/{target}?page={self.now}", x_now=str(self.now))
        held = self.members.asked.get(timeout=300)
        told = re.search(rb"x-hash: (\d+)", held.head)
        assert told, held.head
        places = [(int(told[1]) // 17 ^ slot) & 15 for slot in range(len(self.nodes))]
        loads = Counter(each.node for each, _ in self.under_way)
        seen = [load(loads[node], place) for node, place in zip(self.nodes, places, strict=True)]
        view = View(cast(list[int], seen), self.now, [], [])
        chosen = self.rule.choose(AccessAsked(0, target, target), range(len(self.nodes)), view)
        self.under_way.append((held, visitor))
        return held.node, self.nodes[chosen]

    def answer(self, which: int) -> None:
        if self.under_way:
            held, visitor = self.under_way.pop(which % len(self.under_way))
            held.answer()
            assert until_closed(visitor).endswith(b"ok")

    def answer_all(self) -> None:
        while self.under_way:
            self.answer(0)


@pytest.fixture(params=REFERENCE)
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def stepping(
    found: HaproxyProgram, members: Members, folder: Path, policy: str, port: int
) -> Iterator[Steps]:
    pool = Pool("shop.example", (), members_of(members.addresses), policy, LIMITS)
    written(pool, members, folder, port, more="http-request set-header x-hash %[base32]")
    with running(found, folder, port):
        steps = Steps(
            members,
            Distributor(port),
            REFERENCE[policy](JOB),
            [member.node for member in pool.members],
        )
        yield steps
        steps.answer_all()


def walked(steps: Steps, rng: random.Random, count: int) -> None:
    """In turns many requests for few targets, which overload members, and few for many; and time
    goes on.

    More are asked than answered. HAProxy takes a thousand at a time here, so now and then all are
    answered. No walk before had one of its targets.
    """
    first = steps.now * 10
    for number in range(count):
        if number % 1_000 == 999:
            steps.answer_all()
        crowded = number // 25 % 2
        steps.now += rng.choice((0, 0, 1))
        if rng.random() < (0.8 if crowded else 0.35):
            said, wanted = steps.ask(first + rng.randrange(2 if crowded else 9))
            assert said == wanted, f"step {number}"
        else:
            steps.answer(rng.randrange(1_000))
    steps.answer_all()
    steps.now += 1


@pytest.fixture
def lasting(
    found: HaproxyProgram, members: Members, policy: str, tmp_path: Path, another_port: int
) -> Iterator[Steps]:
    with stepping(found, members, tmp_path, policy, another_port) as steps:
        yield steps


# What was found once is found again by its seed; fewer steps would tell no more.
ONCE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@pytest.mark.slow
@pytest.mark.real
@settings(ONCE, max_examples=times(2))
@given(seed=st.integers(0, 2**64))
def test_each_of_thousands_of_steps_is_that_of_the_rule(lasting: Steps, seed: int) -> None:
    """In walks of two thousand."""
    walked(lasting, random.Random(seed), 2_000)


# A step asks for a target, lets time pass (as a negative number), or answers one of the requests
# under way.
STEP = st.one_of(st.integers(0, 5), st.just(-1), st.just(-4), st.just(None))


@pytest.mark.real
@settings(max_examples=times(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(walk=st.lists(STEP, max_size=400))
def test_so_it_is_whatever_the_steps_are(lasting: Steps, walk: list[int | None]) -> None:
    """Each example has targets that none before it had."""
    first = lasting.now * 10
    for step in walk:
        if step is None:
            lasting.answer(0)
        elif step < 0:
            lasting.now -= step
        else:
            said, wanted = lasting.ask(first + step)
            assert said == wanted
    lasting.answer_all()
    lasting.now += 1

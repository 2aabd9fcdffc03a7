"""The testbed of routing, and what visitors notice of faults: real HAProxy, web servers and
visitors on loopback.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from bench.routing import faults, traffic
from bench.routing.origins import Machine
from bench.routing.rig import Rig, rig
from bench.routing.traffic import Case
from flex.errors import BadSetting
from flex.routing import apply_to_haproxy
from flex.routing.haproxy_program import program
from flex.routing.haproxy_socket import Socket
from flex.routing.member_pools import LardLimits
from flex.sim.traces import Trace

pytestmark = pytest.mark.real
VISITORS = 20
# Every target fits, and an answer takes two milliseconds.
MACHINE = Machine(10**9, 0.0, 0.0, 0.002, 0.0)


@pytest.fixture
def three() -> Iterator[Rig]:
    try:
        program()
    except BadSetting as error:
        pytest.skip(str(error))
    target = np.random.default_rng(1).integers(0, 100, 10_000)
    trace = Trace(
        "even", target, np.full(100, 1_000), np.zeros(100, dtype=np.int64), ("shop.example",)
    )
    with rig(3, MACHINE, trace) as made:
        yield made


@pytest.mark.slow
def test_each_target_is_read_once_in_all_and_then_found_in_memory(three: Rig) -> None:
    three.start("lardr", LardLimits())
    answers = three.during(VISITORS, 2.0)
    hits, misses = three.memory()
    assert answers.failures == 0
    assert hits + misses >= len(answers.at) > 0
    assert misses < 2 * 100


@pytest.mark.slow
def test_nobody_notices_reloads(three: Rig) -> None:
    three.start("lardr", LardLimits(), mastered=True)
    three.begin(VISITORS)
    (node,) = three.running
    for _ in range(4):
        apply_to_haproxy.reload(Socket(str(three.folder / node / "m")))
    answers = three.end()
    assert (answers.failures, len(answers.at) > 0) == (0, True)


@pytest.mark.slow
def test_when_a_web_server_dies_only_what_it_had_begun_is_lost(three: Rig) -> None:
    three.start("lardr", LardLimits())
    three.begin(VISITORS)
    three.settle(1.0)
    three.tell("kill", 1)
    died = three.now()
    three.settle(4.0)
    answers = three.end()
    assert answers.failures <= VISITORS
    assert answers.between(died + 1.0, three.now()).failures == 0
    assert set(answers.between(died + 1.0, three.now()).node.tolist()) == {2, 3}


@pytest.mark.slow
def test_nobody_notices_members_that_come_and_go_nor_a_link_that_is_cut(three: Rig) -> None:
    three.relay()
    three.start("lardr", LardLimits(), on=list(three.addresses)[:2], mastered=True)
    last = list(three.addresses)[-1]
    three.begin(VISITORS)
    for change in ({"leaving": last}, {"without": last}, {}):
        three.link("cut")
        three.become(**change)
        three.link("mend")
    answers = three.end()
    assert (answers.failures, len(answers.at) > 0) == (0, True)


@pytest.mark.parametrize(
    ("size", "quicker"), [(100, 1.0), (traffic.MEAN, 1.0), (4 * traffic.MEAN, 4.0)]
)
def test_as_many_large_answers_as_small_ones_are_given_in_a_second(
    size: int, quicker: float
) -> None:
    """And none is slowed down for it."""
    sizes, nobodys = np.full(10, size), np.zeros(10, dtype=np.int64)
    case = Case("one", Trace("one", np.arange(10), sizes, nobodys, ("one",)), 1)
    assert (case.quicker, case.large) == (quicker, size)


@pytest.mark.torture
def test_faults_cost_nobody_more_than_what_was_begun() -> None:
    figures = faults.measure(quick=True, slower=2.0)
    assert figures["failed_requests_reload"] == 0
    for fault in faults.FAULTS:
        assert figures[f"{fault.name}_failed_later"] == 0, fault.name
        # Whom a killed distributor had not yet answered.
        assert fault.name.endswith("killed") or figures[f"{fault.name}_failed_in_flight"] == 0, (
            fault.name
        )

"""Another order of the same accesses, and a trace cut into its days."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flex.sim.bursts import bunch_requests
from flex.sim.traces import Trace, days, first

DAY = 86400


def _trace(accesses: int = 4000, *, clients: bool = True) -> Trace:
    random = np.random.default_rng(2)
    target = random.integers(0, 40, accesses)
    client = target * 100 if clients else target[:0]
    time = np.sort(random.integers(0, 6 * DAY, accesses))
    return Trace(
        "t", target, np.arange(40) + 1, np.zeros(40, dtype=np.int64), ("one",), client, time
    )


@pytest.mark.parametrize("clients", [True, False])
def test_bursts_change_the_order_and_nothing_else(clients: bool) -> None:
    before = _trace(clients=clients)
    after = bunch_requests(before, 0.1)
    assert after.frequency().tolist() == before.frequency().tolist()
    assert after.target.tolist() != before.target.tolist()
    assert not len(after.time), "nobody knows when"
    if clients:
        assert after.client.tolist() == (after.target * 100).tolist(), (
            "each access keeps its client"
        )


def test_in_bursts_a_target_comes_within_its_share_of_the_time() -> None:
    after = bunch_requests(_trace(), 0.1)
    for target in range(40):
        place = np.flatnonzero(after.target == target)
        # Around the end of the trace and on from its beginning.
        gap = np.diff(np.append(place, place[0] + len(after.target))).max()
        assert len(after.target) - gap < 0.2 * len(after.target)


def test_only_what_few_ask_for_comes_in_bursts_where_that_is_asked_for() -> None:
    before = _trace()
    popular = replace(before, target=np.where(np.arange(4000) % 2 == 0, 0, before.target))
    after = bunch_requests(popular, 0.1, below=0.1)
    places = [np.flatnonzero(after.target == target) for target in range(40)]
    assert np.diff(places[0]).max() < 100, (
        "every second access is to the first target, all the time"
    )
    gaps = [np.diff(np.append(place, place[0] + 4000)).max() for place in places[1:]]
    assert 4000 - min(gaps) < 0.3 * 4000


def test_the_busiest_days_come_in_the_order_of_time() -> None:
    trace = _trace()
    found = days(trace)
    assert len(found) == 4
    starts = [int(day.time[0] // DAY) for day in found]
    assert starts == sorted(starts)
    assert all(len(set((day.time // DAY).tolist())) == 1 for day in found)
    assert all(len(day.client) == len(day.time) == len(day.target) for day in found)


def test_a_trace_without_times_is_one_day() -> None:
    trace = bunch_requests(_trace(), 0.5)
    assert days(trace) == [trace]
    assert len(first(trace, 7).target) == 7

"""The same accesses in another order: each target's close together in time, as visitors ask for it
while it is news.

In go a trace and a share of its time; out comes a trace with the same frequencies, sizes and sites,
so every aggregate that a twin is fitted to stays as it was. Only the order is another, which no
paper published.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.sim.traces import Trace


def in_bursts(
    trace: Trace, share: float, *, below: float = 1.0, seed: int = 5
) -> Trace:
    """Each target is asked for during so large a share of the time, around a moment of chance; one
    that has as many as `below` of all requests, at any time.
    """
    random = np.random.default_rng(seed)
    moment = random.random(len(trace.size))
    width = np.where(trace.frequency() <= below * len(trace.target), share, 1.0)
    at = (
        moment[trace.target]
        + width[trace.target] * (random.random(len(trace.target)) - 0.5)
    ) % 1.0
    order = np.argsort(at, kind="stable")
    empty = trace.target[:0]
    client = trace.client[order] if len(trace.client) else empty
    return replace(trace, target=trace.target[order], client=client, time=empty)

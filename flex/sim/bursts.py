"""The same accesses in another order: those to one target are close together in time, as when it is
news.

Takes a trace and a share of its time. Returns a trace with the same frequencies, sizes and sites,
in another order and without times. So every aggregate that a twin is fitted to stays as it was.
Does not follow a published order: no paper has one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.sim.traces import Trace


def bunch_requests(trace: Trace, share: float, *, below: float = 1.0, seed: int = 5) -> Trace:
    """Each target is asked for during so large a share of the time, around a moment of chance; one
    that has as many as `below` of all requests, at any time.
    """
    random = np.random.default_rng(seed)
    moment = random.random(len(trace.size))
    width = np.where(trace.frequency() <= below * len(trace.target), share, 1.0)
    at = (
        moment[trace.target] + width[trace.target] * (random.random(len(trace.target)) - 0.5)
    ) % 1.0
    order = np.argsort(at, kind="stable")
    empty = trace.target[:0]
    client = trace.client[order] if len(trace.client) else empty
    return replace(trace, target=trace.target[order], client=client, time=empty)

"""Temporal locality: in which order a trace asks for its files, by a model with six figures.

Takes a trace and a Locality. Returns the same accesses in another order: how often each file is
asked for, its size and its site stay as they were, so that every published figure of a twin does
too. Does not choose the figures: fit_locality.py finds those of a log.

The model: a file is asked for during part of the trace. Each access to it either comes at any
moment of that part, or follows the one before it after a gap. Gaps are log-normal, because real
ones range from the reload of a page to the visit of the next week.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Floats
from flex.prediction.cache_replay import Ints
from flex.sim.traces import Trace


@dataclass(frozen=True, slots=True)
class Locality:
    """`repeats` is the share of the accesses that follow an earlier one to the same file. The gap
    between the two has the median `gap`, as a share of all accesses of the trace, and its natural
    logarithm has the standard deviation `spread`. `life` is the part of the trace in which a file
    is asked for; that of a file asked for twice is shorter by the share `shorter`, of one asked for
    more often the less so, as the power `fade` of the number says.
    """

    repeats: float = 0.0
    gap: float = 1.0
    spread: float = 1.0
    life: float = 1.0
    shorter: float = 0.0
    fade: float = 0.0

    def lives(self, frequency: Ints) -> Floats:
        """The life of each file."""
        times: Floats = np.maximum(frequency, 2) / 2
        return self.life * (1 - self.shorter * times**-self.fade)


# Accesses that are independent of each other.
INDEPENDENT = Locality()


def reorder(trace: Trace, locality: Locality, *, seed: int = 5) -> Trace:
    """The same accesses as the model orders them. Each keeps its client; nobody knows when."""
    order = order_of(trace.frequency(), locality, seed=seed)
    by_target = np.argsort(trace.target, kind="stable")[order]
    empty = trace.target[:0]
    client = trace.client[by_target] if len(trace.client) else empty
    return replace(trace, target=trace.target[by_target], client=client, time=empty)


def order_of(frequency: Ints, locality: Locality, *, seed: int) -> Ints:
    """Which access comes when, where accesses are numbered file after file."""
    random = np.random.default_rng(seed)
    target = np.repeat(np.arange(len(frequency)), frequency)
    follows = random.random(len(target)) < locality.repeats
    follows[np.cumsum(frequency)[frequency > 0] - frequency[frequency > 0]] = False
    middle = random.random(len(frequency))
    lives = locality.lives(frequency)
    moment = middle[target] + lives[target] * (random.random(len(target)) - 0.5)
    gap = locality.gap * np.exp(locality.spread * random.standard_normal(len(target)))
    at = _moments(follows, moment, np.where(follows, np.minimum(gap, 1.0), 0.0))
    order: Ints = np.argsort(at, kind="stable")
    return order


def _moments(follows: np.ndarray, moment: Floats, gap: Floats) -> Floats:
    """From 0 to 1. What would come after the end comes at the beginning: so the model has no
    beginning, as the middle of a long trace has none.
    """
    begins = np.maximum.accumulate(np.where(follows, 0, np.arange(len(follows))))
    passed = np.cumsum(gap)
    moments: Floats = (moment[begins] + passed - passed[begins]) % 1.0
    return moments

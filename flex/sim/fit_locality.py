"""Which locality a log has: the four figures with which the model misses as the log does.

Takes a trace. Returns a Locality, and how far its miss ratios are from the log's where memory is
from 1 to 100 % of the working set, under LRU. Does not look at times or clients: only the order of
the accesses counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from flex.placing.problem import Floats
from flex.prediction.cache_replay import Ints, replay_loop
from flex.sim.locality import INDEPENDENT, Locality, order_of
from flex.sim.traces import Trace, first

# Memory as shares of the working set, in even steps of their logarithm.
MEMORY: tuple[float, ...] = tuple(np.geomspace(0.01, 1.0, 13).tolist())
# Accesses of a log that are looked at: more change the answer by less than a tenth of a point, and
# each trial replays all of them at every size of memory.
MOST_ACCESSES = 150_000
# The values that are tried first, in every combination. Chosen on the real logs that were not drawn
# for the test of the model.
_REPEATS = (0.3, 0.6, 0.9)
_GAPS = (1e-4, 3e-3, 3e-2)
_SPREADS = (1.0, 2.5)
_LIVES = (0.1, 1.0)
# Then the best is changed by chance so many times, each time less: after 60 nothing was won.
_TRIALS = 60
# By how much at first, in the order of the fields; gaps by their logarithm. Guesses.
_STEP = (0.2, 1.2, 0.8, 0.25)
# How much smaller steps get, after so many trials.
_SMALLER = 0.6
_AFTER = 20
# What the model may be, in the order of the fields.
_LEAST = (0.0, float(np.log(1e-6)), 0.1, 0.01)
_LARGEST = (1.0, 0.0, 5.0, 1.0)
# The largest distance counts beside the mean one, so that no part of the curve is given up.
_OF_LARGEST = 0.3
# Fewer files that are asked for alike tell nothing of how long such files live. A guess.
_FEWEST_ALIKE = 20
# The values that are tried for lives.
_SHORTER = tuple(np.linspace(0.0, 0.95, 20).tolist())
_FADES = tuple(np.linspace(0.0, 0.6, 7).tolist())
# The chance of the trials, and another one of the answer: what fits one throw of the dice alone
# is no fit.
_SEED = 1
_OTHER_SEED = 2


@dataclass(frozen=True, slots=True)
class FittedLocality:
    """Miss ratios at each share of the working set: the log's, the model's, and those of the same
    accesses in an order of chance.
    """

    locality: Locality
    memory: tuple[float, ...]
    log: tuple[float, ...]
    model: tuple[float, ...]
    independent: tuple[float, ...]

    @property
    def points_off(self) -> list[float]:
        """Points of 100, in the order of the memory."""
        return [100 * abs(a - b) for a, b in zip(self.log, self.model, strict=True)]

    @property
    def points_off_independent(self) -> list[float]:
        return [100 * abs(a - b) for a, b in zip(self.log, self.independent, strict=True)]


def fit_locality(
    trace: Trace, *, memory: Sequence[float] = MEMORY, held_out: Sequence[float] = ()
) -> FittedLocality:
    """Fitted to the miss ratios at these shares of the working set, and answered at those held out,
    where there are some.
    """
    cut = first(trace, MOST_ACCESSES)
    wanted = np.array(miss_ratios(cut.target, cut.size, memory))
    locality = _search(cut, wanted, memory)
    shares = tuple(held_out or memory)
    return FittedLocality(
        locality,
        shares,
        miss_ratios(cut.target, cut.size, shares),
        _model_miss_ratios(cut, locality, shares, _OTHER_SEED),
        _model_miss_ratios(cut, INDEPENDENT, shares, _OTHER_SEED),
    )


def miss_ratios(
    target: Ints, size: Ints, memory: Sequence[float], cache: str = "lru"
) -> tuple[float, ...]:
    """With so large a share of the working set in memory, the misses among all accesses."""
    is_accessed = np.bincount(target, minlength=len(size)) > 0
    working_set = int(size[is_accessed].sum())
    replay, node = replay_loop(cache), np.zeros_like(target)
    return tuple(
        float(replay(cache, target, node, size, np.array([int(share * working_set)]))[1][0])
        / max(len(target), 1)
        for share in memory
    )


def fit_lives(trace: Trace) -> tuple[float, float]:
    """How much shorter than the trace a file asked for twice lives, and how that fades with the
    number: `shorter` and `fade` of a Locality. With these the model has files whose accesses are
    asked for over as long a part of the trace as in the log, by how often they are.
    """
    target = first(trace, MOST_ACCESSES).target
    frequency = np.bincount(target)
    files = np.repeat(np.arange(len(frequency)), frequency)
    spans, weight = _spans(target)

    def off(figures: tuple[float, float]) -> float:
        model = Locality(shorter=figures[0], fade=figures[1])
        ordered = files[order_of(frequency, model, seed=_SEED)]
        return float((weight * np.abs(_spans(ordered)[0] - spans)).sum())

    return min(product(_SHORTER, _FADES), key=off)


def _spans(target: Ints) -> tuple[Floats, Floats]:
    """From first to last access, the mean of the files that are asked for about as often; and how
    much that tells, by how many they are.
    """
    frequency, place = np.bincount(target), np.arange(len(target))
    begins = np.full(len(frequency), len(target))
    np.minimum.at(begins, target, place)
    ends = np.zeros_like(begins)
    np.maximum.at(ends, target, place)
    several = np.flatnonzero(frequency >= 2)
    classes = np.round(np.log2(frequency[several])).astype(np.int64)
    files = np.bincount(classes)
    some = np.flatnonzero(files >= _FEWEST_ALIKE)
    spans: Floats = np.bincount(classes, (ends - begins)[several])[some] / files[some]
    return spans / len(target), np.sqrt(files[some])


def _search(trace: Trace, wanted: Floats, memory: Sequence[float]) -> Locality:
    def cost(figures: Floats) -> float:
        modelled = np.array(_model_miss_ratios(trace, _locality(figures), memory, _SEED))
        off = np.abs(modelled - wanted)
        return float(off.mean() + _OF_LARGEST * off.max())

    tried = [
        np.array([repeats, np.log(gap), spread, life])
        for repeats, gap, spread, life in product(_REPEATS, _GAPS, _SPREADS, _LIVES)
    ]
    tried += [np.array([0.0, 0.0, 1.0, life]) for life in _LIVES]
    least, best = min(((cost(figures), figures) for figures in tried), key=lambda pair: pair[0])
    random, step = np.random.default_rng(_SEED), np.array(_STEP)
    for trial in range(1, _TRIALS + 1):
        change = step * random.standard_normal(4) * (random.random(4) < 0.6)
        figures = np.clip(best + change, _LEAST, _LARGEST)
        if (now := cost(figures)) < least:
            least, best = now, figures
        if trial % _AFTER == 0:
            step = step * _SMALLER
    return _locality(best)


def _locality(figures: Floats) -> Locality:
    repeats, gap, spread, life = figures.tolist()
    return Locality(repeats, float(np.exp(gap)), spread, life)


def _model_miss_ratios(
    trace: Trace, locality: Locality, memory: Sequence[float], seed: int
) -> tuple[float, ...]:
    frequency = trace.frequency()
    files = np.repeat(np.arange(len(frequency)), frequency)
    ordered = files[order_of(frequency, locality, seed=seed)]
    return miss_ratios(ordered, trace.size, memory)

"""Which engine simulates a job: the native loop, or the Python one for what the native one does not
know.

Takes a SimulatedJob. Returns ServedAccesses. A rule or a cache policy that is in Python alone works
at once, and slower; the native loop learns it by a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flex import native_or_python
from flex.prediction.replay_accesses_through_caches import Ints
from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.python_engine import Answer, reference_simulate
from flex.sim.rules import RULES


@dataclass(frozen=True, slots=True)
class NativeLoop:
    """The loop, and which cache policies and rules it knows; a rule's number is its place here."""

    simulate: Callable[[SimulatedJob], Answer]
    caches: tuple[str, ...]
    rules: tuple[str, ...]


NATIVE = NativeLoop(
    native_or_python.pick("simulate", reference_simulate),
    native_or_python.members("CACHES"),
    native_or_python.members("RULES"),
)


def simulate(job: SimulatedJob, native: NativeLoop = NATIVE) -> Answer:
    rule = _numbers(native.rules)[job.rule]
    if job.cache in native.caches and (rule >= 0).all():
        return native.simulate(replace(job, rule=rule))
    return reference_simulate(job)


def _numbers(known: tuple[str, ...]) -> Ints:
    """For each of RULES its number in the native loop, -1 where that does not know it."""
    numbers = [known.index(name) if name in known else -1 for name in RULES]
    return np.array(numbers, dtype=np.int64)

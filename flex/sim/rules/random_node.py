"""At random, the same way each time: splitmix64 of the access's number."""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.rule import AccessAsked, View

# Splitmix64 computes in whole numbers of 64 bits.
_BITS = 2**64 - 1


class Dice:
    def __init__(self, job: SimulatedJob) -> None:
        pass

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        return nodes[_hash(request.access) % len(nodes)]


def _hash(position: int) -> int:
    x = (position + 1) * 0x9E3779B97F4A7C15 & _BITS
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _BITS
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _BITS
    return x ^ (x >> 31)

"""How much memory holds the same files twice, where every node serves every site in turn.

Takes how often each file was asked for and how large it is, and the nodes' memory. Returns bytes in
the memory of all nodes, and how many of them are there once. Does not replay anything: it goes by
the approximation of Che, Tung and Wang (IEEE JSAC 20/7, 2002) for caches that drop what was used
longest ago.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"

# Halvings of the interval in which the answer lies: more than doubles tell apart.
HALVINGS = 100


@dataclass(frozen=True, slots=True)
class Copies:
    """Bytes in all nodes' memory, and of different files."""

    held: float
    distinct: float

    @property
    def wasted_bytes(self) -> float:
        """What a second copy of a file takes."""
        return max(self.held - self.distinct, 0.0)


def round_robin_copies(requests: Floats, size: Floats, nodes: int, ram: float) -> Copies:
    """Each node gets every `nodes`-th request, and keeps what it sent last in `ram` bytes.

    A file that a node is asked for at the rate r is in its memory at a random moment with the
    probability 1 - exp(-r t), where t is how long memory keeps a file that nobody asks for again.
    With room for everything t is the whole period.
    """
    if not len(size) or nodes < 1:
        return Copies(0.0, 0.0)
    rate = requests / nodes
    kept = 1.0 if float(size @ _chance(rate, 1.0)) <= ram else _time_kept(rate, size, ram)
    there = _chance(rate, kept)
    return Copies(float(nodes * (size @ there)), float(size @ (1 - (1 - there) ** nodes)))


def _chance(rate: Floats, kept: float) -> Floats:
    chances: Floats = -np.expm1(-rate * kept)
    return chances


def _time_kept(rate: Floats, size: Floats, ram: float) -> float:
    """The share of the period that fills just `ram`: more time never holds less."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if float(size @ _chance(rate, middle)) <= ram:
            low = middle
        else:
            high = middle
    return low

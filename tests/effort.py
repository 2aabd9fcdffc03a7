"""How much work something is, whatever else the machine does: by the calls that it makes, or by how
it grows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time

# So many times the size; the square of that is 256.
TIMES = 16
# So many times the time, half-way between what grows with the size and what grows with its square.
ENOUGH = 64
TRIES = 3


def calls(work: Callable[[], object]) -> int:
    """How many functions it calls in this thread, those written in C too: as many on every
    machine.
    """
    number = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return number


def grows_with(work: Callable[[int], object], size: int) -> bool:
    """Whether the work grows with the size, and not with its square, where all of it is done in C.

    Times are compared with each other alone, taken at the same moment on the same machine. One good
    try is enough: what grows with the square has none.
    """
    work(size // TIMES)
    return any(_spent(work, size) < ENOUGH * _spent(work, size // TIMES) for _ in range(TRIES))


def _spent(work: Callable[[int], object], size: int) -> float:
    begun = process_time()
    work(size)
    return process_time() - begun

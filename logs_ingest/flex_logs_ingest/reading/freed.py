"""Memory that is freed goes back to the system, where the C library can be told so."""

from __future__ import annotations

import ctypes
from contextlib import suppress

import pyarrow as pa

_MMAP_THRESHOLD = -3
_LARGE = 2**20


def gives_back() -> None:
    """From now on.

    Without it, glibc keeps ever larger blocks in ever more pools, one for each thread: a run takes
    half as much again as it holds. Arrow's own pool keeps as much beside it: 30 MiB of what two
    logs at once had written.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)

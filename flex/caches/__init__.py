"""Cache policies: which targets a node keeps in its memory.

A policy is one file and one line here. It works at once, on the Python loops; a file and two lines
in native/core/src/cache have the same computed faster. None of them knows what an access costs or
which node it goes to: see flex.prediction.cache_replay and flex.sim.
"""

from __future__ import annotations

from flex.caches.cache import Cache
from flex.caches.gds import Gds, Gdsf
from flex.caches.lru import Lru
from flex.caches.s3fifo import S3Fifo
from flex.caches.sieve import Sieve

CACHES: dict[str, type[Cache]] = {
    "lru": Lru,
    "gds": Gds,
    "gdsf": Gdsf,
    "s3fifo": S3Fifo,
    "sieve": Sieve,
}

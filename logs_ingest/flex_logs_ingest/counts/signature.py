"""What a reading counted, as one number. Equal counts have equal signatures, and signatures add up
as counts do.

Takes Counts. Returns their signature: a sum modulo 2**64 over the requests and bytes of each day,
site and target and the answers and bytes of each hour and site, each times a number that is hashed
from its day, site and target. So it does not depend on how often a log was interrupted, nor on the
addresses in its lines. The size and the last access of a target are not in it, because they do not
add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from flex_logs_ingest.scan.counts_as_columns import Ints
from flex_logs_ingest.scan.segment_scan import Counts

Words = npt.NDArray[np.uint64]

# Sums are modulo this: 64 bits.
_WORD = 2**64
# Odd, so that it has an inverse modulo 2**64; drawn at random once.
_BASE = 0x9DDFEA08EB382D69
# The inverse of _BASE modulo 2**64.
_INVERSE = pow(_BASE, -1, _WORD)
# Bytes of targets that are hashed at a time. The columns for that are eight times as large. A
# guess.
_BLOCK = 2**15
# The constants of splitmix64 (Steele, Lea and Flood, 2014).
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


# Tables of the native loop are weighed by itself, given the hashes of the sites.
_Weigh = Callable[[list[int]], int]


def signature(counts: Counts) -> str:
    """In hexadecimal."""
    weigh: _Weigh | None = getattr(counts.found["tables"], "weight", None)
    hashes = [_hash(name) for name in counts.found["sites"]]
    if weigh:
        return f"{weigh(hashes):016x}"
    return f"{weight(counts, np.array(hashes, dtype=np.uint64)) % _WORD:016x}"


def weight(counts: Counts, names: Words) -> int:
    """The sum, modulo 2**64 or not; `names` are the hashes of the sites."""
    scanned = counts.found
    hours = _pick_names(names, scanned["hour_site"]) + _mix(_words(scanned["hour"]))
    total = _weight(hours, scanned["hour_requests"], scanned["hour_bytes"])
    rows = scanned["tables"].columns()
    if len(rows["day"]):
        keys = _mix(_pick_names(names, rows["site"]) ^ _mix(_words(rows["day"]))) + _targets(
            rows["text"], rows["offsets"]
        )
        total += _weight(keys, rows["requests"], rows["bytes"])
    return total


def signature_of_all(signatures: Iterable[str]) -> str:
    """That of all their counts together; "" where one of them is."""
    digests = list(signatures)
    if not all(digests):
        return ""
    return f"{sum(int(digest, 16) for digest in digests) % _WORD:016x}"


def _weight(keys: Words, requests: Ints, sent: Ints) -> int:
    """Requests and bytes are weighed apart, so that one does not make up for the other."""
    by_request = _mix(keys + np.uint64(1)) * _words(requests)
    by_byte = _mix(keys + np.uint64(2)) * _words(sent)
    return int(by_request.sum(dtype=np.uint64)) + int(by_byte.sum(dtype=np.uint64))


def _pick_names(names: Words, numbers: Ints) -> Words:
    return names[numbers] if len(numbers) else np.zeros(0, dtype=np.uint64)


# Small logs of one site are many: each asks twice.
@lru_cache(1024)
def _hash(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def _targets(text: bytes, offsets: Ints) -> Words:
    """A polynomial over the bytes of each target, many at a time."""
    hashes = np.zeros(len(offsets) - 1, dtype=np.uint64)
    codes = np.frombuffer(text, dtype=np.uint8)
    begin = 0
    while begin < len(hashes):
        end = int(np.searchsorted(offsets, offsets[begin] + _BLOCK, side="right")) - 1
        end = min(max(end, begin + 1), len(hashes))
        hashes[begin:end] = _block(
            codes[offsets[begin] : offsets[end]], offsets[begin : end + 1] - offsets[begin]
        )
        begin = end
    return _mix(hashes)


def _block(codes: npt.NDArray[np.uint8], offsets: Ints) -> Words:
    powers = _powers(_BASE, len(codes))
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    # No byte counts as nothing, so no target is the beginning of another with the same hash.
    np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * powers, out=sums[1:])
    back = np.append(_powers(_INVERSE, len(codes)), np.uint64(1))
    hashes: Words = (sums[offsets[1:]] - sums[offsets[:-1]]) * back[offsets[:-1]]
    return hashes


def _powers(base: int, number: int) -> Words:
    """1, base, base squared, ..."""
    factors = np.full(number, base, dtype=np.uint64)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _mix(words: Words) -> Words:
    """Each bit of a word decides about each bit of what comes out."""
    mixed = words
    for shift, factor in zip((30, 27), _MIX, strict=True):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _words(values: Ints) -> Words:
    return np.asarray(values).astype(np.uint64)

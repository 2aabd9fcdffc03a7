"""Sizes, times and shares as people write them in settings, each within sensible bounds; and the
base class of a section.

A bound here is far beyond any real cluster. It stops a typing error from becoming a number that
nobody can compute with.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

# The largest number that a setting takes; of bytes, 1 EiB. A guess, well below 2^63.
LARGEST = 2**60
# The longest span that a setting takes: about ten years. A guess.
LONGEST = timedelta(days=3660)


def _size(value: object) -> object:
    if not isinstance(value, str):
        return _whole(value)
    match = re.fullmatch(r"(\d{1,19}(?:\.\d{1,19})?)\s*([KMGT]?i?B)", value.strip(), re.IGNORECASE)
    if not match or match[2].upper() not in UNITS:
        raise ValueError("wanted a size such as '12 GiB' or '64 MB'")
    return int(float(match[1]) * UNITS[match[2].upper()])


def _whole(value: object) -> object:
    """Not true or 2.5, which would pass for numbers."""
    if isinstance(value, (bool, float)):
        raise ValueError("wanted a whole number")
    return value


def span(value: object) -> timedelta:
    match = isinstance(value, str) and re.fullmatch(r"(\d{1,12})\s*([smhdw])", value.strip())
    if not match:
        raise ValueError("wanted a time such as '7d', '36h' or '10m'")
    seconds = int(match[1]) * SPANS[match[2]]
    if seconds > LONGEST.total_seconds():
        raise ValueError(f"this is longer than {LONGEST.days}d")
    return timedelta(seconds=seconds)


Size = Annotated[int, BeforeValidator(_size), Field(ge=0, le=LARGEST)]
Whole = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=LARGEST)]
Span = Annotated[timedelta, BeforeValidator(span)]
Share = Annotated[float, Field(gt=0, lt=1)]


class Section(BaseModel):
    """Part of the settings: a key it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

"""All targets, grouped in kinds: the targets of one site that are asked for about as often and are
about as large.

Takes the site, the requests and the size of each target. Returns Kinds, which are far fewer than
targets. So what is known of all targets can be kept beside a sample of some of them. Kinds of parts
that have no target in common add up. Does not say when a target is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    import numpy.typing as npt

Ints: TypeAlias = "npt.NDArray[np.int64]"
Floats: TypeAlias = "npt.NDArray[np.float64]"

# Kinds are powers of two: up to 2^62 requests, and as many bytes.
CLASSES = 63
_COUNTS = ["targets", "requests", "bytes", "working_set"]


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """For each kind: its `site`, how many `targets` it has, the `requests` for them, and the bytes
    of their answers.

    `bytes` counts all answers, `working_set` each target once. The targets of one kind differ by
    less than a factor of two in how often they are asked for and in how large they are.
    """

    site: Ints
    targets: Ints
    requests: Ints
    bytes: Ints
    working_set: Ints

    def times(self) -> Floats:
        """How often each of its targets is asked for."""
        times: Floats = self.requests / self.targets
        return times

    def sizes(self) -> Floats:
        sizes: Floats = self.working_set / self.targets
        return sizes

    def drop_site(self, site: int) -> Kinds:
        kept = self.site != site
        return Kinds(*(getattr(self, column.name)[kept] for column in fields(self)))


def each(site: Ints, requests: Ints, size: Ints) -> Kinds:
    """Every target as a kind of its own."""
    return Kinds(site, np.ones_like(requests), requests, requests * size, size)


def kinds(site: Ints, requests: Ints, size: Ints) -> Kinds:
    return add_up([each(site, requests, size)])


def add_up(parts: Iterable[Kinds]) -> Kinds:
    none = np.empty(0, dtype=np.int64)
    tables = [_table(part) for part in parts]
    whole = (
        pd.concat([_table(each(none, none, none)), *tables])
        .groupby(["site", "often", "large"])
        .sum()
    )
    site = whole.index.get_level_values("site").to_numpy(dtype=np.int64)
    return Kinds(site, *(whole[name].to_numpy(dtype=np.int64) for name in _COUNTS))


def class_of(count: Floats) -> Ints:
    """The exponent of the largest power of two up to the count. 0 has the class of 1."""
    exponent: Ints = np.frexp(np.maximum(count, 1))[1].astype(np.int64) - 1
    return exponent


def _table(part: Kinds) -> pd.DataFrame:
    """Added up once, so that a part is no larger than the kinds it has."""
    columns = {"site": part.site, "often": class_of(part.times()), "large": class_of(part.sizes())}
    counts = {name: getattr(part, name) for name in _COUNTS}
    return pd.DataFrame(columns | counts).groupby(["site", "often", "large"]).sum().reset_index()

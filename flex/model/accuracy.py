"""How good earlier predictions were: the values that are stored with each plan.

Loads of nodes are ratios of a fair share of all requests. Does not compare anything:
compare_with_measured.py does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeOff:
    """A node's requests as predicted, as the model has them with the traffic that came, and as its
    own logs have them.

    `logged` is None where no log says which node answered. The misses are ratios of the node's
    requests, as predicted and with the traffic that came.
    """

    node: str
    predicted: float
    came: float
    logged: float | None
    predicted_misses: float
    misses: float

    @property
    def traffic(self) -> float:
        """How much of what it was off by was that visitors asked for something else."""
        return abs(self.came - self.predicted)

    @property
    def model(self) -> float | None:
        """How much was that requests went to other nodes than the model sent them to."""
        return None if self.logged is None else abs(self.logged - self.came)


@dataclass(frozen=True, slots=True)
class SiteOff:
    """Bytes sent for a site, as they were expected and as they then were."""

    site: str
    expected: int
    measured: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What became of an earlier prediction: `nodes` are each node's loads as predicted and as they
    then were.

    `error` is the median distance of the two, as a ratio of the fair share. `served` compares the
    nodes' requests and misses, `sites` has those that were farthest off, and `site_error` is the
    part of all bytes that sites were off by.
    """

    plan: str
    nodes: tuple[tuple[str, float, float], ...]
    error: float
    served: tuple[NodeOff, ...] = ()
    sites: tuple[SiteOff, ...] = ()
    site_error: float | None = None


@dataclass(frozen=True, slots=True)
class Outlook:
    """By which method the next day was expected, and by what ratio each would have been off; from
    so many nights.
    """

    method: str
    errors: tuple[tuple[str, float], ...]
    nights: int

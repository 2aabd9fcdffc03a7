"""What a paper claims, beside what the simulator finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

# The verdicts on a claim, as people read them.
AS_PUBLISHED = "as published"
BETTER = "better than published"
# With other values of what was not published than the usual ones; which, is told.
FOR_VALUES = "as published for values that are told"
WORSE = "worse than published"
OPEN = "cannot be told"
# The paper's own figures, or arithmetic, exclude it.
IMPOSSIBLE = "not possible as stated"
GOOD = (AS_PUBLISHED, BETTER)


# Rows of a small table: what was tried, and what came of it.
Tried = tuple[tuple[str, str], ...]
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Claim:
    """`verdict` is one of those above. `reason` is what was found where a claim does not come out,
    and `tried` the experiment that puts the reason to the test. `without` is what is measured
    before anything is calibrated, and `values` are those for which a claim comes out that does not
    with the usual ones. `times` are the published and the measured figure where a claim is of so
    many times another policy's throughput.
    """

    paper: str
    claim: str
    published: str
    measured: str
    verdict: str
    reason: str = ""
    tried: Tried = ()
    without: str = ""
    values: str = ""
    times: tuple[Range, Range] | None = None


def because(claims: Sequence[Claim], reason: str, tried: Tried = ()) -> list[Claim]:
    """The same claims; those that do not come out say why, unless they do already."""
    return [
        _explain_claim(claim, reason, tried) if claim.verdict == WORSE else claim
        for claim in claims
    ]


def untold(claims: Sequence[Claim], reason: str, tried: Tried = ()) -> list[Claim]:
    """The same claims, none of which can be told for this reason."""
    return [replace(claim, verdict=OPEN, reason=reason, tried=tried) for claim in claims]


def _explain_claim(claim: Claim, reason: str, tried: Tried) -> Claim:
    return replace(claim, reason=claim.reason or reason, tried=claim.tried or tried)


def verdict(holds: bool, better: bool = False) -> str:
    return AS_PUBLISHED if holds else BETTER if better else WORSE


def ratio(of: float, to: float) -> float:
    """How many times as much; nothing is as much as nothing."""
    return of / to if to else 1.0


def percent(low: float, high: float) -> str:
    """`50 to 100 %` of shares; `50 %` where both are the same."""
    least, most = round(100 * low), round(100 * high)
    return f"{least} to {most} %" if least != most else f"{most} %"


def span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def grows(values: Sequence[float]) -> bool:
    """Each is more than the one before by what can be told from nothing: half a per cent."""
    return all(more > 1.005 * less for less, more in pairwise(values))


def at_least(values: Sequence[float], low: float, high: float) -> str:
    """The verdict on values of which more are better."""
    return verdict(is_in_range(values, low, high), min(round(v, 2) for v in values) >= low)


def at_most(values: Sequence[float], low: float, high: float) -> str:
    """The verdict on values of which fewer are better."""
    return verdict(is_in_range(values, low, high), max(round(v, 2) for v in values) <= high)


def is_in_range(values: Sequence[float], low: float, high: float) -> bool:
    """All of them, as figures are printed: to a whole per cent."""
    return all(round(low, 2) <= round(value, 2) <= round(high, 2) for value in values)

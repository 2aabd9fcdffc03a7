"""What a paper claims, beside what the simulator finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

# The verdicts on a claim, as people read them.
HOLDS = "holds"
# With other values of what was not published than the usual ones; which, is told.
HOLDS_FOR = "holds for values that are told"
MISSES = "does not come out"
OPEN = "cannot be told"


@dataclass(frozen=True, slots=True)
class Claim:
    """`verdict` is one of HOLDS, HOLDS_FOR, MISSES and OPEN; `reason` is what was found where a
    claim does not hold, and `counter` what came out of an experiment that puts the reason to the
    test. `without` is what is measured without locality and before anything is calibrated, and
    `values` are those for which a claim holds that does not with the usual ones.
    """

    paper: str
    claim: str
    published: str
    measured: str
    verdict: str
    reason: str = ""
    counter: str = ""
    without: str = ""
    values: str = ""


def because(claims: Sequence[Claim], reason: str, counter: str = "") -> list[Claim]:
    """The same claims; those that do not come out say why, unless they do already."""
    return [
        _explain_claim(claim, reason, counter) if claim.verdict == MISSES else claim
        for claim in claims
    ]


def untold(claims: Sequence[Claim], reason: str) -> list[Claim]:
    """The same claims, of a trace that can tell nothing of any."""
    return [replace(claim, verdict=OPEN, reason=reason) for claim in claims]


def _explain_claim(claim: Claim, reason: str, counter: str) -> Claim:
    return replace(claim, reason=claim.reason or reason, counter=claim.counter or counter)


def verdict(holds: bool) -> str:
    return HOLDS if holds else MISSES


def ratio(of: float, to: float) -> float:
    """How many times as much; nothing is as much as nothing."""
    return of / to if to else 1.0


def percent(low: float, high: float) -> str:
    """`50 to 100 %` of shares."""
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def grows(values: Sequence[float]) -> bool:
    """Each is more than the one before by what can be told from nothing: half a per cent."""
    return all(more > 1.005 * less for less, more in pairwise(values))


def is_in_range(values: Sequence[float], low: float, high: float) -> bool:
    """All of them, as figures are printed: to a whole per cent."""
    return all(round(low, 2) <= round(value, 2) <= round(high, 2) for value in values)

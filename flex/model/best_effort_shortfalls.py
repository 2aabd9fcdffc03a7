"""What a best effort falls short of, as values: why_best_effort.py and solvers find it, shown to
people.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# What would do besides more of a limit: wishes that go, or sites that move though a rule of
# movement lets them rest.
PINS = "pins taken back"
RESTING = "sites that rest moved all the same"
EITHER = "pins taken back, or sites that rest moved all the same"


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What would do: this rule at `enough`; `least` when nothing less of it would, everything else
    being as it is.

    `rests` are sites that rest; the others of them are pins.
    """

    rule: str
    enough: float
    least: bool = False
    rests: int = field(default=0, compare=False)


def less_of(pins: int, rests: int, *, least: bool) -> Relaxation:
    """So many pins taken back and so many resting sites moved: each is counted for itself."""
    rule = EITHER if pins and rests else RESTING if rests else PINS
    return Relaxation(rule, float(pins + rests), least, rests)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A rule that the best effort breaks, the sites and wishes that cause it (`because`), and what
    would help (`instead`).

    `kind` and `subject` are those of a violation (placing/score.py). `limit` is what is asked,
    `actual` is what the answer has.
    """

    kind: str
    subject: str
    limit: float
    actual: float
    because: tuple[str, ...] = ()
    instead: tuple[Relaxation, ...] = ()

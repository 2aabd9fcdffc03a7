"""What an experiment takes for granted where its paper says nothing.

PLAIN are twins without locality and the costs as other papers have them, CALIBRATED is what
calibration.py sets. TRIED are ranges of what was not published, drawn up from what earlier runs
showed to matter: a claim that does not come out calibrated is looked at under each of their values.
Does not run anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flex.sim.locality import Locality
from flex.sim.papers.calibration import USUAL


@dataclass(frozen=True, slots=True)
class Assumptions:
    """`words` says what differs from CALIBRATED; `figures` are values that a case asks for by
    name.
    """

    words: str = ""
    locality: Locality | None = None
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def calibrated(self) -> bool:
        return self.locality is not None

    def figure(self, name: str, otherwise: float) -> float:
        return self.figures.get(name, otherwise)


PLAIN = Assumptions()
CALIBRATED = Assumptions("", USUAL)


def _one_value_each(name: str, words: str, *values: float) -> tuple[Assumptions, ...]:
    return tuple(Assumptions(words.format(value), USUAL, {name: value}) for value in values)


# The experiments that run calibrated. The others run on twins without locality alone: for Rice the
# usual order of real logs does not go with what one node of the paper's testbed served.
CALIBRATED_EXPERIMENTS = ("flex-case-1", "hacc-static", "hacc-dynamic", "front-ends")
TRIED: dict[str, tuple[Assumptions, ...]] = {
    "hacc-static": (
        *_one_value_each(
            "overloaded",
            "a node counts as overloaded {:g} thousandths of its time above the least",
            350, 500, 700, 900,
        ),
        *_one_value_each("skew", "requests for FAS follow Zipf's law with {:g}", 1.1, 1.2, 1.3),
    ),
    "hacc-dynamic": (
        *_one_value_each("under way", "{:g} requests are under way while users pause", 3, 6, 12),
        *_one_value_each(
            "view work",
            "a request reads its view, and {:g} ms of it are the processor's",
            10, 20, 40, 80,
        ),
    ),
    "front-ends": _one_value_each(
        "cached answer",
        "nodes serve 800 cached answers a second of {:g} KB",
        3, 4, 5, 6,
    ),
}  # fmt: skip

"""What an experiment takes for granted where its paper says nothing.

PLAIN are twins without locality and the costs as other papers have them, CALIBRATED is what
calibration.py sets. TRIED are ranges of what was not published, drawn up from what earlier runs
showed to matter: a claim that does not come out calibrated is looked at under each of their values.
Does not run anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Assumptions:
    """`words` says what differs from CALIBRATED; `figures` are values that a case asks for by
    name.
    """

    words: str = ""
    calibrated: bool = True
    figures: dict[str, float] = field(default_factory=dict)

    def figure(self, name: str, otherwise: float) -> float:
        return self.figures.get(name, otherwise)


PLAIN = Assumptions(calibrated=False)
CALIBRATED = Assumptions()


def _one_value_each(name: str, words: str, *values: float) -> tuple[Assumptions, ...]:
    return tuple(Assumptions(words.format(value), figures={name: value}) for value in values)


# 20 otherwise.
_OVERLOADED = "a node counts as overloaded when it is {:g} points busier than the least busy one"
_CACHED = "nodes serve 800 cached answers a second of {:g} KB"
# "Less than 8 KB" is published of cached answers, 10 to 20 % of the choice of a node.
TRIED: dict[str, tuple[Assumptions, ...]] = {
    "hacc-static": (
        *_one_value_each("under way", "{:g} requests are under way while users pause", 10, 40),
        *_one_value_each("disk", "disks take {:g} times as long as the LARD paper's", 1.25, 1.5),
        *_one_value_each("overloaded", _OVERLOADED, 35, 50, 70, 90),
        *_one_value_each("skew", "requests for FAS follow Zipf's law with {:g}", 1.1, 1.2, 1.3),
    ),
    "hacc-dynamic": (
        *_one_value_each("under way", "{:g} requests are under way while users pause", 3, 6, 12),
        *_one_value_each("overloaded", _OVERLOADED, 50, 90),
    ),
    "front-ends": (
        *_one_value_each("cached answer", _CACHED, 3, 4, 5, 6),
        *(
            Assumptions(
                f"{_CACHED.format(size)} and the choice of a node takes {share} % of a handoff",
                figures={"cached answer": size, "dispatcher": share},
            )
            for share in (20, 10)
            for size in (3, 4, 5, 6)
        ),
    ),
}  # fmt: skip

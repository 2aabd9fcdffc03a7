"""What a plan does not do, in words: the rules without which more would move.

Takes the output model of a plan. Returns lines. Does not look for the rules: they were found when
the plan was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from flex.planning.outdated_plans import WAITING
from flex_api.schemas.output_base import StopRow
from flex_api.schemas.verbs_output import PlanOutput


def lines(output: PlanOutput, *, ways: bool = True) -> Iterator[str]:
    """A line for each rule; those that nothing moves without but together are one. With `ways` past
    them.
    """
    for override, stops in groupby(output.stops, key=lambda stop: stop.override):
        told = " and ".join(map(sentence, stops))
        yield f"{told} (past it: {override})" if ways and override else told


def sentence(stop: StopRow) -> str:
    return f"{stop.said}: {stop.actual}; {stop.rule} is {stop.limit}"


def breaches_text(output: PlanOutput) -> str:
    """All rules, and the one command that goes past all of them."""
    over = [
        f"{breach.rule} is {breach.limit:g}, this plan needs {breach.actual:g}"
        for breach in output.breaches
    ]
    gives = any(not move.target for move in output.moves)
    counted = "; a site that gives a node up counts as one that moves" if gives else ""
    past = f" (past {'it' if len(over) == 1 else 'them'}: {output.breaches[0].override})"
    return f"{'; '.join(over)}{counted}{past if output.state in WAITING else ''}"

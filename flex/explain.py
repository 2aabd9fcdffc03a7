"""Why each row of a new placement is there, in numbers and for a person.

In go a Problem and the rows a solver chose; out comes one reason for each new row, in the order of the rows, and
behind them one for each replica that is taken away.
Nothing is judged here (score.py), and no reason changes what is done.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from flex import score
from flex.problem import Floats, Ints, Problem


@dataclass(frozen=True, slots=True)
class MoveReason:
    """One change by position: `source` is the node whose row is given up, None when the site gave none up; `target`
    the node of the new row, None where a replica is taken away.
    """

    site: int
    source: int | None
    target: int | None
    text: str


def reasons(problem: Problem, rows: Ints) -> list[MoveReason]:
    """One reason for every row that is not in force, in the order of the rows, then for every row given up besides."""
    given_up, served = _given_up(problem, rows), set(problem.old[:, 0].tolist())
    away = score.deviation(problem, problem.old)
    found = []
    for site, target in score.moved(problem, rows).tolist():
        source = given_up[site].pop(0) if given_up[site] else None
        text = _text(problem, away, site, source, target, served=site in served)
        found.append(MoveReason(site, source, target, text))
    taken = ((site, node) for site, nodes in sorted(given_up.items()) for node in nodes)
    return [*found, *(MoveReason(site, node, None, _enough(problem, site)) for site, node in taken)]


def _given_up(problem: Problem, rows: Ints) -> dict[int, list[int]]:
    """The nodes each site leaves, the closed ones first: those it had to leave."""
    nodes: dict[int, list[int]] = defaultdict(list)
    for site, node in score.left(problem, rows).tolist():
        nodes[site].append(node)
    for left in nodes.values():
        left.sort(key=lambda node: (bool(problem.open[node]), node))
    return nodes


def _text(problem: Problem, away: Floats, site: int, source: int | None, target: int, *, served: bool) -> str:
    if target in problem.pinned.get(site, frozenset()):
        return f"pinned to {problem.nodes[target]}"
    if not served:
        return "no node serves it yet" + _many(problem, site)
    if source is None:
        return "one more replica" + _many(problem, site)
    if not problem.open[source]:
        return f"{problem.nodes[source]} is {'in the settings no more' if source in problem.gone else 'out of service'}"
    return _over(problem, away, source) or _under(problem, away, target) or _exchange(problem, source, target)


def _enough(problem: Problem, site: int) -> str:
    count = int(problem.replicas[site])
    return "one node is enough" if count == 1 else f"{count} nodes are enough"


def _many(problem: Problem, site: int) -> str:
    """How many replicas a site needs, and what they ask for together."""
    count = int(problem.replicas[site])
    if count == 1:
        return ""
    asked = count * problem.load[site] / 100
    widest = int(asked.argmax())
    return f": {count} in all, for the {problem.dimensions[widest]} of {asked[widest]:.1f} nodes"


def _over(problem: Problem, away: Floats, node: int) -> str:
    widest = int(away[node].argmax())
    if away[node, widest] <= problem.tolerance + score.ROUNDING:
        return ""
    return f"{problem.nodes[node]} over {problem.dimensions[widest]} by {100 * away[node, widest]:.0f} %"


def _under(problem: Problem, away: Floats, node: int) -> str:
    carries = problem.load.sum(axis=0) > 0
    widest = int(np.where(carries, away[node], 0.0).argmin())
    if not carries[widest] or away[node, widest] >= -problem.tolerance - score.ROUNDING:
        return ""
    return f"{problem.nodes[node]} under {problem.dimensions[widest]} by {-100 * away[node, widest]:.0f} %"


def _exchange(problem: Problem, source: int, target: int) -> str:
    """Neither end was outside the band before: the move answers another one."""
    return f"makes up for other moves of {problem.nodes[source]} and {problem.nodes[target]}"

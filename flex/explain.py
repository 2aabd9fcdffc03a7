"""Why each row of a new placement is there, in numbers and for a person.

In go a Problem and the rows a solver chose; out comes one reason for each new row, in the order of the rows, and
behind them one for each replica that is taken away.
Nothing is judged here (score.py), and no reason changes what is done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from flex import score
from flex.domain import NodeState, Pin
from flex.instead import Chosen, Other
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


@dataclass(frozen=True, slots=True)
class Because:
    """What people said of sites and nodes, by name: a Problem knows what follows from it, and not what it was."""

    pins: Mapping[str, Pin] = field(default_factory=dict)
    states: Mapping[str, NodeState] = field(default_factory=dict)

    def until(self, site: str) -> str:
        pin = self.pins.get(site)
        return f" until {pin.until.day} {pin.until:%B %Y, %H:%M} UTC" if pin and pin.until else ""

    def closed(self, node: str) -> str:
        """Why it takes no sites."""
        said: dict[str, str] = {"draining": "drained", "down": "down"}
        return said.get(self.states.get(node, ""), "given no sites now")

    def wants(self, site: str, replicas: int) -> bool:
        return site in self.pins and max(self.pins[site].min_replicas, len(self.pins[site].nodes)) >= replicas


def reasons(problem: Problem, rows: Ints, because: Because = Because()) -> list[MoveReason]:
    """One reason for every row that is not in force, in the order of the rows, then for every row given up besides."""
    given_up, served = _given_up(problem, rows), set(problem.old[:, 0].tolist())
    away, chosen = score.deviation(problem, problem.old), Chosen(problem, rows)
    found = []
    for site, target in score.moved(problem, rows).tolist():
        source = given_up[site].pop(0) if given_up[site] else None
        text = _wished(problem, because, site, source, target, served=site in served)
        if not text and source is not None:
            text = _balanced(problem, away, source, target) + _left(chosen.with_row(site, target, source))
        found.append(MoveReason(site, source, target, text))
    taken = ((site, node) for site, nodes in sorted(given_up.items()) for node in nodes)
    return [*found, *(MoveReason(site, node, None, _enough(problem, site)) for site, node in taken)]


def stays(problem: Problem, rows: Ints, site: int, node: int) -> str:
    """Why a row that is in force stays."""
    if node in problem.pinned.get(site, frozenset()):
        return f"pinned to {problem.nodes[node]}"
    if node in problem.barred.get(site, frozenset()):
        return f"it is not to be on {problem.nodes[node]}, and has no other node yet"
    if not problem.load[site].any():
        return "it asks for nothing, so that no node is better off without it"
    away = score.deviation(problem, problem.old)
    if not (_over(problem, away, node) or _under(problem, away, node)):
        return f"{problem.nodes[node]} is in balance with it, and no move is free"
    then = score.deviation(problem, rows)
    off = float(then[node, int(np.abs(then[node]).argmax())])
    was = _over(problem, away, node) or _under(problem, away, node)
    return f"{was}, and other moves bring it to {100 * off:+.0f} %"


def _given_up(problem: Problem, rows: Ints) -> dict[int, list[int]]:
    """The nodes each site leaves, the closed ones first: those it had to leave."""
    nodes: dict[int, list[int]] = defaultdict(list)
    for site, node in score.left(problem, rows).tolist():
        nodes[site].append(node)
    for left in nodes.values():
        left.sort(key=lambda node: (bool(problem.open[node]), node))
    return nodes


def _wished(problem: Problem, because: Because, site: int, source: int | None, target: int, *, served: bool) -> str:
    """The wish that the row answers; nothing where balance asked for it."""
    until = because.until(problem.sites[site])
    if target in problem.pinned.get(site, frozenset()):
        return f"pinned to {problem.nodes[target]}{until}"
    if not served:
        return "no node serves it yet" + _many(problem, because, site)
    if source is None:
        return "one more replica" + _many(problem, because, site)
    name = problem.nodes[source]
    if not problem.open[source]:
        return f"{name} is {'in the settings no more' if source in problem.gone else because.closed(name)}"
    if source in problem.barred.get(site, frozenset()):
        return f"it is not to be on {name}{until}"
    return _company(problem, site, source)


def _company(problem: Problem, site: int, source: int) -> str:
    """Who is on the node it leaves that should not be, or is not that should."""
    there = set(problem.old[problem.old[:, 1] == source, 0].tolist()) if problem.apart or problem.together else set()
    for rival in sorted(problem.rivals.get(site, frozenset()) & there):
        return f"it is kept apart from {problem.sites[rival]} on {problem.nodes[source]}"
    for group in problem.together:
        if site in group and (missing := sorted(group - there)):
            return f"it is kept together with {problem.sites[missing[0]]}"
    return ""


def _balanced(problem: Problem, away: Floats, source: int, target: int) -> str:
    return _over(problem, away, source) or _under(problem, away, target) or _exchange(problem, source, target)


def _left(other: Other) -> str:
    """What the move is good for, now that all others are made: how far off a node would be without it."""
    return f"; left there, {other.node} would be {100 * abs(other.off):.0f} % {'over' if other.off > 0 else 'under'}"


def _enough(problem: Problem, site: int) -> str:
    count = int(problem.replicas[site])
    return "one node is enough" if count == 1 else f"{count} nodes are enough"


def _many(problem: Problem, because: Because, site: int) -> str:
    """How many replicas a site needs, and what they ask for together; or that somebody wished for so many."""
    count, name = int(problem.replicas[site]), problem.sites[site]
    if count == 1:
        return ""
    if because.wants(name, count):
        return f": {count} in all, as wished{because.until(name)}"
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

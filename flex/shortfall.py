"""Why a placement is a best effort: which rules it breaks, what causes that, and what would do.

In go a Problem and the rows of an answer; out come Shortfalls, in the order in which the judge names what is broken.
Of the band only the node that is farthest outside is named: to bring it back is what all others wait for. What would
do is found by counting here; solvers that can prove more say so beside it.
"""

from __future__ import annotations

import math

import numpy as np

from flex import score
from flex.problem import Floats, Ints, Problem
from flex.score import ROUNDING, Violation
from flex.short import Relaxation, Shortfall

# How many broken wishes and limits, and causes of each, are named.
MOST = 5
BAND = ("over", "under")
# What limits of moves are on.
LIMITS = {"moves": "moves", "cold": "cold bytes", "inflow": "bytes into a node"}


def shortfalls(problem: Problem, rows: Ints) -> tuple[Shortfall, ...]:
    broken = score.violations(problem, rows)
    others = [violation for violation in broken if violation.kind not in BAND][:MOST]
    found = [_of_rule(problem, violation) for violation in others]
    return (*found, _of_band(problem, rows)) if any(v.kind in BAND for v in broken) else tuple(found)


def limits_for(problem: Problem, rows: Ints, least: int) -> tuple[Relaxation, ...]:
    """What limits of moves would have to be for these rows, where those are all that they break.

    No balanced placement has less than `least` moves.
    """
    needed: dict[str, float] = {}
    for broken in score.violations(problem, rows):
        if broken.kind not in LIMITS:
            return ()
        needed[broken.kind] = max(broken.actual, needed.get(broken.kind, 0.0))
    return tuple(
        Relaxation(LIMITS[kind], most, least=(kind, most) == ("moves", least)) for kind, most in needed.items()
    )


def text(shortfall: Shortfall) -> str:
    """One line for people."""
    because = f", because of {', '.join(shortfall.because)}" if shortfall.because else ""
    would_do = [f"{_named(each)} would do{', and none smaller' * each.least}" for each in shortfall.instead]
    if shortfall.kind in BAND and not any(each.rule == "tolerance" for each in shortfall.instead):
        would_do.insert(0, "no tolerance allows that")
    return "; ".join([f"{_said(shortfall)}{because}", *would_do])


def _said(shortfall: Shortfall) -> str:
    what = shortfall.subject
    match shortfall.kind:
        case kind if kind in BAND:
            node, _, resource = what.partition(" ")
            return f"{node} stays {shortfall.kind} its {resource} by {shortfall.actual:.1%}"
        case "moves" | "cold" | "inflow":
            return f"{shortfall.kind} of {what}: {shortfall.actual:.0f} with a limit of {shortfall.limit:.0f}"
        case _:
            return f"{shortfall.kind}: {what}"


def _named(relaxation: Relaxation) -> str:
    if relaxation.rule == "tolerance":
        return f"a tolerance of {relaxation.enough:.3f}"
    return f"{relaxation.enough:.0f} {relaxation.rule}"


def _of_rule(problem: Problem, broken: Violation) -> Shortfall:
    rule = {**LIMITS, "apart": "nodes"}.get(broken.kind, "")
    because: tuple[str, ...] = ()
    enough = broken.actual
    if broken.kind == "apart":
        group = max(problem.apart, key=lambda group: int(problem.replicas[list(group)].sum()))
        enough = float(problem.replicas[list(group)].sum())
        because = _some([problem.sites[site] for site in sorted(group)])
    instead = (Relaxation(rule, enough),) if rule else ()
    return Shortfall(broken.kind, broken.subject, broken.limit, broken.actual, because, instead)


def _of_band(problem: Problem, rows: Ints) -> Shortfall:
    away = _away(problem, rows)
    node, dimension = divmod(int(np.abs(away).argmax()), len(problem.dimensions))
    off = float(away[node, dimension])
    enough = math.ceil((abs(off) - ROUNDING) * 1000) / 1000
    least, because = _least_tolerance(problem)
    if not because:
        because = _some([*_spent(problem, rows, node), *(_causes(problem, rows, node, dimension) if off > 0 else ())])
    return Shortfall(
        "over" if off > 0 else "under",
        f"{problem.nodes[node]} {problem.dimensions[dimension]}",
        problem.tolerance,
        abs(off),
        because,
        (Relaxation("tolerance", enough, least=least > enough - 0.001),) if enough < 1 else (),
    )


def _away(problem: Problem, rows: Ints) -> Floats:
    seen = problem.open[:, None] & (problem.load.sum(axis=0) > 0)[None, :]
    away: Floats = np.where(seen, score.deviation(problem, rows), 0.0)
    return away


def _least_tolerance(problem: Problem) -> tuple[float, tuple[str, ...]]:
    """What no placement can stay under, as one site or the pins of one node alone are more; and which those are."""
    widest = float(problem.share[problem.open].max())
    over = problem.load.max(axis=1, initial=0.0) / widest - 1
    found: list[tuple[float, tuple[str, ...]]] = []
    if len(over) and over.max() > problem.tolerance + ROUNDING:
        large = np.flatnonzero(over > problem.tolerance + ROUNDING)
        named = [f"{problem.sites[site]}, {over[site] + 1:.0%} of a node" for site in large[np.argsort(-over[large])]]
        found.append((float(over.max()), _some(named)))
    total = np.zeros_like(problem.load, shape=(len(problem.nodes), len(problem.dimensions)))
    for site, nodes in problem.pinned.items():
        total[sorted(nodes)] += problem.load[site]
    pinned = np.where(problem.open[:, None], total / np.where(problem.open, problem.share, 1.0)[:, None] - 1, 0.0)
    if pinned.max(initial=0.0) > problem.tolerance + ROUNDING:
        node = int(pinned.max(axis=1).argmax())
        sites = [site for site, nodes in sorted(problem.pinned.items()) if node in nodes]
        named = [f"the pin of {problem.sites[site]} to {problem.nodes[node]}" for site in sites]
        found.append((float(pinned.max()), _some(named)))
    return max(found, default=(0.0, ()))


def _spent(problem: Problem, rows: Ints, node: int) -> list[str]:
    """The limits that leave no room for one more row elsewhere than on the node."""
    limits, asking = problem.limits, problem.load.any(axis=1)
    moves, cold = score.moves(problem, rows), score.cold_bytes(problem, rows)
    others = problem.open & (np.arange(len(problem.nodes)) != node)
    inflow = int(score.inflow(problem, rows)[others].min()) if others.any() else 0
    weight = 1 if problem.weight is None else int(problem.weight[asking].min(initial=1))
    smallest = int(problem.cold[asking].min()) if asking.any() else 0
    spent = [
        ("moves", limits.moves, moves + weight),
        ("cold bytes", limits.cold_bytes, cold + smallest),
        ("bytes into a node", limits.inflow, inflow + smallest),
    ]
    return [f"the limit of {most} {of}" for of, most, needed in spent if most is not None and needed > most]


def _causes(problem: Problem, rows: Ints, node: int, dimension: int) -> tuple[str, ...]:
    """The largest sites on the node, as far as more than the band's width depends on each."""
    sites = rows[rows[:, 1] == node, 0]
    asked = problem.load[sites, dimension] / problem.share[node]
    large = [i for i in np.argsort(-asked, kind="stable").tolist() if asked[i] > problem.tolerance]
    return _some([f"{problem.sites[sites[i]]}, {asked[i]:.0%} of the node" for i in large])


def _some(names: list[str]) -> tuple[str, ...]:
    more = (f"{len(names) - MOST} more",) if len(names) > MOST else ()
    return (*names[:MOST], *more)

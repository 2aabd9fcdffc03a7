"""Why each row of a new partition is there, in numbers and for a person.

Takes a Problem and the rows that a solver chose. Returns one reason for each new row, in the order
of the rows, then one for each replica that is taken away. Does not judge the rows (score.py does)
and does not change them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from flex.model.nodes import NodeState
from flex.model.wish import Pin
from flex.placing import score
from flex.placing.bundles import members
from flex.placing.other_nodes_for_site import Chosen, Other
from flex.placing.problem import Floats, Ints, Problem

# So many wishes that are in a site's way are named.
MOST = 5
# Stands between causes of which each alone is enough.
AND = ", and "


@dataclass(frozen=True, slots=True)
class MoveReason:
    """One change by position: `source` is the node whose row is given up, None when the site gave
    none up; `target` the node of the new row, None where a replica is taken away.
    """

    site: int
    source: int | None
    target: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Because:
    """What people said of sites and nodes until `now`, by name: a Problem knows what follows from
    it, and not what it was.
    """

    pins: Mapping[str, Pin] = field(default_factory=dict)
    states: Mapping[str, NodeState] = field(default_factory=dict)
    now: datetime | None = None
    left_out: Collection[str] = ()

    def when(self, site: str) -> str:
        """From when to when the wish for the site holds, as far as it has a beginning that is still
        to come, or an end.
        """
        pin = self.pins.get(site)
        if pin is None:
            return ""
        ahead = pin.since is not None and self.now is not None and pin.since > self.now
        begins = f" from {_moment(pin.since)}" if ahead and pin.since else ""
        return begins + (f" until {_moment(pin.until)}" if pin.until else "")

    def why_closed(self, node: str) -> str:
        """Why it takes no sites. A question may leave it out."""
        if node in self.left_out:
            return "left out"
        state_words: dict[str, str] = {"draining": "drained", "down": "down"}
        return state_words.get(self.states.get(node, ""), "given no sites now")

    def wants(self, site: str, replicas: int) -> bool:
        return (
            site in self.pins
            and max(self.pins[site].min_replicas, len(self.pins[site].nodes)) >= replicas
        )


def _moment(when: datetime) -> str:
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


def reasons(problem: Problem, rows: Ints, because: Because = Because()) -> list[MoveReason]:
    """One reason for every row that is not in force, in the order of the rows, then for every row
    given up besides.
    """
    given_up, served = _given_up(problem, rows), set(problem.old[:, 0].tolist())
    away, chosen = score.deviation(problem, problem.old), Chosen(problem, rows)
    move_reasons = []
    for site, target in score.new_rows(problem, rows).tolist():
        source = given_up[site].pop(0) if given_up[site] else None
        text = _wish_behind(problem, because, site, source, target, served=site in served)
        if not text and source is not None:
            text = _gain_in_balance(problem, away, source, target)
            text += _loss_without_it(chosen.left_there(site, source, target), text)
        move_reasons.append(MoveReason(site, source, target, text))
    taken = ((site, node) for site, nodes in sorted(given_up.items()) for node in nodes)
    return [
        *move_reasons,
        *(
            MoveReason(site, node, None, _why_given_up(problem, because, site, node))
            for site, node in taken
        ),
    ]


def stays(
    problem: Problem,
    rows: Ints,
    site: int,
    node: int,
    stopped: str = "",
    later: Set[str] = frozenset(),
    because: Because = Because(),
) -> str:
    """Why a row that is in force stays; `stopped` names the rules without which the site would
    move, `later` the nodes with moves of other sites that are put off.
    """
    name = problem.nodes[node]
    if told := _what_holds_it(problem, because, site, node, stopped):
        return told
    if not problem.open[node]:
        closed = "in the settings no more" if node in problem.gone else because.why_closed(name)
        return f"{name} is {closed}, and no plan has moved it yet"
    if not problem.load[members(problem, site)].any():
        return "it has no load, so that no node is better off without it"
    away = score.deviation(problem, problem.old)
    was = _overload_text(problem, away, node) or _underload_text(problem, away, node)
    if not was:
        return f"{name} is in balance with it, and every move has a cost"
    if _overload_text(problem, away, node) and (
        told := _what_hinders_it(problem, rows, site, node)
    ):
        return f"{was}, and {told}"
    if node not in {
        *score.new_rows(problem, rows)[:, 1].tolist(),
        *score.rows_given_up(problem, rows)[:, 1].tolist(),
    }:
        if name in later:
            return f"{was}, and moves of other sites to it or from it are put off"
        return f"{was}, and no move to it or from it is planned"
    then = score.deviation(problem, rows)
    off = float(then[node, int(np.abs(then[node]).argmax())])
    return f"{was}, and other moves bring it to {100 * off:+.0f} %"


def _what_holds_it(problem: Problem, because: Because, site: int, node: int, stopped: str) -> str:
    """The wish, or the rule of movement, that keeps the site on the node."""
    name = problem.nodes[node]
    for member in members(problem, site):
        if node in problem.pinned.get(member, frozenset()):
            told, wished = problem.sites[member], because.pins.get(problem.sites[member])
            is_wish = wished is not None and name in wished.nodes
            if member == site:
                return f"pinned to {name}" if is_wish else "FLEX cannot move it"
            why = f"pinned to {name}" if is_wish else "which FLEX cannot move"
            return f"kept together with {told}, {why}"
    if stopped:
        return stopped
    if node in problem.barred.get(site, frozenset()):
        return f"it is not to be on {name}, and has no other node yet"
    return ""


def _what_hinders_it(problem: Problem, rows: Ints, site: int, node: int) -> str:
    """What keeps the site from nodes where it would do good: other wishes, or limits of moves."""
    chosen = Chosen(problem, rows)
    free, held = chosen.free(site), rows[rows[:, 0] == site, 1].tolist()
    closed = [n for n in np.flatnonzero(problem.open).tolist() if n not in (*free, *held)]
    good = [n for n in free if not chosen.outcome_of_move(site, node, n).outside]
    wanted = (
        [] if good else [n for n in closed if not chosen.outcome_of_move(site, node, n).outside]
    )
    near = [(rival, n) for n in wanted for rival in chosen.rivals(site, n)]
    told = [f"kept apart from {problem.sites[rival]} on {problem.nodes[n]}" for rival, n in near]
    told += [f"not to be on {problem.nodes[n]}" for n in wanted if chosen.bars(site, n)]
    if told:
        return f"it is {', '.join(told[:MOST])}"
    # Where it would do no good without them, it is not the limits that keep it.
    if good and all(_breaks_limits(problem, rows, site, n) for n in good):
        return "the limits of moves leave none for it"
    tied = [problem.sites[member] for member in members(problem, site) if member != site]
    if tied and not good and any(chosen.fits_alone(site, node, n) for n in free):
        return f"it would move only together with {', '.join(tied[:MOST])}"
    return ""


def _breaks_limits(problem: Problem, rows: Ints, site: int, node: int) -> bool:
    """Whether one more row there would be more than may be moved."""
    there = np.array([(member, node) for member in members(problem, site)], dtype=np.int64)
    moves, cold = score.costs(problem, there).sum(axis=0).tolist()
    limits = problem.limits
    return (
        (limits.moves is not None and score.moves(problem, rows) + moves > limits.moves)
        or (
            limits.cold_bytes is not None
            and score.cold_bytes(problem, rows) + cold > limits.cold_bytes
        )
        or (
            limits.inflow is not None
            and int(score.inflow(problem, rows)[node]) + cold > limits.inflow
        )
    )


def _given_up(problem: Problem, rows: Ints) -> dict[int, list[int]]:
    """The nodes each site leaves, the closed ones first: those it had to leave."""
    nodes: dict[int, list[int]] = defaultdict(list)
    for site, node in score.rows_given_up(problem, rows).tolist():
        nodes[site].append(node)
    for left in nodes.values():
        left.sort(key=lambda node: (bool(problem.open[node]), node))
    return nodes


def _wish_behind(
    problem: Problem, because: Because, site: int, source: int | None, target: int, *, served: bool
) -> str:
    """The wish that the row answers; nothing where balance asked for it."""
    until = because.when(problem.sites[site])
    if target in problem.pinned.get(site, frozenset()):
        return f"pinned to {problem.nodes[target]}{until}"
    if not served:
        return "new" + _many(problem, because, site)
    if source is None:
        return "one more replica" + _many(problem, because, site)
    return AND.join(
        [*_why_it_must_leave(problem, because, site, source), *_company(problem, site, source)]
    )


def _why_it_must_leave(problem: Problem, because: Because, site: int, node: int) -> Iterator[str]:
    """The node's state, and the wish, that let the site not stay on the node."""
    name = problem.nodes[node]
    if not problem.open[node]:
        is_gone = node in problem.gone
        closed = "in the settings no more" if is_gone else because.why_closed(name)
        yield f"{name} is {closed}"
    if node in problem.barred.get(site, frozenset()):
        yield f"it is not to be on {name}{because.when(problem.sites[site])}"


def _company(problem: Problem, site: int, source: int) -> Iterator[str]:
    """Who is on the node it leaves that should not be, and is not that should."""
    there = (
        set(problem.old[problem.old[:, 1] == source, 0].tolist())
        if problem.apart or problem.together
        else set()
    )
    if rivals := sorted(problem.rivals.get(site, frozenset()) & there):
        yield f"it is kept apart from {_names(problem, rivals)} on {problem.nodes[source]}"
    for group in problem.together:
        if site in group and (missing := sorted(group - there)):
            yield f"it is kept together with {_names(problem, missing)}"


def _names(problem: Problem, sites: Sequence[int]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(sites) - MOST} more" if len(sites) > MOST else ""
    return ", ".join(problem.sites[site] for site in sites[:MOST]) + more


def _gain_in_balance(problem: Problem, away: Floats, source: int, target: int) -> str:
    return (
        _overload_text(problem, away, source)
        or _underload_text(problem, away, target)
        or _exchange(problem, source, target)
    )


def _loss_without_it(other: Other | None, gain: str) -> str:
    """What the move is good for, now that all others are made: how far off a node would be that is
    nearer with it. Nothing where the gain says the same.
    """
    if other is None:
        return ""
    off, side = f"{100 * abs(other.off):.0f} %", "over" if other.off > 0 else "under"
    if gain == f"{other.node} {side} {other.dimension} by {off}":
        return ""
    return f"; left there, {other.node} would be {off} {side}"


def _why_given_up(problem: Problem, because: Because, site: int, node: int) -> str:
    """Why it leaves the node, where it had to; and why it takes no other one for it."""
    count = int(problem.replicas[site])
    enough = "one node is enough" if count == 1 else f"{count} nodes are enough"
    return AND.join([*_why_it_must_leave(problem, because, site, node), enough])


def _many(problem: Problem, because: Because, site: int) -> str:
    """How many replicas a site needs, and what they ask for together; or that somebody wished for
    so many.
    """
    count, name = int(problem.replicas[site]), problem.sites[site]
    if count == 1:
        return ""
    if because.wants(name, count):
        return f"; on {count} nodes, as wished{because.when(name)}"
    demand = count * problem.load[site] / 100
    widest = int(demand.argmax())
    return (
        f"; on {count} nodes, as its {problem.dimensions[widest]} is that of "
        f"{demand[widest]:.1f} nodes"
    )


def _overload_text(problem: Problem, away: Floats, node: int) -> str:
    widest = int(away[node].argmax())
    if away[node, widest] <= problem.tolerance + score.ROUNDING:
        return ""
    return (
        f"{problem.nodes[node]} over {problem.dimensions[widest]} by "
        f"{100 * away[node, widest]:.0f} %"
    )


def _underload_text(problem: Problem, away: Floats, node: int) -> str:
    carries = problem.load.sum(axis=0) > 0
    widest = int(np.where(carries, away[node], 0.0).argmin())
    if not carries[widest] or away[node, widest] >= -problem.tolerance - score.ROUNDING:
        return ""
    return (
        f"{problem.nodes[node]} under {problem.dimensions[widest]} by "
        f"{-100 * away[node, widest]:.0f} %"
    )


def _exchange(problem: Problem, source: int, target: int) -> str:
    """Neither end was outside the band before: the move answers another one."""
    return f"makes up for other moves of {problem.nodes[source]} and {problem.nodes[target]}"

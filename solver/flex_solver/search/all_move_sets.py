"""Few moves for few nodes, by looking at all possible ways.

Takes a Problem and rows that are known. Returns rows with fewer moves, or with as many moves and
fewer cold bytes, or the answer that there are none. Does not answer where that would take more
steps than are allowed. Steps are counted, so the result is the same each time, with and without the
native loop.

What may move, and from where to where, is what move_graph.py says: wishes to be apart, limits and
missing pins are left out, so that what cannot be done here cannot be done at all, and rows found
here are looked at by the judge. A node that gives a row pays the price of priced.py for it, the one
that takes it the rest of a move; any other prices would do.

Sites that ask for nothing are not looked at: they stay where they are known to be. That leaves
nothing out as long as they move no more often than they must whatever becomes of the others, which
is counted on its own. Where they move more often nothing is said: a partition might move others in
their stead.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flex.placing import score
from flex.placing.problem import Bools, Floats, Ints, Problem, sort_by_site
from flex_solver.bounds import counting, move_forest
from flex_solver.bounds.move_graph import Net, net
from flex_solver.bounds.priced import Priced, price_bound
from flex_solver.search.all_move_sets_loop import MOVE, MoveSetLimits, Puzzle, sift
from flex_solver.wishes_as_row_rules import RowRules

# Changes of a node, at most: there are tables of all sets of three. A guess.
CHANGES = 250
# Steps for the question whether so few moves will do, a step being one way put one move further. A
# guess.
PROOF = 2**18
# The same for the way with the fewest cold bytes among those with as many moves. A guess.
COLDER = 40_000
# What a move counts in the second price, which weighs moves and cold bytes together. Three
# times this, a move and READS times as much for its bytes, stays below MOVE.
COUNTS = 330
# What all cold bytes that there may be count, in moves. A guess.
READS = 2
Clock = Callable[[], float]


def is_small(problem: Problem) -> bool:
    most = len(problem.sites) + int(np.bincount(problem.old[:, 1], minlength=1).max())
    return most <= CHANGES and problem.tolerance > 0 and move_forest.is_small(problem)


def fewest(problem: Problem, known: Ints, priced: Priced, left: Clock) -> Ints | None:
    """Rows with the fewest moves, those known if there are none with fewer; None where nothing is
    said.
    """
    if _idle_moves(problem, known) > counting.idle(problem):
        return None
    most, cold = _moves(problem, known), int(problem.cold @ problem.replicas)
    for moves in range(max(0, priced.least - score.moves(problem, known) + most), most):
        wanted = MoveSetLimits((moves * MOVE,), cold, any=True, steps=PROOF, seconds=left())
        rows, every = _try_all(problem, priced, known, wanted)
        if rows is not None:
            return rows
        if not every:
            return None
    return known


def coldest(problem: Problem, known: Ints, priced: Priced, left: Clock) -> tuple[Ints, bool]:
    """The best rows found with no more moves than those known, and whether none have fewer cold
    bytes.

    Where a site that asks for nothing makes room for another one, that might go in its stead.
    """
    if _idle_moves(problem, known) > RowRules(problem).rows_demanded[~_asking(problem)].sum():
        return known, False
    moves, cold = _moves(problem, known), score.cold_bytes(problem, known) - 1
    if cold < 0:
        return known, True
    price, reads = (moves * MOVE, (moves + READS) * COUNTS), (0, READS * COUNTS)
    wanted = MoveSetLimits(price, cold, any=False, steps=COLDER, seconds=left(), reads=reads)
    rows, every = _try_all(problem, priced, known, wanted)
    return (known if rows is None else rows), every


def _moves(problem: Problem, rows: Ints) -> int:
    """The moves of sites that ask for something."""
    return score.moves(problem, rows[_asking(problem)[rows[:, 0]]])


def _idle_moves(problem: Problem, rows: Ints) -> int:
    """The moves of sites that ask for nothing."""
    return score.moves(problem, rows[~_asking(problem)[rows[:, 0]]])


def _asking(problem: Problem) -> Bools:
    asking: Bools = np.asarray(problem.load.any(axis=1))
    return asking


def _try_all(
    problem: Problem, priced: Priced, known: Ints, wanted: MoveSetLimits
) -> tuple[Ints | None, bool]:
    """The best rows found, if they keep all rules, and whether there are none that are better."""
    places = net(problem)
    puzzle = _puzzle(problem, places, _shares(problem, priced, wanted), wanted.cold)
    moves, every = sift(puzzle, wanted)
    if moves is None:
        return None, every
    rows = _rows(problem, known, places, puzzle.row[moves], puzzle.target[moves])
    return (None, False) if score.violations(problem, rows) else (rows, every)


def _rows(problem: Problem, known: Ints, places: Net, row: Ints, target: Ints) -> Ints:
    """The partition that moves make of the one in force; sites that ask for nothing are where they
    are known to be.
    """
    held = problem.old[RowRules(problem).may_stay]
    opened = np.flatnonzero(problem.open)
    left = places.at[row] < len(opened)
    gone = np.stack([places.site[row[left]], opened[places.at[row[left]]]], axis=1)
    new = target < len(opened)
    come = np.stack([places.site[row[new]], opened[target[new]]], axis=1)
    asking = _asking(problem)
    keys, away = (rows @ [len(problem.nodes), 1] for rows in (held, gone))
    stays = asking[held[:, 0]] & ~np.isin(keys, away)
    return sort_by_site(np.concatenate([held[stays], come, known[~asking[known[:, 0]]]]))


def _shares(problem: Problem, priced: Priced, wanted: MoveSetLimits) -> list[tuple[Ints, Ints]]:
    """By each price, what a row of each site costs the node that gives it, and the one that takes
    it.

    By the second price a part is for the move, and a part for the bytes that it reads.
    """
    gives = np.rint(priced.prices * MOVE).astype(np.int64)
    shares = [(gives, MOVE - gives)]
    if len(wanted.price) > 1:
        reads = np.minimum(problem.cold, wanted.cold) / max(1, wanted.cold)
        worth = (COUNTS * (1 + READS * reads)).astype(np.int64)
        gives = (
            np.rint(price_bound(problem, READS * reads).prices * COUNTS)
            .astype(np.int64)
            .clip(0, worth)
        )
        shares.append((gives, worth - gives))
    return shares


def _puzzle(problem: Problem, places: Net, shares: list[tuple[Ints, Ints]], most: int) -> Puzzle:
    """No move has more than the `most` cold bytes."""
    nodes, real = int(problem.open.sum()), len(places) - places.vanishing
    row, target = np.nonzero(places.able)
    able = (places.at[row] != target) & (
        (problem.cold[places.site[row]] <= most) | (target >= real)
    )
    row, target = row[able], target[able]
    site, source, stays = places.site[row], places.at[row], target < real
    changes = [_changes(places, row, target, n, shares) for n in range(nodes)]
    off = np.zeros((len(shares), len(places)), dtype=np.int64)
    for number, (gives, _) in enumerate(shares):
        off[number, source[source >= nodes]] = gives[site[source >= nodes]]
        off[number, target[~stays]] = -gives[site[~stays]]
    return Puzzle(
        load=_wide(places.load, 0.0),
        low=_wide(places.low, -1.0),
        high=_wide(places.high, 1.0),
        off=off,
        first_change=np.cumsum([0, *(len(some) for some, _ in changes)]),
        change=_wide(np.concatenate([some for some, _ in changes]), 0.0),
        change_price=np.concatenate([prices for _, prices in changes], axis=1),
        row=row,
        site=site,
        source=source,
        target=target,
        asks=_wide(places.asks[row], 0.0),
        price=np.array([np.where(stays, gives[site] + takes[site], 0) for gives, takes in shares]),
        cold=np.where(stays, problem.cold[site], 0),
    )


def _changes(
    places: Net, row: Ints, target: Ints, node: int, shares: list[tuple[Ints, Ints]]
) -> tuple[Floats, Ints]:
    """What may leave the node, each row once, and what may come, each site once, and what it pays
    for that.
    """
    leave = np.unique(row[places.at[row] == node])
    come, first = np.unique(places.site[row[target == node]], return_index=True)
    asks = places.asks[row[target == node]][first]
    return (
        np.concatenate([-places.asks[leave], asks]),
        np.array(
            [np.concatenate([gives[places.site[leave]], takes[come]]) for gives, takes in shares]
        ),
    )


def _wide(loads: Floats, other: float) -> Floats:
    """Where there is one dimension alone, there is another that nothing asks for."""
    return loads if loads.shape[1] > 1 else np.column_stack([loads, np.full(len(loads), other)])

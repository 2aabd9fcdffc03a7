"""Chooses nodes that are solved together.

Takes moves, as the node that each leaves and the node that it goes to. Returns a block of nodes
that moves connect. Does not solve the block: solve_few_nodes_exactly.py does. The same moves and
random generator always give the same block.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Bools, Ints

# How often a block grows along moves of its nodes, rather than by a move from elsewhere. A guess.
ALONG = 0.6


def linked_block(
    source: Ints, target: Ints, size: int, taken: Bools, random: np.random.Generator
) -> Ints:
    """A block around one of the moves, from `source[m]` to `target[m]`, none of its nodes `taken`;
    maybe empty.

    It grows to `size` nodes, or to as many moves: the more of them, the longer it takes to solve.
    """
    free = ~(taken[source] | taken[target])
    source, target = source[free], target[free]
    inside = np.zeros(len(taken), dtype=np.bool_)
    move = int(random.integers(len(source))) if len(source) else -1
    while move >= 0:
        grown = inside.copy()
        grown[[source[move], target[move]]] = True
        if np.count_nonzero(inside) and _is_large(source, target, grown, size):
            break
        inside = grown
        move = _next(source, target, inside, random)
    return np.flatnonzero(inside)


def _is_large(source: Ints, target: Ints, inside: Bools, size: int) -> bool:
    moves = np.count_nonzero(inside[source] & inside[target])
    return bool(np.count_nonzero(inside) > size or moves > size)


def _next(source: Ints, target: Ints, inside: Bools, random: np.random.Generator) -> int:
    """A move that leads out of the block, or mostly so; -1 where all moves are inside."""
    outside = np.flatnonzero(~(inside[source] & inside[target]))
    across = outside[inside[source[outside]] | inside[target[outside]]]
    if not len(outside):
        return -1
    pool = across if len(across) and random.random() < ALONG else outside
    return int(pool[random.integers(len(pool))])

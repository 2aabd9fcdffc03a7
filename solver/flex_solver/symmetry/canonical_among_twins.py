"""Always the same one of all partitions that differ only in which twin is where.

Takes a Problem and rows. Returns rows with as many sites of each kind on each node, so loads and
costs stay the same. Does not change a kind of which every site is where it is in force.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Floats, Ints, Problem, sort_by_site
from flex_solver.symmetry.site_kinds import counts_of, kinds, rows_of


def told_apart(problem: Problem, rows: Ints) -> Ints:
    """The rows in order, with twins in the order of their names."""
    ordered = sort_by_site(rows)
    sites = _complete(
        problem, ordered, _find_possible_twins(problem, _changed_sites(problem, ordered))
    )
    if not len(sites):
        return ordered
    of_kind = kinds(problem, sites.tolist())
    theirs = np.isin(ordered[:, 0], sites)
    again = rows_of(
        of_kind, counts_of(of_kind, ordered[theirs]), np.flatnonzero(problem.open).tolist()
    )
    return sort_by_site(np.concatenate([ordered[~theirs], again]))


def _changed_sites(problem: Problem, rows: Ints) -> Ints:
    """The sites that are not just where they are in force."""
    if np.array_equal(rows, problem.old):
        return rows[:0, 0]
    nodes = len(problem.nodes)
    before, after = (site * nodes + node for site, node in (problem.old.T, rows.T))
    differs = np.zeros(len(problem.sites), dtype=np.bool_)
    differs[np.setxor1d(before, after, assume_unique=True) // nodes] = True
    return np.flatnonzero(differs)


def _complete(problem: Problem, rows: Ints, sites: Ints) -> Ints:
    """The sites with all replicas: the others, for which wishes leave no room, stay as they are."""
    count = np.bincount(rows[:, 0], minlength=len(problem.sites))
    complete: Ints = sites[count[sites] == problem.replicas[sites]]
    return complete


def _find_possible_twins(problem: Problem, changed: Ints) -> Ints:
    """Those of the sites that others may be twins of, and these others."""
    if not len(changed):
        return changed
    alike = np.ones(len(problem.sites), dtype=np.bool_)
    measures = _measures(problem)
    for column in measures.T:
        alike &= np.isin(column, column[changed])
    sites = np.flatnonzero(alike)
    _, group, size = np.unique(measures[sites], axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    twins: Ints = sites[(size[group] > 1) & np.isin(group, group[np.isin(sites, changed)])]
    return twins


def _measures(problem: Problem) -> Floats:
    """What twins have in common, as far as numbers say it: more than these may be alike, never
    fewer.
    """
    weight = np.ones_like(problem.cold) if problem.weight is None else problem.weight
    return np.column_stack([problem.load, problem.cold, problem.replicas, weight])

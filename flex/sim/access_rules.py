"""What a policy makes of a trace and a cluster: which rule decides for which accesses, among which
nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flex.errors import BadInput
from flex.prediction.cache_replay import Ints
from flex.sim.engine_input_and_output import OWN
from flex.sim.rules import NUMBER
from flex.sim.simulated_clusters import MILLISECOND, SECOND, T_HIGH, T_LOW, SimulatedCluster
from flex.sim.traces import Trace

if TYPE_CHECKING:
    import numpy.typing as npt

# Eight bytes each: more would take all of a small machine's memory.
MOST_OPTIONS = 50_000_000
# The nodes that serve each site of a trace, as a solver places them.
Place = Callable[[Trace, SimulatedCluster], Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True, eq=False)
class RoutedAccesses:
    """Access i is decided by rule[key[i]], among the nodes option[first[k]:first[k + 1]].

    `prefetched` says which keys their nodes may be filled with beforehand, where targets are keys;
    None is no key. The rest are the rules' settings: T_low, T_high and K of LARD, the bound of
    loads in per cent, and HACC's sampling.
    """

    key: Ints
    rule: Ints
    first: Ints
    option: Ints
    memory: int = OWN
    prefetched: npt.NDArray[np.bool_] | None = None
    low: int = T_LOW
    high: int = T_HIGH
    patience: int = 20 * SECOND
    bound: int = 125
    interval: int = 200 * MILLISECOND
    margin: int = 200
    cpu_share: int = 0


def route_by_one_rule(
    trace: Trace, cluster: SimulatedCluster, rule: str, *, memory: int = OWN
) -> RoutedAccesses:
    """One rule for everything, among all nodes."""
    first, option = everywhere(1, cluster.nodes)
    return RoutedAccesses(
        np.zeros_like(trace.target), _rules(rule, 1), first, option, memory=memory
    )


def route_by_target(trace: Trace, cluster: SimulatedCluster, rule: str) -> RoutedAccesses:
    """A rule that remembers each target, among all nodes."""
    first, option = everywhere(len(trace.size), cluster.nodes)
    return RoutedAccesses(trace.target, _rules(rule, len(trace.size)), first, option)


def route_among_sets(key: Ints, rule: str, sets: Sequence[Sequence[int]]) -> RoutedAccesses:
    """The key's rule among the nodes of the key's set."""
    first, option = pack(sets)
    return RoutedAccesses(key, _rules(rule, len(sets)), first, option)


def everywhere(keys: int, nodes: int) -> tuple[Ints, Ints]:
    _refuse_too_many(keys * nodes)
    return np.arange(keys + 1) * nodes, np.tile(np.arange(nodes), keys)


def pack(sets: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    first = np.zeros(len(sets) + 1, dtype=np.int64)
    first[1:] = np.cumsum([len(nodes) for nodes in sets])
    return first, np.array([node for nodes in sets for node in nodes], dtype=np.int64)


def runs(start: Ints, length: Ints, nodes: int) -> tuple[Ints, Ints]:
    """For each key, `length` nodes from `start` on, in a circle."""
    first = np.zeros(len(start) + 1, dtype=np.int64)
    first[1:] = np.cumsum(length)
    _refuse_too_many(int(first[-1]))
    step = np.arange(first[-1]) - np.repeat(first[:-1], length)
    return first, (np.repeat(start, length) + step) % nodes


def _refuse_too_many(options: int) -> None:
    if options > MOST_OPTIONS:
        raise BadInput(
            "a policy that keeps the nodes of each target",
            f"that makes {options:,} pairs of a target and a node, at most {MOST_OPTIONS:,} fit",
            kept="nothing was simulated",
            advice="take fewer nodes, a smaller log, or a policy that looks at sites "
            "or nodes alone",
        )


def hash_numbers(numbers: Ints) -> Ints:
    """A hash of each number that is the same on every machine, never negative."""
    x = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashed: Ints = ((x ^ (x >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)
    return hashed


def rules_of(names: Sequence[str], which: Ints) -> Ints:
    """The number of the rule names[which[k]] of each key k."""
    return np.array([NUMBER[name] for name in names], dtype=np.int64)[which]


def _rules(rule: str, keys: int) -> Ints:
    return np.full(keys, NUMBER[rule], dtype=np.int64)

"""The simulator beside the testbed: the same trace, policies, costs and visitors, simulated.

Takes a case, its machine, and what each policy did on the testbed. Returns how many per cent of the
real throughput the simulator is off, and how many points of the miss ratio. Does not measure
anything real: speed.py does.

HAProxy's hash takes popular files to other nodes than the simulator's, which alone makes them
differ. So hashing is simulated with several numberings of the files, and what is off is a range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bench.figures import Figures
from bench.routing.origins import Machine
from bench.routing.traffic import Case
from flex.sim.simulate import simulate
from flex.sim.simulated_clusters import SECOND, SimulatedCluster
from flex.sim.traces import Trace

# What the testbed calls them, and what the simulator does.
_POLICIES = {
    "round_robin": "round_robin",
    "least_connections": "least_connections",
    "bounded_hash": "bounded_hashing",
    "lard": "lard",
    "lardr": "lardr",
}
# Numberings of the files. A guess.
_NUMBERINGS = 8
# Files are read whole.
_WHOLE = 2**40


def beside(
    case: Case, machine: Machine, nodes: int, visitors: int, real: Mapping[str, tuple[float, float]]
) -> Figures:
    """`real` has the requests a second and the miss ratio of each policy."""
    cluster = SimulatedCluster(
        (case.memory,) * nodes,
        "lru",
        serial=False,
        connect=round(machine.answer * SECOND),
        close=0,
        send=round(machine.answer_byte * SECOND),
        send_unit=1,
        seek=round(machine.read * SECOND),
        again=0,
        block=_WHOLE,
        transfer=round(machine.read_byte * SECOND),
        transfer_unit=1,
        limit=visitors,
    )
    figures: Figures = {}
    for policy, (rate, miss) in real.items():
        if policy in _POLICIES:
            result = simulate(case.trace, cluster, _POLICIES[policy], warm=True)
            figures[f"simulated_off_{case.name}_{policy}"] = 100 * (result.throughput / rate - 1)
            # The testbed counts who waits for a read as a miss.
            missed = result.miss_ratio + result.waited_ratio
            figures[f"simulated_miss_points_off_{case.name}_{policy}"] = 100 * (missed - miss)
    if "hash" in real:
        rate, _ = real["hash"]
        traces = [_renumbered(case.trace, seed) for seed in range(_NUMBERINGS)]
        off = [
            100 * (simulate(trace, cluster, "lb", warm=True).throughput / rate - 1)
            for trace in traces
        ]
        figures[f"simulated_off_{case.name}_hash_least"] = min(off)
        figures[f"simulated_off_{case.name}_hash_most"] = max(off)
    return figures


def _renumbered(trace: Trace, seed: int) -> Trace:
    number = np.random.default_rng(seed).permutation(len(trace.size))
    size, site = np.empty_like(trace.size), np.empty_like(trace.site)
    size[number], site[number] = trace.size, trace.site
    return replace(trace, target=number[trace.target], size=size, site=site)

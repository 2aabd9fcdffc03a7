"""How the search inside our solver does on somebody else's problem: the ROADEF/EURO challenge of
2012, set A.

The models are read from the folder that ROADEF names. Processes are items that the native loop
shifts and swaps between machines; what the challenge charges becomes load outside a band:

- use over the safety capacity: one dimension for each resource, weighed as the challenge weighs it;
- what is free of one resource beside another: a dimension whose load is the difference and whose
  band has no top;
- capacity: dimensions once more, at a price that no saving pays for;
- a service's processes on different machines: rivals. Moving a process: its price.

What the model of FLEX has no word for is left to the challenge's own rules, which are asked for
every single move when the answer is carried out, and refuse some: transient use, spread over
locations, services that need others near, and the prices of moves between particular machines and
of the most moved service.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np

from bench.figures import Figures, keep
from bench.solver.roadef import Balance, Instance, Rules, cost, instances
from flex.placing.problem import Bools, Ints
from flex_solver.search.anneal import chances
from flex_solver.search.local_search_loop import Items, Schedule, improve

# The best costs of the challenge's qualification, in which these instances were set.
BEST = {
    "a1_1": 44_306_501,
    "a1_2": 777_532_896,
    "a1_3": 583_005_717,
    "a1_4": 252_728_589,
    "a1_5": 727_578_309,
    "a2_1": 198,
    "a2_2": 816_523_983,
    "a2_3": 1_306_868_761,
    "a2_4": 1_681_353_943,
    "a2_5": 336_170_182,
}
# One unit of the challenge's cost, in the integers of the search. A guess.
COST = 2**16
# What a unit over a machine's capacity costs, in units of the challenge's cost. A guess.
FORBIDDEN = 2**10
# A capacity that is no limit at all.
NONE = 2**62
# Steps of the search. A guess.
STEPS = 1_000_000
# Steps of the heat, from HOT to COLD. A guess.
HEATS = 64
# What the challenge gave a program for each instance.
SECONDS = 300.0
# The heat at first, as a part of the cost at the start. A guess.
HOT = 1e-5
# The heat at last, as a part of the same. A guess.
COLD = 1e-10


def measure() -> Figures:
    folder = os.environ.get("ROADEF")
    if not folder:
        sys.stderr.write(
            "no reassignment: ROADEF names no folder with model_a1_1.txt and the others\n"
        )
        return {}
    seconds = float(os.environ.get("ROADEF_SECONDS", SECONDS))
    figures: Figures = {"roadef_seconds_each": seconds}
    for name, of in instances(Path(folder)):
        found = reassign(of, seconds)
        figures[f"roadef_{name}_cost"] = cost(of, found)
        if best := BEST.get(name):
            figures[f"roadef_{name}_best"] = best
            figures[f"roadef_{name}_score"] = round(
                (cost(of, found) - best) / cost(of, of.initial), 4
            )
        keep("solver-roadef", figures)
        print(f"{name}: {cost(of, found):,}, the best known is {BEST.get(name, 0):,}", flush=True)
    return figures


def reassign(of: Instance, seconds: float) -> Ints:
    """The cheapest assignment found that keeps the challenge's rules; every other time, what they
    refused stays.
    """
    best, refused = of.initial, np.zeros(len(of.service), dtype=np.bool_)
    until = time.monotonic() + seconds
    for seed in count():
        if time.monotonic() > until:
            break
        wanted = improve(_items(of, ~refused), best, _schedule(of, seed))
        found = _carried_out(of, best, wanted)
        refused = (found != wanted) & (seed % 2 == 0)
        best = min(best, found, key=lambda machine: cost(of, machine))
    return best


def _carried_out(of: Instance, machine: Ints, wanted: Ints) -> Ints:
    """Move after move, as long as there is one that the rules allow."""
    rules = Rules(of, machine)
    waiting = np.flatnonzero(wanted != machine).tolist()
    going = True
    while going:
        refused = [
            process for process in waiting if not _moved(rules, process, int(wanted[process]))
        ]
        going, waiting = len(refused) < len(waiting), refused
    return rules.machine


def _moved(rules: Rules, process: int, target: int) -> bool:
    allowed = rules.allow(process, target)
    if allowed:
        rules.move(process, target)
    return allowed


def _items(of: Instance, movable: Bools) -> Items:
    processes = len(of.service)
    load, low, high = _dimensions(of)
    first_rival, rivals = _rivals(of)
    return Items(
        site=np.arange(processes),
        load=load,
        low=low,
        high=high,
        first_item=np.arange(processes + 1),
        first_home=np.arange(processes + 1),
        home=of.initial,
        at_home=np.zeros(processes, dtype=np.int64),
        price=of.move_cost * of.process_weight * COST + 1,
        first_barred=np.zeros(processes + 1, dtype=np.int64),
        barred=np.zeros(0, dtype=np.int64),
        first_rival=first_rival,
        rivals=rivals,
        movable=np.flatnonzero(movable),
    )


def _dimensions(of: Instance) -> tuple[Ints, Ints, Ints]:
    """What every process asks, and the band of every machine."""
    weight, forbidden = of.load_weight * COST, FORBIDDEN * COST
    far = np.full(len(of.capacity), NONE)
    parts = [
        *(
            (of.required[:, r] * weight[r], -far, of.safety[:, r] * weight[r])
            for r in np.flatnonzero(weight)
        ),
        *(
            (of.required[:, r] * forbidden, -far, of.capacity[:, r] * forbidden)
            for r in range(len(weight))
        ),
        *((_both(of.required, b), _both(of.capacity, b), far) for b in of.balances),
    ]
    load, low, high = (
        np.ascontiguousarray(np.stack(part, axis=1)) for part in zip(*parts, strict=True)
    )
    return load, low, high


def _both(amount: Ints, balance: Balance) -> Ints:
    weighed: Ints = (
        (balance.target * amount[:, balance.first] - amount[:, balance.second])
        * balance.weight
        * COST
    )
    return weighed


def _rivals(of: Instance) -> tuple[Ints, Ints]:
    """The processes of the same service, for each process."""
    alike = [np.flatnonzero(of.service == service) for service in range(len(of.spread))]
    rivals = [
        alike[service][alike[service] != process]
        for process, service in enumerate(of.service.tolist())
    ]
    return np.cumsum([0, *map(len, rivals)]), np.concatenate(rivals)


def _schedule(of: Instance, seed: int) -> Schedule:
    start = cost(of, of.initial) * COST
    return Schedule(
        heat=np.geomspace(start * HOT, start * COLD, HEATS).astype(np.int64),
        weight=np.full(HEATS, 16),
        chance=chances(),
        steps=STEPS,
        seed=seed,
    )

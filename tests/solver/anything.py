"""Random small clusters with every feature at once: each number is one problem, the same on every
machine.

Most begin with a placement that keeps every wish, so that there is something to find; what is in
force is another one, which is a few changes away from it, or has nothing to do with it. Loads are
small whole numbers times a factor, so that many placements lie on the very edge of a band.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

from flex.placing.problem import Floats, Ints, MoveLimits, Problem, sort_by_site

DIMENSIONS = ("access rate", "working set", "requests", "memory")
TOLERANCES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.9)
# Problems of a hundred that have the tolerance that the hidden placement needs, to the last digit.
TIGHT = 30
# Problems of a hundred that have this or a bit more.
NEARLY = 80

NODES = (1, 2, 3, 3, 4, 4, 5, 5, 6)
SITES = ((1, 5), (6, 12), (8, 12), (8, 12), (12, 20))
# The least tolerance: with less, all of this takes long.
LEAST = 0.004
# The largest tolerance: it must be less than one.
MOST = 0.99
# How often a placement is looked for that needs no more than MOST.
DRAWS = 6

Placement = dict[int, frozenset[int]]


def anything(number: int) -> Problem:
    """Where some node would have nothing at all of something, it is drawn again a few times: that
    is soon told.
    """
    draw = _Draw(Random(number))
    for _ in range(DRAWS):
        found = draw.problem()
        if draw.needed < MOST:
            break
    return found


@dataclass(slots=True)
class _Draw:
    """`needed` is the tolerance of the hidden placement of the last problem."""

    random: Random
    needed: float = 0.0

    def problem(self) -> Problem:
        random = self.random
        nodes, sites = random.choice(NODES), random.randint(*random.choice(SITES))
        is_open = np.array([random.random() < 0.85 for _ in range(nodes)])
        is_open[random.randrange(nodes)] = True
        opened = np.flatnonzero(is_open).tolist()
        capacity = np.array([random.choice([1, 1, 1, 2, 3]) for _ in range(nodes)]) * is_open
        together = self._groups(sites)
        demand = self._demand(sites)
        hidden = self._hidden(demand, capacity, together)
        replicas = np.array([len(hidden[site]) for site in range(sites)], dtype=np.int64)
        share, load = (
            capacity * len(opened) / capacity.sum() * 100.0,
            _load(demand, replicas, len(opened)),
        )
        idle = [site for site in range(sites) if not load[site].any()]
        apart = self._apart(hidden, idle, together)
        rows = self._old(hidden, nodes, apart)
        pinned = self._pinned(hidden)
        return Problem(
            dimensions=DIMENSIONS[: load.shape[1]],
            nodes=tuple(f"n{node}" for node in range(nodes)),
            open=is_open,
            share=share,
            sites=tuple(f"s{site:02}" for site in range(sites)),
            replicas=replicas,
            load=load,
            cold=np.array(
                [random.choice([0, 1, random.randint(2, 99)]) for _ in range(sites)], dtype=np.int64
            ),
            old=sort_by_site(np.array(sorted(rows), dtype=np.int64).reshape(-1, 2)),
            pinned=pinned,
            tolerance=self._tolerance(hidden, load, share),
            gone=frozenset(
                node for node in range(nodes) if not is_open[node] and random.random() < 0.3
            ),
            barred=self._barred(hidden, nodes),
            resting=frozenset(site for site in pinned if random.random() < 0.2),
            apart=apart,
            together=together,
            limits=self._limits(),
        )

    def _demand(self, sites: int) -> Floats:
        """Whole numbers, some sites idle, some in one dimension alone; a few times a dimension
        nobody asks for.
        """
        random = self.random
        dimensions = random.choice([1, 2, 2, 2, 3, 4])
        idle, largest = (random.choice([0.0, 0.2, 0.2, 0.5]), random.choice([3, 9, 9, 30]))
        demand = np.zeros((sites, dimensions))
        for site in range(sites):
            if random.random() >= idle:
                demand[site] = [
                    random.choice([0, random.randint(1, largest)]) for _ in range(dimensions)
                ]
                demand[site] += random.choice([0, 1])
        if random.random() < 0.05:
            demand[:, random.randrange(dimensions)] = 0
        return demand

    def _hidden(
        self, demand: Floats, capacity: Ints, together: tuple[frozenset[int], ...]
    ) -> Placement:
        """The largest first, each about where there is most room."""
        random, hidden = self.random, Placement()
        opened = np.flatnonzero(capacity).tolist()
        full, often = (
            np.zeros((len(capacity), demand.shape[1])),
            random.choice([0.0, 0.0, 0.2, 0.5]),
        )
        of_group = {site: sorted(group) for group in together for site in group}
        for first in np.argsort(-demand.sum(axis=1), kind="stable").tolist():
            if first in hidden:
                continue
            members = of_group.get(first, [first])
            count = random.randint(1, len(opened)) if random.random() < often else 1
            room = [
                ((full[n] / capacity[n]).max() + random.choice([0, 0, 1, 3]), random.random(), n)
                for n in opened
            ]
            held = [node for _, _, node in sorted(room)[:count]]
            full[held] += demand[members].sum(axis=0)
            hidden |= dict.fromkeys(members, frozenset(held))
        return hidden

    def _old(
        self, hidden: Placement, nodes: int, apart: tuple[frozenset[int], ...]
    ) -> set[tuple[int, int]]:
        """What is in force: some sites are new, some on nodes that are closed, some have rows too
        many, or rivals.
        """
        random = self.random
        changed = random.choice([0.1, 0.3, 0.6, 0.9])
        old = dict(hidden)
        for site, held in hidden.items():
            if random.random() < changed:
                way = random.choice(
                    ["new", "more", "less", "elsewhere", "elsewhere", "elsewhere", "elsewhere"]
                )
                some = frozenset(random.sample(range(nodes), 1))
                old[site] = {
                    "new": frozenset(),
                    "more": held | some,
                    "less": held - {min(held)},
                    "elsewhere": some
                    | frozenset(random.sample(range(nodes), min(nodes, len(held) - 1))),
                }[way]
        for group in apart:
            if random.random() < 0.5:
                old |= dict.fromkeys(group, frozenset([random.randrange(nodes)]))
        return {(site, node) for site, held in old.items() for node in held}

    def _tolerance(self, hidden: Placement, load: Floats, share: Floats) -> float:
        on_nodes = np.zeros((len(share), load.shape[1]))
        for site, held in hidden.items():
            on_nodes[sorted(held)] += load[site]
        away = np.abs(on_nodes / np.where(share > 0, share, 1.0)[:, None] - 1)
        self.needed = float(away[share > 0][:, load.any(axis=0)].max(initial=0.0))
        way, other = self.random.randrange(100), self.random.choice(TOLERANCES)
        if way >= NEARLY or not LEAST < self.needed < MOST:
            return other
        return (
            self.needed
            if way < TIGHT
            else min(MOST, self.needed + self.random.choice([0.001, 0.01, 0.1]))
        )

    def _pinned(self, hidden: Placement) -> Mapping[int, frozenset[int]]:
        random, often = self.random, self.random.choice([0.0, 0.0, 0.2])
        pinned = {
            s: frozenset(random.sample(sorted(held), random.randint(1, len(held))))
            for s, held in hidden.items()
        }
        return {site: nodes for site, nodes in pinned.items() if random.random() < often}

    def _barred(self, hidden: Placement, nodes: int) -> Mapping[int, frozenset[int]]:
        random, often = self.random, self.random.choice([0.0, 0.2, 0.4])
        barred = {}
        for site, held in hidden.items():
            others = sorted(set(range(nodes)) - held)
            if others and random.random() < often:
                barred[site] = frozenset(random.sample(others, random.randint(1, len(others))))
        return barred

    def _apart(
        self, hidden: Placement, idle: list[int], together: tuple[frozenset[int], ...]
    ) -> tuple[frozenset[int], ...]:
        """Pairs, threes and fours that do not meet in the hidden placement, often with idle sites
        among them.
        """
        random = self.random
        of_one = [set(group) for group in together]
        found = list[frozenset[int]]()
        for _ in range(random.choice([0, 0, 1, 1, 2, 4])):
            some = random.sample(sorted(hidden), min(len(hidden), random.choice([2, 2, 3, 3, 4])))
            if idle and random.random() < 0.5:
                some = [*some[1:], random.choice(idle)]
            group = set[int]()
            for site in some:
                met = any(hidden[site] & hidden[other] for other in group)
                tied = any({site, other} <= one for other in group for one in of_one)
                if not (met or tied) or random.random() < 0.005:
                    group.add(site)
            if len(group) > 1:
                found.append(frozenset(group))
        return tuple(found)

    def _groups(self, sites: int) -> tuple[frozenset[int], ...]:
        """Sites that stay together, by twos and threes."""
        random, left, found = self.random, list(range(sites)), list[frozenset[int]]()
        random.shuffle(left)
        while random.random() < 0.25 and len(left) > 3:
            group = [left.pop() for _ in range(random.choice([2, 2, 3]))]
            found.append(frozenset(group))
        return tuple(found)

    def _limits(self) -> MoveLimits:
        random = self.random
        if random.random() < 0.75:
            return MoveLimits()
        moves, cold, inflow = (random.randint(0, 8), random.randint(0, 300), random.randint(0, 150))
        some = random.choice(
            [(moves, None, None), (None, cold, None), (None, None, inflow), (moves, cold, inflow)]
        )
        return MoveLimits(*some)


def _load(demand: Floats, replicas: Ints, opened: int) -> Floats:
    """In the units of a Problem."""
    total = demand.T @ replicas
    load: Floats = np.divide(
        demand * 100.0 * opened, total, out=np.zeros_like(demand), where=total > 0
    )
    return load

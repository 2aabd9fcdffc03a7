"""The machine reassignment problem of the ROADEF/EURO challenge 2012: its files, costs and rules.

Takes a model and an assignment in the challenge's format. Returns the cost of any assignment, as
the challenge defines it, and whether a process may go to a machine. Does not search:
reassignment.py does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flex.placing.problem import Bools, Ints


@dataclass(frozen=True, slots=True)
class Balance:
    """What is free of `second` should be at least `target` times what is free of `first`."""

    first: int
    second: int
    target: int
    weight: int


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Machines m, processes p, services s and resources r by position, as in the challenge."""

    transient: Bools
    load_weight: Ints
    neighborhood: Ints
    location: Ints
    capacity: Ints
    safety: Ints
    move_between: Ints
    spread: Ints
    needs: tuple[tuple[int, ...], ...]
    service: Ints
    required: Ints
    move_cost: Ints
    balances: tuple[Balance, ...]
    process_weight: int
    service_weight: int
    machine_weight: int
    initial: Ints


def read(model: Path, assignment: Path) -> Instance:
    numbers = _Numbers(model)
    resources = [numbers.take(2) for _ in range(numbers.one())]
    wide = len(resources)
    count = numbers.one()
    machines = [
        (*numbers.take(2), numbers.take(wide), numbers.take(wide), numbers.take(count))
        for _ in range(count)
    ]
    services = []
    for _ in range(numbers.one()):
        spread, needs = numbers.take(2)
        services.append((spread, tuple(numbers.take(needs))))
    processes = [(numbers.one(), numbers.take(wide), numbers.one()) for _ in range(numbers.one())]
    balances = tuple(Balance(*numbers.take(4)) for _ in range(numbers.one()))
    weights = numbers.take(3)
    return Instance(
        transient=np.array([bool(transient) for transient, _ in resources]),
        load_weight=_ints([weight for _, weight in resources]),
        neighborhood=_ints([machine[0] for machine in machines]),
        location=_ints([machine[1] for machine in machines]),
        capacity=_ints([machine[2] for machine in machines]),
        safety=_ints([machine[3] for machine in machines]),
        move_between=_ints([machine[4] for machine in machines]),
        spread=_ints([spread for spread, _ in services]),
        needs=tuple(needs for _, needs in services),
        service=_ints([process[0] for process in processes]),
        required=_ints([process[1] for process in processes]),
        move_cost=_ints([process[2] for process in processes]),
        balances=balances,
        process_weight=weights[0],
        service_weight=weights[1],
        machine_weight=weights[2],
        initial=_ints(_Numbers(assignment).rest()),
    )


def cost(of: Instance, machine: Ints) -> int:
    """The challenge's objective for process p on machine[p]."""
    used = usage(of, machine)
    overload = int((np.maximum(0, used - of.safety) * of.load_weight).sum())
    free = of.capacity - used
    unbalanced = sum(
        int(np.maximum(0, b.target * free[:, b.first] - free[:, b.second]).sum()) * b.weight
        for b in of.balances
    )
    moved = machine != of.initial
    by_service = np.bincount(of.service[moved], minlength=len(of.spread))
    return (
        overload
        + unbalanced
        + of.process_weight * int(of.move_cost[moved].sum())
        + of.service_weight * int(by_service.max(initial=0))
        + of.machine_weight * int(of.move_between[of.initial, machine].sum())
    )


def usage(of: Instance, machine: Ints) -> Ints:
    used = np.zeros_like(of.capacity)
    np.add.at(used, machine, of.required)
    return used


class Rules:
    """An assignment that keeps every rule of the challenge, changed one process at a time."""

    def __init__(self, of: Instance, machine: Ints) -> None:
        self._of = of
        self.machine: Ints = machine.copy()
        # A transient resource stays taken where the process came from.
        left = (machine != of.initial)[:, None] & of.transient
        self._taken = usage(of, machine)
        np.add.at(self._taken, of.initial, of.required * left)
        services, places = len(of.spread), len(of.capacity)
        self._on: Ints = _counts(services, places, of.service, machine)
        self._in: Ints = _counts(
            services, int(of.location.max()) + 1, of.service, of.location[machine]
        )
        self._near: Ints = _counts(
            services, int(of.neighborhood.max()) + 1, of.service, of.neighborhood[machine]
        )
        self._needed_by: list[list[int]] = [[] for _ in range(services)]
        for service, needs in enumerate(of.needs):
            for needed in set(needs):
                self._needed_by[needed].append(service)

    def allow(self, process: int, target: int) -> bool:
        return (
            not self._on[self._of.service[process], target]
            and self._fits(process, target)
            and self._stays_spread(process, target)
            and self._stays_near(process, target)
        )

    def move(self, process: int, target: int) -> None:
        of, service, source = self._of, self._of.service[process], self.machine[process]
        home, asked = of.initial[process], of.required[process]
        self._taken[source] -= asked * ~(of.transient & (source == home))
        self._taken[target] += asked * ~(of.transient & (target == home))
        for counts, place in (
            (self._on, None),
            (self._in, of.location),
            (self._near, of.neighborhood),
        ):
            counts[service, source if place is None else place[source]] -= 1
            counts[service, target if place is None else place[target]] += 1
        self.machine[process] = target

    def _fits(self, process: int, target: int) -> bool:
        of = self._of
        asked = of.required[process] * ~(of.transient & (target == of.initial[process]))
        return bool((self._taken[target] + asked <= of.capacity[target]).all())

    def _stays_spread(self, process: int, target: int) -> bool:
        service = self._of.service[process]
        locations = self._in[service].copy()
        locations[self._of.location[self.machine[process]]] -= 1
        locations[self._of.location[target]] += 1
        return bool(np.count_nonzero(locations) >= self._of.spread[service])

    def _stays_near(self, process: int, target: int) -> bool:
        """What the service needs is in the new neighbourhood, and what needs it in the old one does
        without.
        """
        of, service = self._of, int(self._of.service[process])
        there, here = of.neighborhood[target], of.neighborhood[self.machine[process]]
        if there == here:
            return True
        finds = all(self._near[needed, there] for needed in of.needs[service])
        is_last = self._near[service, here] == 1
        return finds and not (
            is_last and any(self._near[needing, here] for needing in self._needed_by[service])
        )


def instances(folder: Path) -> Iterator[tuple[str, Instance]]:
    """Every model_NAME.txt of the folder with its assignment_NAME.txt, by name."""
    for model in sorted(folder.glob("model_*.txt")):
        name = model.stem.removeprefix("model_")
        yield name, read(model, model.with_name(f"assignment_{name}.txt"))


class _Numbers:
    def __init__(self, path: Path) -> None:
        self._all = [int(word) for word in path.read_text().split()]
        self._next = 0

    def take(self, count: int) -> list[int]:
        self._next += count
        return self._all[self._next - count : self._next]

    def one(self) -> int:
        return self.take(1)[0]

    def rest(self) -> list[int]:
        return self.take(len(self._all) - self._next)


def _counts(rows: int, columns: int, row: Ints, column: Ints) -> Ints:
    counts = np.zeros((rows, columns), dtype=np.int64)
    np.add.at(counts, (row, column), 1)
    return counts


def _ints(values: object) -> Ints:
    return np.array(values, dtype=np.int64)

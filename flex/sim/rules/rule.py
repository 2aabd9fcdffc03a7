"""What every rule promises, and what it may know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flex.sim.engine_input_and_output import SimulatedJob


@dataclass(frozen=True, slots=True)
class AccessAsked:
    """An access by its number, what it asks for, and the key whose rule decides."""

    access: int
    key: int
    target: int


@dataclass(slots=True)
class View:
    """The nodes now: accesses under way on each, and the nanoseconds of work each was given so
    far.
    """

    load: list[int]
    now: int
    busy: list[int]
    reading: list[int]


class Rule(Protocol):
    def __init__(self, job: SimulatedJob) -> None: ...

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        """One of the nodes, of which there is at least one."""
        ...


def least_loaded(nodes: Sequence[int], load: Sequence[int]) -> int:
    """The node with the fewest accesses under way; the first of equals."""
    return min(nodes, key=load.__getitem__)

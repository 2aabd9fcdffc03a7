"""What people wish for, as far as it can be kept now.

In go pins, the sites that can be placed and the nodes; out come the pins to plan with, and a word on each one that is
suspended, in part or whole. A wish was possible when it was made: when a node goes out of service or a site leaves, it
must not stop the plans of the whole cluster, and it holds again as soon as it can. Wishes that are impossible when
they are made are refused in problem.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from flex.domain import Node, Pin


@dataclass(frozen=True, slots=True)
class Wishes:
    """The pins that hold, and why others, or parts of these, do not."""

    pins: tuple[Pin, ...]
    suspended: tuple[str, ...]


def possible(pins: Sequence[Pin], sites: Set[str], nodes: Sequence[Node]) -> Wishes:
    """Each pin without what cannot be: nodes that take no sites, more replicas than active nodes, sites not there."""
    states = {node.name: node.state for node in nodes}
    held, suspended = [], []
    for pin in pins:
        left, lost = _left(pin, states) if pin.site in sites else (None, ["no site that can be placed"])
        if left:
            held.append(left)
        if lost:
            still = f"; {', '.join(left.nodes)} still holds" if left and left.nodes else ""
            suspended.append(f"{pin.site} ({', '.join(lost)}{still})")
    return Wishes(tuple(held), tuple(suspended))


def _left(pin: Pin, states: Mapping[str, str]) -> tuple[Pin | None, list[str]]:
    """What is left of a pin, and what is lost of it."""
    lost = [
        f"{node} is {states.get(node, 'in the settings no more')}" for node in pin.nodes if states.get(node) != "active"
    ]
    active = sum(state == "active" for state in states.values())
    least = min(pin.min_replicas, active)
    if least < pin.min_replicas:
        lost.append(f"{pin.min_replicas} replicas on {active} active nodes")
    left = replace(pin, nodes=tuple(node for node in pin.nodes if states.get(node) == "active"), min_replicas=least)
    return (left if left.nodes or least > 1 else None), lost

"""How many nodes one front end can feed (Aron and others, USENIX 2000, section 3).

Costs of a front end follow from the LARD paper (section 6.2): 5000 handoffs a second, and 9 µs for
each acknowledgement that it forwards, one for two packets (section 5). Calibrated, it spends what
the LARD paper says on the choice of a node too, and forwards a client's other packets. The
published peak of 3500 connections a second sets nothing. A
splicing front end takes in and sends out every byte itself, at a node's costs. For layer 4 only the
outcome is published, 20,000 connections a second: its curve says no more than that, and no claim is
made of it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from flex.sim import simulated_clusters as clusters
from flex.sim.engine_input_and_output import DISTRIBUTORS, FRONT_END
from flex.sim.papers.calibration import (
    APACHE_CACHED,
    DISPATCHER,
    FORWARDED,
    HANDOFFS,
    apache,
    handoff,
)
from flex.sim.papers.claim import Claim, Tried, ratio, verdict
from flex.sim.papers.experiment_lab import Lab
from flex.sim.simulated_clusters import MIB, MICROSECOND, SECOND, FrontEnd, SimulatedCluster
from flex.sim.traces import Trace

PAPER = "front ends"
# How many nodes one front end feeds, in the runs.
NODES = (1, 2, 3, 4, 5, 6, 8)
# An order of magnitude over the four nodes that one front end feeds.
MANY = (*NODES, 16, 24, 32, 40)
# Nanoseconds of a connection to Apache, whose cached file is small.
_CACHED = round(SECOND / APACHE_CACHED.value)
# One acknowledgement of two packets of 1460 bytes, for each 512 bytes.
_ACKNOWLEDGED = round(FORWARDED.value * MICROSECOND) * 512 // (2 * 1460)
# Nanoseconds of one handoff.
_HANDOFF = round(SECOND / HANDOFFS.value)
SPREAD = "distributors on every node"
_COSTS = (
    "how many nodes fill a front end depends on how many cached answers a node serves a second; "
    "800 is published, of no other size than less than 8 KB"
)
_EVERY_BYTE = (
    "how much of a spliced answer's cost is the connection's and how much is its bytes' is not "
    "published; here each is twice a node's, for both sides. With less for bytes and more for "
    "the connection, so that 6 KB cost the same, 13 KB lower it less"
)
# Units of 512 bytes in 6 KB.
_UNITS = 12
_KINDS = {
    "handoff": FrontEnd(FRONT_END, _HANDOFF, _ACKNOWLEDGED),
    "splicing": FrontEnd(FRONT_END, 2 * 145 * MICROSECOND, 2 * 40 * MICROSECOND),
    "layer 4": FrontEnd(FRONT_END, SECOND // 20_000, 0),
    SPREAD: FrontEnd(DISTRIBUTORS, _HANDOFF, _ACKNOWLEDGED),
}


def _kinds(lab: Lab) -> dict[str, FrontEnd]:
    """Calibrated, handing off costs all that the LARD paper says of it."""
    if not lab.assumed.calibrated:
        return _KINDS
    cost = handoff(_ACKNOWLEDGED, lab.assumed.figure("dispatcher", DISPATCHER.value))
    return _KINDS | {"handoff": cost, SPREAD: replace(cost, kind=DISTRIBUTORS)}


def front_ends(lab: Lab) -> list[Claim]:
    # One page, always in memory, of 6 KB, and the small answers of the IBM trace.
    knees = {(kind, size): _knee(lab, kind, size) for kind in _KINDS for size in (3, 6)}
    handoff, splicing = ((knees[kind, 6], knees[kind, 3]) for kind in ("handoff", "splicing"))
    most_of_ibm = _most(lab, _kinds(lab)["handoff"], 3)
    lower = {kind: _less_of_13(lab, _kinds(lab)[kind]) for kind in ("handoff", "splicing")}
    spread = min(knees[SPREAD, 6], knees[SPREAD, 3])
    claims = [
        Claim(
            PAPER,
            "handoff saturates, with 6 KB and with the IBM trace",
            "at 4 nodes",
            f"at {_and(handoff)} nodes",
            verdict(handoff == (4, 4)),
        ),
        Claim(
            PAPER,
            "splicing saturates",
            "at 1 node with 6 KB, 2 with the IBM trace",
            f"at {_and(splicing)}",
            verdict(splicing == (1, 2)),
        ),
        _lower("handoff", lower["handoff"], 0.07),
        Claim(
            PAPER,
            "the most that handoff serves of the IBM trace",
            "about 3,500 a second",
            f"{most_of_ibm:,.0f} a second",
            verdict(abs(most_of_ibm / 3500 - 1) <= 0.1),
        ),
        Claim(
            PAPER,
            "distributors on every node do not saturate",
            "an order of magnitude more",
            f"not up to {spread} nodes" if spread == MANY[-1] else f"at {spread} nodes",
            verdict(spread == MANY[-1]),
        ),
    ]
    spliced = lab.because(
        [_lower("splicing", lower["splicing"], 0.27)], _EVERY_BYTE, lambda: _cheaper_bytes(lab)
    )
    return [*lab.because(claims, _COSTS), *spliced]


def _and(knees: tuple[int, int]) -> str:
    return f"{knees[0]} and {knees[1]}"


def _less_of_13(lab: Lab, front: FrontEnd) -> float:
    return 1 - ratio(_most(lab, front, 13), _most(lab, front, 6))


def _cheaper_bytes(lab: Lab) -> Tried:
    plain = _KINDS["splicing"]
    rows = []
    for part in (1.0, 0.5, 0.25):
        send = round(plain.send * part)
        front = replace(plain, connect=plain.connect + _UNITS * (plain.send - send), send=send)
        small = _edge({n: _throughput_of(lab, n, front, 3) for n in NODES})
        rows.append(
            (
                f"a byte costs {part:g} times as much, 6 KB cost the same",
                (
                    f"13 KB lower it by {_less_of_13(lab, front):.0%}; with the IBM trace it "
                    f"saturates at {small}"
                ),
            )
        )
    return tuple(rows)


def _lower(kind: str, measured: float, published: float) -> Claim:
    return Claim(
        PAPER,
        f"{kind}: 13 KB in place of 6 KB, lower by",
        f"{published:.0%}",
        f"{measured:.0%}",
        verdict(abs(measured - published) <= 0.05, measured < published),
    )


def _most(lab: Lab, front: FrontEnd, kilobytes: int) -> float:
    """What more nodes than a front end can feed serve."""
    return _throughput_of(lab, NODES[-1], front, kilobytes)


def _throughput_of(lab: Lab, nodes: int, front: FrontEnd, kilobytes: int) -> float:
    cluster = replace(_apache(lab, nodes), front=front)
    return lab.aside(_one_page(kilobytes), cluster, "wrr").throughput


def _knee(lab: Lab, kind: str, kilobytes: int) -> int:
    trace = _one_page(kilobytes)
    return _edge(
        {n: _rate(lab, trace, n, kind, kilobytes) for n in (MANY if kind == SPREAD else NODES)}
    )


def _edge(rate: dict[int, float]) -> int:
    """The number of nodes from which on another one adds less than half of what one serves."""
    for few, many in pairwise(rate):
        if (rate[many] - rate[few]) / (many - few) < 0.5 * rate[1]:
            return few
    return max(rate)


def _rate(lab: Lab, trace: Trace, nodes: int, kind: str, kilobytes: int) -> float:
    cluster = replace(_apache(lab, nodes), front=_kinds(lab)[kind])
    return lab.run(
        trace, cluster, "wrr", picture=f"{kind}, {kilobytes} KB, nodes", x=nodes
    ).throughput


def _apache(lab: Lab, nodes: int) -> SimulatedCluster:
    """A node that completes about 800 cached small files a second, as Apache does in the LARD
    paper.
    """
    cached = lab.assumed.figure("cached answer", 0)
    if cached:
        return apache(nodes, 32 * MIB, kilobytes=cached)
    return replace(clusters.lard(nodes), connect=_CACHED // 2, close=_CACHED // 4)


def _one_page(kilobytes: int) -> Trace:
    none = np.zeros(20_000, dtype=np.int64)
    return Trace(
        f"one page of {kilobytes} KB",
        none,
        np.array([kilobytes * 1024]),
        np.zeros(1, dtype=np.int64),
        ("one",),
    )

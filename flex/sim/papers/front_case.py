"""How many nodes one front end can feed (Aron and others, USENIX 2000, section 3).

Costs of a front end follow from figures of the papers: a handoff takes about 1 / 5000 s (LARD paper, section 6.2) and
3500 connections a second were the most with the IBM trace, acknowledgements included; a splicing front end takes
in and sends out every byte itself, and its node keeps its connections open.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from flex.sim import cluster as clusters
from flex.sim.cluster import MICROSECOND, SECOND, Cluster, FrontEnd
from flex.sim.job import DISTRIBUTORS, FRONT_END
from flex.sim.papers.claim import Claim, verdict
from flex.sim.papers.lab import Lab
from flex.sim.traces import Trace

PAPER = "front ends"
NODES = (1, 2, 3, 4, 5, 6, 8)
_APACHE = 800
KINDS = {
    "handoff": FrontEnd(FRONT_END, SECOND // 3500, 4 * MICROSECOND),
    "splicing": FrontEnd(FRONT_END, 2 * 145 * MICROSECOND, 2 * 40 * MICROSECOND),
    "layer 4": FrontEnd(FRONT_END, SECOND // 20_000, 0),
    "distributors on every node": FrontEnd(DISTRIBUTORS, SECOND // 3500, 4 * MICROSECOND),
}


def front_ends(lab: Lab) -> list[Claim]:
    # One page, always in memory, of 6 KB, and the small answers of the IBM trace.
    knees = {(kind, size): _knee(lab, kind, size) for kind in KINDS for size in (3, 6)}
    return [
        Claim(PAPER, "handoff saturates", "at 4 nodes", f"at {knees['handoff', 6]} nodes (6 KB)",
              verdict(knees["handoff", 6] == 4)),
        Claim(PAPER, "splicing saturates", "at 1 node with 6 KB, 2 with the IBM trace",
              f"at {knees['splicing', 6]} and {knees['splicing', 3]}",
              verdict((knees["splicing", 6], knees["splicing", 3]) == (1, 2))),
        Claim(PAPER, "distributors on every node do not saturate", "an order of magnitude more",
              f"at {knees['distributors on every node', 6]} nodes or more",
              verdict(knees["distributors on every node", 6] == NODES[-1])),
    ]  # fmt: skip


def _knee(lab: Lab, kind: str, kilobytes: int) -> int:
    """The number of nodes from which on another one adds less than half of what one serves."""
    trace = _one_page(kilobytes)
    rate = {n: _rate(lab, trace, n, kind, kilobytes) for n in NODES}
    for few, many in pairwise(NODES):
        if (rate[many] - rate[few]) / (many - few) < 0.5 * rate[1]:
            return few
    return NODES[-1]


def _rate(lab: Lab, trace: Trace, nodes: int, kind: str, kilobytes: int) -> float:
    cluster = replace(_apache(nodes), front=KINDS[kind])
    return lab.run(trace, cluster, "wrr", picture=f"{kind}, {kilobytes} KB, nodes", x=nodes).throughput


def _apache(nodes: int) -> Cluster:
    """A node that completes about 800 cached small files a second, as Apache does in the LARD paper."""
    return replace(clusters.lard(nodes), connect=SECOND // _APACHE // 2, close=SECOND // _APACHE // 4)


def _one_page(kilobytes: int) -> Trace:
    none = np.zeros(20_000, dtype=np.int64)
    return Trace(
        f"one page of {kilobytes} KB", none, np.array([kilobytes * 1024]), np.zeros(1, dtype=np.int64), ("one",)
    )

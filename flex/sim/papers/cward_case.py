"""The CWARD paper's measurements, as far as a simulator can take them: against a layer-4 cluster of eight nodes.

The paper measures Linux machines and says neither how large the traces' parts are nor what its machines cost; the LARD
paper's node stands in for them, with the paper's memory and share of it that is filled beforehand.
"""

from __future__ import annotations

from dataclasses import replace

from flex.sim import cluster as clusters
from flex.sim.cluster import MIB
from flex.sim.papers.claim import Claim, Lab, because, percent, span, verdict, within

PAPER = "CWARD"
_MACHINES = (
    "the machines are Linux servers whose costs are not published, the LARD paper's node stands in for them; nor are "
    "the sizes of the traces' parts"
)
_CLARKNET = ("cward_cr", "cward_fr", "cward_fsr")
_WORLDCUP = ("cward_pfr", "cward_pfsr")


def clarknet(lab: Lab) -> list[Claim]:
    return because(
        [
            _claim(lab, "clarknet", 256, _CLARKNET, 16, "ClarkNet, hot set prefetched: over LVS", (0.43, 0.66)),
            _claim(lab, "clarknet", 256, _CLARKNET, 0, "ClarkNet, nothing prefetched: over LVS", (0.01, 0.076)),
        ],
        _MACHINES,
    )


def worldcup(lab: Lab) -> list[Claim]:
    return because(
        [
            _claim(lab, "worldcup98", 512, _WORLDCUP, 60, "WorldCup98, hot set prefetched: over LVS", (0.61, 0.94)),
            _claim(lab, "worldcup98", 512, _WORLDCUP, 0, "WorldCup98, nothing prefetched: over LVS", (0.27, 0.32)),
        ],
        _MACHINES,
    )


def _claim(
    lab: Lab, name: str, ram: int, policies: tuple[str, ...], prefetch: int, claim: str, said: tuple[float, float]
) -> Claim:
    trace, plain = lab.twin(name), replace(clusters.lard(8, ram * MIB), cache="lru")
    picture = f"{name}, 8 nodes, % of memory prefetched"
    lvs = lab.run(trace, plain, "wrr", picture=picture, x=prefetch).throughput
    cluster = replace(plain, prefetch=prefetch)
    gains = [lab.run(trace, cluster, p, picture=picture, x=prefetch).throughput / lvs - 1 for p in policies]
    return Claim(PAPER, claim, percent(*said), percent(*span(gains)), verdict(within(gains, *said)))

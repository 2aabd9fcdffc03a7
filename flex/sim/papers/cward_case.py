"""The CWARD paper's measurements, as far as a simulator can take them: against a layer-4 cluster of
eight nodes.

The paper measures Linux machines and says neither how large the traces' parts are nor what its
machines cost; the LARD paper's node stands in for them, with the paper's memory and share of it
that is filled beforehand.
"""

from __future__ import annotations

from dataclasses import replace

from flex.sim import simulated_clusters as clusters
from flex.sim.papers.claim import Claim, is_in_range, percent, ratio, span, verdict
from flex.sim.papers.experiment_lab import Lab
from flex.sim.simulated_clusters import MIB, SimulatedCluster
from flex.sim.traces import Trace

PAPER = "CWARD"
_MACHINES = (
    "the machines are Linux servers whose costs are not published, the LARD paper's "
    "node stands in for them; nor are "
    "the sizes of the traces' parts"
)
_CLARKNET = ("cward_cr", "cward_fr", "cward_fsr")
_WORLDCUP = ("cward_pfr", "cward_pfsr")


def clarknet(lab: Lab) -> list[Claim]:
    return lab.because(
        [
            _claim(
                lab,
                "clarknet",
                256,
                _CLARKNET,
                16,
                "ClarkNet, hot set prefetched: over LVS",
                (0.43, 0.66),
            ),
            _claim(
                lab,
                "clarknet",
                256,
                _CLARKNET,
                0,
                "ClarkNet, nothing prefetched: over LVS",
                (0.01, 0.076),
            ),
        ],
        _MACHINES,
        lambda: _counter(lab, "clarknet", 256, _CLARKNET, 16),
    )


def worldcup(lab: Lab) -> list[Claim]:
    return lab.because(
        [
            _claim(
                lab,
                "worldcup98",
                512,
                _WORLDCUP,
                60,
                "WorldCup98, hot set prefetched: over LVS",
                (0.61, 0.94),
            ),
            _claim(
                lab,
                "worldcup98",
                512,
                _WORLDCUP,
                0,
                "WorldCup98, nothing prefetched: over LVS",
                (0.27, 0.32),
            ),
        ],
        _MACHINES,
        lambda: _counter(lab, "worldcup98", 512, _WORLDCUP, 60),
    )


def _counter(lab: Lab, name: str, ram: int, policies: tuple[str, ...], prefetch: int) -> str:
    """Disks that are faster than the LARD paper's."""
    phrases = []
    for times in (3, 10):
        slow = _plain(ram)
        plain = replace(
            slow,
            seek=slow.seek // times,
            again=slow.again // times,
            transfer=slow.transfer // times,
        )
        filled, empty = (
            _gains(lab, lab.twin(name), plain, policies, share) for share in (prefetch, 0)
        )
        phrases.append(
            f"disks {times} times as fast: {percent(*span(filled))} prefetched, "
            f"{percent(*span(empty))} not"
        )
    return "; ".join(phrases)


def _plain(ram: int) -> SimulatedCluster:
    return replace(clusters.lard(8, ram * MIB), cache="lru")


def _gains(
    lab: Lab, trace: Trace, plain: SimulatedCluster, policies: tuple[str, ...], prefetch: int
) -> list[float]:
    lvs = lab.aside(trace, plain, "wrr").throughput
    cluster = replace(plain, prefetch=prefetch)
    return [ratio(lab.aside(trace, cluster, policy).throughput, lvs) - 1 for policy in policies]


def _claim(
    lab: Lab,
    name: str,
    ram: int,
    policies: tuple[str, ...],
    prefetch: int,
    claim: str,
    published: tuple[float, float],
) -> Claim:
    trace, plain = lab.twin(name), _plain(ram)
    picture = f"{name}, 8 nodes, % of memory prefetched"
    lvs = lab.run(trace, plain, "wrr", picture=picture, x=prefetch).throughput
    cluster = replace(plain, prefetch=prefetch)
    gains = [
        ratio(lab.run(trace, cluster, policy, picture=picture, x=prefetch).throughput, lvs) - 1
        for policy in policies
    ]
    return Claim(
        PAPER,
        claim,
        percent(*published),
        percent(*span(gains)),
        verdict(is_in_range(gains, *published)),
    )

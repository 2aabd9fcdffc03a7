"""The CWARD paper's measurements, as far as a simulator can take them: against a layer-4 cluster of
eight nodes.

The paper measures Linux machines and says neither how large the traces' parts are nor what its
machines cost; the LARD paper's node stands in for them, with the paper's memory and share of it
that is filled beforehand. Memories are empty at first otherwise: the paper says nothing of it.

Calibrated, the sizes of a twin spread as those of real logs do. Its accesses stay independent:
http_load, which made the paper's requests, asks for the addresses in its list at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flex.sim import simulated_clusters as clusters
from flex.sim.papers.claim import Claim, Tried, is_in_range, percent, ratio, span, verdict
from flex.sim.papers.experiment_lab import Lab
from flex.sim.simulated_clusters import MIB, SimulatedCluster

PAPER = "CWARD"


@dataclass(frozen=True, slots=True)
class Measurement:
    """A trace, megabytes of memory of a node, and per cent of it that is filled beforehand."""

    name: str
    ram: int
    prefetch: int
    policies: tuple[str, ...]


# 15.63 % of the memory.
_CLARKNET = Measurement("clarknet", 256, 16, ("cward_cr", "cward_fr", "cward_fsr"))
_WORLDCUP = Measurement("worldcup98", 512, 60, ("cward_pcr", "cward_pfr", "cward_pfsr"))
_CLARKNET_OPEN = (
    "what the machines cost is not published, nor whether memories were empty at first, and the "
    "gain depends on both: where disks are ten times as fast, or the trace was served once before, "
    "processors limit LVS and no policy gains much"
)
_WORLDCUP_OPEN = (
    "what the machines cost is not published, and the gain depends on it: with the LARD paper's "
    "disks every policy gains until its processors are busy all of the time, prefetched or not; "
    "with disks twice as fast those of LVS are, and no policy gains much"
)


def clarknet(lab: Lab) -> list[Claim]:
    return lab.leave_open(
        [
            _claim(lab, _CLARKNET, 16, "ClarkNet, hot set prefetched: over LVS", (0.43, 0.66)),
            _claim(lab, _CLARKNET, 0, "ClarkNet, nothing prefetched: over LVS", (0.01, 0.076)),
        ],
        _CLARKNET_OPEN,
        lambda: _on_other_disks(lab, _CLARKNET),
    )


def worldcup(lab: Lab) -> list[Claim]:
    return lab.leave_open(
        [
            _claim(lab, _WORLDCUP, 60, "WorldCup98, hot set prefetched: over LVS", (0.61, 0.94)),
            _claim(lab, _WORLDCUP, 0, "WorldCup98, nothing prefetched: over LVS", (0.27, 0.32)),
        ],
        _WORLDCUP_OPEN,
        lambda: _on_other_disks(lab, _WORLDCUP),
    )


def _on_other_disks(lab: Lab, measured: Measurement) -> Tried:
    """Disks that are faster than the LARD paper's, and memories that served the trace before."""
    rows = (
        ("memories empty at first, disks as fast as the LARD paper's", 1, False),
        ("memories empty at first, disks twice as fast", 2, False),
        ("memories empty at first, disks ten times as fast", 10, False),
        ("the trace served once before, disks as fast as the LARD paper's", 1, True),
    )
    return tuple(
        (what, _gains_in_words(lab, measured, times, warm=warm)) for what, times, warm in rows
    )


def _gains_in_words(lab: Lab, measured: Measurement, times: int, *, warm: bool) -> str:
    trace, slow = lab.twin(measured.name), _plain(measured.ram)
    plain = replace(
        slow, seek=slow.seek // times, again=slow.again // times, transfer=slow.transfer // times
    )
    lvs = lab.aside(trace, plain, "wrr", warm=warm)
    filled, empty = (
        [
            ratio(lab.aside(trace, cluster, policy, warm=warm).throughput, lvs.throughput) - 1
            for policy in measured.policies
        ]
        for cluster in (replace(plain, prefetch=measured.prefetch), plain)
    )
    busy = sum(node.busy for node in lvs.nodes) / len(lvs.nodes)
    return (
        f"{percent(*span(filled))} prefetched, {percent(*span(empty))} not; "
        f"LVS's processors are busy {100 * busy:.0f} % of the time"
    )


def _plain(ram: int) -> SimulatedCluster:
    return replace(clusters.lard(8, ram * MIB), cache="lru")


def _claim(
    lab: Lab, measured: Measurement, prefetch: int, claim: str, published: tuple[float, float]
) -> Claim:
    trace, plain = lab.twin(measured.name), _plain(measured.ram)
    picture = f"{measured.name}, 8 nodes, % of memory prefetched"
    lvs = lab.run(trace, plain, "wrr", picture=picture, x=prefetch).throughput
    cluster = replace(plain, prefetch=prefetch)
    gains = [
        ratio(lab.run(trace, cluster, policy, picture=picture, x=prefetch).throughput, lvs) - 1
        for policy in measured.policies
    ]
    return Claim(
        PAPER,
        claim,
        percent(*published),
        percent(*span(gains)),
        verdict(is_in_range(gains, *published)),
        times=(
            (1 + published[0], 1 + published[1]),
            (1 + min(gains), 1 + max(gains)),
        ),
    )

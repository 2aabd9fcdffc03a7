"""HACC's measurements (USENIX NT 1999, section 4), on workloads made up from its table 1: three
nodes, one of them with half the memory.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.prediction.cache_replay import Ints
from flex.sim import simulated_clusters as clusters
from flex.sim.papers.calibration import ROUTER
from flex.sim.papers.claim import Claim, ratio, verdict
from flex.sim.papers.experiment_lab import Lab, make_files
from flex.sim.simulated_clusters import MIB, MILLISECOND, SimulatedCluster
from flex.sim.traces import Trace

PAPER = "HACC"
_USERS = (
    "how many requests were under way while users paused is not published, nor how fast the disks "
    "were, nor how much memory was left for files, nor how skewed requests for FAS were. Each of "
    "these alone decides how much HACC wins"
)
_HANDED_OVER = (
    "when a node counts as overloaded, and how many documents it then hands over, is not "
    "published. What it hands over the next node must read anew. The later a node counts as "
    "overloaded, the less is handed over, and the more HACC wins"
)
_SPLIT = (
    "the paper's users pause between requests, and how many requests were under way is not "
    "published: the fewer, the more it helps that no static one waits behind a dynamic one"
)
# Accesses of each made-up trace. A guess.
_ACCESSES = 300_000
# "The average service time is about 200 ms" (section 4.2, of Domino), ASP's is not published and
# taken as as much.
_DYNAMIC = 200 * MILLISECOND
# With which nodes' processors are at work for as long as published: DOMINO_PROCESSORS.
_DOMINO_WORK = 2 * MILLISECOND
# Views of the database of Domino: not published.
_VIEWS = 400
# Requests under way: the paper's users pause for two seconds, or as real ones did, and
# how many there were is not told. A guess.
_UNDER_WAY = 20
# Windows and the server take their share: what is left of 64 and 32 MB for files is not published.
_RAM = (48 * MIB, 48 * MIB, 16 * MIB)


def static(lab: Lab) -> list[Claim]:
    files = lab.take("hacc FAS", lambda: _fas(lab), 80)
    fas = _faster(lab, files, "static files of the FAS server", 0.40)
    if lab.real is not None:
        return lab.because([fas], _USERS)
    uniform = _faster(lab, _uniform(), "static files, uniform requests", 1.21)
    return lab.because([uniform, fas], _USERS)


def _fas(lab: Lab) -> Trace:
    return _files("hacc FAS", 5715, 80, skew=lab.assumed.figure("skew", 0.9))


def dynamic(lab: Lab) -> list[Claim]:
    work = _DOMINO_WORK if lab.assumed.calibrated else _DYNAMIC
    domino = _dynamic(_domino(), share=1.0, work=work)
    asp = _asp()
    cluster = _cluster(lab)
    plain, split = (
        lab.run(asp, cluster, policy, picture="hacc ASP, 3 nodes", x=3)
        for policy in ("round_robin", "hacc_split")
    )
    lower = 1 - ratio(split.delay[0], plain.delay[0])
    busy = _faster(lab, domino, "dynamic requests, Domino", 0.52, rival="least_connections")
    apart = Claim(
        PAPER,
        "dynamic requests kept apart from static ones: mean time lower",
        "45 %",
        f"{lower:.0%}",
        verdict(abs(lower - 0.45) <= 0.1, lower > 0.45),
    )
    return [*lab.because([busy], _HANDED_OVER), *lab.because([apart], _SPLIT)]


def _asp() -> Trace:
    return _dynamic(_files("hacc ASP", 4495, 54, skew=0.9), share=0.05, work=_DYNAMIC)


def _faster(
    lab: Lab, trace: Trace, what: str, published: float, rival: str = "round_robin"
) -> Claim:
    smart = _smart(lab, trace)
    sprayer = lab.run(trace, _cluster(lab), rival, picture=f"{trace.name}, 3 nodes", x=3).throughput
    gain = ratio(smart, sprayer) - 1
    near = abs(gain - published) <= 0.1 * (1 + published)
    return Claim(
        PAPER,
        f"{what}: throughput over an IP sprayer",
        f"{published:.0%}",
        f"{gain:.0%}",
        verdict(near, gain > published),
        times=((1 + published,) * 2, (1 + gain,) * 2) if rival == "round_robin" else None,
    )


def _smart(lab: Lab, trace: Trace) -> float:
    """HACC's throughput, by another word for overloaded where one is assumed."""
    # In thousandths of the time.
    margin = 10 * int(lab.assumed.figure("overloaded", 0))
    picture = f"{trace.name}, 3 nodes"
    return lab.run(
        trace,
        _cluster(lab),
        "hacc",
        adjust=lambda routing: replace(routing, margin=margin or routing.margin),
        picture=picture,
        x=3,
    ).throughput


def _cluster(lab: Lab) -> SimulatedCluster:
    """Calibrated, all answers go through the router's link, with either policy: the paper's sprayer
    is the router without the tree.
    """
    plain = replace(clusters.lard(3), ram=_RAM, cache="lru")
    if not lab.assumed.calibrated:
        return plain
    slower = lab.assumed.figure("disk", 1.0)
    return replace(
        plain,
        front=ROUTER,
        limit=int(lab.assumed.figure("under way", _UNDER_WAY)),
        seek=round(plain.seek * slower),
        again=round(plain.again * slower),
        transfer=round(plain.transfer * slower),
    )


def _uniform() -> Trace:
    """367 files of 100 MB in all: 40 % between 5 and 8 KB, the others up to 1.4 MB, as long a tail
    as that leaves.
    """
    small = np.linspace(5 * 1024, 8 * 1024, 147)
    low, high = 8.0 * 1024, 1.4 * MIB
    mean = (100 * MIB - small.sum()) / 220
    # The mean of u to the power of a, of even chances u, is 1 / (a + 1).
    skew = (high - low) / (mean - low) - 1
    large = low + (high - low) * ((np.arange(220) + 0.5) / 220) ** skew
    target = np.random.default_rng(3).integers(0, 367, _ACCESSES)
    return _trace("hacc baseline", target, np.append(small, large).astype(np.int64))


def _files(name: str, files: int, mb: int, *, skew: float) -> Trace:
    return make_files(name, files, mb, accesses=_ACCESSES, skew=skew)


def _domino() -> Trace:
    """Documents in views, which is as far down as the router's tree goes."""
    documents = _files("hacc Domino", 20_000, 129, skew=0.9)
    view = np.random.default_rng(6).integers(0, _VIEWS, 20_000)
    return replace(documents, site=view, sites=tuple(f"view-{number}" for number in range(_VIEWS)))


def _dynamic(trace: Trace, *, share: float, work: int) -> Trace:
    """That share of the targets costs the processor so much."""
    random = np.random.default_rng(9)
    return replace(trace, work=np.where(random.random(len(trace.size)) < share, work, 0))


def _trace(name: str, target: Ints, size: Ints) -> Trace:
    return Trace(name, target, size, np.zeros(len(size), dtype=np.int64), (name,))

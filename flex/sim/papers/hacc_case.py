"""HACC's measurements (USENIX NT 1999, section 4), on workloads made up from its table 1: three
nodes, one of them with half the memory.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.prediction.cache_replay import Ints
from flex.sim import simulated_clusters as clusters
from flex.sim.papers.claim import Claim, ratio, verdict
from flex.sim.papers.experiment_lab import Lab
from flex.sim.policies import POLICIES
from flex.sim.simulate import no_place, serve
from flex.sim.simulated_clusters import MIB, MILLISECOND, SimulatedCluster
from flex.sim.traces import Trace

PAPER = "HACC"
_USERS = (
    "when a node counts as overloaded is not published, nor how many documents it "
    "then hands over, nor how much memory "
    "was left for files, nor how skewed requests for FAS were. Load is sampled every "
    "200 ms, as the paper says: "
    "reading one large file takes longer, so that a node looks overloaded by chance, "
    "and hands over what the next one "
    "must read anew. These figures hang on that more than on anything published"
)
_CLOSED = (
    "the paper's users pause between requests; here as many requests as are admitted "
    "are always under way, so that a "
    "policy that serves fewer a second cannot answer sooner. A dynamic request takes "
    "200 ms; how much of that is "
    "the processor's is not published, here all is, so that Domino's disks have "
    "little to do and memory decides little"
)
# Accesses of each made-up trace. A guess.
_ACCESSES = 300_000
# No load exceeds another by so much.
_NEVER = 10**6
# "The average service time is about 200 ms" (section 4.2, of Domino), ASP's is not published and
# taken as as much.
_DYNAMIC = 200 * MILLISECOND
# Views of the database of Domino: not published.
_VIEWS = 400
# Windows and the server take their share: what is left of 64 and 32 MB for files is not published.
_RAM = (48 * MIB, 48 * MIB, 16 * MIB)


def static(lab: Lab) -> list[Claim]:
    files = lab.take("hacc FAS", lambda: _fas(lab), 80)
    fas = _faster(lab, files, "static files of the FAS server", 0.40)
    if lab.real is not None:
        return lab.because([fas], _USERS, str)
    uniform = _faster(lab, _uniform(), "static files, uniform requests", 1.21)
    return lab.because(
        [uniform, fas],
        _USERS,
        lambda: f"{_patient(lab, _uniform())}; {_patient(lab, files)}; {_skewed_trace(lab)}",
    )


def _fas(lab: Lab) -> Trace:
    return _files("hacc FAS", 5715, 80, skew=lab.assumed.figure("skew", 0.9))


def dynamic(lab: Lab) -> list[Claim]:
    domino = _domino_asked(lab)
    asp = _asp()
    cluster = replace(_cluster(), limit=int(lab.assumed.figure("under way", 60)))
    plain, split = (
        lab.run(asp, cluster, policy, picture="hacc ASP, 3 nodes", x=3)
        for policy in ("round_robin", "hacc_split")
    )
    lower = 1 - ratio(split.delay[0], plain.delay[0])
    return lab.because(
        [
        _faster(lab, domino, "dynamic requests, Domino", 0.52, rival="least_connections"),
        Claim(PAPER, "dynamic requests kept apart from static ones: mean time lower", "45 %",
              f"{lower:.0%}",
              verdict(abs(lower - 0.45) <= 0.1)),
    ],
        _CLOSED,
        lambda: f"{_few(lab)}; {_lighter(lab)}; {_patient(lab, domino, rival='least_connections')}",
    )  # fmt: skip


def _patient(lab: Lab, trace: Trace, rival: str = "round_robin") -> str:
    """Other samplings of the load, and another word for overloaded."""
    before = lab.aside(trace, _cluster(), rival).throughput
    phrases = []
    for interval, margin in ((200, 500), (1000, 500), (5000, 200), (200, _NEVER)):
        tried = replace(
            POLICIES["hacc"].routing(trace, _cluster(), no_place),
            interval=interval * MILLISECOND,
            margin=margin,
        )
        gain = ratio(serve(trace, _cluster(), tried).throughput, before) - 1
        when = f"{margin // 10} points too much" if margin < _NEVER else "nothing ever handed over"
        phrases.append(f"{gain:.0%} sampled every {interval} ms with {when}")
    return f"{trace.name}, over {rival.replace('_', ' ')}: {', '.join(phrases)}"


def _skewed_trace(lab: Lab) -> str:
    """FAS with more of the requests to few files than Zipf's law with 0.9 gives them."""
    phrases = []
    for skew in (1.1, 1.2, 1.3):
        trace = _files("hacc FAS", 5715, 80, skew=skew)
        hacc, sprayer = (
            lab.aside(trace, _cluster(), policy).throughput for policy in ("hacc", "round_robin")
        )
        phrases.append(f"{ratio(hacc, sprayer) - 1:.0%} with {skew}")
    return f"FAS by Zipf's law, over round robin: {', '.join(phrases)} in place of 0.9"


def _few(lab: Lab) -> str:
    """Fewer requests under way, as there are while users pause."""
    phrases = []
    for limit in (3, 6, 12):
        plain, split = (
            lab.aside(_asp(), replace(_cluster(), limit=limit), policy).delay[0]
            for policy in ("round_robin", "hacc_split")
        )
        phrases.append(f"{1 - ratio(split, plain):.0%} with {limit}")
    return f"hacc ASP, mean time lower by {', '.join(phrases)} requests under way"


def _lighter(lab: Lab) -> str:
    """Domino's requests with less for the processor to do, and so more for the disks beside it."""
    phrases = []
    for work in (50, 5):
        trace = _dynamic(_domino(), share=1.0, work=work * MILLISECOND)
        hacc, rival = (
            lab.aside(trace, _cluster(), policy).throughput
            for policy in ("hacc", "least_connections")
        )
        phrases.append(f"{ratio(hacc, rival) - 1:.0%} with {work} ms")
    return f"hacc Domino, {', '.join(phrases)} of the processor a request"


def _asp() -> Trace:
    return _dynamic(_files("hacc ASP", 4495, 54, skew=0.9), share=0.05, work=_DYNAMIC)


def _faster(
    lab: Lab, trace: Trace, what: str, published: float, rival: str = "round_robin"
) -> Claim:
    smart = _smart(lab, trace)
    sprayer = lab.run(trace, _cluster(), rival, picture=f"{trace.name}, 3 nodes", x=3).throughput
    gain = ratio(smart, sprayer) - 1
    return Claim(PAPER, f"{what}: throughput over an IP sprayer", f"{published:.0%}", f"{gain:.0%}",
                 verdict(abs(gain - published) <= 0.1 * (1 + published)))  # fmt: skip


def _smart(lab: Lab, trace: Trace) -> float:
    """HACC's throughput, by another word for overloaded where one is assumed."""
    margin = int(lab.assumed.figure("overloaded", 0))
    if not margin:
        picture = f"{trace.name}, 3 nodes"
        return lab.run(trace, _cluster(), "hacc", picture=picture, x=3).throughput
    routing = POLICIES["hacc"].routing(trace, _cluster(), no_place)
    return serve(trace, _cluster(), replace(routing, margin=margin)).throughput


def _cluster() -> SimulatedCluster:
    return replace(clusters.lard(3), ram=_RAM, cache="lru")


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
    random = np.random.default_rng(5)
    size = random.lognormal(0, 1.3, files)
    chance = np.arange(1, files + 1) ** -skew
    target = random.choice(files, _ACCESSES, p=chance / chance.sum())
    return _trace(name, target, (size * mb * MIB / size.sum()).astype(np.int64))


def _domino_asked(lab: Lab) -> Trace:
    """Where a request reads its view, views are the files: the router's tree ends at them too, and
    Domino opens a document by its view.
    """
    work = lab.assumed.figure("view work", 0)
    if not work:
        return _dynamic(_domino(), share=1.0, work=_DYNAMIC)
    views = _files("hacc Domino views", _VIEWS, 129, skew=0.9)
    named = replace(
        views, site=np.arange(_VIEWS), sites=tuple(f"view-{number}" for number in range(_VIEWS))
    )
    return _dynamic(named, share=1.0, work=round(work * MILLISECOND))


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

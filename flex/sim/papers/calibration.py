"""What the twins and clusters of the papers get beside what was published of their inputs, and from
which published figure each comes.

Takes the name of a twin. Returns a calibrated twin, and costs. Uses the figures of INPUTS and no
other result of a paper: they are of a trace, of one node, or of a testbed, and no claim is judged
by any of them (tests/sim/test_calibration.py holds that). Each is used once, before any other
policy than the baseline runs. What no paper tells has the usual value of real logs
(`make bench NAME=locality`), which was found before and is the same for every paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flex.sim import simulated_clusters as clusters
from flex.sim.engine_input_and_output import FRONT_END
from flex.sim.locality import Locality, reorder
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulated_clusters import MICROSECOND, SECOND, FrontEnd, SimulatedCluster
from flex.sim.trace_twins import twin
from flex.sim.traces import Trace

# The median over 15 real logs of 10,000 accesses or more (bench/locality.py).
USUAL = Locality(repeats=0.57, gap=8.4e-5, spread=2.0, life=0.94)
# The median over the same logs of how wide the natural logarithms of sizes spread: a standard
# deviation.
USUAL_SPREAD_OF_SIZES = 1.6


@dataclass(frozen=True, slots=True)
class Input:
    """A published figure that sets something: `key` is its name among the figures of all papers,
    `sets` what it is used for.
    """

    key: str
    paper: str
    figure: str
    value: float
    where: str
    sets: str


APACHE_CACHED = Input(
    "lard/testbed/cached",
    "LARD",
    "requests a second of one node with Apache for cached files of less than 8 KB",
    800.0,
    "section 6.3",
    "what a connection costs a node with Apache",
)
HANDOFF_PEAK = Input(
    "aron/handoff/peak",
    "front ends",
    "connections a second of one front end that hands off, with the IBM trace",
    3500.0,
    "section 3",
    "what a handoff costs the front end",
)
# Used in published_trace_figures.py: 280 Mbit/s over 2.5 times six times 167 requests a second.
ANSWER = Input(
    "lard/testbed/bandwidth",
    "LARD",
    "Mbit/s of six nodes with Apache under LARD/R, 2.5 times the requests of WRR",
    280.0,
    "section 6.3",
    "the mean answer of Rice, 14 KB",
)
INPUTS = (ANSWER, APACHE_CACHED, HANDOFF_PEAK)

# Kilobytes of the answers of the IBM trace: "less than 3 KB" (Aron and others, section 3).
_IBM_ANSWER = 3
# Kilobytes of the largest files that are called small.
_SMALL = 8


def apache(nodes: int, ram: int, kilobytes: float = _SMALL) -> SimulatedCluster:
    """Nodes with Apache: a cached file of so many kilobytes takes 1/800 s, disks are those of the
    paper's simulation, and the memory drops what was not used for longest, as FreeBSD's clock
    nearly does.
    """
    sending = round(2 * kilobytes) * 40 * MICROSECOND
    connection = round(SECOND / APACHE_CACHED.value) - sending
    return replace(
        clusters.lard(nodes, ram), cache="lru", connect=connection // 2, close=connection // 2
    )


def handoff(acknowledged: int) -> FrontEnd:
    """One that hands off as many connections a second as published, with the IBM trace's answers;
    `acknowledged` is what it spends on each 512 bytes.
    """
    units = _IBM_ANSWER * 2
    cost = round(SECOND / HANDOFF_PEAK.value) - units * acknowledged
    return FrontEnd(FRONT_END, cost, acknowledged)


def calibrated_twin(name: str, locality: Locality = USUAL) -> Trace:
    """A twin in the order of real logs, with sizes that spread as theirs do."""
    return reorder(twin(PUBLISHED[name], spread=USUAL_SPREAD_OF_SIZES), locality)

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
from flex.sim.locality import INDEPENDENT, Locality, reorder
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulated_clusters import MICROSECOND, SECOND, FrontEnd, SimulatedCluster
from flex.sim.trace_twins import twin
from flex.sim.traces import Trace

# The median over 15 real logs of 10,000 accesses or more (bench/locality.py). The gap is one in
# time, as a page is loaded again after so many seconds however much others ask for: in seconds.
USUAL = Locality(repeats=0.57, spread=2.0, life=0.94)
USUAL_GAP = 379.0
# How long files live in the longest log at hand, of 52 days (bench/locality.py): Rice is a trace of
# two months. Accesses that follow each other at once are left out, as the paper's WRR misses the
# same on any number of nodes, which they exclude.
MONTHS = Locality(shorter=0.7, fade=0.2)
# The CWARD paper's http_load asks for the addresses in its list at random.
_LOCALITY = {"rice": MONTHS, "clarknet": INDEPENDENT, "worldcup98": INDEPENDENT}
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
    "what a connection costs a node with Apache; of the nodes behind front ends three quarters of "
    "1/800 s, to which sending comes",
)
REPLICATED = Input(
    "flex/case-1/replicated",
    "FLEX",
    "units of access rate of the least loaded site that was on several nodes, 57 in April",
    95.6,
    "section 4",
    "that a site is on several nodes from 80 units of either on: 57 in June, with 74.5 of working "
    "set and 50.6 of access rate, was on one",
)
# The part of a node's load.
REPLICATE_ABOVE = 0.8
HANDOFFS = Input(
    "lard/handoff/throughput",
    "LARD",
    "connections a second that a front end accepts, hands off and closes, and nothing else",
    5000.0,
    "section 6.2",
    "what a handoff costs the front end: 200 µs",
)
DISPATCHER = Input(
    "lard/handoff/dispatcher",
    "LARD",
    "per cent of a handoff that the choice of a node takes besides, the middle of 10 to 20",
    15.0,
    "section 6.2",
    "what the front end spends on the choice of a node: 30 µs",
)
FORWARDED = Input(
    "lard/handoff/forwarding",
    "LARD",
    "microseconds to forward a packet from the client to its node",
    9.0,
    "section 6.2",
    "what the front end spends on the packets of a connection that it has handed off",
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
APACHE_RICE = Input(
    "lard/testbed/rice",
    "LARD",
    "requests a second of one node with Apache and 70 to 97 MB for files, of Rice",
    167.0,
    "section 6.3",
    "the share of the requests of Rice's second most frequent file",
)
ROUTER_LINK = Input(
    "hacc/testbed/link",
    "HACC",
    "Mbit/s of the network between router and nodes",
    100.0,
    "section 4.1",
    "how long the router takes to pass on an answer",
)
DOMINO_PROCESSORS = Input(
    "hacc/domino/processors",
    "HACC",
    "per cent of the time that processors are at work at most, with Domino's requests",
    50.0,
    "section 4.4",
    "what a request costs the processor beside its answer, 2 ms",
)
ROUTER_TOP = Input(
    "hacc/router/top",
    "HACC",
    "requests of 8 KB a second that the router passes on at most, the middle of 400 to 500",
    450.0,
    "section 5",
    "what a request costs the router beside its link",
)
WRR_IS_FLAT = Input(
    "lard/rice/misses-wrr-flat",
    "LARD",
    "times as many misses of WRR on any number of nodes as on one",
    1.0,
    "section 4.1",
    "that memories are warm, and no access of Rice follows another at once",
)
INPUTS = (
    ANSWER,
    APACHE_CACHED,
    APACHE_RICE,
    DISPATCHER,
    DOMINO_PROCESSORS,
    FORWARDED,
    HANDOFFS,
    REPLICATED,
    ROUTER_LINK,
    ROUTER_TOP,
    WRR_IS_FLAT,
)
# Of 512 bytes on the router's link.
_PASSED_ON = round(512 * 8 * SECOND / (ROUTER_LINK.value * 1e6))
ROUTER = FrontEnd(FRONT_END, round(SECOND / ROUTER_TOP.value) - 16 * _PASSED_ON, _PASSED_ON)
# The second file's share of the requests with which APACHE_RICE comes out
# (tests/sim/test_calibration.py).
_SECOND = {"rice": 0.0014}

# Packets of a connection that a client sends beside acknowledgements of data: what acknowledges
# the handshake, what acknowledges the node's end of the connection, and its own end. No paper
# counts them: an assumption.
_OTHER_PACKETS = 3
# Kilobytes of the largest files that are called small.
_SMALL = 8
# Seconds.
DAY = 86400


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


def handoff(acknowledged: int, dispatcher: float = DISPATCHER.value) -> FrontEnd:
    """Return a front end that hands off each connection, chooses its node and forwards its packets;
    `acknowledged` is what it spends on each 512 bytes, `dispatcher` is in per cent of a handoff.
    """
    chosen = SECOND / HANDOFFS.value * (1 + dispatcher / 100)
    forwarded = _OTHER_PACKETS * FORWARDED.value * MICROSECOND
    return FrontEnd(FRONT_END, round(chosen + forwarded), acknowledged)


def calibrated_twin(
    name: str,
    *,
    locality: Locality | None = None,
    second: float | None = None,
) -> Trace:
    """A twin in the order of real logs, with sizes that spread as theirs do; or in another order,
    or with another share of the second most frequent file, where they are given.
    """
    share = second or _SECOND.get(name)
    made = twin(PUBLISHED[name], second=share, spread=USUAL_SPREAD_OF_SIZES, of_all_sizes=True)
    return reorder(made, locality or usual_locality(name))


def usual_locality(name: str) -> Locality:
    return _LOCALITY.get(name, replace(USUAL, gap=usual_gap(name)))


def usual_gap(name: str) -> float:
    """As a share of the trace."""
    return USUAL_GAP / DAY / PUBLISHED[name].days

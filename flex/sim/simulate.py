"""Serves a trace by a cluster under a policy: the simulator's main function and its figures.

Takes a trace, a cluster and a policy. Makes a SimulatedJob for an engine. Returns what the engine
served as a Result. Does not decide how a node works: the engine does.

The engine is the native loop, or the Python one (python_engine.py) for what the native one does not
know. A rule or a cache policy that is in Python alone works at once, and slower; the native loop
learns it by a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flex import native_or_python
from flex.errors import BadInput
from flex.prediction.cache_replay import Ints
from flex.sim import simulated_clusters as clusters
from flex.sim import traces
from flex.sim.access_rules import Place, RoutedAccesses
from flex.sim.engine_input_and_output import READ, WAITED, ServedAccesses, SimulatedJob
from flex.sim.policies import FORMER_NAMES, POLICIES
from flex.sim.python_engine import Answer, reference_simulate
from flex.sim.rules import NUMBER, RULES
from flex.sim.simulated_clusters import MILLISECOND, SECOND, T_LOW, SimulatedCluster
from flex.sim.traces import Trace

Adjust = Callable[[RoutedAccesses], RoutedAccesses]


@dataclass(frozen=True, slots=True)
class NativeLoop:
    """The loop, and which cache policies and rules it knows; a rule's number is its place here."""

    simulate: Callable[[SimulatedJob], Answer]
    caches: tuple[str, ...]
    rules: tuple[str, ...]


NATIVE = NativeLoop(
    native_or_python.pick("simulate", reference_simulate),
    native_or_python.members("CACHES"),
    native_or_python.members("RULES"),
)


def run_engine(job: SimulatedJob, native: NativeLoop = NATIVE) -> Answer:
    rule = _numbers(native.rules)[job.rule]
    if job.cache in native.caches and (rule >= 0).all():
        return native.simulate(replace(job, rule=rule))
    return reference_simulate(job)


def _numbers(known: tuple[str, ...]) -> Ints:
    """For each of RULES its number in the native loop, -1 where that does not know it."""
    numbers = [known.index(name) if name in known else -1 for name in RULES]
    return np.array(numbers, dtype=np.int64)


# More blocks than this are minutes of work, on a real trace the blocks are about as many as the
# accesses.
MOST_BLOCKS = 200_000_000
# Accesses within which the delays of nodes are compared, and the fewest that tell of a node.
_PART = 1000
_ENOUGH = 10


@dataclass(frozen=True, slots=True)
class NodeResult:
    """`misses` are reads from disk. `busy`, `reading` and `idle` are shares of the time: of the
    processor, of a disk, and of too little to do: nothing under way where nodes answer one access
    after the other, else, as in the LARD paper, fewer than 40 % of T_low.
    """

    requests: int
    misses: int
    disk_bytes: int
    busy: float
    reading: float
    idle: float


@dataclass(frozen=True, slots=True)
class Result:
    """`throughput` is requests a second of the whole cluster until the last node ends, `per_server`
    the mean of what each node serves a second of the time that it is not idle; `miss_ratio` is the
    share of the accesses that read a disk, and `waited_ratio` of those that wait for such a read;
    `delay` are seconds at the mean and the 50th, 95th and 99th percentile; `apart` is by how many
    seconds the mean delays of two nodes differ at most within a thousand accesses.
    """

    policy: str
    trace: str
    nodes: tuple[NodeResult, ...]
    requests: int
    seconds: float
    throughput: float
    per_server: float
    miss_ratio: float
    byte_miss_ratio: float
    waited_ratio: float
    idle: float
    delay: tuple[float, float, float, float]
    apart: float


def simulate(
    trace: Trace,
    cluster: SimulatedCluster,
    policy: str,
    place: Place | None = None,
    *,
    warm: bool = False,
    adjust: Adjust = lambda routing: routing,
) -> Result:
    """`place` is asked for the nodes of each site by the policies that need it. A `warm` cluster
    has served the same trace before. `adjust` gives the policy's rules other settings.
    """
    policy = FORMER_NAMES.get(policy, policy)
    if policy not in POLICIES:
        raise _unknown_policy(policy)
    traces.check(trace)
    clusters.check(cluster)
    _refuse_endless(trace, cluster)
    routing = POLICIES[policy].routing(trace, cluster, place or no_place)
    return serve(trace, cluster, adjust(routing), policy, warm=warm)


def serve(
    trace: Trace,
    cluster: SimulatedCluster,
    routing: RoutedAccesses,
    policy: str = "",
    *,
    warm: bool = False,
) -> Result:
    """What comes of a routing that somebody made, of a trace and a cluster that were looked at."""
    answer = run_engine(job_of(trace, cluster, routing, warm=warm))
    return _result(policy, trace, cluster, ServedAccesses(*answer))


def job_of(
    trace: Trace, cluster: SimulatedCluster, routing: RoutedAccesses, *, warm: bool = False
) -> SimulatedJob:
    assert not (warm and cluster.serial), "the FLEX paper's nodes begin with nothing in memory"
    pinned, ram = _prefetch(trace, cluster, routing)
    speed = np.array(cluster.speeds)
    passes = 2 if warm else 1
    return SimulatedJob(
        cache=cluster.cache,
        serial=cluster.serial,
        target=_column(np.tile(trace.target, passes)),
        key=_column(np.tile(routing.key, passes)),
        size=_column(trace.size),
        work=_column(trace.work_of_targets()),
        disk=_column(_disks(trace, cluster)),
        ram=_column(ram),
        connect=_column(cluster.connect * 100 // speed),
        send=_column(cluster.send * 100 // speed),
        close=_column(cluster.close * 100 // speed),
        weight=_column(speed),
        rule=_column(routing.rule),
        first=_column(routing.first),
        option=_column(routing.option),
        pinned=_column(pinned),
        send_unit=cluster.send_unit,
        disks=cluster.disks,
        seek=cluster.seek,
        again=cluster.again,
        block=cluster.block,
        transfer=cluster.transfer,
        transfer_unit=cluster.transfer_unit,
        memory=routing.memory,
        largest=cluster.largest,
        front=cluster.front.kind,
        front_connect=cluster.front.connect,
        front_send=cluster.front.send,
        limit=cluster.most_under_way,
        idle_below=T_LOW * 40 // 100,
        warm=len(trace.target) * (passes - 1),
        backlog_unit=MILLISECOND,
        low=routing.low,
        high=routing.high,
        patience=routing.patience,
        bound=routing.bound,
        interval=routing.interval,
        margin=routing.margin,
        cpu_share=routing.cpu_share,
    )


def _disks(trace: Trace, cluster: SimulatedCluster) -> Ints:
    """Files over the disks in turn, the most frequent first, as in the LARD paper."""
    disk = np.zeros(len(trace.size), dtype=np.int64)
    disk[np.argsort(-trace.frequency(), kind="stable")] = np.arange(len(trace.size)) % cluster.disks
    return disk


def _prefetch(
    trace: Trace, cluster: SimulatedCluster, routing: RoutedAccesses
) -> tuple[Ints, Ints]:
    """What each node has in memory beforehand, and what is left of its memory: the most frequent of
    what it serves and may have beforehand. What goes by LARD is with one node at a time: at its
    first, where LARD finds it.
    """
    ram = np.array(cluster.ram, dtype=np.int64)
    if routing.prefetched is None or not cluster.prefetch:
        return np.zeros(0, dtype=np.int64), ram
    apart = ram * cluster.prefetch // 100
    kept = np.repeat(routing.rule != NUMBER["lard"], np.diff(routing.first))
    kept[routing.first[:-1]] = True
    kept &= np.repeat(routing.prefetched, np.diff(routing.first))
    pinned = np.zeros((len(trace.size), cluster.nodes), dtype=np.int64)
    target = np.repeat(np.arange(len(trace.size)), np.diff(routing.first))
    order = np.argsort(-trace.frequency()[target], kind="stable")
    order = order[kept[order]]
    for node in range(cluster.nodes):
        mine = order[routing.option[order] == node]
        filled = np.cumsum(trace.size[target[mine]]) <= apart[node]
        pinned[target[mine[filled]], node] = 1
    return pinned.ravel(), ram - apart


def _result(policy: str, trace: Trace, cluster: SimulatedCluster, served: ServedAccesses) -> Result:
    counted = slice(len(served.outcome) - len(trace.target), None)
    node, outcome = served.node[counted], served.outcome[counted]
    read, size = outcome == READ, trace.size[trace.target]
    seconds = (served.end - served.began) / SECOND
    nodes = tuple(
        _node(served, number, node == number, read, size, cluster)
        for number in range(cluster.nodes)
    )
    rates = [
        n.requests / ((1 - n.idle) * seconds)
        for n in nodes
        if n.requests and seconds and n.idle < 1
    ]
    delay = served.delay[counted]
    return Result(
        policy=policy,
        trace=trace.name,
        nodes=nodes,
        requests=len(trace.target),
        seconds=seconds,
        throughput=len(trace.target) / seconds if seconds else 0.0,
        per_server=float(np.mean(rates)) if rates else 0.0,
        miss_ratio=float(read.mean()),
        byte_miss_ratio=float(size[read].sum() / max(int(size.sum()), 1)),
        waited_ratio=float((outcome == WAITED).mean()),
        idle=float(np.mean([node.idle for node in nodes])),
        delay=(
            float(delay.mean()) / SECOND,
            *(np.percentile(delay, (50, 95, 99)) / SECOND).tolist(),
        ),
        apart=_delays_apart(node, delay, cluster.nodes),
    )


def _delays_apart(node: Ints, delay: Ints, nodes: int) -> float:
    part = np.arange(len(node)) // _PART
    cell, cells = part * nodes + node, nodes * (len(node) // _PART)
    count = np.bincount(cell, minlength=cells)[:cells]
    sums = np.bincount(cell, weights=delay, minlength=cells)[:cells]
    # A node that answered a single one says little of itself.
    told = count >= _ENOUGH
    mean = np.divide(sums, count, where=told, out=np.full(cells, np.nan)).reshape(-1, nodes)
    told_by_part = told.reshape(-1, nodes).any(axis=1)
    if not told_by_part.any():
        return 0.0
    mean = mean[told_by_part]
    return float((np.nanmax(mean, axis=1) - np.nanmin(mean, axis=1)).max()) / SECOND


def _node(
    served: ServedAccesses,
    node: int,
    mine: np.ndarray,
    read: np.ndarray,
    size: Ints,
    cluster: SimulatedCluster,
) -> NodeResult:
    """Idle is told of the whole run, as the LARD paper has it; all else since counting began."""
    counted = max(served.end - served.began, 1)
    return NodeResult(
        requests=int(mine.sum()),
        misses=int((mine & read).sum()),
        disk_bytes=int(size[mine & read].sum()),
        busy=float(served.busy[node] / counted),
        reading=float(served.reading[node] / counted / cluster.disks),
        idle=float(served.idle[node] / max(served.end, 1)),
    )


def _refuse_endless(trace: Trace, cluster: SimulatedCluster) -> None:
    """Where files are read block by block, a few accesses to an enormous one would take days."""
    if cluster.serial:
        return
    blocks = -(-trace.size // cluster.block)
    steps = float((blocks.astype(np.float64) * trace.frequency()).sum())
    if steps > MOST_BLOCKS:
        raise BadInput(
            f"the trace {trace.name} in a model that reads {cluster.block // 1024} KB at a time",
            f"it asks for {steps:,.0f} blocks, at most {MOST_BLOCKS:,} can be read; "
            "the largest file has "
            f"{int(trace.size.max()):,} bytes",
            kept="nothing was simulated",
            advice="take the model flex, which reads files whole, or leave such "
            "files out of the log",
        )


def _column(values: Ints) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)


def no_place(_: Trace, __: SimulatedCluster) -> list[list[int]]:
    raise BadInput(
        "a policy that serves by site",
        "nobody says which nodes serve which site",
        kept="nothing was simulated",
        advice="give the simulation a partition",
    )


def _unknown_policy(policy: str) -> BadInput:
    return BadInput(
        f"the policy {policy}",
        "is not known",
        kept="nothing was simulated",
        advice=f"take one of {', '.join(POLICIES)}",
    )

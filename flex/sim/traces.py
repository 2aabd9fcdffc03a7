"""What a cluster is asked for, access by access, from logs or made up: the input of the simulator.

Takes columns as they were found. Returns a Trace that was checked. Does not read from disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from flex.errors import BadInput, NoData
from flex.prediction.cache_replay import Ints, Sample


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Access i asks for target[i], which belongs to site[target[i]] and has size[target[i]] bytes.

    `client` and `time` describe the accesses, where they are known: a trace without them has empty
    columns. `work` is what a target costs the processor beside sending it, in nanoseconds; it makes
    a target dynamic.
    """

    name: str
    target: Ints
    size: Ints
    site: Ints
    sites: tuple[str, ...]
    client: Ints = field(default_factory=_none)
    time: Ints = field(default_factory=_none)
    work: Ints = field(default_factory=_none)

    def frequency(self) -> Ints:
        """How often each target is asked for."""
        return np.bincount(self.target, minlength=len(self.size))

    def work_of_targets(self) -> Ints:
        return self.work if len(self.work) else np.zeros(len(self.size), dtype=np.int64)

    def working_set(self) -> int:
        return int(self.size[self.frequency() > 0].sum())


def check(trace: Trace) -> Trace:
    """The same trace. Raises an error that says what is wrong with it."""
    if not len(trace.target):
        raise _nothing(trace)
    wrong = _wrong(trace)
    if wrong:
        raise BadInput(
            f"the trace {trace.name}",
            wrong,
            kept="nothing was simulated",
            advice="mend what the trace was made from",
        )
    return trace


def first(trace: Trace, accesses: int) -> Trace:
    """So many accesses from the beginning."""
    return replace(
        trace,
        target=trace.target[:accesses],
        client=trace.client[:accesses],
        time=trace.time[:accesses],
    )


def days(trace: Trace, most: int = 4) -> list[Trace]:
    """Its busiest UTC days in the order of time, each as a trace; of a trace without times
    itself.
    """
    if not len(trace.time):
        return [trace]
    day = trace.time // 86400
    names, accesses = np.unique(day, return_counts=True)
    busiest = np.sort(names[np.argsort(-accesses, kind="stable")[:most]])
    return [_only(trace, day == busy_day) for busy_day in busiest.tolist()]


def _only(trace: Trace, which: np.ndarray) -> Trace:
    client = trace.client[which] if len(trace.client) else trace.client
    return replace(trace, target=trace.target[which], client=client, time=trace.time[which])


def trace_from_sample(name: str, sample: Sample, client: Ints | None = None) -> Trace:
    """The accesses of logs, as prediction takes them; who asked, where that is known."""
    clients = _none() if client is None else client
    return check(
        Trace(
            name,
            sample.target,
            sample.size,
            sample.site,
            sample.sites,
            client=clients,
            time=sample.time,
        )
    )


def _wrong(trace: Trace) -> str:
    late = np.flatnonzero(np.diff(trace.time) < 0)
    if len(late):
        return (
            f"is not in the order of time: access {late[0] + 2} is earlier than the one before it"
        )
    negative = np.flatnonzero(trace.size < 0)
    if len(negative):
        return f"has a target of {trace.size[negative[0]]} bytes"
    if trace.target.min() < 0 or trace.target.max() >= len(trace.size):
        return "asks for a target that is not described"
    if len(trace.site) != len(trace.size) or (
        len(trace.site) and trace.site.max() >= len(trace.sites)
    ):
        return "has targets of no site"
    columns = (trace.client, trace.time, trace.target)
    if any(len(column) not in (0, len(trace.target)) for column in columns):
        return "has columns of different lengths"
    return ""


def _nothing(trace: Trace) -> NoData:
    return NoData(
        f"the trace {trace.name}",
        "has no access",
        kept="nothing was simulated",
        advice="name logs that have accesses to files, answered with 200, 206 or 304",
    )

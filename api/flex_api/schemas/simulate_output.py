"""What the verbs of the simulator print with -o json. Times are seconds, sizes are bytes, ratios
are shares of one.

Where nothing takes time there is no rate, and no node is idle: both are null.
"""

from __future__ import annotations

from flex_api.schemas.output_base import Output, Part


class SimulatedNode(Part):
    requests: int
    misses: int
    disk_bytes: int
    busy: float
    reading: float
    idle: float | None


class SimulatedRow(Part):
    policy: str
    nodes: int
    ram_bytes: int
    requests: int
    seconds: float
    requests_per_second: float | None
    requests_per_second_of_a_node: float | None
    miss_ratio: float
    byte_miss_ratio: float
    waited_ratio: float
    idle: float | None
    delay_mean: float
    delay_p50: float
    delay_p95: float
    delay_p99: float
    per_node: list[SimulatedNode]


class SimulateOutput(Output):
    trace: str
    model: str
    cache: str
    items: list[SimulatedRow]
    pictures: list[str]
    notes: list[str]


class ClaimRow(Part):
    """`counter` is `tried` in one line. `times` are the lowest and the highest figure, as published
    and as measured, where a claim is of so many times another policy's throughput.
    """

    experiment: str
    paper: str
    claim: str
    published: str
    measured: str
    verdict: str
    reason: str
    counter: str = ""
    without: str = ""
    values: str = ""
    tried: tuple[tuple[str, str], ...] = ()
    times: tuple[tuple[float, float], tuple[float, float]] | None = None


class SimulatePaperOutput(Output):
    items: list[ClaimRow]
    pages: list[str]


class FitRow(Part):
    twin: str
    figure: str
    published: float
    made: float
    error: float
    assumed: bool


class LocalityRow(Part):
    """`memory` are shares of the working set; the others are miss ratios at each of them."""

    trace: str
    accesses: int
    repeats: float
    gap: float
    spread: float
    life: float
    points_off_median: float
    points_off_p95: float
    memory: list[float]
    log: list[float]
    model: list[float]
    independent: list[float]


class SimulateFitOutput(Output):
    items: list[FitRow]
    localities: list[LocalityRow]

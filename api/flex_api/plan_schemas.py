"""The parts of a plan that other outputs have too: loads, moves, forecasts."""

from __future__ import annotations

from pydantic import Field

from flex_api.output import Part


class LoadRow(Part):
    node: str
    access_units: float
    working_set_units: float
    fair_units: float = 100.0
    sites: int
    others_units: dict[str, float] = Field({}, description="of the dimensions that the settings name besides")


class BalanceOutput(Part):
    worst_ratio: float
    worst_node: str
    worst_resource: str
    nodes: list[LoadRow]


class MoveRow(Part):
    site: str
    source: str | None
    target: str | None
    cold_bytes: int
    reason: str


class ForecastRow(Part):
    policy: str
    miss_ratio: float
    sampling_ratio: float
    disk_bytes: int
    operations_per_second: float


class OutlookRow(Part):
    method: str
    nights: int = Field(description="how many were looked at")
    error_ratios: dict[str, float] = Field(description="by method: how far off the last nights would have been")


class MeasuredNode(Part):
    node: str
    predicted_units: float
    measured_units: float


class MeasuredRow(Part):
    plan: str = Field(description="the plan whose prediction it was")
    error_ratio: float = Field(description="the median distance of what was predicted and what then was")
    nodes: list[MeasuredNode]

"""What `flex whatif`, `flex plan frontier` and the comparison of two partitions print with -o json,
and the API answers.
"""

from __future__ import annotations

from pydantic import Field

from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.plan_parts import BalanceOutput, ForecastRow, MoveRow


class PointRow(Part):
    moves: int
    worst_ratio: float


class WhatIfOutput(Output):
    before: BalanceOutput = Field(description="what the partition in force would be like")
    after: BalanceOutput
    moves: list[MoveRow]
    moves_from_scratch: int
    cold_bytes: int
    solver: str
    moves_at_least: int
    proven_least: bool
    certified_at_least: int = Field(
        0,
        description="a certificate that the checker accepted proves that this many moves are "
        "needed; moves_at_least and proven_least are what the solver claims beyond it",
    )
    forecasts: list[ForecastRow]
    requests_per_second: float = Field(
        description="on the mean; forecasts say how many could be served"
    )
    frontier: list[PointRow]
    notes: list[str]


class PreviewRow(Part):
    """What the next plan would do with what somebody only asks about, found by a short search; the
    limits of a night are not looked at.
    """

    moves: int
    moves_without: int = Field(description="how many there would be anyhow")
    sites: int = Field(description="how many would move")
    cold_bytes: int
    worst_ratio: float
    worst_node: str
    worst_resource: str
    worst_ratio_without: float
    items: list[MoveRow] = Field(description="those that there would not be anyhow; at most 1,000")
    notes: list[str]


class FrontierOutput(Output):
    base: str
    tolerance_ratio: float
    trigger_ratio: float
    in_force_worst_ratio: float
    in_force_keeps_wishes: bool = Field(
        description="where it does not, the first of the items does"
    )
    items: list[PointRow] = Field(
        description="each with more moves and less imbalance than the one before; "
        "all keep every wish"
    )
    plan: str = Field(description="the plan that waits, if there is one")
    plan_moves: int | None
    plan_worst_ratio: float | None
    notes: list[str] = Field([], description="what is counted otherwise than in a plan")


class DiffRow(Part):
    site: str
    one: list[str]
    other: list[str]


class DiffOutput(Output):
    one: str
    other: str
    sites: int
    items: list[DiffRow]
    one_worst_ratio: float
    other_worst_ratio: float

"""Predictions, and how they turned out, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from flex_api.in_words import amounts
from flex_api.in_words.terminal_tables import grid
from flex_api.schemas.plan_parts import (
    ForecastNode,
    ForecastRow,
    MeasuredRow,
    MeasuredSite,
    ServedNode,
)
from flex_api.schemas.verbs_output import PlanOutput

AFTER = "after"
NOTHING = "Not predicted: no access was replayed."
# Nodes that are shown. A guess; `-o json` has them all.
NODES = 16
# Of requests that come to nodes without their site.
PASSED_ON = ("passed on>", "bytes of these>")
# Sites that are shown. A guess; `-o json` has them all.
SITES = 5


def show(console: Console, output: PlanOutput) -> None:
    """What is predicted, of the cluster and of each node of the new partition; and how good the
    last one was.
    """
    show_comparison(console, output.forecasts)
    for row in output.forecasts:
        if row.policy == AFTER and 0 < len(row.nodes) <= NODES:
            console.print()
            console.print(node_forecast_table(row))
    if output.prediction:
        console.print(f"\n{hindsight(output.prediction)}")
        for table in (served_table(output.prediction.served), sites(output.prediction.sites)):
            if table.row_count:
                console.print(table)


def show_comparison(console: Console, rows: Sequence[ForecastRow]) -> None:
    console.print(forecasts(rows) if rows else NOTHING)


def forecasts(rows: Sequence[ForecastRow]) -> Table:
    doors = any(row.passed_on for row in rows)
    table = grid(
        "predicted",
        "misses>",
        "from disk>",
        "can serve>",
        "busiest node>",
        "in its busiest hour>",
        *(PASSED_ON if doors else ()),
    )
    for row in rows:
        table.add_row(
            row.policy,
            amounts.share(row.miss_ratio),
            amounts.size(row.disk_bytes),
            _rate(row.operations_per_second),
            amounts.share(row.utilisation_ratio),
            amounts.share(row.busiest_utilisation_ratio),
            *(_passed_on(row) if doors else ()),
        )
    return table


def node_forecast_table(row: ForecastRow) -> Table:
    table = grid(
        f"node, {row.policy}",
        "misses>",
        "from disk>",
        "can serve>",
        "at work>",
        "in its busiest hour>",
        *(PASSED_ON if row.passed_on else ()),
    )
    for node in row.nodes:
        table.add_row(
            node.node,
            amounts.share(node.miss_ratio),
            amounts.size(node.disk_bytes),
            _rate(node.operations_per_second),
            amounts.share(node.utilisation_ratio),
            amounts.share(node.busiest_utilisation_ratio),
            *(_passed_on(node) if row.passed_on else ()),
        )
    return table


def _passed_on(row: ForecastRow | ForecastNode) -> tuple[str, str]:
    """A partition for which nobody can say it, such as round robin, has no requests to pass on."""
    return f"{row.passed_on:,}", amounts.size(row.passed_on_bytes)


def hindsight(row: MeasuredRow) -> str:
    """How far off the prediction of the partition in force was, and why."""
    told = (
        f"The prediction of plan {row.plan} was off by "
        f"{amounts.share(row.error_ratio)} of a node's fair share"
    )
    if row.traffic_ratio is not None:
        told += f"; requests by {amounts.share(row.traffic_ratio)} because traffic changed"
    if row.model_ratio is not None:
        told += f", by {amounts.share(row.model_ratio)} because other nodes answered"
    if row.site_error_ratio is not None:
        told += f"; sites by {amounts.share(row.site_error_ratio)} of all bytes"
    return f"{told}."


def served_table(rows: Sequence[ServedNode]) -> Table:
    """Requests against a fair share: predicted, as the model has what came, and by the nodes' own
    logs.
    """
    table = grid(
        "node, last time",
        "predicted>",
        "what came>",
        "logged>",
        "misses predicted>",
        "of what came>",
    )
    for row in rows[:NODES]:
        logged = "-" if row.logged_ratio is None else amounts.share(row.logged_ratio)
        table.add_row(
            row.node, amounts.share(row.predicted_ratio), amounts.share(row.came_ratio), logged,
            amounts.share(row.predicted_miss_ratio), amounts.share(row.miss_ratio),
        )  # fmt: skip
    return table


def sites(rows: Sequence[MeasuredSite]) -> Table:
    table = grid("site, farthest off", "expected>", "was>")
    for row in rows[:SITES]:
        table.add_row(row.site, amounts.size(row.expected_bytes), amounts.size(row.measured_bytes))
    return table


def _rate(operations: float) -> str:
    return f"{operations:,.0f}/s"

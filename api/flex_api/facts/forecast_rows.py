"""Predictions, and how they turned out, as output models. Does not decide anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from flex.model.accuracy import Measured, NodeOff
from flex.model.period import Period
from flex.model.predicted_node_loads import Benefit, Forecast, NodeForecast
from flex.prediction import replay_forecast
from flex_api.in_words import benefit_text
from flex_api.schemas.plan_parts import (
    BenefitRow,
    ForecastNode,
    ForecastRow,
    MeasuredNode,
    MeasuredRow,
    MeasuredSite,
    ServedNode,
)


def rows(forecasts: Iterable[Forecast], period: Period) -> list[ForecastRow]:
    """A forecast for which no request was replayed predicts nothing, and has no row."""
    return [
        forecast_row(forecast, period)
        for forecast in forecasts
        if any(node.requests for node in forecast.nodes)
    ]


def forecast_row(forecast: Forecast, period: Period) -> ForecastRow:
    seconds = (period.end - period.start).total_seconds()
    nodes = [_node(node, seconds) for node in forecast.nodes]
    return ForecastRow(
        policy=forecast.policy,
        miss_ratio=forecast.miss_ratio,
        sampling_ratio=forecast.sampling,
        disk_bytes=sum(node.disk_bytes for node in nodes),
        operations_per_second=forecast.throughput,
        utilisation_ratio=max((node.utilisation_ratio for node in nodes), default=0.0),
        busiest_utilisation_ratio=max(
            (node.busiest_utilisation_ratio for node in nodes), default=0.0
        ),
        passed_on=sum(node.passed_on for node in nodes),
        passed_on_bytes=sum(node.passed_on_bytes for node in nodes),
        nodes=nodes,
    )


def benefit_row(benefit: Benefit | None, forecasts: Sequence[ForecastRow]) -> BenefitRow | None:
    """None where it is not known, or nothing is left of what it is said of."""
    if not benefit or not {"after", "round robin"} <= {row.policy for row in forecasts}:
        return None
    row = BenefitRow(
        verdict=benefit.verdict,
        busiest_ratio=benefit.busiest,
        files_bytes=benefit.files_bytes,
        least_ram_bytes=benefit.least_ram,
        site=benefit.site,
        site_ratio=benefit.site_share,
    )
    sentence, more = benefit_text.explain_benefit(row, forecasts)
    return row.model_copy(update={"said": sentence, "more": more})


def measured_row(measured: Measured) -> MeasuredRow:
    nodes = [
        MeasuredNode(node=node, predicted_units=then, measured_units=now)
        for node, then, now in measured.nodes
    ]
    return MeasuredRow(
        plan=measured.plan,
        error_ratio=measured.error,
        traffic_ratio=_median(node.traffic for node in measured.served),
        model_ratio=_median(node.model for node in measured.served),
        site_error_ratio=measured.site_error,
        nodes=nodes,
        served=[_served_node(node) for node in measured.served],
        sites=[
            MeasuredSite(site=site.site, expected_bytes=site.expected, measured_bytes=site.measured)
            for site in measured.sites
        ],
    )


def _node(node: NodeForecast, period: float) -> ForecastNode:
    return ForecastNode.like(
        node,
        operations_per_second=replay_forecast.operations(node),
        utilisation_ratio=replay_forecast.utilisation(node, period),
        busiest_utilisation_ratio=replay_forecast.busiest_utilisation(node),
    )


def _served_node(node: NodeOff) -> ServedNode:
    return ServedNode(
        node=node.node,
        predicted_ratio=node.predicted,
        came_ratio=node.came,
        logged_ratio=node.logged,
        predicted_miss_ratio=node.predicted_misses,
        miss_ratio=node.misses,
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None

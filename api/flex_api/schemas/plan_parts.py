"""The parts of a plan that other outputs have too: loads, moves, forecasts."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from flex.model.predicted_node_loads import Verdict
from flex_api.schemas.output_base import Part


class LoadRow(Part):
    node: str
    access_units: float
    working_set_units: float
    fair_units: float = 100.0
    sites: int
    others_units: dict[str, float] = Field(
        {}, description="of the dimensions that the settings name besides"
    )


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


class ForecastNode(Part):
    node: str
    requests: int
    miss_ratio: float
    disk_bytes: int
    operations_per_second: float = Field(description="how many it can serve in these proportions")
    utilisation_ratio: float = Field(description="of its time, at the mean of the period")
    busiest_utilisation_ratio: float = Field(
        description="of its busiest hour; over one is more than it can serve"
    )
    passed_on: int = Field(
        0, description="requests for sites of other nodes that its door passes on besides"
    )
    passed_on_bytes: int = Field(
        0, description="of their answers, which come and go over the inner network"
    )


class ForecastRow(Part):
    """What is predicted for the cluster; its utilisation is that of its busiest node."""

    policy: str
    miss_ratio: float
    sampling_ratio: float
    disk_bytes: int
    operations_per_second: float
    utilisation_ratio: float = 0.0
    busiest_utilisation_ratio: float = 0.0
    passed_on: int = Field(0, description="requests that come to nodes without their site")
    passed_on_bytes: int = Field(0, description="of the answers to these requests")
    nodes: list[ForecastNode] = Field([], description="of the placement, each")


class BenefitRow(Part):
    """Whether the partition serves the cluster better than round robin."""

    verdict: Verdict = Field(description="helps, or why it does not")
    busiest_ratio: float = Field(
        description="of its busiest hour, that round robin's busiest node is at work"
    )
    files_bytes: int = Field(description="of all files of sites that were asked for, each once")
    least_ram_bytes: int = Field(description="of the smallest node")
    site: str = Field("", description="that is too much of the traffic")
    site_ratio: float = Field(0.0, description="of all bytes sent, that it sends")
    said: str = Field("", description="the answer in a sentence")
    more: str = Field("", description="what else belongs to it, in words")


class OutlookRow(Part):
    method: str
    nights: int = Field(description="how many were looked at")
    error_ratios: dict[str, float] = Field(
        description="by method: how far off the last nights would have been"
    )


class MeasuredNode(Part):
    node: str
    predicted_units: float
    measured_units: float


class ServedNode(Part):
    """Requests as ratios of a fair share; misses as ratios of the node's requests."""

    node: str
    predicted_ratio: float
    came_ratio: float = Field(description="by the same model, with the traffic that came")
    logged_ratio: float | None = Field(None, description="by the nodes' own logs")
    predicted_miss_ratio: float
    miss_ratio: float = Field(description="by the same model, with the traffic that came")


class MeasuredSite(Part):
    site: str
    expected_bytes: int
    measured_bytes: int


class MeasuredRow(Part):
    plan: str = Field(description="the plan whose prediction it was")
    error_ratio: float = Field(
        description="the median distance of what was predicted and what then was"
    )
    traffic_ratio: float | None = Field(
        None, description="of that of requests: traffic was another than expected"
    )
    model_ratio: float | None = Field(
        None, description="of that of requests: other nodes answered than expected"
    )
    site_error_ratio: float | None = Field(
        None, description="the part of all bytes that sites were off by"
    )
    nodes: list[MeasuredNode]
    served: list[ServedNode] = Field([], description="requests and misses of each node")
    sites: list[MeasuredSite] = Field([], description="those whose bytes were farthest off")


class EditRow(Part):
    name: str
    said: list[str] = Field(description="the addresses that FLEX said there last")
    found: list[str] = Field(description="those that somebody else put there")
    since: datetime = Field(description="when a plan first found it so")
    said_ttl: int | None = Field(
        None, description="the TTL that FLEX said there last; null where it is not known"
    )
    found_ttls: list[int] = Field([], description="those that are there")


class LeaningRow(Part):
    site: str
    kind: str = Field(
        description="MX, SRV, NS, CNAME, SPF, CAA; HTTPS or SVCB with addresses of its own, "
        "which no move changes; or A: mail may come without any MX"
    )
    owner: str = Field(description="the name that has the record")
    what: str = Field(description="what depends on the site's name, with the record")
    stays: bool = Field(description="whether the site does not move for it")


class StaysBehindRow(Part):
    name: str = Field(description="another name of the site, with addresses of its own")
    site: str
    nodes: list[str] = Field(description="the nodes that some of its addresses are of")
    requests: float | None = Field(
        description="the part of the site's requests that comes by it; null where nobody knows"
    )
    is_left: bool = Field(
        description="whether the site moves by this plan, so that the name is left behind"
    )
    why: str


class NotReadyRow(Part):
    site: str
    why: str = Field(description="what was asked of which node, and what came back")


class VerdictRow(Part):
    server: str
    agrees: bool
    checked: int
    serial: int | None
    wrong: list[str]
    error: str
    lag_seconds: float = 0.0
    zone: str = ""
    next_step: str = Field(
        "", description="what to run where a server does not agree, as far as that is known"
    )


class BehindRow(Part):
    """A name server that has not heard of the latest change of a zone, and what to do about it."""

    server: str
    zone: str
    serial: int
    latest_serial: int = Field(description="that another server has")
    next_step: str

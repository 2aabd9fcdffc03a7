"""What the verbs of routing print with -o json, and what the routes answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from flex.model.orders_to_doors import MOST_ORDERS
from flex.routing.firewall_ports import PortBetweenNodes
from flex.routing.member_pools import Pool
from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.request_and_list_base import CLEAN, Given
from flex_api.schemas.strays import StrayRow


class MemberRow(Part):
    node: str
    address: str
    server: str
    leaving: bool = Field(
        False, description="resolvers may still send visitors to it; it passes them on"
    )


class RoutedRow(Part):
    """`admitted` requests are let in at a time; 0 where there is no limit."""

    site: str
    hosts: list[str]
    policy: str
    low: int
    high: int
    hold_seconds: int
    admitted: int
    members: list[MemberRow]


class LiveMember(Part):
    """As the distributor of this machine sees it. `targets` are those that it has, alone or beside
    others.
    """

    node: str
    status: str
    under_way: int
    waiting: int
    served: int
    targets: int


class TargetRow(Part):
    """Who has a target: its path, or HAProxy's number of it. `overloaded` counts how often these
    had too much to do.
    """

    target: str
    nodes: list[str]
    overloaded: int


class LiveRow(Part):
    """As one distributor sees it. `targets` are remembered; `shared` of them are with several
    members. `overloaded` counts requests for a target whose members had too much to do; `waiting`
    requests are at the door.
    """

    distributor: str
    site: str
    targets: int
    shared: int
    overloaded: int
    waiting: int
    members: list[LiveMember]
    busiest: list[TargetRow]


class NodeVersion(Part):
    """Which version of its files a node is to have, has in its folder, and goes by; "" where that
    is not known.
    """

    node: str
    wanted: str
    delivered: str
    in_force: str
    error: str = Field("", description="why its HAProxy was not heard")
    reload: bool = Field(
        False,
        description="by the plan that was asked for, its HAProxy reloads, as more changes "
        "than commands can change",
    )
    order: int = Field(
        0, description="the order for doors by which it goes, as it said last; 0: none"
    )
    order_since: datetime | None = Field(None, description="when it first said so")
    unheard: str = Field(
        "", description="why its doors do not go by the newest order; empty where they do"
    )


class OrderTold(Part):
    """By what all doors are to go: the partition of this plan, by two maps that are named by their
    digests.
    """

    number: int
    plan: str
    large: str
    moved: str
    time: datetime
    sites_waiting: int = Field(
        0, description="that are led as before the plan until their wave begins"
    )
    sites_held: int = Field(0, description="with one writer, whose requests wait at every door")
    held_since: datetime | None = Field(None, description="since when some do; null where none do")


class LeftOut(Part):
    """A site on several nodes that is not routed by content, and why."""

    site: str
    reason: str


class PortRow(Part):
    """A port of every node that must be open to the other nodes, and to nobody else."""

    port: int
    setting: str = Field(description="the key of [routing] that names it")
    purpose: str
    authenticates: bool = Field(
        description="whoever has no certificate of the nodes' CA gets nothing there"
    )


class RouteOutput(Output):
    on: bool
    items: list[RoutedRow]
    left_out: list[LeftOut] = Field(
        [], description="sites on several nodes that are not routed by content"
    )
    misnamed: list[str] = Field(
        [], description="what [routing] says of sites and nodes that are not there"
    )
    order: OrderTold | None = Field(
        None, description="by what all doors are to go; null without doors for all sites"
    )
    nodes: list[NodeVersion]
    live: list[LiveRow] = Field([], description="when asked for: what the nodes' HAProxies say")
    strays: list[StrayRow] = Field(
        [],
        description="visitors who come to nodes without the site, by site and node; the 100 with "
        "most requests",
    )
    strays_count: int = Field(0, description="how many of these there are")
    strays_not_known: list[str] = Field(
        [],
        description="nodes whose doors nobody read within the last day, that counted more names "
        "than are kept, or do not count all that they pass on",
    )
    ports: list[PortRow] = Field(
        [], description="which ports of the nodes to open to the nodes alone"
    )


def port_rows(ports: Iterable[PortBetweenNodes]) -> list[PortRow]:
    return [PortRow.like(port) for port in ports]


def left_out(reasons: Mapping[str, str]) -> list[LeftOut]:
    return [LeftOut(site=site, reason=reason) for site, reason in sorted(reasons.items())]


def pool_row(pool: Pool) -> RoutedRow:
    limits = pool.limits
    return RoutedRow(
        site=pool.site,
        hosts=list(pool.hosts),
        policy=pool.policy,
        low=limits.low,
        high=limits.high,
        hold_seconds=limits.hold,
        admitted=limits.most_under_way(len(pool.members)) if limits.admission else 0,
        members=[
            MemberRow(
                node=each.node, address=each.address, server=f"s{each.bit}", leaving=each.leaving
            )
            for each in pool.members
        ],
    )


class DeliveredRow(Part):
    node: str
    directory: str
    changed: bool
    error: str


class RouteDeliverOutput(Output):
    items: list[DeliveredRow]
    order: int = Field(0, description="by which doors for all sites are to go; 0 for none")


class NodeFiles(Part):
    """The files of one node's HAProxy, by name."""

    node: str
    files: dict[str, str]
    ports: list[PortRow] = Field(
        [], description="which ports of the nodes to open to the nodes alone"
    )
    others: str = Field(
        "",
        description="what the files but for the small map of owners are called in the answers to "
        "nodes that follow",
    )


class DoorsQuery(Given):
    """What a node says of itself, and for how long it waits."""

    have: Annotated[int, Field(ge=0, le=MOST_ORDERS, description="the order that it has")] = 0
    goes: Annotated[
        int | None, Field(ge=0, le=MOST_ORDERS, description="the one that its HAProxy goes by")
    ] = None
    moved: Annotated[
        str, Field(max_length=64, pattern=CLEAN, description="the digest of its small map")
    ] = ""
    cluster: Annotated[
        str, Field(max_length=64, pattern=CLEAN, description="whose order that is")
    ] = ""
    files: Annotated[
        str,
        Field(
            max_length=64,
            pattern=CLEAN,
            description="the files that it has beside the small map, as it was told",
        ),
    ] = ""
    wait: Annotated[
        float, Field(ge=0, le=60, description="seconds until an answer without news")
    ] = 25.0
    error: Annotated[
        str, Field(max_length=300, pattern=CLEAN, description="why it goes by no newer one")
    ] = ""
    busy: Annotated[
        str,
        Field(
            max_length=6_000,
            pattern=r"^([a-z0-9._-]{1,253}:[0-9]{1,9}(,[a-z0-9._-]{1,253}:[0-9]{1,9}){0,19})?$",
            description="held names that it is still answering, each with its requests: "
            "those with most",
        ),
    ] = ""
    busy_names: Annotated[
        int | None,
        Field(ge=0, le=10_000_000, description="how many names those are, with all others"),
    ] = None


class DoorsTold(Part):
    """The newest order for doors. `files` are the node's other files, as the server calls them:
    where the node has others, it fetches all of them.
    """

    node: str
    cluster: str
    order: OrderTold | None = Field(description="null before the first")
    files: str
    moved: str = Field(
        description="the small map of who owns which host name; the large one is among the files"
    )


class RouteApplyOutput(Output):
    """What became of a node's files on the node itself."""

    node: str
    directory: str
    version: str
    changed: bool
    checked_by: str
    told: Literal["", "nothing", "commands", "reload"] = Field(
        "", description="what its HAProxy was told"
    )


class RouteFollowOutput(Output):
    """What is in the folder at the end; `order` is 0 where there is none."""

    directory: str
    order: int
    cluster: str


class RouteConfigOutput(Output):
    """`files` by name. `directory` is empty where they were only shown, and `checked_by` where
    nothing checked them.
    """

    node: str
    directory: str
    changed: bool
    checked_by: str
    files: dict[str, str]
    told: Literal["", "nothing", "commands", "reload"] = Field(
        "", description="with --tell: what its HAProxy was told"
    )
    ports: list[PortRow] = Field(
        [], description="which ports of the nodes to open to the nodes alone"
    )

"""Lists that a verb prints whole and the API answers a page at a time: changes in DNS, differences,
routed sites.
"""

from __future__ import annotations

from pydantic import Field

from flex_api.schemas.output_base import Part
from flex_api.schemas.request_and_list_base import PageOf
from flex_api.schemas.routing import LeftOut, LiveRow, NodeVersion, OrderTold, RoutedRow
from flex_api.schemas.strays import DoorReadRow, StrayRow
from flex_api.schemas.what_if_output import DiffRow


class DnsChangeRow(Part):
    """Addresses of a name, or its marker, as they are and as they would be; or a name that is
    somebody else's.
    """

    zone: str
    name: str
    type: str = Field(description="empty where the name is somebody else's")
    before: list[str]
    after: list[str]
    changes: list[str] = Field(description="in the words of a plan: what goes, what comes")
    foreign: bool = Field(description="it is somebody else's, and left alone")


class DnsDiffPage(PageOf):
    plan: str
    items: list[DnsChangeRow]


class DifferencePage(PageOf):
    one: str
    other: str
    sites: int
    one_worst_ratio: float
    other_worst_ratio: float
    items: list[DiffRow]


class RoutingPage(PageOf):
    on: bool
    items: list[RoutedRow]
    left_out: list[LeftOut] = Field(
        description="sites on several nodes that are not routed by content; the first 100"
    )
    misnamed: list[str] = Field(
        description="what [routing] says of sites and nodes that are not there"
    )
    order: OrderTold | None = Field(
        description="by what all doors are to go; null without doors for all sites"
    )
    nodes: list[NodeVersion]
    live: list[LiveRow] = Field(
        description="when asked for: what the nodes' HAProxies say of the sites of this page"
    )
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
    doors: list[DoorReadRow] = Field(
        [], description="what each node's door had counted when it was read last"
    )
    outside_dns: list[str] = Field(
        [],
        description="sites that doors lead to and that are in no zone of the settings; the first "
        "100",
    )
    outside_dns_count: int = Field(0, description="how many of these there are")

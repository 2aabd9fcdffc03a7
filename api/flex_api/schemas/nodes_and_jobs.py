"""What the verbs of the night, of nodes and of orders print with -o json, and the API answers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from flex_api.schemas.output_base import Output, Part
from flex_api.schemas.what_if_output import PreviewRow


class NodeRow(Part):
    node: str
    state: Literal["active", "draining", "down"]
    addresses: list[str]
    ram_bytes: int
    capacity_ratio: float
    sites: int
    access_units: float | None
    working_set_units: float | None
    from_settings: bool = Field(
        True, description="whether nobody added or changed it with `flex nodes add` or `set`"
    )
    since: datetime | None = Field(None, description="when somebody put it into this state")
    deadline: datetime | None = Field(None, description="when a draining node should be empty")
    reason: str = ""
    author: str = ""


class LeftRow(Part):
    name: str
    reason: str = Field(description="why it is not FLEX's to change")


class StayingRow(Part):
    site: str
    reason: str = Field(description="why its content is at the dead node alone")


class DeadRow(Part):
    """A node that is down while sites are on it: it is tried again until it is out of DNS."""

    node: str
    sites: int = Field(
        description="of the partition in force, on this node, and not out of DNS yet"
    )
    attempts: int = Field(description="that failed since it was last out of DNS")
    last_attempt: datetime | None
    next_attempt: datetime | None = Field(
        description="when `flex serve` tries again, where it runs; a night does at any time; null "
        "where nothing is to be tried"
    )
    error: str = Field(description="what the last attempt came to")
    held_back: str = Field(
        default="", description="why nobody tries again by itself; empty where somebody does"
    )


# What an order for a node comes to.
TURN = "how many sites come to the node or leave it with the next plan, and later"


class NodeTurn(Part):
    node: str
    turn: list[str] = Field(description=TURN)
    way: Literal["comes", "leaves"] | None = Field(
        None, description="what sites do; null where no plan could be made yet"
    )
    next_plan: int | None = Field(None, description="sites that do so with the next plan")
    later: int | None = Field(None, description="sites that do so with later plans")


class NodesOutput(Output):
    items: list[NodeRow]
    notes: list[str] = Field([])
    dead: list[DeadRow] = Field([], description="nodes that are down and still in DNS")
    left: list[LeftRow] = Field(
        [], description="names that still lead to the node that was taken out of DNS"
    )
    staying: list[StayingRow] = Field(
        [], description="sites that stay at the node that was taken out of DNS: nobody answers"
    )
    preview: PreviewRow | None = Field(
        None, description="with --dry-run: what the next plan would do then"
    )


class HoldRow(Part):
    zone: str
    controller: str = Field(description="who may change it; empty where nobody has it yet")
    ours: bool


class HoldersOutput(Output):
    items: list[HoldRow]


class JobOutput(Output):
    id: str
    kind: str
    state: Literal["running", "done", "failed", "cancelled"]
    stage: str
    result: str


class FreezeOutput(Output):
    frozen: bool
    since: datetime | None
    until: datetime | None
    reason: str
    author: str
    dry_run: bool


class ApprovalRow(Part):
    decision: Literal["approve", "reject"]
    author: str
    given: datetime
    reason: str
    force: list[str] = Field([], description="rules that it may be applied in spite of")

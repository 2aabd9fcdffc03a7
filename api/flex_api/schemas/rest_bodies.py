"""What the REST API takes and answers besides what the verbs print: pages of lists, wishes, jobs,
tokens, the audit log.

Units are in the names, times are in UTC. An unknown field in a body is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from flex.model.jobs import JobState
from flex.model.roles_and_tokens import Role
from flex_api.schemas.log_verbs_output import QualityRow
from flex_api.schemas.nodes_and_jobs import TURN, DeadRow, NodeRow
from flex_api.schemas.output_base import Part
from flex_api.schemas.plan_parts import MoveRow, VerdictRow
from flex_api.schemas.request_and_list_base import CLEAN, Given, Moment, Name, Names, PageOf, Text
from flex_api.schemas.site_moves import SiteMoveRow
from flex_api.schemas.sites_and_wishes import PinShown, SiteRow
from flex_api.schemas.times_of_sites import cpu_seconds, service_seconds
from flex_api.schemas.tokens_and_audit import AuditRow, TokenRow
from flex_api.schemas.verbs_output import (
    Behind,
    Doors,
    Drift,
    NotChecked,
    OtherNames,
    PlanOutput,
    PlanRow,
    RunRow,
    StageRow,
)
from flex_api.schemas.what_if_output import PreviewRow


class SitesPage(PageOf):
    period_start: datetime | None
    period_end: datetime | None
    items: list[SiteRow]


class ProfileRow(Part):
    start: datetime
    end: datetime
    access_bytes: int
    working_set_bytes: int
    requests: int
    targets: int
    one_timers: int
    busy_hour_bytes: int
    service_seconds: float | None = service_seconds()
    cpu_seconds: float | None = cpu_seconds()


class ProfilePage(PageOf):
    site: str
    items: list[ProfileRow]


class PinsPage(PageOf):
    items: list[PinShown]


class NodesPage(PageOf):
    items: list[NodeRow]
    dead: list[DeadRow] = Field(
        [], description="nodes that are down and still in DNS; on every page"
    )


class NodeGiven(Given):
    node: Annotated[
        str,
        Field(
            min_length=1,
            max_length=255,
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
            validation_alias=AliasChoices("node", "name"),
            description="as a node that is read has it; `name` is taken, too",
        ),
    ]
    addresses: Annotated[
        tuple[Annotated[str, Field(max_length=64)], ...], Field(min_length=1, max_length=64)
    ]
    ram_bytes: Annotated[int, Field(ge=2**20, le=2**60)]
    capacity_ratio: Annotated[float, Field(ge=0.001, le=1000)] = 1.0
    reason: Text = ""


class NodeChange(Given):
    """What is left out stays as it is."""

    addresses: (
        Annotated[
            tuple[Annotated[str, Field(max_length=64)], ...], Field(min_length=1, max_length=64)
        ]
        | None
    ) = None
    ram_bytes: Annotated[int, Field(ge=2**20, le=2**60)] | None = None
    capacity_ratio: Annotated[float, Field(ge=0.001, le=1000)] | None = None
    reason: Text = ""


class DrainGiven(Given):
    deadline: Moment | None = None
    reason: Text = ""


class DownGiven(Given):
    reason: Text = ""
    without_content: bool = Field(
        False, description="sites whose content is on this node alone go to other nodes, too"
    )


class NodeChanged(Part):
    node: NodeRow
    notes: list[str] = Field(description="what follows from it, such as pins that are suspended")
    preview: PreviewRow | None = Field(
        None,
        description="of a dry run: what the next plan would do then; none where no "
        "plan can be made",
    )
    turn: list[str] | None = Field(
        [], description=f"{TURN}; null where that takes longer: `/nodes/{{node}}/turn`"
    )


class PlansPage(PageOf):
    items: list[PlanRow]


class MovesPage(PageOf):
    plan: str
    items: list[MoveRow]


class PlacementRow(Part):
    site: str
    node: str


class PlacementPage(PageOf):
    partition: str
    items: list[PlacementRow]


class PlanGiven(Given):
    force: Annotated[
        tuple[Text, ...],
        Field(max_length=50, description="rules for logs that this plan may be made in spite of"),
    ] = ()
    tolerance_ratio: Annotated[float, Field(ge=0.0001, lt=1)] | None = None
    max_moves: Annotated[int, Field(ge=0, le=2**31)] | None = None
    take_back: Annotated[
        tuple[Name, ...],
        Field(
            max_length=1000,
            description="sites whose records FLEX writes again, whoever changed them",
        ),
    ] = ()
    reason: Text = ""


Factor = Annotated[float, Field(ge=0.000001, le=1e6)]


class Supposed(Given):
    """What is left out stays as it is."""

    more_nodes: Annotated[
        int, Field(ge=0, le=1000, description="this many more nodes, each like the others")
    ] = 0
    without_nodes: Names = ()
    ram_factor: Annotated[
        float, Field(ge=0.001, le=1000, description="memory of every node, times this")
    ] = 1.0
    growth_ratio: Annotated[
        float, Field(ge=-0.99, le=1000, description="all sites larger by this share")
    ] = 0.0
    site_factors: Annotated[
        Mapping[Name, Factor], Field(max_length=1000, description="of single sites")
    ] = Field({})
    tolerance_ratio: Annotated[float, Field(ge=0.0001, lt=1)] | None = None
    max_moves: Annotated[int, Field(ge=0, le=2**31)] | None = None
    frontier: Annotated[bool, Field(description="and what more moves would buy then")] = False


class ApprovalGiven(Given):
    decision: Literal["approve", "reject"]
    force: Annotated[
        tuple[Text, ...],
        Field(max_length=50, description="rules that it may be applied in spite of; for four eyes"),
    ] = ()
    reason: Text = ""


class ApplyGiven(Given):
    force: Annotated[
        tuple[Text, ...], Field(max_length=50, description="rules that it is applied in spite of")
    ] = ()
    by_hand: Annotated[
        bool, Field(description="it is in DNS already: nothing is sent, every name server is asked")
    ] = False
    reason: Text = ""


class RecoveryGiven(Given):
    way: Annotated[
        Literal["resume", "undo", "abandon"],
        Field(
            description="finish it, take it back, or give it up: what DNS says becomes "
            "the partition in force"
        ),
    ]
    reason: Text = ""


class RollbackGiven(Given):
    to: Annotated[
        str,
        Field(max_length=100, pattern=CLEAN, description="a partition; the one before, if empty"),
    ] = ""
    reason: Text = ""


class TakeoverGiven(Given):
    controller: Annotated[
        str,
        Field(
            min_length=1,
            max_length=255,
            pattern=CLEAN,
            description="who holds the zones now, as `/dns/holders` says it",
        ),
    ]
    reason: Text = ""


class FreezeGiven(Given):
    until: Moment | None = None
    reason: Text = ""


class FreezeShown(Part):
    frozen: bool
    since: datetime | None = None
    until: datetime | None = None
    reason: str = ""
    author: str = ""


class JobShown(Part):
    id: str
    kind: str
    state: JobState
    stage: str
    done: int = Field(description="of `size`, in units of the stage")
    size: int
    author: str
    created: datetime
    ended: datetime | None
    result: str = Field(description="the address of what came of it")
    problem: dict[str, object] | None = Field(
        description="why it failed, as the API would have answered; of a job that is done, "
        "what it could not do, such as logs that it could not read"
    )
    cancelled_by: str


class JobsPage(PageOf):
    items: list[JobShown]


class IngestRow(Part):
    id: str
    source: str
    node: str
    path: str
    format: str
    first_byte: int
    last_byte: int
    first_time: datetime | None
    last_time: datetime | None
    read_at: datetime | None
    lines: dict[str, int]
    reasons: dict[str, int]


class IngestsPage(PageOf):
    items: list[IngestRow]


class IngestGiven(Given):
    source: Annotated[
        str,
        Field(
            max_length=255,
            pattern=CLEAN,
            description="a source of the settings; all of them, if empty",
        ),
    ] = ""
    reason: Text = ""


class RunsPage(PageOf):
    items: list[RunRow]


class DriftShown(Part):
    partition: str
    drift: Drift
    not_checked: NotChecked
    items: list[VerdictRow]
    behind: Behind = Field([])
    other_names: OtherNames = Field([])
    doors: Doors = Field(None)


class RoutingShown(Part):
    site: str
    replicated: bool
    targets: list[str]
    routed: bool = Field(
        description="whether HAProxy on its nodes shares its requests out by content"
    )
    policy: str = Field(description="by which policy; empty where it is not routed")
    note: str


class AuditPage(PageOf):
    items: list[AuditRow]


class AuditVerified(Part):
    holds: bool
    wrong: str = Field(description="what is wrong with it; empty where it holds")
    entries: int
    last: str = Field(description="the hash of the last entry, to be noted elsewhere")


class TokenGiven(Given):
    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._@-]+$")]
    role: Role = "viewer"
    expires: Moment | None = None
    reason: Text = ""


class TokenMade(TokenRow):
    secret: str = Field(description="shown now and never again")


class TokensPage(PageOf):
    items: list[TokenRow]


class ReportRow(Part):
    plan: str
    created: datetime
    formats: list[str]


class ReportsPage(PageOf):
    items: list[ReportRow]


class ReportShown(Part):
    cluster: str
    made: datetime
    tolerance_ratio: float
    verdict: str
    plan: PlanOutput
    earlier: list[PlanRow]
    busiest: list[SiteRow] = Field(description="the busiest sites; the list of sites has them all")
    lines: dict[str, int] = Field(description="log lines by class")
    stages: list[StageRow] = Field(description="of the run that made the plan")
    logs: list[QualityRow]
    brought: list[SiteMoveRow] = Field(
        [], description="what was run for sites that moved, and why others stayed"
    )


class RecordRow(Part):
    zone: str
    name: str
    type: str
    ttl_seconds: int
    values: list[str]


class RecordsPage(PageOf):
    items: list[RecordRow]

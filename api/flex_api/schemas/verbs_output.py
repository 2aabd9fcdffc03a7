"""What `-o json` prints and the API answers: one model for each verb, published as JSON Schema
under docs/schemas.

A field may be added at any time. Changing or removing one raises SCHEMA_VERSION. Units are in the
names.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from flex_api.schemas.nodes_and_jobs import ApprovalRow
from flex_api.schemas.output_base import Output, Part, StopRow
from flex_api.schemas.plan_parts import (
    BalanceOutput,
    BehindRow,
    BenefitRow,
    EditRow,
    ForecastRow,
    LeaningRow,
    MeasuredRow,
    MoveRow,
    NotReadyRow,
    OutlookRow,
    StaysBehindRow,
    VerdictRow,
)


class VersionOutput(Output):
    version: str
    engine: Literal["native", "python"]
    engine_note: str
    python: str
    solver: str
    database_revision: str
    named: str


class UnknownName(Part):
    name: str
    requests_at_least: int


class EvidenceRow(Part):
    kind: Literal["cname", "same_files", "www"]
    said: str


class ProposalRow(Part):
    name: str
    site: str
    requests: int = Field(description="that came by the name, at least")
    evidence: list[EvidenceRow]
    line: str = Field(description="as ingest.aliases_file has it")


class UnknownOutput(Output):
    since: datetime
    requests: int
    bytes: int
    items: list[UnknownName]
    proposals: list[ProposalRow] = Field(
        [],
        description="names that plainly belong to a site; nothing is done with them until "
        "somebody writes them into the settings",
    )


class FileRow(Part):
    site: str
    target: str
    requests: int
    sent_bytes: int
    size_bytes: int
    last_access: datetime | None


class LocalityRow(Part):
    of: Literal["requests", "bytes"]
    percent: int
    files: int
    size_bytes: int
    all_files: int
    working_set_bytes: int


class FilesOutput(Output):
    site: str
    period_start: datetime
    period_end: datetime
    items: list[FileRow]
    locality: list[LocalityRow]


class ZoneRow(Part):
    zone: str
    changes: list[str]
    foreign: list[str]
    leaning: list[LeaningRow] = Field(
        [], description="what depends on the names of sites of this zone"
    )
    stay_behind: list[StaysBehindRow] = Field(
        [], description="other names of sites that do not move with them"
    )


class BreachRow(Part):
    rule: str
    limit: float
    actual: float
    override: str = Field(
        description="the command that gets past it, and past all others that the plan breaks"
    )


class PlanRow(Part):
    id: str
    state: Literal["proposed", "applying", "applied", "discarded", "failed"]
    created: datetime
    made: datetime | None = Field(
        None, description="when it really was made, where it is as of another time"
    )
    settled: datetime | None
    sites: int
    moves: int
    scratch_moves: int
    worst_ratio: float
    author: str = Field("", description="who asked for it; empty where no person did")
    outdated: bool = Field(
        False, description="another partition came into force since: it can only be discarded"
    )
    expired: bool = Field(
        False, description="it is older than safety.plan_expiry, so nobody can approve or apply it"
    )


class PlansOutput(Output):
    items: list[PlanRow]


class RelaxationRow(Part):
    rule: str
    enough: float
    least: bool = Field(description="nothing less of it would do")


class ShortfallRow(Part):
    kind: str
    subject: str
    limit: float
    actual: float
    because: list[str]
    instead: list[RelaxationRow]


class ProofOutput(Output):
    plan: str
    moves: int = Field(description="what the plan moves, by the proof")
    moves_at_least: int = Field(
        description="no balanced partition that keeps all wishes and rules has fewer moves"
    )
    proven_least: bool = Field(
        description="the plan has as few moves as can be, and the proof shows it"
    )
    claimed_at_least: int = Field(description="what the solver says of the same")
    claimed_least: bool
    bytes: int = Field(description="how large the certificate is, without the statement")
    cpu_seconds: float = Field(description="what the check took")


class PlanOutput(Output):
    id: str
    state: Literal["proposed", "applying", "applied", "discarded", "failed"]
    message: str
    created: datetime
    made: datetime | None = Field(
        None, description="when it really was made, where it is as of another time"
    )
    settled: datetime | None
    base: str
    digest: str
    period_start: datetime
    period_end: datetime
    solver: str
    moves_at_least: int
    proven_least: bool
    certified_at_least: int = Field(
        0,
        description="a certificate that the checker accepted proves that this many moves are "
        "needed; moves_at_least and proven_least are what the solver claims beyond it",
    )
    sites: int
    moves: list[MoveRow]
    moves_from_scratch: int
    cold_bytes: int
    before: BalanceOutput | None
    after: BalanceOutput
    forecasts: list[ForecastRow] = Field(
        description="none where no access was replayed: nothing is predicted then"
    )
    predicted_miss_ratio: float | None = Field(
        None, description="under this plan; null where nothing is predicted"
    )
    benefit: BenefitRow | None = Field(
        None,
        description="null where nothing is predicted, where sites wait on nodes that take none, "
        "and in plans of old",
    )
    zones: list[ZoneRow]
    breaches: list[BreachRow]
    shortfalls: list[ShortfallRow] = Field(
        [], description="what a best effort falls short of, and what would do"
    )
    notes: list[str]
    verdicts: list[VerdictRow]
    old_answers_until: datetime | None = None
    author: str = ""
    wishers: list[str] = Field(
        [], description="whose wishes it keeps or no longer keeps; under four eyes authors too"
    )
    approvals: list[ApprovalRow] = Field([])
    stops: list[StopRow] = Field(
        [], description="rules without which other sites would move, tonight or in the end"
    )
    in_the_way: list[StopRow] | None = Field(
        None,
        description="what it would be refused for now; null where that was not "
        "asked. Nobody goes over plan.base",
    )
    moves_later: int = Field(0, description="moves that limits leave to the next nights")
    put_off: list[MoveRow] = Field(
        [], description="these moves, each with its reason and the limits that leave it"
    )
    not_ready: list[NotReadyRow] = Field(
        [], description="sites that stay, as the node they would move to is not ready"
    )
    outlook: OutlookRow | None = Field(
        None, description="by which method the next day was expected, and its backtest"
    )
    prediction: MeasuredRow | None = Field(
        None, description="what became of the prediction before this one"
    )
    edited: list[EditRow] = Field(
        [], description="names left alone, as somebody else changed them in DNS"
    )


class OtherNameRow(Part):
    name: str = Field(description="another name of the site, which does not move with it")
    site: str
    zone: str
    addresses: list[str]
    cname: str = Field(description="what its CNAME names; empty where it has none")
    nodes: list[str] = Field(description="the nodes that have some of the addresses")
    note: str


class DoorsVerified(Part):
    order: int = Field(description="by which all doors are to go")
    plan: str = Field(description="whose partition that is")
    differ: int = Field(description="how many names that leads elsewhere than what is in force")
    known: bool = Field(description="whether any node says by which order it goes")
    unheard: dict[str, str] = Field(description="the nodes that do not go by it, with the reason")


# What `flex verify` prints and what the API answers have these in common, each in an order of its
# own.
Drift = Annotated[
    int | None,
    Field(description="how many differences all servers have; null where no server answered"),
]
NotChecked = Annotated[
    dict[str, int], Field(description="sites on nodes that are not known any more, by node")
]
Behind = Annotated[
    list[BehindRow], Field(description="servers with an older serial than another, and what to do")
]
OtherNames = Annotated[
    list[OtherNameRow], Field(description="other names of sites that do not move with them")
]
Doors = Annotated[
    DoorsVerified | None,
    Field(
        description="whether the doors of all nodes go by what is in force; null without doors "
        "for all sites"
    ),
]


class VerifyOutput(Output):
    partition: str
    servers: list[VerdictRow]
    drift: Drift
    not_checked: NotChecked = Field({})
    behind: Behind = Field([])
    other_names: OtherNames = Field([])
    doors: Doors = Field(None)

    @property
    def doors_agree(self) -> bool:
        """Every node that could be asked goes by the partition in force."""
        doors = self.doors
        return not doors or not (doors.differ or doors.unheard)


class StageRow(Part):
    name: str
    started: datetime
    ended: datetime | None
    outcome: str


class RunRow(Part):
    id: str
    started: datetime
    ended: datetime | None
    exit_code: int | None
    plan: str
    message: str
    stages: list[StageRow]
    made: datetime | None = Field(
        None, description="when it really began, where it is as of another time"
    )
    moves: int | None = Field(None, description="of its plan")
    placed: int | None = Field(
        None, description="sites that its plan placed, where no partition was in force before"
    )
    worst_before_ratio: float | None = None
    worst_after_ratio: float | None = None
    prediction_error_ratio: float | None = Field(
        None, description="of the plan before, once it was measured"
    )


class RunOutput(Output):
    run: RunRow
    plan: PlanOutput | None
    report: str


class RunsOutput(Output):
    items: list[RunRow]


class NodeStatus(Part):
    node: str
    state: Literal["active", "draining", "down"]
    sites: int = Field(description="of the partition in force")


class TroubleRow(Part):
    said: str
    step: str = Field(description="what to do next")
    command: str = Field(description="the verb that does it or shows more; empty where none does")
    urgent: bool = Field(description="false where it waits for somebody without being wrong")


class StatusOutput(Output):
    cluster: str
    mode: Literal["shadow", "review", "auto"]
    partition: str = Field(description="the plan that is in force; empty before the first")
    since: datetime | None
    sites: int
    worst_ratio: float | None = Field(
        description="how far the worst node is from its fair share, as predicted"
    )
    nodes: list[NodeStatus]
    last_run: RunRow | None
    troubles: list[TroubleRow] = Field(description="what is wrong before what only waits")


class CheckRow(Part):
    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    advice: str
    names: list[str] = Field(
        [], description="all names that a warning is about, where it is about names of sites"
    )


class DoctorOutput(Output):
    checks: list[CheckRow]


class ConfigCheckOutput(Output):
    """`problems` stop a night; `remarks` are of logs, folders and names that are not there, which
    may be meant so.
    """

    file: str
    problems: list[str]
    remarks: list[str]


class ConfigShowOutput(Output):
    file: str
    settings: dict[str, object]
    defaults: list[str]


class DatabaseOutput(Output):
    revision: str
    head: str


class InitOutput(Output):
    written: list[str]
    kept: list[str]


class ReportOutput(Output):
    path: str


class NightRow(Part):
    plan: PlanOutput
    lines: dict[str, int]
    seconds: float


class AskedRow(Part):
    """A site that got another node. `answers` says for each node that was asked which node
    answered, before DNS was changed; `dns_before` is what DNS said at that moment.
    """

    site: str
    source: str
    targets: list[str]
    answers: dict[str, str]
    dns_before: list[str]
    dns_after: list[str]


class DoorsShown(Part):
    """By `order` all doors went after `milliseconds`."""

    plan: str
    order: int
    milliseconds: float
    asked: list[AskedRow]


class DemoDoors(Part):
    moved: DoorsShown
    killed: str
    inherited: DoorsShown


class DemoOutput(Output):
    directory: str
    report: str
    nights: list[NightRow]
    seconds: float
    doors: DemoDoors | None = None

"""A client of the REST API, typed by the models that the server answers with.

Takes the server's address and a token. Returns models, or raises the errors that the same verb
raises on the server. The command line's `--server` uses it. How a request is sent is in
client_http.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from flex.errors import BadInput
from flex_api.client_http import Filter, ServerCalls, error_of, part, plain
from flex_api.schemas.diff_and_route_lists import (
    DifferencePage,
    DnsChangeRow,
    DnsDiffPage,
    RoutingPage,
)
from flex_api.schemas.explain_output import ExplainOutput
from flex_api.schemas.log_verbs_output import DataOutput
from flex_api.schemas.nodes_and_jobs import DeadRow, HoldersOutput, NodeRow, NodeTurn
from flex_api.schemas.plan_parts import MoveRow
from flex_api.schemas.rest_bodies import (
    ApplyGiven,
    ApprovalGiven,
    AuditPage,
    AuditVerified,
    DownGiven,
    DrainGiven,
    DriftShown,
    FreezeGiven,
    FreezeShown,
    IngestGiven,
    IngestRow,
    IngestsPage,
    JobShown,
    JobsPage,
    MovesPage,
    NodeChange,
    NodeChanged,
    NodeGiven,
    NodesPage,
    PinsPage,
    PlacementPage,
    PlacementRow,
    PlanGiven,
    PlansPage,
    ProfilePage,
    ProfileRow,
    RecordRow,
    RecordsPage,
    RecoveryGiven,
    ReportRow,
    ReportsPage,
    RollbackGiven,
    RoutingShown,
    RunsPage,
    SitesPage,
    Supposed,
    TakeoverGiven,
    TokenGiven,
    TokenMade,
    TokensPage,
)
from flex_api.schemas.routing import NodeFiles, RoutedRow, RouteOutput
from flex_api.schemas.simulate_output import SimulateOutput
from flex_api.schemas.site_moves import (
    AgainGiven,
    MovesOutput,
    ReadyGiven,
    ReadyOutput,
    RestOutput,
    SiteMoveGiven,
)
from flex_api.schemas.sites_and_wishes import PinGiven, PinShown, PinTried, SiteRow
from flex_api.schemas.tokens_and_audit import AuditRow, TokenRow
from flex_api.schemas.verbs_output import (
    ConfigShowOutput,
    DoctorOutput,
    FilesOutput,
    PlanOutput,
    PlanRow,
    RunRow,
    StatusOutput,
    UnknownOutput,
    VersionOutput,
)
from flex_api.schemas.what_if_output import DiffOutput, FrontierOutput, WhatIfOutput

if TYPE_CHECKING:
    from flex_api.routes.simulations import Simulation

# Seconds between two questions whether a job has ended. A guess.
LOOK = 0.3
ANY = "*"


@dataclass(frozen=True, slots=True)
class Client(ServerCalls):
    """Every resource by a method; those that change something take the tag of what the change is
    made from.
    """

    def sites(self, **filters: Filter) -> Iterator[SiteRow]:
        for page in self.pages(SitesPage, "/sites", filters):
            yield from page.items

    def period(self) -> tuple[datetime | None, datetime | None]:
        """That of the profiles of the sites: every page names it."""
        page = next(self.pages(SitesPage, "/sites", {"limit": 1}))
        return page.period_start, page.period_end

    def profile(self, site: str, **filters: Filter) -> Iterator[ProfileRow]:
        for page in self.pages(ProfilePage, f"/sites/{part(site)}/profile", filters):
            yield from page.items

    def site(self, site: str) -> SiteRow:
        return self.get(SiteRow, f"/sites/{part(site)}")[0]

    def pins(self, **filters: Filter) -> Iterator[PinShown]:
        for page in self.pages(PinsPage, "/pins", filters):
            yield from page.items

    def pin(self, site: str, campaign: str = "") -> tuple[PinShown, str]:
        """The wish, and the tag that a change of it needs."""
        return self.get(PinShown, _wish(site, campaign))

    def put_pin(
        self, site: str, pin: PinGiven, tag: str = "", *, campaign: str = "", dry_run: bool = False
    ) -> PinShown:
        """Without a tag it must be new. A dry run gives a PinTried."""
        condition = {"If-Match": tag} if tag else {"If-None-Match": ANY}
        path = f"{_wish(site, campaign)}{_dry(dry_run)}"
        return self.ask(PinTried if dry_run else PinShown, "PUT", path, pin, condition)[0]

    def drop_pin(self, site: str, tag: str, reason: str = "", campaign: str = "") -> None:
        path = f"{_wish(site, campaign)}?{urlencode({'reason': reason})}"
        self.send("DELETE", path, None, {"If-Match": tag})

    def try_drop_pin(self, site: str, tag: str, campaign: str = "") -> PinTried:
        path = f"{_wish(site, campaign)}{_dry(True)}"
        return self.ask(PinTried, "DELETE", path, None, {"If-Match": tag})[0]

    def nodes(self, **filters: Filter) -> Iterator[NodeRow]:
        for page in self.pages(NodesPage, "/nodes", filters):
            yield from page.items

    def dead_nodes(self) -> list[DeadRow]:
        """Those that are down and still in DNS: every page names them."""
        return next(self.pages(NodesPage, "/nodes", {"limit": 1})).dead

    def node(self, node: str) -> tuple[NodeRow, str]:
        return self.get(NodeRow, f"/nodes/{part(node)}")

    def drain(
        self, node: str, given: DrainGiven, tag: str, *, dry_run: bool = False
    ) -> NodeChanged:
        path = f"/nodes/{part(node)}/drain" + _dry(dry_run)
        return self.ask(NodeChanged, "PUT", path, given, {"If-Match": tag})[0]

    def undrain(
        self, node: str, tag: str, reason: str = "", *, dry_run: bool = False
    ) -> NodeChanged:
        path = f"/nodes/{part(node)}/drain?{_why(reason, dry_run)}"
        return self.ask(NodeChanged, "DELETE", path, None, {"If-Match": tag})[0]

    def plans(self, **filters: Filter) -> Iterator[PlanRow]:
        for page in self.pages(PlansPage, "/plans", filters):
            yield from page.items

    def plan(self, plan: str) -> tuple[PlanOutput, str]:
        return self.get(PlanOutput, f"/plans/{part(plan)}")

    def moves(self, plan: str, **filters: Filter) -> Iterator[MoveRow]:
        for page in self.pages(MovesPage, f"/plans/{part(plan)}/moves", filters):
            yield from page.items

    def dns_diff(self, plan: str, **filters: Filter) -> Iterator[DnsChangeRow]:
        for page in self.pages(DnsDiffPage, f"/plans/{part(plan)}/dns-diff", filters):
            yield from page.items

    def make_plan(self, given: PlanGiven) -> JobShown:
        return self.ask(JobShown, "POST", "/plans", given, {})[0]

    def try_discard(self, plan: str, tag: str, reason: str = "") -> PlanOutput:
        """As it would be, put aside."""
        path = f"/plans/{part(plan)}?{_why(reason, True)}"
        return self.ask(PlanOutput, "DELETE", path, None, {"If-Match": tag})[0]

    def discard(self, plan: str, tag: str, reason: str = "") -> None:
        self.send(
            "DELETE",
            f"/plans/{part(plan)}?{urlencode({'reason': reason})}",
            None,
            {"If-Match": tag},
        )

    def decide(self, plan: str, digest: str, given: ApprovalGiven) -> PlanOutput:
        return self.ask(
            PlanOutput, "POST", f"/plans/{part(plan)}/approval", given, {"If-Match": f'"{digest}"'}
        )[0]

    def apply(self, plan: str, digest: str, given: ApplyGiven) -> JobShown:
        return self.ask(
            JobShown, "POST", f"/plans/{part(plan)}/apply", given, {"If-Match": f'"{digest}"'}
        )[0]

    def rollback(self, given: RollbackGiven) -> JobShown:
        return self.ask(JobShown, "POST", "/rollbacks", given, {})[0]

    def try_rollback(self, given: RollbackGiven) -> PlanOutput:
        """The plan back, which is not kept."""
        path = f"/rollbacks{_dry(True)}"
        return self.ask(PlanOutput, "POST", path, given, {})[0]

    def move_site(self, given: SiteMoveGiven) -> JobShown:
        return self.ask(JobShown, "POST", "/moves", given, {})[0]

    def try_move_site(self, given: SiteMoveGiven) -> PlanOutput:
        """The plan that moves it, which is not kept."""
        path = f"/moves{_dry(True)}"
        return self.ask(PlanOutput, "POST", path, given, {})[0]

    def recover(self, given: RecoveryGiven, tag: str) -> JobShown:
        """The tag has the digests of the plans that are half applied."""
        return self.ask(JobShown, "POST", "/recoveries", given, {"If-Match": tag})[0]

    def export(self, plan: str, form: str, zones: str = "") -> str:
        """Zones with commas between them; all of the plan where none is named."""
        query = urlencode({"format": form, "zone": zones})
        return self.text(f"/plans/{part(plan)}/export?{query}", ANY + "/" + ANY)

    def data(self) -> DataOutput:
        return self.get(DataOutput, "/data")[0]

    def files(self, **filters: Filter) -> FilesOutput:
        return self.get(FilesOutput, f"/files?{urlencode(filters)}")[0]

    def unknown_names(self, **filters: Filter) -> UnknownOutput:
        return self.get(UnknownOutput, f"/unknown-names?{urlencode(filters)}")[0]

    def runs(self, **filters: Filter) -> Iterator[RunRow]:
        for page in self.pages(RunsPage, "/runs", filters):
            yield from page.items

    def freeze(self) -> tuple[FreezeShown, str]:
        return self.get(FreezeShown, "/freeze")

    def put_freeze(self, given: FreezeGiven, tag: str, *, dry_run: bool = False) -> FreezeShown:
        path = f"/freeze{_dry(dry_run)}"
        return self.ask(FreezeShown, "PUT", path, given, {"If-Match": tag})[0]

    def try_thaw(self, tag: str) -> FreezeShown:
        """What would end."""
        path = f"/freeze{_dry(True)}"
        return self.ask(FreezeShown, "DELETE", path, None, {"If-Match": tag})[0]

    def thaw(self, tag: str, reason: str = "") -> None:
        self.send("DELETE", f"/freeze?{urlencode({'reason': reason})}", None, {"If-Match": tag})

    def explanation(self, site: str) -> ExplainOutput:
        return self.get(ExplainOutput, f"/sites/{part(site)}/explanation")[0]

    def what_if(self, given: Supposed) -> WhatIfOutput:
        return self.ask(WhatIfOutput, "POST", "/whatif", given, {})[0]

    def frontier(self, plan: str = "") -> FrontierOutput:
        """The frontier of a plan, or of what would be planned now where none is named."""
        path = f"/plans/{part(plan)}/frontier" if plan else "/partitions/current/frontier"
        return self.get(FrontierOutput, path)[0]

    def partitions(self, **filters: Filter) -> Iterator[PlanRow]:
        for page in self.pages(PlansPage, "/partitions", filters):
            yield from page.items

    def partition(self, plan: str = "current") -> PlanOutput:
        return self.get(PlanOutput, f"/partitions/{part(plan)}")[0]

    def placement(self, plan: str, **filters: Filter) -> Iterator[PlacementRow]:
        for page in self.pages(PlacementPage, f"/partitions/{part(plan)}/placement", filters):
            yield from page.items

    def difference(self, plan: str, other: str = "current") -> DiffOutput:
        """All of it, however many pages it has."""
        pages = list(
            self.pages(DifferencePage, f"/partitions/{part(plan)}/difference", {"to": other})
        )
        summary = pages[0].model_dump(exclude={"items", "next"})
        return DiffOutput(**summary, items=[row for page in pages for row in page.items])

    def add_node(self, given: NodeGiven, *, dry_run: bool = False) -> NodeChanged:
        return self.ask(NodeChanged, "POST", f"/nodes{_dry(dry_run)}", given, {})[0]

    def change_node(
        self, node: str, given: NodeChange, tag: str, *, dry_run: bool = False
    ) -> NodeChanged:
        path = f"/nodes/{part(node)}{_dry(dry_run)}"
        return self.ask(NodeChanged, "PATCH", path, given, {"If-Match": tag})[0]

    def remove_node(self, node: str, tag: str, reason: str = "") -> None:
        self.send(
            "DELETE",
            f"/nodes/{part(node)}?{urlencode({'reason': reason})}",
            None,
            {"If-Match": tag},
        )

    def try_remove_node(self, node: str, tag: str) -> NodeChanged:
        return self.ask(
            NodeChanged, "DELETE", f"/nodes/{part(node)}{_dry(True)}", None, {"If-Match": tag}
        )[0]

    def take_down(self, node: str, given: DownGiven) -> JobShown:
        return self.ask(JobShown, "PUT", f"/nodes/{part(node)}/down", given, {})[0]

    def try_take_down(self, node: str, given: DownGiven) -> NodeChanged:
        return self.ask(NodeChanged, "PUT", f"/nodes/{part(node)}/down{_dry(True)}", given, {})[0]

    def take_up(
        self, node: str, tag: str, reason: str = "", *, dry_run: bool = False
    ) -> NodeChanged:
        path = f"/nodes/{part(node)}/down?{_why(reason, dry_run)}"
        return self.ask(NodeChanged, "DELETE", path, None, {"If-Match": tag})[0]

    def turn(self, node: str) -> NodeTurn:
        return self.get(NodeTurn, f"/nodes/{part(node)}/turn")[0]

    def drift(self) -> DriftShown:
        return self.get(DriftShown, "/dns/drift")[0]

    def records(self, **filters: Filter) -> Iterator[RecordRow]:
        for page in self.pages(RecordsPage, "/dns/records", filters):
            yield from page.items

    def routing_rows(self, **filters: Filter) -> Iterator[RoutedRow]:
        for page in self.pages(RoutingPage, "/routing", filters):
            yield from page.items

    def routing(self, site: str) -> RoutingShown:
        return self.get(RoutingShown, f"/routing/{part(site)}")[0]

    def files_of(self, node: str, plan: str = "") -> tuple[NodeFiles, str]:
        """What the node's HAProxy is to do, or will be under a plan."""
        query = f"?{urlencode({'plan': plan})}" if plan else ""
        return self.get(NodeFiles, f"/routing/nodes/{part(node)}{query}")

    def route(self, *, plan: str = "", live: bool = False) -> RouteOutput:
        """All sites that are routed, at once."""
        query = urlencode({"plan": plan, "live": plain(live)})
        return self.get(RouteOutput, f"/route?{query}")[0]

    def holders(self) -> HoldersOutput:
        return self.get(HoldersOutput, "/dns/holders")[0]

    def take_over(self, given: TakeoverGiven) -> HoldersOutput:
        return self.ask(HoldersOutput, "POST", "/dns/takeovers", given, {})[0]

    def version(self) -> VersionOutput:
        return self.get(VersionOutput, "/version")[0]

    def status(self) -> StatusOutput:
        return self.get(StatusOutput, "/status")[0]

    def settings(self) -> ConfigShowOutput:
        return self.get(ConfigShowOutput, "/settings")[0]

    def doctor(self) -> DoctorOutput:
        return self.get(DoctorOutput, "/doctor")[0]

    def simulate(self, given: Simulation) -> SimulateOutput:
        return self.ask(SimulateOutput, "POST", "/simulations", given, {})[0]

    def reports(self, **filters: Filter) -> Iterator[ReportRow]:
        for page in self.pages(ReportsPage, "/reports", filters):
            yield from page.items

    def report(self, plan: str, form: str) -> str:
        return self.text(f"/reports/{part(plan or 'latest')}?format={part(form)}", ANY + "/" + ANY)

    def report_pdf(self, plan: str) -> bytes:
        """The report as PDF."""
        return self.send(
            "GET",
            f"/reports/{part(plan or 'latest')}?format=pdf",
            None,
            {"Accept": ANY + "/" + ANY},
        )[0]

    def site_moves(self, **filters: Filter) -> MovesOutput:
        """One page of them, the newest first."""
        query = {name: wanted for name, wanted in filters.items() if wanted}
        return self.get(MovesOutput, f"/moves?{urlencode(query)}")[0]

    def ask_ready(self, given: ReadyGiven) -> ReadyOutput:
        return self.ask(ReadyOutput, "POST", "/moves/ready", given, {})[0]

    def let_move_again(self, site: str, reason: str = "", *, dry_run: bool = False) -> RestOutput:
        given = AgainGiven(site=site, reason=reason)
        only = "?dry_run=true" if dry_run else ""
        return self.ask(RestOutput, "POST", f"/moves/again{only}", given, {})[0]

    def audit(self, **filters: Filter) -> Iterator[AuditRow]:
        for page in self.pages(AuditPage, "/audit", filters):
            yield from page.items

    def audit_verified(self, last: str = "") -> AuditVerified:
        return self.get(AuditVerified, f"/audit/verification?{urlencode({'last': last})}")[0]

    def tokens(self) -> Iterator[TokenRow]:
        for page in self.pages(TokensPage, "/tokens", {}):
            yield from page.items

    def make_token(self, given: TokenGiven) -> TokenMade:
        return self.ask(TokenMade, "POST", "/tokens", given, {})[0]

    def token_row(self, token: str) -> TokenRow:
        return self.get(TokenRow, f"/tokens/{part(token)}")[0]

    def revoke(self, token: str, reason: str = "") -> None:
        self.send("DELETE", f"/tokens/{part(token)}?{urlencode({'reason': reason})}", None, {})

    def read_logs(self, given: IngestGiven) -> JobShown:
        return self.ask(JobShown, "POST", "/ingests", given, {})[0]

    def ingests(self, **filters: Filter) -> Iterator[IngestRow]:
        for page in self.pages(IngestsPage, "/ingests", filters):
            yield from page.items

    def job(self, job: str) -> JobShown:
        return self.get(JobShown, f"/jobs/{part(job)}")[0]

    def jobs(self, **filters: Filter) -> Iterator[JobShown]:
        for page in self.pages(JobsPage, "/jobs", filters):
            yield from page.items

    def cancel(self, job: str) -> JobShown:
        return self.ask(JobShown, "DELETE", f"/jobs/{part(job)}", None, {})[0]

    def follow(self, job: JobShown, say: Callable[[str], None] = lambda _: None) -> JobShown:
        """The job once it has ended. Raises what it failed with; one that is done may have a
        problem, too: what it could not do.
        """
        stage = ""
        while job.state == "running":
            self.wait(LOOK)
            job = self.job(job.id)
            if job.stage != stage:
                stage = job.stage
                say(stage)
        if job.problem and job.state != "done":
            raise error_of(job.problem)
        return job


def client(server: str, token: str) -> Client:
    """Raises BadInput for an address that is none."""
    parts = urlsplit(server)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.query
        or parts.fragment
        or parts.username
    ):
        raise BadInput(
            f"--server {server}",
            "it is not an address such as https://flex.example.net",
            kept="nothing was asked",
            advice="write http:// or https://, the host, and the port where it is "
            "not the usual one",
        )
    return Client(server, token)


def _wish(site: str, campaign: str) -> str:
    return f"/sites/{part(site)}/{f'campaigns/{part(campaign)}' if campaign else 'pin'}"


def _why(reason: str, dry_run: bool) -> str:
    return urlencode({"reason": reason, "dry_run": plain(dry_run)})


def _dry(dry_run: bool) -> str:
    return "?dry_run=true" if dry_run else ""

"""Who does what a verb asks: this machine, or the FLEX server that `--server` names.

A verb has one definition: arguments, help and what is shown. It asks one of these protocols for the
result. Each protocol has two members: one in on_this_machine, one in on_a_server.

Takes the context of a call. Returns the member for it. A side is loaded when a verb asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from flex.model.roles_and_tokens import Role
    from flex.model.wish import Pin
    from flex.planning.what_if import Supposition
    from flex_api.cli.common import Context
    from flex_api.cli.node_options import NodeSaid
    from flex_api.night.recovery import Way
    from flex_api.schemas.explain_output import ExplainOutput
    from flex_api.schemas.log_verbs_output import DataOutput
    from flex_api.schemas.nodes_and_jobs import FreezeOutput, HoldersOutput, NodesOutput
    from flex_api.schemas.routing import NodeFiles, RouteOutput
    from flex_api.schemas.site_moves import MovesOutput, ReadyOutput, RestOutput
    from flex_api.schemas.sites_and_wishes import PinOutput, PinShown, SitesOutput
    from flex_api.schemas.tokens_and_audit import (
        AuditOutput,
        AuditVerifyOutput,
        TokenOutput,
        TokensOutput,
    )
    from flex_api.schemas.verbs_output import (
        ConfigShowOutput,
        DoctorOutput,
        FilesOutput,
        PlanOutput,
        PlansOutput,
        RunsOutput,
        StatusOutput,
        UnknownOutput,
        VerifyOutput,
    )
    from flex_api.schemas.what_if_output import DiffOutput, FrontierOutput, WhatIfOutput
    from flex_api.version_of_flex import Versions


class Sites(Protocol):
    def every(self) -> SitesOutput: ...
    def one(self, site: str) -> SitesOutput: ...
    def wishes(self) -> Sequence[PinShown]:
        """Also those that begin later, and campaigns."""

    def pin(self, wanted: Pin, *, dry_run: bool) -> PinOutput: ...
    def unpin(self, site: str, campaign: str, reason: str, *, dry_run: bool) -> PinOutput: ...


class Nodes(Protocol):
    """What changes a node answers with all of them, and with what follows from the change."""

    def every(self) -> NodesOutput: ...
    def add(
        self, node: str, node_options: NodeSaid, reason: str, *, dry_run: bool
    ) -> NodesOutput: ...
    def change(
        self, node: str, node_options: NodeSaid, reason: str, *, dry_run: bool
    ) -> NodesOutput: ...
    def drain(
        self, node: str, deadline: datetime | None, reason: str, *, dry_run: bool
    ) -> NodesOutput: ...
    def undrain(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput: ...
    def take_up(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput: ...
    def remove(self, node: str, reason: str, *, dry_run: bool) -> NodesOutput: ...
    def try_take_down(self, node: str, *, without_content: bool) -> NodesOutput: ...
    def take_down(self, node: str, reason: str, *, without_content: bool) -> None:
        """Shows what came of it by itself: the nodes here, the plan of a server's job there."""


class Plans(Protocol):
    """None instead of a plan is a job of a server that was ended before its end, and said so."""

    def make(
        self, force: Sequence[str], take_back: Sequence[str], reason: str
    ) -> PlanOutput | None: ...
    def every(self, limit: int) -> PlansOutput: ...
    def one(self, plan: str) -> PlanOutput: ...
    def to_apply(self, plan: str) -> PlanOutput:
        """The one that is named, else the one that is to be applied next. Raises NoData."""

    def discard(self, plan: str, reason: str, *, dry_run: bool) -> PlanOutput: ...
    def apply(
        self, plan: str, checksum: str, force: Sequence[str], reason: str, *, by_hand: bool
    ) -> PlanOutput | None: ...
    def end(self, way: Way, reason: str) -> Sequence[PlanOutput]:
        """What an interrupted run began: `resume`, `undo` or `abandon` it."""

    def go_back(
        self, to: str, force: Sequence[str], reason: str, *, dry_run: bool
    ) -> PlanOutput | None: ...
    def move_site(
        self, site: str, to: Sequence[str], force: Sequence[str], reason: str, *, dry_run: bool
    ) -> PlanOutput | None: ...
    def approve(
        self, plan: str, checksum: str, force: Sequence[str], reason: str
    ) -> PlanOutput: ...
    def reject(self, plan: str, checksum: str, reason: str) -> PlanOutput: ...


class Look(Protocol):
    """What was done, and what DNS says."""

    def verification(self) -> VerifyOutput: ...
    def status(self) -> StatusOutput: ...
    def runs(self, limit: int) -> RunsOutput: ...
    def report(self, plan: str, form: str, to: Path | None, *, pdf: bool) -> str | bytes | Path:
        """The report itself, or the file that it was written to."""


class Logs(Protocol):
    """What the logs say, and how far they can be trusted."""

    def data(self, damaged: Path | None) -> DataOutput:
        """Counts that cannot be read are set aside first, where they are named."""

    def files(self, site: str, *, order: str, limit: int, match: str, days: int) -> FilesOutput: ...
    def unknown_names(self, most: int) -> UnknownOutput: ...


class Exports(Protocol):
    """A plan, the latest where none is named, as text for other tools."""

    def together(self, form: str, plan: str, zones: Sequence[str]) -> str: ...
    def export_zones(self, form: str, plan: str, zones: Sequence[str]) -> dict[str, str]: ...


class Zones(Protocol):
    """Which controller may change them."""

    def holders(self) -> HoldersOutput: ...
    def take_over(self, was: str, reason: str) -> HoldersOutput: ...


class Routing(Protocol):
    """As it is in force, or as it will be under a plan that is named."""

    def show(self, plan: str, *, live: bool) -> RouteOutput: ...
    def files_of(self, node: str, plan: str) -> NodeFiles: ...


class Installation(Protocol):
    """What an installation is made of, and whether a night has what it needs."""

    def version(self) -> Versions: ...
    def settings_in_force(self) -> ConfigShowOutput: ...
    def doctor(self) -> DoctorOutput: ...


class Freezing(Protocol):
    def now(self) -> FreezeOutput: ...
    def freeze(self, until: datetime | None, reason: str, *, dry_run: bool) -> FreezeOutput: ...
    def thaw(self, reason: str, *, dry_run: bool) -> FreezeOutput: ...


class Questions(Protocol):
    def what_if(self, wanted: Supposition, *, frontier: bool) -> WhatIfOutput: ...
    def frontier(self) -> FrontierOutput: ...
    def difference(self, plan: str, other: str) -> DiffOutput: ...
    def explanation(self, site: str) -> ExplainOutput: ...


class TokensAndAudit(Protocol):
    """Who may come in, and who changed what."""

    def make_token(
        self, name: str, role: Role, expires: datetime | None, reason: str
    ) -> TokenOutput: ...
    def tokens(self) -> TokensOutput: ...
    def revoke(self, token: str, reason: str) -> TokenOutput: ...
    def audit(self, limit: int, actor: str, action: str, since: datetime | None) -> AuditOutput: ...
    def check_audit(self, last: str) -> AuditVerifyOutput: ...


class SiteMoves(Protocol):
    """Sites on their way from one node to another."""

    def moves(self, limit: int, *, site: str, plan: str, node: str, state: str) -> MovesOutput: ...
    def again(self, site: str, reason: str, *, dry_run: bool) -> RestOutput: ...
    def ready(self, sites: Sequence[str], to: Sequence[str]) -> ReadyOutput: ...


def site_moves(context: Context) -> SiteMoves:
    if context.remote:
        from flex_api.cli.on_a_server.site_moves import MovesThere

        return MovesThere(context.remote)
    from flex_api.cli.on_this_machine.site_moves import MovesHere

    return MovesHere(context)


def sites(context: Context) -> Sites:
    if context.remote:
        from flex_api.cli.on_a_server.sites_and_wishes import SitesThere

        return SitesThere(context.remote)
    from flex_api.cli.on_this_machine.sites_and_wishes import SitesHere

    return SitesHere(context)


def nodes(context: Context) -> Nodes:
    if context.remote:
        from flex_api.cli.on_a_server.nodes import NodesThere

        return NodesThere(context, context.remote)
    from flex_api.cli.on_this_machine.nodes import NodesHere

    return NodesHere(context)


def plans(context: Context, as_of: datetime | None = None) -> Plans:
    """`as_of` is another time to act at, which a server does not take."""
    if context.remote:
        from flex_api.cli.on_a_server.plans import PlansThere

        return PlansThere(context, context.remote)
    from flex_api.cli.on_this_machine.plans import PlansHere

    return PlansHere(context, as_of)


def look(context: Context) -> Look:
    if context.remote:
        from flex_api.cli.on_a_server.status_and_reports import LookThere

        return LookThere(context.remote)
    from flex_api.cli.on_this_machine.status_and_reports import LookHere

    return LookHere(context)


def logs(context: Context, as_of: datetime | None = None) -> Logs:
    if context.remote:
        from flex_api.cli.on_a_server.logs_files_and_exports import LogsThere

        return LogsThere(context.remote)
    from flex_api.cli.on_this_machine.logs_files_and_exports import LogsHere

    return LogsHere(context, as_of)


def exports(context: Context) -> Exports:
    if context.remote:
        from flex_api.cli.on_a_server.logs_files_and_exports import ExportsThere

        return ExportsThere(context.remote)
    from flex_api.cli.on_this_machine.logs_files_and_exports import ExportsHere

    return ExportsHere(context)


def zones(context: Context) -> Zones:
    if context.remote:
        from flex_api.cli.on_a_server.zones_and_routing import ZonesThere

        return ZonesThere(context.remote)
    from flex_api.cli.on_this_machine.zones_and_routing import ZonesHere

    return ZonesHere(context)


def routing(context: Context) -> Routing:
    if context.remote:
        from flex_api.cli.on_a_server.zones_and_routing import RoutingThere

        return RoutingThere(context.remote)
    from flex_api.cli.on_this_machine.zones_and_routing import RoutingHere

    return RoutingHere(context)


def installation(context: Context) -> Installation:
    if context.remote:
        from flex_api.cli.on_a_server.zones_and_routing import InstallationThere

        return InstallationThere(context.remote)
    from flex_api.cli.on_this_machine.zones_and_routing import InstallationHere

    return InstallationHere(context)


def freezing(context: Context) -> Freezing:
    if context.remote:
        from flex_api.cli.on_a_server.freezing import FreezingThere

        return FreezingThere(context.remote)
    from flex_api.cli.on_this_machine.freezing import FreezingHere

    return FreezingHere(context)


def questions(context: Context) -> Questions:
    if context.remote:
        from flex_api.cli.on_a_server.what_if_and_why import QuestionsThere

        return QuestionsThere(context.remote)
    from flex_api.cli.on_this_machine.what_if_and_why import QuestionsHere

    return QuestionsHere(context)


def tokens_and_audit(context: Context) -> TokensAndAudit:
    if context.remote:
        from flex_api.cli.on_a_server.tokens_and_audit import DeskThere

        return DeskThere(context.remote)
    from flex_api.cli.on_this_machine.tokens_and_audit import DeskHere

    return DeskHere(context)

"""Who holds the zones of a FLEX server, how requests are routed there, and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass

from flex_api.cli.on_a_server.send_and_follow_jobs import given_as
from flex_api.client import Client
from flex_api.schemas.nodes_and_jobs import HoldersOutput
from flex_api.schemas.rest_bodies import TakeoverGiven
from flex_api.schemas.routing import NodeFiles, RouteOutput
from flex_api.schemas.verbs_output import ConfigShowOutput, DoctorOutput
from flex_api.version_of_flex import Versions


@dataclass(frozen=True, slots=True)
class ZonesThere:
    client: Client

    def holders(self) -> HoldersOutput:
        return self.client.holders()

    def take_over(self, was: str, reason: str) -> HoldersOutput:
        given = given_as(TakeoverGiven, controller=was, reason=reason)
        return self.client.take_over(given)


@dataclass(frozen=True, slots=True)
class RoutingThere:
    client: Client

    def show(self, plan: str, *, live: bool) -> RouteOutput:
        return self.client.route(plan=plan, live=live)

    def files_of(self, node: str, plan: str) -> NodeFiles:
        return self.client.files_of(node, plan)[0]


@dataclass(frozen=True, slots=True)
class InstallationThere:
    client: Client

    def version(self) -> Versions:
        return Versions(**self.client.version().model_dump(exclude={"schema_version"}))

    def settings_in_force(self) -> ConfigShowOutput:
        return self.client.settings()

    def doctor(self) -> DoctorOutput:
        return self.client.doctor()

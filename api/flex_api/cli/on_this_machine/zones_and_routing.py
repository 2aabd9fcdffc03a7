"""Who holds the zones of this machine's installation, how requests are routed, and what it is made
of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flex_api.cli.common import Context, now
from flex_api.cli.open_installation import open_world

if TYPE_CHECKING:
    from flex_api.schemas.nodes_and_jobs import HoldersOutput
    from flex_api.schemas.routing import NodeFiles, RouteOutput
    from flex_api.schemas.verbs_output import ConfigShowOutput, DoctorOutput
    from flex_api.version_of_flex import Versions


@dataclass(frozen=True, slots=True)
class ZonesHere:
    context: Context

    def holders(self) -> HoldersOutput:
        from flex_api.night.controller_of_zones import holders_output, holds

        with open_world(self.context) as here:
            return holders_output(holds(here))

    def take_over(self, was: str, reason: str) -> HoldersOutput:
        from flex_api.night.controller_of_zones import holders_output, take_over
        from flex_api.night.leases import lease

        with open_world(self.context) as here, lease(here, f"take over from {was}"):
            return holders_output(take_over(here, was, reason))


@dataclass(frozen=True, slots=True)
class RoutingHere:
    context: Context

    def show(self, plan: str, *, live: bool) -> RouteOutput:
        from flex_api.night.route_output import route_output

        with open_world(self.context) as here:
            return route_output(here, plan, live=live)

    def files_of(self, node: str, plan: str) -> NodeFiles:
        from flex_api.night import haproxy_pools_and_files
        from flex_api.schemas.routing import NodeFiles, port_rows

        with open_world(self.context) as here:
            settings, store = here.settings, here.store
            files = (
                haproxy_pools_and_files.files_to_be(settings, store, node, plan)
                if plan
                else haproxy_pools_and_files.files(settings, store, node)
            )
        return NodeFiles(
            node=node, files=files, ports=port_rows(settings.routing.ports_between_nodes())
        )


@dataclass(frozen=True, slots=True)
class InstallationHere:
    context: Context

    def version(self) -> Versions:
        from flex_api.version_of_flex import versions

        return versions()

    def settings_in_force(self) -> ConfigShowOutput:
        from flex_api.settings_without_secrets import config_show_output

        return config_show_output(self.context.settings)

    def doctor(self) -> DoctorOutput:
        from flex_api import doctor
        from flex_api.schemas.verbs_output import DoctorOutput

        return DoctorOutput(checks=list(doctor.checks(self.context.settings, now())))

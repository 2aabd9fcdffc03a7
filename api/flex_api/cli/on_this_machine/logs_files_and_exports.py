"""What this machine's installation says of logs, of files, and of its plans for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from flex.model.plan import Plan
from flex_api.cli.common import Context
from flex_api.cli.open_installation import open_world
from flex_api.data_and_unknown_names import data_output, unknown_output
from flex_api.facts import plan_by_zone
from flex_api.requests_by_file import files_output
from flex_api.schemas.log_verbs_output import DataOutput
from flex_api.schemas.verbs_output import FilesOutput, UnknownOutput
from flex_api.wiring import World
from flex_dns.exports import ZoneToExport
from flex_logs_ingest.counts.damaged_count_files import set_aside


@dataclass(frozen=True, slots=True)
class LogsHere:
    context: Context
    as_of: datetime | None

    def data(self, damaged: Path | None) -> DataOutput:
        with open_world(self.context, self.as_of) as here:
            for path in set_aside(damaged) if damaged else ():
                self.context.say(f"Set aside: {path}")
            return data_output(here)

    def files(self, site: str, *, order: str, limit: int, match: str, days: int) -> FilesOutput:
        with open_world(self.context) as here:
            return files_output(here, site, days=days, order=order, limit=limit, match=match)

    def unknown_names(self, most: int) -> UnknownOutput:
        with open_world(self.context) as here:
            return unknown_output(here, most)


@dataclass(frozen=True, slots=True)
class ExportsHere:
    context: Context

    def together(self, form: str, plan: str, zones: Sequence[str]) -> str:
        with open_world(self.context) as here:
            return plan_by_zone.together(form, _zones(here, form, plan, zones))

    def export_zones(self, form: str, plan: str, zones: Sequence[str]) -> dict[str, str]:
        with open_world(self.context) as here:
            return plan_by_zone.texts_by_zone(form, _zones(here, form, plan, zones))


def _zones(here: World, form: str, plan: str, zones: Sequence[str]) -> list[ZoneToExport]:
    return plan_by_zone.zones_for(here, _plan_to_export(here, plan), form, zones)


def _plan_to_export(here: World, plan: str) -> Plan:
    if plan:
        return here.store.plan(plan)
    latest = here.store.plans(1)
    if not latest:
        raise plan_by_zone.no_plan()
    return latest[0]

"""What a FLEX server says of its logs, of files, and of its plans for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flex_api.client import Client
from flex_api.facts import plan_by_zone
from flex_api.schemas.log_verbs_output import DataOutput
from flex_api.schemas.verbs_output import FilesOutput, UnknownOutput


@dataclass(frozen=True, slots=True)
class LogsThere:
    client: Client

    def data(self, damaged: Path | None) -> DataOutput:  # noqa: ARG002  of the protocol
        return self.client.data()

    def files(self, site: str, *, order: str, limit: int, match: str, days: int) -> FilesOutput:
        return self.client.files(site=site, sort=order, most=limit, match=match, days=days)

    def unknown_names(self, most: int) -> UnknownOutput:
        return self.client.unknown_names(most=most)


@dataclass(frozen=True, slots=True)
class ExportsThere:
    client: Client

    def together(self, form: str, plan: str, zones: Sequence[str]) -> str:
        return self.client.export(plan or self._latest(), form, ",".join(zones))

    def export_zones(self, form: str, plan: str, zones: Sequence[str]) -> dict[str, str]:
        plan_output = self.client.plan(plan or self._latest())[0]
        names = [plan_by_zone.zone_name(zone) for zone in zones]
        return {
            name: self.client.export(plan_output.id, form, name)
            for name in names or [zone.zone for zone in plan_output.zones]
        }

    def _latest(self) -> str:
        for row in self.client.plans(limit=1):
            return row.id
        raise plan_by_zone.no_plan()

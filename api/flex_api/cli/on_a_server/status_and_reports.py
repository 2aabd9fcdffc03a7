"""What was done on a FLEX server, and what DNS says."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from flex_api.client import Client
from flex_api.schemas.verbs_output import RunsOutput, StatusOutput, VerifyOutput


@dataclass(frozen=True, slots=True)
class LookThere:
    client: Client

    def verification(self) -> VerifyOutput:
        drift_report = self.client.drift()
        return VerifyOutput.like(drift_report, servers=drift_report.items)

    def status(self) -> StatusOutput:
        return self.client.status()

    def runs(self, limit: int) -> RunsOutput:
        rows = self.client.runs(limit=limit, figures=True)
        return RunsOutput(items=list(islice(rows, limit)))

    def report(
        self,
        plan: str,
        form: str,
        to: Path | None,  # noqa: ARG002  of the protocol: nothing is written there
        *,
        pdf: bool,
    ) -> str | bytes:
        return self.client.report_pdf(plan) if pdf else self.client.report(plan, form)

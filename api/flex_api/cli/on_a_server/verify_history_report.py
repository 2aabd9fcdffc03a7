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
        found = self.client.drift()
        return VerifyOutput(
            partition=found.partition,
            servers=found.items,
            drift=found.drift,
            not_checked=found.not_checked,
            behind=found.behind,
            other_names=found.other_names,
            doors=found.doors,
        )

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

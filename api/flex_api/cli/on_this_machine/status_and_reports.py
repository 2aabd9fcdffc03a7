"""What was done on this machine's installation, and what DNS says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flex.errors import NoData
from flex.model.plan import Plan
from flex_api.cli.common import Context
from flex_api.cli.open_installation import open_world
from flex_api.facts import core_to_output_models, verify_dns_answers
from flex_api.night import verify_doors
from flex_api.report import print_pdf, write_reports
from flex_api.schemas.verbs_output import RunsOutput, StatusOutput, VerifyOutput
from flex_api.wiring import World


@dataclass(frozen=True, slots=True)
class LookHere:
    context: Context

    def verification(self) -> VerifyOutput:
        with open_world(self.context) as here:
            patience = here.settings.dns.settle.total_seconds()
            return core_to_output_models.verify_output(
                verify_dns_answers.verify(here, patience), verify_doors.verify_doors(here)
            )

    def status(self) -> StatusOutput:
        # It judges the logs, with tables of their counts: who asks for history needs none.
        from flex_api import status

        with open_world(self.context) as here:
            return status.status(status.sight(here))

    def runs(self, limit: int) -> RunsOutput:
        with open_world(self.context) as here:
            runs = here.store.runs(limit)
            rows = [
                core_to_output_models.run_row(run, here.store.plan(run.plan) if run.plan else None)
                for run in runs
            ]
        return RunsOutput(items=rows)

    def report(self, plan: str, form: str, to: Path | None, *, pdf: bool) -> str | bytes | Path:
        with open_world(self.context) as here:
            stored_plan = here.store.plan(plan) if plan else _latest(here)
            if form != "html":
                return write_reports.report_text(here, stored_plan, form)
            path = write_reports.write(here, stored_plan, to)
        return print_pdf.print_pdf(path, path.with_suffix(".pdf")) if pdf else path


def _latest(here: World) -> Plan:
    latest = here.store.plans(1)
    if not latest:
        raise NoData("the latest plan", "there is none", advice="make one with `flex plan`")
    return latest[0]

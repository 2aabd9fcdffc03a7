"""The first page: the report of the latest plan, made when it is asked for."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from flex.domain import Cycle
from flex.ports import Store
from flex_api import present, report, wiring
from flex_api.report import ReportData
from flex_api.routes.shared import TheSettings, TheStore
from flex_api.schemas import SitesOutput, StageRow

router = APIRouter(include_in_schema=False)

EARLIER = 14


@router.get("/", response_class=HTMLResponse)
def overview(settings: TheSettings, store: TheStore) -> str:
    """The latest plan as a page; before the first one, what to do to get there."""
    cycles = store.cycles(EARLIER + 1)
    if not cycles:
        return report.page("welcome.html", cluster=settings.cluster.name, nodes=len(settings.node))
    latest, *earlier = cycles
    data = ReportData(
        cluster=settings.cluster.name,
        made=datetime.now(UTC),
        tolerance=settings.solver.tolerance,
        plan=present.plan_output(latest),
        earlier=tuple(present.plans_output(earlier).items),
        sites=_sites(store, latest),
        lines=_lines(store, latest),
        stages=_stages(store, latest),
        fair=report.fair_shares(wiring.nodes(settings, store)),
    )
    return report.html(data)


def _sites(store: Store, cycle: Cycle) -> SitesOutput | None:
    found = store.profiles()
    if found is None:
        return None
    period, profiles, _ = found
    return present.sites_output(profiles, store.placement_of(cycle.id), store.pins(), (period.start, period.end))


def _lines(store: Store, cycle: Cycle) -> dict[str, int]:
    """Log lines by class of the segments that reach into the cycle's period."""
    total: dict[str, int] = {}
    for segment in store.segments(cycle.period.first_day, cycle.period.last_day):
        for name, number in segment.lines:
            total[name] = total.get(name, 0) + number
    return total


def _stages(store: Store, cycle: Cycle) -> tuple[StageRow, ...]:
    """Those of the run that made the plan: its stages name what came out of them."""
    for run in store.runs():
        if cycle.id in (run.cycle, *(stage.outcome for stage in run.stages)):
            return tuple(present.run_row(run).stages)
    return ()

"""Everything the report of a plan shows, brought together from the settings and the store. Nothing is decided here."""

from __future__ import annotations

from datetime import datetime

from flex.model.domain import Cycle
from flex.ports import Store
from flex.wishes import campaigns
from flex_api.known import present, trust
from flex_api.report.content import NIGHTS, ReportData
from flex_api.schemas.verbs import QualityRow, SitesOutput, StageRow
from flex_api.settings.file import Settings


def gather(settings: Settings, store: Store, cycle: Cycle, made: datetime) -> ReportData:
    """What is known of the cycle now. `made` is when somebody asked."""
    earlier = [one for one in store.cycles(10 * NIGHTS) if one.id != cycle.id and one.created <= cycle.created]
    return ReportData(
        cluster=settings.cluster.name,
        made=made,
        tolerance=settings.solver.tolerance,
        plan=present.plan_output(cycle),
        earlier=tuple(present.plans_output(earlier[:NIGHTS]).items),
        first=frozenset(one.id for one in (*earlier, cycle) if one.before is None),
        sites=_sites(store, cycle, made),
        lines=_lines(store, cycle),
        stages=_stages(store, cycle),
        logs=_logs(settings, store, cycle),
    )


def _sites(store: Store, cycle: Cycle, made: datetime) -> SitesOutput | None:
    found = store.profiles()
    if found is None:
        return None
    period, profiles, _ = found
    pins = campaigns.in_force(store.pins(), made)
    return present.sites_output(profiles, store.placement_of(cycle.id), pins, (period.start, period.end))


def _lines(store: Store, cycle: Cycle) -> dict[str, int]:
    """Log lines by class of everything that was read with accesses of the cycle's period in it."""
    total: dict[str, int] = {}
    for segment in store.segments(cycle.period.first_day, cycle.period.last_day):
        for name, number in segment.lines:
            total[name] = total.get(name, 0) + number
    return total


def _logs(settings: Settings, store: Store, cycle: Cycle) -> tuple[QualityRow, ...]:
    """Every source, and every node that has several, as they were to be judged when the plan was made."""
    found = trust.data_output(trust.judge(settings, store, cycle.period, cycle.created), cycle.period)
    several = {row.node for row in found.sources if row.name != row.node}
    return (*(row for row in found.nodes if row.node in several), *found.sources)


def _stages(store: Store, cycle: Cycle) -> tuple[StageRow, ...]:
    """Those of the runs that made the plan, applied it, or finished it: a stage's outcome names what came out of it."""
    found = [run for run in store.runs() if cycle.id in (run.cycle, *(stage.outcome for stage in run.stages))]
    return tuple(stage for run in reversed(found) for stage in present.run_row(run).stages)

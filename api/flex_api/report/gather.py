"""Brings together everything that the report of a plan shows, from the settings and the store. Does
not decide anything.
"""

from __future__ import annotations

from datetime import datetime

from flex.model.plan import Plan
from flex.store import Store
from flex.wishes import wishes_in_force_now
from flex_api.facts import core_to_output_models, leaning_on_sites, logs_good_enough
from flex_api.facts.move_progress import moves_of_plan
from flex_api.facts.site_table import catalogue
from flex_api.facts.traffic_by_hour import hours_in_logs
from flex_api.report import partition_pictures
from flex_api.report.content import NIGHTS, ReportData
from flex_api.schemas.log_verbs_output import QualityRow
from flex_api.schemas.sites_and_wishes import SitesOutput
from flex_api.schemas.verbs_output import StageRow
from flex_api.settings.file import Settings
from flex_api.wiring import nodes


def gather(settings: Settings, store: Store, plan: Plan, asked_at: datetime) -> ReportData:
    """Return what the report shows of the plan, as it is known at `asked_at`."""
    earlier = [
        each_plan
        for each_plan in store.plans(10 * NIGHTS)
        if each_plan.id != plan.id and each_plan.created <= plan.created
    ]
    hours = hours_in_logs(store, plan.period)
    return ReportData(
        cluster=settings.cluster.name,
        made=asked_at,
        tolerance=settings.solver.tolerance,
        plan=core_to_output_models.plan_output(plan),
        earlier=tuple(core_to_output_models.plans_output(earlier[:NIGHTS]).items),
        first=frozenset(each_plan.id for each_plan in (*earlier, plan) if each_plan.before is None),
        sites=_sites(store, plan, asked_at),
        lines=_lines(store, plan),
        stages=_stages(store, plan),
        logs=_logs(settings, store, plan),
        spread=spread_of(store, plan.id),
        hours=hours.means_by_hour_of_day(),
        days=hours.days,
        brought=tuple(moves_of_plan(store, plan)),
        memory={node.name: node.ram for node in nodes(settings, store)},
    )


def spread_of(store: Store, plan: str) -> dict[str, int]:
    """The working set on each of its nodes of every site that the plan puts on several."""
    if (stored := store.profiles()) is None:
        return {}
    return partition_pictures.spread_of(stored[2], store.placement_of(plan))


def _sites(store: Store, plan: Plan, asked_at: datetime) -> SitesOutput | None:
    stored = store.profiles()
    if stored is None:
        return None
    return core_to_output_models.sites_output(
        catalogue(stored, store.placement_of(plan.id)),
        wishes_in_force_now.pins_in_force(store.pins(), asked_at),
        leaning_on_sites.stays_for(plan),
    )


def _lines(store: Store, plan: Plan) -> dict[str, int]:
    """Log lines by class of everything that was read with accesses of the plan's period in it."""
    total: dict[str, int] = {}
    for segment in store.segments(plan.period.first_day, plan.period.last_day):
        for name, number in segment.lines:
            total[name] = total.get(name, 0) + number
    return total


def _logs(settings: Settings, store: Store, plan: Plan) -> tuple[QualityRow, ...]:
    """Every source, and every node that has several, as they were to be judged when the plan was
    made.
    """
    output = logs_good_enough.data_output(
        logs_good_enough.judge(settings, store, plan.period, plan.created), plan.period
    )
    several = {row.node for row in output.sources if row.name != row.node}
    return (*(row for row in output.nodes if row.node in several), *output.sources)


def _stages(store: Store, plan: Plan) -> tuple[StageRow, ...]:
    """The stages of the runs that made the plan, applied it, or finished it."""
    return tuple(
        stage
        for run in reversed(store.runs_about(plan.id))
        for stage in core_to_output_models.run_row(run).stages
    )

"""Core values as output models. Does not compute anything that the core did not decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from flex.model.balance import Balance, NodeLoad
from flex.model.dns_edits_by_others import Edit
from flex.model.drains_and_freezes import NodeOrder
from flex.model.limits_and_approvals import Stop
from flex.model.name_server_verdict import NameServerVerdict
from flex.model.nightly_run import NightlyRun
from flex.model.nodes import Node
from flex.model.plan import Move, Plan
from flex.model.plan_summary import Headline, headline
from flex.model.wish import Pin
from flex.model.zone_plan import ZonePlan
from flex.placing import problem
from flex.planning import names_left_behind, which_servers_agree
from flex.planning.outdated_plans import WAITING
from flex.planning.which_servers_agree import Behind
from flex.zones import zone_changes
from flex.zones.names_not_following import NameLeftBehind
from flex_api.facts import (
    dead_nodes_in_dns,
    forecast_rows,
    leaning_on_sites,
    names_of_sites,
)
from flex_api.facts.dead_nodes_in_dns import Dead
from flex_api.facts.site_table import Catalogue
from flex_api.in_words import amounts
from flex_api.schemas import times_of_sites
from flex_api.schemas.nodes_and_jobs import LeftRow, NodeRow, NodesOutput
from flex_api.schemas.output_base import StopRow
from flex_api.schemas.plan_parts import (
    BalanceOutput,
    BehindRow,
    EditRow,
    LoadRow,
    OutlookRow,
    StaysBehindRow,
    VerdictRow,
)
from flex_api.schemas.sites_and_wishes import NameRow, SiteRow, SitesOutput, values_of_site
from flex_api.schemas.verbs_output import (
    BreachRow,
    DoorsVerified,
    OtherNameRow,
    PlanOutput,
    PlanRow,
    PlansOutput,
    RunRow,
    StageRow,
    VerifyOutput,
    ZoneRow,
)

if TYPE_CHECKING:
    from flex_api.facts.names_of_sites import NamesOfSites
    from flex_api.facts.verify_dns_answers import Verified


def plan_output(plan: Plan) -> PlanOutput:
    forecasts = forecast_rows.rows(plan.forecasts, plan.period)
    return PlanOutput.like(
        plan,
        period_start=plan.period.start,
        period_end=plan.period.end,
        solver=plan.quality.solver,
        moves_at_least=plan.quality.bound,
        proven_least=plan.quality.proven,
        certified_at_least=plan.quality.certified,
        moves_from_scratch=plan.scratch_moves,
        before=balance_output(plan.before) if plan.before else None,
        after=balance_output(plan.after),
        forecasts=forecasts,
        predicted_miss_ratio=next(
            (row.miss_ratio for row in forecasts if row.policy == "after"), None
        ),
        benefit=forecast_rows.benefit_row(plan.benefit, forecasts),
        zones=[zone_row(zone_plan, plan.moves) for zone_plan in plan.zone_plans],
        breaches=[
            BreachRow.like(breach, override=zone_changes.past(plan)) for breach in plan.breaches
        ],
        shortfalls=plan.quality.shortfalls,
        verdicts=verdict_rows(plan.verdicts),
        stops=[stop_row(stop) for stop in plan.stops],
        moves_later=plan.later,
        outlook=OutlookRow.like(plan.outlook, error_ratios=dict(plan.outlook.errors))
        if plan.outlook
        else None,
        prediction=forecast_rows.measured_row(plan.measured) if plan.measured else None,
        edited=[edit_row(edit) for edit in plan.said.edits],
    )


def edit_row(edit: Edit) -> EditRow:
    return EditRow.like(edit, said_ttl=edit.ttl or None)


def stop_row(stop: Stop) -> StopRow:
    return StopRow.like(stop, override=stop.way_past)


def plans_output(
    plans: Iterable[Plan], in_force: str | None = None, too_old: datetime | None = None
) -> PlansOutput:
    return PlansOutput(items=[plan_row(headline(plan), in_force, too_old) for plan in plans])


def plan_row(
    plan: Headline, in_force: str | None = None, too_old: datetime | None = None
) -> PlanRow:
    """Where it is known which partition is `in_force`, with whether the plan is made from it
    still; where that is known, with whether it was made before all that are `too_old` now.
    """
    return PlanRow.like(
        plan,
        worst_ratio=plan.worst,
        outdated=in_force is not None and plan.state in WAITING and plan.base != in_force,
        expired=too_old is not None and plan.state in WAITING and plan.wall_time < too_old,
    )


def balance_output(balance: Balance) -> BalanceOutput:
    return BalanceOutput(
        worst_ratio=balance.worst,
        worst_node=balance.worst_node,
        worst_resource=balance.worst_resource,
        nodes=[
            LoadRow(
                node=load.node,
                access_units=load.access,
                working_set_units=load.working_set,
                fair_units=load.fair,
                sites=load.sites,
                others_units=dict(load.others),
            )
            for load in balance.nodes
        ],
    )


def zone_row(plan: ZonePlan, moves: Sequence[Move] = ()) -> ZoneRow:
    """With the names that are left behind by these moves."""
    return ZoneRow(
        zone=plan.zone,
        changes=zone_changes.text(plan).splitlines(),
        foreign=list(plan.foreign),
        leaning=leaning_on_sites.leaning_rows(plan.leaning),
        stay_behind=_stay_behind_rows(plan, moves),
    )


def _stay_behind_rows(plan: ZonePlan, moves: Sequence[Move]) -> list[StaysBehindRow]:
    left = frozenset(other_name.name for other_name in names_left_behind.left_behind(moves, [plan]))
    reasons = names_of_sites.why_staying(plan)
    return [
        StaysBehindRow.like(
            other_name, is_left=other_name.name in left, why=reasons[other_name.name]
        )
        for other_name in plan.stay_behind
    ]


def verdict_rows(verdicts: Sequence[NameServerVerdict]) -> list[VerdictRow]:
    late = which_servers_agree.servers_behind(verdicts)
    return [_verdict_row(verdict, late.get((verdict.server, verdict.zone))) for verdict in verdicts]


def _verdict_row(verdict: NameServerVerdict, late: Behind | None) -> VerdictRow:
    """Where another server has the `latest` serial, this one has missed it."""
    return VerdictRow.like(
        verdict,
        wrong=[
            line for change in verdict.wrong for line in zone_changes.lines_of_difference(change)
        ],
        lag_seconds=verdict.lag,
        next_step=late.advice if late else "",
    )


def verify_output(verified: Verified, doors: DoorsVerified | None = None) -> VerifyOutput:
    """Nobody knows what differs where no name server answered."""
    silent = bool(verified.verdicts) and all(verdict.error for verdict in verified.verdicts)
    return VerifyOutput(
        partition=verified.partition,
        servers=verdict_rows(verified.verdicts),
        drift=None if silent else sum(len(verdict.wrong) for verdict in verified.verdicts),
        not_checked=dict(verified.not_checked),
        behind=[
            _late_server_row(late)
            for late in which_servers_agree.servers_behind(verified.verdicts).values()
        ],
        other_names=[other_name_row(stray) for stray in verified.others],
        doors=doors,
    )


def _late_server_row(late: Behind) -> BehindRow:
    return BehindRow(
        server=late.server,
        zone=late.zone,
        serial=late.serial,
        latest_serial=late.latest,
        next_step=f"`flex verify` tells it so; where that does not help: {late.advice}",
    )


def other_name_row(stray: NameLeftBehind) -> OtherNameRow:
    return OtherNameRow(
        name=stray.name,
        site=stray.site,
        zone=stray.zone,
        addresses=list(stray.answer.addresses),
        cname=stray.answer.chain[0] if stray.answer.chain else "",
        nodes=[node for node, _ in stray.parts],
        note=stray.why,
    )


def run_row(run: NightlyRun, plan: Plan | None = None) -> RunRow:
    """With the figures of its plan, where that is given."""
    stages = [StageRow.like(stage) for stage in run.stages]
    return RunRow.like(
        run,
        stages=stages,
        moves=len(plan.moves) if plan else None,
        placed=plan.sites if plan and plan.settled and not plan.before else None,
        worst_before_ratio=plan.before.worst if plan and plan.before else None,
        worst_after_ratio=plan.after.worst if plan else None,
        prediction_error_ratio=plan.measured.error if plan and plan.measured else None,
    )


def sites_output(
    catalogue: Catalogue,
    pins: Sequence[Pin],
    stays_for: Mapping[str, Sequence[str]],
    names: NamesOfSites | None = None,
) -> SitesOutput:
    """Every site of the catalogue, busiest first. `stays_for` is what a move of a site would take
    along, by site.
    """
    pin_of = {pin.site: pin for pin in pins}
    items = []
    for row in catalogue.order("-access_bytes").tolist():
        site = str(catalogue.sites[row])
        measured, nodes = catalogue.measures(row), catalogue.nodes_of(row)
        leaning = stays_for.get(site, ())
        items.append(site_row(site, measured, nodes, pin_of.get(site), leaning, names))
    period = catalogue.period
    return SitesOutput(
        period_start=period and period.start, period_end=period and period.end, items=items
    )


def site_row(
    site: str,
    measured: Mapping[str, int],
    nodes: list[str],
    pin: Pin | None,
    stays_for: Sequence[str] = (),
    names: NamesOfSites | None = None,
) -> SiteRow:
    """What was measured goes by the names of PROFILES; the pin is the one in force. Without `names`
    nobody looked for other names of the site.
    """
    pin = pin or Pin(site)
    return SiteRow(
        site=site,
        nodes=nodes,
        access_bytes=measured["access_bytes"],
        working_set_bytes=measured["working_set"],
        requests=measured["requests"],
        targets=measured["targets"],
        one_timers=measured["one_timers"],
        busy_hour_bytes=measured["busy_hour_bytes"],
        **times_of_sites.measured_times(measured),
        stays_for=list(stays_for),
        names=_names(names, site),
        names_not_known=names.not_known if names else "",
        **values_of_site(pin),
    )


def _names(names: NamesOfSites | None, site: str) -> list[NameRow] | None:
    if names is None or names.not_known:
        return None
    return [NameRow.like(name) for name in names.names_of_site(site)]


def nodes_output(
    nodes: Sequence[Node],
    sites: Mapping[str, int],
    plan: Plan | None,
    notes: Sequence[str] = (),
    orders: Sequence[NodeOrder] = (),
    settled: Sequence[Node] = (),
    left: Mapping[str, str] | None = None,
    still: Sequence[Dead] = (),
) -> NodesOutput:
    """The nodes there are; of others that `sites` are still on there is a note. `settled` are those
    of the settings, `still` the dead ones that are in DNS.
    """
    order_of = {order.node: order for order in orders}
    settings_of = {node.name: node for node in settled}
    gone = [
        f"{node} is not in the settings any more; {amounts.count(sites[node], 'site')} "
        "move off it with the next plan"
        for node in problem.gone_nodes(sites, nodes)
    ]
    loads = {load.node: load for load in plan.after.nodes} if plan else {}
    return NodesOutput(
        items=[
            node_row(
                node,
                order_of.get(node.name),
                sites.get(node.name, 0),
                loads.get(node.name),
                settings_of.get(node.name),
            )
            for node in nodes
        ],
        notes=[*gone, *notes],
        dead=[dead_nodes_in_dns.row(dead_node) for dead_node in still],
        left=[LeftRow(name=name, reason=why) for name, why in (left or {}).items()],
    )


def node_row(
    node: Node, order: NodeOrder | None, sites: int, load: NodeLoad | None, settled: Node | None
) -> NodeRow:
    """`settled` is how the settings have it."""
    return NodeRow(
        node=node.name,
        state=node.state,
        addresses=list(node.addresses),
        ram_bytes=node.ram,
        capacity_ratio=node.capacity,
        sites=sites,
        access_units=load.access if load else None,
        working_set_units=load.working_set if load else None,
        from_settings=settled == replace(node, state="active"),
        since=order.given if order else None,
        deadline=order.deadline if order else None,
        reason=order.reason if order else "",
        author=order.author if order else "",
    )


def moment(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None

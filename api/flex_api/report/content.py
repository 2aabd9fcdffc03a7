"""What the report of one night says: its sentences, its lists and the geometry of its pictures.

Takes a ReportData. Returns the Content that a template puts into its places. Does not write markup,
and does not compute balance, moves or forecasts: these come from the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nlargest

import numpy as np

from flex.model.period import Period
from flex.planning import which_servers_agree
from flex_api.in_words import amounts, grouped_moves_text, held_back_moves_text, text_safe_for_html
from flex_api.in_words import results_in_terminal as text
from flex_api.pictures import chart_geometry
from flex_api.pictures.chart_geometry import Bars, Columns, NightColumn, Strip
from flex_api.pictures.sites_scatter import Scatter, cloud
from flex_api.report import loads_of_nodes, partition_pictures
from flex_api.report.loads_of_nodes import NodeLine, node_lines
from flex_api.report.partition_pictures import PartitionPart
from flex_api.schemas.log_verbs_output import QualityRow
from flex_api.schemas.plan_parts import ForecastRow, VerdictRow
from flex_api.schemas.site_moves import SiteMoveRow
from flex_api.schemas.sites_and_wishes import SiteRow, SitesOutput
from flex_api.schemas.verbs_output import BreachRow, PlanOutput, PlanRow, StageRow

# Earlier nights that are compared with this one: two weeks. A guess.
NIGHTS = 14
# Sites that a list of the report shows, the busiest. A guess: about a printed page.
MOST_SITES = 50
# DNS changes that the report shows, of all zones together. A guess.
MOST_CHANGES = 200
# Zones whose changes the report shows. A guess.
MOST_ZONES = 20

PLACEMENTS = ("before", "after", "from scratch", "round robin", "best")

LINE_CLASSES = {
    "counted": "answers that carry or confirm a file: what the profiles are made of",
    "other_status": "other answers, such as redirects and errors: they count as "
    "traffic, not as files",
    "no_request": "no request for anything on a site",
    "malformed": "not a line of this format; the sites they name are not known",
}


@dataclass(frozen=True, slots=True)
class ReportData:
    """`earlier` plans are the newest first, `first` those with no partition before; `lines` are log
    lines by class. `spread` is the working set on each of its nodes of a site that is on several;
    `hours` are answers of each node in each hour of the day. `brought` is what was run for sites of
    the plan; `memory` is that of each node, as it is set now.
    """

    cluster: str
    made: datetime
    tolerance: float
    plan: PlanOutput
    earlier: tuple[PlanRow, ...]
    sites: SitesOutput | None
    lines: Mapping[str, int]
    first: frozenset[str] = frozenset()
    stages: tuple[StageRow, ...] = ()
    story: tuple[str, ...] = ()
    logs: tuple[QualityRow, ...] = ()
    spread: Mapping[str, int] = field(default_factory=dict)
    hours: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    days: Period | None = None
    brought: tuple[SiteMoveRow, ...] = ()
    memory: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tile:
    """One large number and what it counts."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know; `act` when it waits for somebody to do something."""

    kind: str
    text: str
    act: bool = True


@dataclass(frozen=True, slots=True)
class ZoneLines:
    """What changes in one zone, as far as the page has room; `total` lines in all."""

    zone: str
    lines: tuple[str, ...]
    total: int
    foreign: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineClass:
    kind: str
    number: int
    ratio: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Every picture of the page, as geometry."""

    balance: tuple[Bars, ...]
    spread: tuple[Columns, ...]
    misses: Bars
    rates: Bars
    nights: Strip
    sites: Scatter | None


@dataclass(frozen=True, slots=True)
class Content:
    """Everything the template puts into its places, beside the data themselves. `sections` are
    those there are.
    """

    sections: tuple[tuple[str, str], ...]
    period: str
    balance: str
    state: str
    tiles: tuple[Tile, ...]
    notices: tuple[Notice, ...]
    figures: Figures
    nodes: tuple[NodeLine, ...]
    zones: tuple[ZoneLines, ...]
    forecasts: tuple[ForecastRow, ...]
    nights: tuple[PlanRow, ...]
    busiest: tuple[SiteRow, ...]
    lines: tuple[LineClass, ...]
    partition: PartitionPart | None = None


def _days_of_logs(data: ReportData) -> str:
    """Those that answers are of, and where the plan asked for more, those."""
    period = Period(data.plan.period_start, data.plan.period_end)
    if data.days is None:
        none = "" if any(data.lines.values()) else ", of which no line was read"
        return f"{period}{none}"
    return f"{data.days}" if data.days == period else f"{data.days}, of {period} asked for"


def content(data: ReportData) -> Content:
    nights, forecasts = _nights(data), _forecasts(data.plan)
    partition = _partition(data)
    items = data.sites.items if data.sites else []
    return Content(
        sections=tuple(_sections(data, partition is not None)),
        period=_days_of_logs(data),
        balance=balance_text(data),
        state=state(data.plan),
        tiles=tuple(_tiles(data.plan)),
        notices=(*_notices(data.plan), *_said_of_logs(data.logs)),
        figures=_figures(data, nights, forecasts),
        nodes=node_lines(data.plan.before, data.plan.after),
        zones=_zones(data.plan),
        forecasts=forecasts,
        nights=nights,
        busiest=tuple(nlargest(MOST_SITES, items, key=lambda row: (row.access_bytes, row.site))),
        lines=_lines(data.lines),
        partition=partition,
    )


def _partition(data: ReportData) -> PartitionPart | None:
    if data.sites is None or not data.sites.items:
        return None
    rows = data.sites.items
    return partition_pictures.part(
        partition_pictures.plan_to_draw(data.plan, data.memory),
        partition_pictures.asked_by_rows(rows, data.spread),
        partition_pictures.partition_of_rows(rows),
        {row.site for row in rows if row.pinned_to},
        data.hours,
    )


def _sections(data: ReportData, has_partition: bool) -> Iterator[tuple[str, str]]:
    """The id and the heading of each part of the page."""
    yield "attention", "Needs attention"
    yield "balance", "Balance"
    if has_partition:
        yield "partition", "Partition"
    yield "moves", "Moves"
    if data.plan.forecasts:
        yield "prediction", "Prediction"
    yield "dns", "DNS"
    if data.earlier:
        yield "nights", "Last nights"
    if data.sites and data.sites.items:
        yield "sites", "Sites"
    if sum(data.lines.values()) or data.stages or data.story:
        yield "run", "How it was made"


def verdict(data: ReportData) -> str:
    """How balanced the cluster will be, and how little had to move for it."""
    return f"{balance_text(data)} {_movement(data.plan)}"


def balance_text(data: ReportData) -> str:
    """How balanced the cluster will be."""
    after = data.plan.after
    worst = (
        f"worst node {text_safe_for_html.short(after.worst_node)} is"
        if after.worst_node
        else "the worst node is"
    )
    away = (
        f"{worst} {amounts.share(after.worst_ratio)} off its fair share (aim "
        f"{amounts.share(data.tolerance)})"
    )
    inside = after.worst_ratio <= data.tolerance + chart_geometry.ROUNDING
    return f"{'Balanced: ' + away if inside else away[0].upper() + away[1:]}."


def _movement(plan: PlanOutput) -> str:
    if plan.moves or not plan.before:
        return f"{text.moves_text(plan)}{grouped_moves_text.misses(plan.forecasts)}."
    return f"Nothing moves; a partition from scratch would move {plan.moves_from_scratch:,}."


def state(plan: PlanOutput) -> str:
    """What became of the plan, in a few words."""
    servers = which_servers_agree.servers(plan.verdicts)
    count_text = amounts.count(servers.asked, "server")
    zones = f" in {servers.zones:,} zones" if servers.zones > 1 else ""
    match plan.state:
        case "proposed":
            return "Proposed: nothing in DNS has changed"
        case "applying":
            return "Being applied: some of it is in DNS"
        case "discarded":
            return "Discarded: it will not be applied"
        case "failed":
            return "Failed"
        case _ if not servers.asked:
            return "Applied"
        case _ if servers.agreeing == servers.asked:
            return f"Applied and verified on {count_text}{zones}"
        case _:
            return f"Applied; {servers.agreeing:,} of {count_text} agree{zones}"


def _tiles(plan: PlanOutput) -> Iterator[Tile]:
    sites = len({move.site for move in plan.moves if move.target})
    of_all = amounts.count(plan.sites, "site")
    if plan.before:
        yield Tile(
            f"{sites:,}", f"of {of_all} {text.move(plan)}", text.least(plan) if plan.moves else ""
        )
        yield Tile(f"{plan.moves_from_scratch:,}", "would move in a partition from scratch")
    else:
        yield Tile(f"{sites:,}", f"of {of_all} placed for the first time")
    yield Tile(amounts.size(plan.cold_bytes), "to read cold on new nodes")
    misses = {row.policy: row.miss_ratio for row in plan.forecasts}
    if "after" in misses:
        note = (
            f"round robin: {amounts.share(misses['round robin'])}"
            if "round robin" in misses
            else ""
        )
        yield Tile(amounts.share(misses["after"]), "of requests from disk, predicted", note)
    else:
        yield Tile("not predicted", "how many requests from disk", "no access was replayed")


def _notices(plan: PlanOutput) -> Iterator[Notice]:
    """What needs a person first, what is good to know after it."""
    if plan.message:
        yield Notice("Failed" if plan.state == "failed" else "Message", plan.message)
    for breach in plan.breaches:
        yield Notice("Over a limit", _said_of_breach(breach))
    if plan.breaches and plan.state == "proposed":
        forced = " ".join(f"--force {breach.rule}" for breach in plan.breaches)
        yield Notice(
            "Waits for approval",
            f"to apply it all the same: flex apply {text_safe_for_html.short(plan.id)} {forced}",
        )
    for each in plan.verdicts:
        if not each.agrees:
            yield Notice("Disagrees", _said_of_verdict(each))
    for stop in held_back_moves_text.lines(plan):
        yield Notice("Stopped", stop, act=False)
    for note in plan.notes:
        yield Notice("Note", note, act=False)


def _said_of_logs(rows: Sequence[QualityRow]) -> Iterator[Notice]:
    for row in rows:
        for finding in row.findings:
            text = (
                f"{finding.said}: {finding.actual}, the limit is {finding.limit} ({finding.rule})"
            )
            yield Notice(f"Logs of {row.name}", text, act=finding.state == "bad")


def _said_of_breach(breach: BreachRow) -> str:
    limit = _quantity(breach.rule, breach.limit)
    actual = _quantity(breach.rule, breach.actual)
    return f"{breach.rule} allows {limit}, this plan needs {actual}"


def _quantity(rule: str, value: float) -> str:
    """The rules that count bytes and shares say so in their names; the others count sites."""
    if rule.endswith("working_set"):
        return amounts.size(value)
    return amounts.share(value) if rule.endswith("ratio") else amounts.count(round(value), "site")


def _said_of_verdict(row: VerdictRow) -> str:
    where = (
        f"{text_safe_for_html.short(row.server)}, {text_safe_for_html.short(row.zone)}"
        if row.zone
        else text_safe_for_html.short(row.server)
    )
    return f"{where}: {row.error or amounts.count(len(row.wrong), 'line') + ' differ'}"


def _figures(
    data: ReportData, nights: Sequence[PlanRow], forecasts: Sequence[ForecastRow]
) -> Figures:
    rows = loads_of_nodes.loads(data.plan.before, data.plan.after)
    many = any(len(of_resource) > chart_geometry.MOST_BARS for _, of_resource in rows)
    misses = [(row.policy, row.miss_ratio, amounts.share(row.miss_ratio)) for row in forecasts]
    rates = [
        (row.policy, row.operations_per_second, f"{row.operations_per_second:,.0f}")
        for row in forecasts
    ]
    return Figures(
        balance=loads_of_nodes.bars(rows, data.tolerance),
        spread=tuple(
            chart_geometry.distribution(title, each, data.tolerance) for title, each in rows
        )
        if many
        else (),
        misses=chart_geometry.quantities(
            "Share of requests read from disk", misses, strong="after"
        ),
        rates=chart_geometry.quantities(
            "Requests a second the cluster can serve", rates, strong="after"
        ),
        nights=chart_geometry.strip(
            "Moves and the worst node of the last nights",
            [_night(row, data.first) for row in nights],
            data.tolerance,
        ),
        sites=_scatter(data),
    )


def _forecasts(plan: PlanOutput) -> tuple[ForecastRow, ...]:
    """What was, what comes, and what the plan is compared with; a partition of another name comes
    last.
    """
    place = {policy: number for number, policy in enumerate(PLACEMENTS)}
    return tuple(sorted(plan.forecasts, key=lambda row: place.get(row.policy, len(place))))


def _nights(data: ReportData) -> tuple[PlanRow, ...]:
    """The earlier nights and this one, oldest first."""
    plan = data.plan
    this = PlanRow(
        **{
            name: getattr(plan, name)
            for name in ("id", "state", "created", "settled", "sites", "author")
        },
        moves=len(plan.moves),
        scratch_moves=plan.moves_from_scratch,
        worst_ratio=plan.after.worst_ratio,
    )
    return (*reversed(data.earlier[:NIGHTS]), this)


def _night(row: PlanRow, first: frozenset[str]) -> NightColumn:
    moves = None if row.id in first else row.moves
    return NightColumn(f"{row.created:%d %b}", moves, row.worst_ratio, row.state == "applied")


def _scatter(data: ReportData) -> Scatter | None:
    if data.sites is None or not data.sites.items:
        return None
    moved = {move.site for move in data.plan.moves if move.source}
    rows = data.sites.items
    nodes = max(len(data.plan.after.nodes), 1)
    share = (
        sum(row.working_set_bytes for row in rows) / nodes,
        sum(row.access_bytes for row in rows) / nodes,
    )
    return cloud(
        "Sites by working set and access rate",
        np.array([row.site for row in rows], dtype=object),
        np.array([row.working_set_bytes for row in rows], dtype=np.int64),
        np.array([row.access_bytes for row in rows], dtype=np.int64),
        share,
        np.array([at for at, row in enumerate(rows) if row.site in moved], dtype=np.int64),
    )


def _zones(plan: PlanOutput) -> tuple[ZoneLines, ...]:
    """The zones in which something is to be said, the first lines of all of them together."""
    room, zone_lines = MOST_CHANGES, []
    for zone in plan.zones[:MOST_ZONES]:
        lines = tuple(zone.changes[:room])
        room -= len(lines)
        zone_lines.append(
            ZoneLines(
                text_safe_for_html.short(zone.zone), lines, len(zone.changes), tuple(zone.foreign)
            )
        )
    return tuple(zone_lines)


def _lines(by_class: Mapping[str, int]) -> tuple[LineClass, ...]:
    total = sum(by_class.values())
    if not total:
        return ()
    return tuple(
        LineClass(kind.replace("_", " "), number, number / total, LINE_CLASSES.get(kind, ""))
        for kind, number in by_class.items()
    )

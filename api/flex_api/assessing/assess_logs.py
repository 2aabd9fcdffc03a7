"""What FLEX would bring a cluster, from its logs: the answer as an output model, and its page.

Takes paths of logs, the number of nodes and their memory. Returns the answer, with the HTML file
that it wrote. Touches no settings and no database, and asks no name server: which sites DNS can
move, and why it cannot move others, is what the files of their zones show, where these are given.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import flex
from flex.errors import NotWritten
from flex.model.nodes import Node
from flex_api.assessing import weigh_ways_to_serve
from flex_api.assessing.count_logs import WITHOUT_LINES, Counted, count, failed_files
from flex_api.assessing.find_logs import Found, find
from flex_api.assessing.weigh_ways_to_serve import Weighed
from flex_api.assessing.what_is_in_the_way import find_obstacles
from flex_api.facts import forecast_rows
from flex_api.in_words import amounts, assess_text
from flex_api.pictures import chart_geometry
from flex_api.pictures.chart_geometry import Bars
from flex_api.report import page, partition_pictures
from flex_api.report.content import Tile
from flex_api.report.partition_pictures import Asked, OfPlan, PartitionPart
from flex_api.report.write_reports import lines
from flex_api.schemas.assess_output import (
    AssessedFile,
    AssessedLogs,
    AssessedMemory,
    AssessedMoves,
    AssessedNames,
    AssessedSite,
    AssessOutput,
)
from flex_api.schemas.plan_parts import ForecastRow
from flex_dns.zone.read_zone_file import ZoneFile, read_zone_file

# Sites that the answer names, the busiest. A guess.
LARGEST = 10
# Files that it names which were not read. A guess.
MOST_FILES = 200
# The share of the time in which logs are read; the rest is for the plans. A guess.
FOR_READING = 0.6
# The page, where no name was given.
PAGE = "flex-assess.html"

# What the ways are called beside a bar.
SHORT_WAYS = {"round robin": "round robin", "after": "FLEX", "best": "best"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked. `seconds` is how long it may take, 0 as long as it takes."""

    logs: tuple[str, ...]
    nodes: int
    ram: int
    log_format: str = "auto"
    seconds: float = 0.0
    report: Path | None = None
    zones: tuple[Path, ...] = ()


def assess(wanted: Wanted, now: datetime) -> AssessOutput:
    """Raises NoData where no log could be read, and NotWritten for a report that was named and
    cannot be written.
    """
    begun = time.monotonic()
    zones = [read_zone_file(path) for path in wanted.zones]
    listing = find(wanted.logs)
    nodes = weigh_ways_to_serve.cluster(wanted.nodes, wanted.ram)
    with tempfile.TemporaryDirectory(prefix="flex-assess-") as folder:
        counted = count(
            listing.files,
            Path(folder),
            log_format=wanted.log_format,
            seconds=wanted.seconds * FOR_READING,
        )
        left = wanted.seconds and max(wanted.seconds - (time.monotonic() - begun), 1.0)
        weighed = weigh_ways_to_serve.weigh(counted, nodes, seconds=left * 0.5)
        hours = weigh_ways_to_serve.hours_of_nodes(counted, weighed.partition)
    requests = dict(
        zip(
            weighed.needs.profiles["site"].astype(str).tolist(),
            weighed.needs.profiles["requests"].tolist(),
            strict=True,
        )
    )
    names = names_dns_can_move(requests, zones) if zones else None
    output = _output(wanted, listing, counted, weighed, nodes, names)
    output = output.model_copy(update={"seconds": time.monotonic() - begun})
    return _save_page(output, _picture(output, weighed, hours), wanted, now)


def _output(
    wanted: Wanted,
    listing: Found,
    counted: Counted,
    weighed: Weighed,
    nodes: Sequence[Node],
    names: AssessedNames | None,
) -> AssessOutput:
    profiles = weighed.needs.profiles
    busiest = profiles.sort_values(["access_bytes", "site"], ascending=[False, True])
    copies = weighed.copies
    ways = [forecast_rows.forecast_row(forecast, counted.period) for forecast in weighed.forecasts]
    return AssessOutput(
        logs=_logs(listing, counted),
        period_start=counted.period.start,
        period_end=counted.period.end,
        nodes=wanted.nodes,
        ram_bytes=wanted.ram,
        sites=len(profiles),
        requests=int(profiles["requests"].sum()),
        access_bytes=int(profiles["access_bytes"].sum()),
        working_set_bytes=int(profiles["working_set"].sum()),
        largest=[
            AssessedSite(
                site=str(row["site"]),
                access_bytes=int(row["access_bytes"]),
                working_set_bytes=int(row["working_set"]),
                requests=int(row["requests"]),
            )
            for row in busiest.head(LARGEST).to_dict("records")
        ],
        memory=AssessedMemory(
            held_bytes=round(copies.held),
            distinct_bytes=round(copies.distinct),
            wasted_bytes=round(copies.wasted_bytes),
            wasted_ratio=copies.wasted_bytes / copies.held if copies.held else 0.0,
        ),
        ways=ways,
        benefit=forecast_rows.benefit_row(weighed.benefit, ways),
        worst_ratio=weighed.worst,
        moves=AssessedMoves(
            nights=len(weighed.moves),
            median=weighed.usual_moves,
            most=max(weighed.moves, default=None),
        ),
        nodes_enough=weighed.enough,
        names=names,
        in_the_way=list(find_obstacles(counted, weighed, nodes, names)),
        next_steps=list(next_steps(counted)),
        report="",
        seconds=0.0,
    )


def _logs(listing: Found, counted: Counted) -> AssessedLogs:
    # What may be a log comes before what was counted by another file, or has no line.
    missing = [
        *failed_files(counted.reports),
        *(report for report in counted.reports if report.outcome in WITHOUT_LINES),
    ]
    rows = [
        AssessedFile(
            path=report.path,
            outcome=report.outcome,
            why=report.note or WITHOUT_LINES.get(report.outcome, ""),
        )
        for report in missing
    ]
    rows += [
        AssessedFile(path=path, outcome="nothing matches", why=why)
        for path, _, why in (remark.partition(": ") for remark in listing.passed_over)
    ]
    return AssessedLogs(
        files=len(listing.files),
        read=sum(1 for report in counted.reports if report.outcome == "read"),
        formats=sorted({report.format for report in counted.reports if report.outcome == "read"}),
        sites_by=list(counted.sites_by),
        lines=lines(counted.reports),
        not_read=rows[:MOST_FILES],
        not_read_in_all=len(rows),
        left_for_time=counted.left,
        first_day=_day(counted.first_day),
        last_day=_day(counted.last_day),
    )


def _day(number: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=number)


def next_steps(counted: Counted) -> list[str]:
    after = counted.period.end
    return [
        (
            "on a web node: flex onboard DIR writes settings for plans on paper by what it hosts, "
            "and says of every site what can move it; it touches nothing else"
        ),
        (
            "flex --config DIR/flex.toml db upgrade, then ingest, then "
            f"plan --as-of {after:%Y-%m-%d}: who would serve what, and why"
        ),
    ]


def _picture(
    output: AssessOutput, weighed: Weighed, hours: dict[str, tuple[float, ...]]
) -> PartitionPart | None:
    profiles = weighed.needs.profiles.sort_values("site")
    demand = Asked(
        profiles["site"].to_numpy(dtype=object),
        profiles["access_bytes"].to_numpy(dtype=float),
        profiles["working_set"].to_numpy(dtype=float),
        partition_pictures.spread_of(weighed.needs.spreads, weighed.partition),
    )
    names = weighed.asked.nodes
    plan = OfPlan(
        tuple((name, 100.0) for name in names),
        (),
        tuple(output.ways),
        dict.fromkeys(names, output.ram_bytes),
    )
    columns = (
        weighed.partition["site"].to_numpy(dtype=object),
        weighed.partition["node"].to_numpy(dtype=object),
    )
    return partition_pictures.part(plan, demand, columns, frozenset(), hours)


def _save_page(
    output: AssessOutput, picture: PartitionPart | None, wanted: Wanted, now: datetime
) -> AssessOutput:
    place = (wanted.report or Path(PAGE)).absolute()
    try:
        _write(output, picture, place, now)
    except NotWritten:
        if wanted.report:
            raise
        # Whoever may only read here gets the page all the same.
        place = Path(tempfile.mkdtemp(prefix="flex-assess-")) / PAGE
        _write(output, picture, place, now)
    return output.model_copy(update={"report": str(place)})


def _write(output: AssessOutput, picture: PartitionPart | None, place: Path, now: datetime) -> None:
    page.put(html(output, picture, now), place)


def html(output: AssessOutput, picture: PartitionPart | None, now: datetime) -> str:
    return page.page(
        "assess.html",
        found=output,
        partition=picture,
        tiles=tiles(output),
        verdict=assess_text.verdict(output),
        last_day=output.period_end - timedelta(days=1),
        misses=_bars(output, "From disk", lambda row: row.miss_ratio, amounts.share),
        rates=_bars(
            output,
            "Requests a second",
            lambda row: row.operations_per_second,
            lambda value: f"{value:,.0f}",
        ),
        made=now,
        version=flex.__version__,
    )


def _bars(
    output: AssessOutput,
    title: str,
    value: Callable[[ForecastRow], float],
    say: Callable[[float], str],
) -> Bars:
    rows = [(SHORT_WAYS[row.policy], value(row), say(value(row))) for row in output.ways]
    return chart_geometry.quantities(title, rows, strong="FLEX")


def tiles(output: AssessOutput) -> list[Tile]:
    """The answer in four numbers."""
    in_turn, flex_way, best = output.ways
    spare = assess_text.nodes_to_spare(output)
    moves = output.moves
    return [
        Tile(
            amounts.share(flex_way.miss_ratio),
            "of requests from disk with FLEX",
            f"round robin {amounts.share(in_turn.miss_ratio)}, "
            f"at best {amounts.share(best.miss_ratio)}",
        ),
        Tile(
            times(flex_way.operations_per_second, in_turn.operations_per_second),
            "as many requests a second",
            f"at best {times(best.operations_per_second, in_turn.operations_per_second)}",
        ),
        Tile(
            amounts.share(output.memory.wasted_ratio),
            "of memory holds copies with round robin",
            amounts.size(output.memory.wasted_bytes),
        ),
        Tile(
            "?" if moves.median is None else f"{moves.median:,}",
            f"{'site moves' if moves.median == 1 else 'sites move'} in a usual night",
            f"of {amounts.count(output.sites, 'site')}"
            + (f"; {spare:,} of {output.nodes:,} nodes could go" if spare else ""),
        ),
    ]


def times(rate: float, other: float) -> str:
    return f"{rate / other:.2g} ×" if other else "-"


NO_HOST = "it is no host's name"
IN_NO_ZONE = "it lies in none of these zones"
DELEGATED = "it lies in a zone that another one has given away"
ALIAS = "it is an alias of another name (CNAME)"
WITHOUT_ADDRESS = "its name has records and no address"


def names_dns_can_move(requests: Mapping[str, int], zones: Sequence[ZoneFile]) -> AssessedNames:
    """Return how many sites DNS can move, and why it cannot move the others. FLEX gives addresses
    to names that have some, and to names that are not there yet.
    """
    why = {site: _why_not(f"{site}.", zones) for site in requests}
    movable = [site for site, reason in why.items() if not reason]
    every = sum(requests.values())
    return AssessedNames(
        sites=len(requests),
        movable=len(movable),
        movable_requests_ratio=sum(requests[site] for site in movable) / every if every else 0.0,
        why_not=dict(Counter(reason for reason in why.values() if reason)),
    )


def _why_not(name: str, zones: Sequence[ZoneFile]) -> str:
    """Return why DNS cannot move the name; empty where it can. The nearest zone above a name is the
    one that has it.
    """
    if "/" in name or "." not in name[:-1]:
        return NO_HOST
    above = [zone for zone in zones if name == zone.zone or name.endswith(f".{zone.zone}")]
    if not above:
        return IN_NO_ZONE
    zone = max(above, key=lambda zone_file: len(zone_file.zone))
    if any("NS" in zone.types.get(up, ()) for up in _name_and_parents(name, zone.zone)):
        return DELEGATED
    types = zone.types.get(name, frozenset())
    if "CNAME" in types:
        return ALIAS
    if types and not types & {"A", "AAAA"}:
        return WITHOUT_ADDRESS
    return ""


def _name_and_parents(name: str, zone: str) -> list[str]:
    """The name and those above it, below the zone."""
    names = []
    while name != zone and name.endswith(f".{zone}"):
        names.append(name)
        name = name.partition(".")[2]
    return names

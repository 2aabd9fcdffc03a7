"""Metrics of FLEX in the text format that Prometheus reads.

Takes what the store says. Returns lines. A run that fails does not change the time of the last
success: alert on that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import flex
from flex.model.jobs import Job
from flex.model.nightly_run import NightlyRun
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.model.plan_summary import Headline
from flex.model.wish import Pin
from flex.planning import which_servers_agree
from flex.store import migration_files
from flex.zones.zone_changes import DRIFT
from flex_api.facts.dead_nodes_in_dns import Dead
from flex_api.night.keep_watch_running import Watched

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Known:
    """What the figures are made of."""

    now: datetime
    runs: Sequence[NightlyRun]
    headlines: Sequence[Headline]
    in_force: Plan | None
    nodes: Sequence[Node]
    pins: Sequence[Pin]
    sites: int
    replicated: int
    frozen: bool
    # The latest plan whole; by node the last line of its logs, and how much of the period is there.
    latest: Plan | None
    last_lines: Mapping[str, float]
    coverage: Mapping[str, float]
    jobs: Sequence[Job]
    expiry: timedelta
    # Nodes that are down and still in DNS.
    dead: Sequence[Dead]
    # The next plan's waiting for a person is a state of the cluster's mode, not of the plan.
    review: bool


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    kind: str
    help: str
    values: Sequence[tuple[Labels, float]]


def text(known: Known, more: Iterable[Series] = ()) -> str:
    return "".join(_lines(series) for series in (*_series(known), *more) if series.values)


def _series(known: Known) -> Iterator[Series]:
    build = {"version": flex.__version__, "schema": migration_files.head()}
    yield Series(
        "flex_build_info", "gauge", "Always 1; the labels say what runs here.", [(build, 1)]
    )
    yield from _run_series(known)
    yield from _log_series(known)
    yield from _plan_series(known)
    yield from _gate_series(known)
    yield from _job_series(known)
    yield from _cluster_series(known)


def _run_series(known: Known) -> Iterator[Series]:
    runs = known.runs
    nightly = [run for run in runs if run.message.partition(":")[0] == "nightly"] or list(runs)
    good = [run for run in nightly if run.exit_code in (0, 22)]
    yield _one(
        "flex_run_last_start_timestamp_seconds",
        "When the last night began.",
        [run.wall_time for run in nightly[:1]],
    )
    yield _one(
        "flex_run_last_success_timestamp_seconds",
        "When a night last ended well.",
        [run.wall_end for run in good[:1]],
    )
    codes = [run.exit_code for run in nightly[:1] if run.exit_code is not None]
    yield _one("flex_run_last_exit_code", "Exit code of the last night.", codes)
    yield Series(
        "flex_run_duration_seconds",
        "gauge",
        "How long each stage of the last night took.",
        [
            ({"stage": stage.name}, (stage.ended - stage.started).total_seconds())
            for run in nightly[:1]
            for stage in run.stages
            if stage.ended
        ],
    )


def _log_series(known: Known) -> Iterator[Series]:
    newest = max(known.last_lines.values(), default=None)
    yield _one(
        "flex_data_age_seconds",
        "How old the newest line of any log is.",
        [known.now.timestamp() - newest] if newest is not None else [],
    )
    yield _series_by_node(
        "flex_data_last_line_timestamp_seconds",
        "When a node's logs were last heard of.",
        known.last_lines,
    )
    yield _series_by_node(
        "flex_data_coverage_ratio",
        "How many hours of the period a node's logs have, of those expected.",
        known.coverage,
    )


def watch_series(watched: Watched) -> Iterator[Series]:
    """The series of the process beside `flex serve`."""
    yield _one(
        "flex_watch_up", "Whether the process of the health watch runs.", [int(watched.is_alive)]
    )
    starts: list[tuple[Labels, float]] = [({}, float(watched.starts))]
    yield Series(
        "flex_watch_starts_total",
        "counter",
        "How often that process was started, the first time included.",
        starts,
    )
    yield _one(
        "flex_watch_last_round_timestamp_seconds", "When it looked last.", [watched.last_round]
    )


def _series_by_node(name: str, about: str, values: Mapping[str, float]) -> Series:
    return Series(
        name, "gauge", about, [({"node": node}, value) for node, value in sorted(values.items())]
    )


def _gate_series(known: Known) -> Iterator[Series]:
    """What kept the latest plan, or parts of it, from being made: the rules by name, and what
    others changed in DNS.
    """
    latest = known.latest
    if latest is None:
        return
    rules = sorted(
        {stop.rule for stop in latest.stops} | {breach.rule for breach in latest.breaches}
    )
    yield Series(
        "flex_gate_stopped",
        "gauge",
        "1 for each rule that stopped the latest plan.",
        [({"rule": rule}, 1) for rule in rules],
    )
    drifted = [breach.actual for breach in latest.breaches if breach.rule == DRIFT]
    yield _one(
        "flex_dns_drift_names",
        "Names somebody else changed, which the latest plan left alone or waits for "
        "approval to change back.",
        [len(latest.said.edits) + max(drifted, default=0)],
    )
    applied = known.in_force
    agreement = which_servers_agree.servers(applied.verdicts) if applied else None
    yield _one(
        "flex_dns_disagreeing_servers",
        "When the partition in force was applied; a server that disagreed in several "
        "zones counts once.",
        [agreement.asked - agreement.agreeing] if agreement else [],
    )


def _job_series(known: Known) -> Iterator[Series]:
    live = [job for job in known.jobs if job.live]
    yield _one("flex_jobs_running", "Jobs of the API that are running.", [len(live)])
    ages = [(known.now - job.created).total_seconds() for job in live]
    yield _one(
        "flex_job_oldest_age_seconds",
        "How long the oldest of these jobs has run.",
        [max(ages)] if ages else [],
    )


def _plan_series(known: Known) -> Iterator[Series]:
    latest = list(known.headlines[:1])
    waiting = [
        headline
        for headline in latest
        if headline.state == "proposed" and headline.moves and known.review
    ]
    yield _one(
        "flex_plan_moves", "Moves of the latest plan.", [headline.moves for headline in latest]
    )
    yield _one(
        "flex_plan_age_seconds",
        "How long ago the latest plan was made.",
        [(known.now - headline.wall_time).total_seconds() for headline in latest],
    )
    stale = [
        headline
        for headline in waiting
        if known.now - headline.wall_time > known.expiry
        or headline.base != (known.in_force.id if known.in_force else "")
    ]
    yield _one(
        "flex_plan_stale",
        "Whether the plan that waits can not be applied any more.",
        [int(bool(stale))],
    )
    yield _one(
        "flex_approval_pending", "Whether the latest plan waits for approval.", [int(bool(waiting))]
    )
    imbalance = [({"kind": "current"}, known.in_force.after.worst)] if known.in_force else []
    imbalance += [({"kind": "planned"}, headline.worst) for headline in latest]
    yield Series(
        "flex_imbalance_ratio", "gauge", "How far the worst node is from its fair share.", imbalance
    )


def _cluster_series(known: Known) -> Iterator[Series]:
    states = [node.state for node in known.nodes]
    yield Series(
        "flex_nodes",
        "gauge",
        "Nodes by state.",
        [({"state": state}, states.count(state)) for state in ("active", "draining", "down")],
    )
    yield from _dead_node_series(known.dead)
    held = [pin for pin in known.pins if pin.holds(known.now)]
    counts = {"all": known.sites, "replicated": known.replicated, "pinned": len(held)}
    yield Series(
        "flex_sites",
        "gauge",
        "Sites by state.",
        [({"state": name}, number) for name, number in counts.items()],
    )
    yield _one("flex_pins", "Wishes in force.", [len(held)])
    ends = [({"site": pin.site}, pin.until.timestamp()) for pin in held if pin.until]
    yield Series("flex_pin_expiry_timestamp_seconds", "gauge", "When a wish ends by itself.", ends)
    yield _one("flex_frozen", "Whether changes are frozen.", [int(known.frozen)])
    loads = known.in_force.after.nodes if known.in_force else ()
    yield Series(
        "flex_node_load_ratio",
        "gauge",
        "Predicted load beside a fair share, which is 1.",
        [
            ({"node": load.node, "resource": name}, value / load.fair)
            for load in loads
            for name, value in (("access_rate", load.access), ("working_set", load.working_set))
            if load.fair
        ],
    )


def _dead_node_series(dead_nodes: Sequence[Dead]) -> Iterator[Series]:
    yield _series_by_node(
        "flex_node_dead_sites",
        "Sites that DNS has on a node that is down.",
        {one.node: one.sites for one in dead_nodes},
    )
    tried = {one.node: one.tried for one in dead_nodes if one.tried}
    yield _series_by_node(
        "flex_node_down_attempts",
        "How often it failed so far to take such a node out of DNS.",
        {node: one.count for node, one in tried.items()},
    )
    yield _series_by_node(
        "flex_node_down_last_attempt_timestamp_seconds",
        "When that was tried last.",
        {node: one.last.timestamp() for node, one in tried.items()},
    )


def _one(name: str, about: str, values: Iterable[datetime | float | None]) -> Series:
    plain = [
        value.timestamp() if isinstance(value, datetime) else value
        for value in values
        if value is not None
    ]
    return Series(name, "gauge", about, [({}, value) for value in plain])


def _lines(series: Series) -> str:
    rows = "".join(
        f"{series.name}{label_text(labels)} {value:.10g}\n" for labels, value in series.values
    )
    return f"# HELP {series.name} {series.help}\n# TYPE {series.name} {series.kind}\n{rows}"


def label_text(labels: Labels) -> str:
    """As they stand behind the name of a series."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items()) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

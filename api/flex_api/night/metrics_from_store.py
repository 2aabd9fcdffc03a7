"""The metrics of a cluster from its store, for installations without a web server: `flex run`
writes them to a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from flex.model.period import Period
from flex.model.plan import Plan
from flex.model.plan_summary import Headline
from flex.store import Store
from flex_api.facts import dead_nodes_in_dns, logs_good_enough
from flex_api.night import deliver_haproxy_files, metrics_of_moves, prometheus_metrics
from flex_api.night.metrics_parts import Parts
from flex_api.night.prometheus_metrics import Known, Series
from flex_api.settings.file import Settings
from flex_api.wiring import nodes

# The latest runs that are counted: those of some months. A guess.
RUNS = 500
# The latest jobs that are looked at: older ones are done long since. A guess.
JOBS = 100
# What is known of logs where nothing can be.
NO_LOGS: tuple[Mapping[str, float], Mapping[str, float]] = {}, {}


def metrics_text(settings: Settings, store: Store, now: datetime) -> str:
    base, partition = store.placement()
    freeze = store.freeze()
    counts = partition["site"].value_counts()
    headlines = store.headlines()
    in_force = store.plan(base) if base else None
    known_nodes = nodes(settings, store)
    parts = Parts()
    last_lines, coverage = parts.make("logs", lambda: log_figures(settings, store, now), NO_LOGS)
    none: list[Series] = []
    owed = parts.make("delivery", lambda: deliver_haproxy_files.series(settings, store), none)
    known = Known(
        now=now,
        runs=store.runs(RUNS),
        headlines=headlines,
        in_force=in_force,
        nodes=known_nodes,
        dead=dead_nodes_in_dns.dead(
            known_nodes, partition["node"].value_counts().to_dict(), store.attempts(), store
        ),
        pins=store.pins(),
        sites=len(counts),
        replicated=int((counts > 1).sum()),
        frozen=freeze is not None and freeze.holds(now),
        latest=_latest(store, headlines, in_force),
        last_lines=last_lines,
        coverage=coverage,
        jobs=store.jobs(JOBS),
        expiry=settings.safety.plan_expiry,
        review=settings.cluster.mode == "review",
    )
    moves = parts.make("moves", lambda: metrics_of_moves.series(store, now), none)
    return prometheus_metrics.text(known, [*owed, *moves, *parts.series()]) + parts.comments()


def _latest(store: Store, headlines: Sequence[Headline], in_force: Plan | None) -> Plan | None:
    if not headlines:
        return None
    newest = headlines[0].id
    return in_force if in_force is not None and in_force.id == newest else store.plan(newest)


def log_figures(
    settings: Settings, store: Store, now: datetime
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """By node, when its last line was written, and how much of the period its logs cover."""
    period = Period.days_before(now, max(settings.profile.window.days, 1))
    judged = logs_good_enough.judge(settings, store, period, now).nodes
    return {node.name: node.last_line for node in judged if node.last_line}, {
        node.name: node.coverage for node in judged
    }

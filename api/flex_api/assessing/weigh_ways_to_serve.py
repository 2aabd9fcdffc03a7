"""The same traffic served in three ways: every node in turn, as FLEX would, and as one machine.

Takes what was counted and the nodes. Returns the partition that FLEX would make, and what a replay
predicts of each way. Does not read logs, and says nothing in words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

import numpy as np
import pandas as pd

from flex.frame_schemas import PLACEMENT
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.predicted_node_loads import Benefit, Forecast
from flex.placing import problem, score
from flex.placing.problem import Budget, Problem
from flex.planning.decide_moves_of_tonight import decide
from flex.planning.remarks_on_forecasts import is_enough
from flex.prediction import benefit, replay_forecast
from flex.prediction.cache_replay import Sample
from flex.prediction.copies_in_caches import Copies, round_robin_copies
from flex.traffic import rate_and_working_set
from flex_api.assessing.count_logs import MOST_ACCESSES, Counted
from flex_api.facts.profiles_from_counts import LARGE, SIZES
from flex_logs_ingest.counts import add_up_hours_and_sample
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.scan.site_rules import UNKNOWN
from flex_solver import SOLVERS

# What a new installation has.
TOLERANCE = 0.05
# The part of a node's load above which a site gets replicas: a new installation's value.
REPLICATE_ABOVE = 0.6
# Off its fair share by more, the worst node starts a plan: a new installation's value.
TRIGGER = 0.05
# Steps of the search for each partition. A guess.
STEPS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """What the sites of a period ask for."""

    profiles: pd.DataFrame
    spreads: pd.DataFrame
    unknown_requests: int


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """`moves` are those of each night that was played through; `enough` are nodes that would do."""

    needs: Needs
    sample: Sample
    asked: Problem
    partition: pd.DataFrame
    forecasts: tuple[Forecast, ...]
    benefit: Benefit | None
    copies: Copies
    worst: float
    moves: tuple[int, ...]
    enough: int

    @property
    def usual_moves(self) -> int | None:
        return round(median(self.moves)) if self.moves else None


def cluster(nodes: int, ram: int) -> list[Node]:
    return [Node(f"n{number:0{len(str(nodes))}}", (), ram) for number in range(1, nodes + 1)]


def weigh(
    counted: Counted,
    nodes: Sequence[Node],
    *,
    seconds: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
) -> Weighed:
    """After so many seconds (0: never) no further night is played through."""
    begun = clock()
    needs = needs_of(counted, counted.period, len(nodes))
    sample = add_up_hours_and_sample.sample_of(
        counted.store, counted.folder, counted.period, MOST_ACCESSES
    )
    placing_problem, partition = _place(needs, nodes)
    in_turn = replay_forecast.round_robin(sample, nodes, sites=placing_problem.sites)
    flex = replay_forecast.forecast(sample, partition, nodes, policy=benefit.AFTER)
    forecasts = in_turn, flex, benefit.best(sample, placing_problem.sites, nodes, flex)
    rows = problem.rows_of(placing_problem, partition)
    return Weighed(
        needs,
        sample,
        placing_problem,
        partition,
        forecasts,
        benefit.judge(
            forecasts,
            sample,
            partition,
            nodes,
            lambda other, rows: replay_forecast.forecast(other, rows, nodes, policy=benefit.AFTER),
            enough=is_enough(sample),
        ),
        _copies(counted, nodes),
        score.balance(placing_problem, rows).worst,
        tuple(_nights(counted, nodes, lambda: 0 < seconds <= clock() - begun)),
        _enough(needs, sample, nodes, in_turn),
    )


def needs_of(counted: Counted, period: Period, nodes: int) -> Needs:
    files = file_table(counted.store, counted.folder, period)
    hours = add_up_hours_and_sample.hours_by_day(counted.store, counted.folder, period)
    every = rate_and_working_set.profiles_of(files.pieces(SIZES), hours)
    known = every[every["site"] != UNKNOWN].reset_index(drop=True)
    shares = known[["access_bytes", "working_set"]]
    large = known["site"][(shares / shares.sum().clip(lower=1) * nodes > LARGE).any(axis=1)]
    spreads = rate_and_working_set.spreads_of(
        files.pieces(SIZES, list(large)), large, most=max(nodes, 2)
    )
    strangers = int(every["requests"].sum() - known["requests"].sum())
    return Needs(known, spreads, strangers)


def _build(needs: Needs, nodes: Sequence[Node], partition: pd.DataFrame) -> Problem:
    return problem.build(
        needs.profiles,
        needs.spreads,
        nodes,
        (),
        partition,
        tolerance=TOLERANCE,
        replicate_above=REPLICATE_ABOVE,
    )


def _place(needs: Needs, nodes: Sequence[Node]) -> tuple[Problem, pd.DataFrame]:
    placing_problem = _build(needs, nodes, PLACEMENT.empty())
    rows = SOLVERS["auto"](placing_problem, Budget(STEPS)).rows
    return placing_problem, problem.partition_of(placing_problem, rows)


def _copies(counted: Counted, nodes: Sequence[Node]) -> Copies:
    """By how often each file was asked for. Files that were asked for equally often are one row."""
    files = file_table(counted.store, counted.folder, counted.period)
    pieces = [
        piece[piece["site"] != UNKNOWN].groupby("requests")["size"].sum()
        for piece in files.pieces(SIZES)
    ]
    alike = pd.concat([pd.Series(dtype="int64"), *pieces]).groupby(level=0).sum()
    return round_robin_copies(
        alike.index.to_numpy(dtype=float),
        alike.to_numpy(dtype=float),
        len(nodes),
        float(nodes[0].ram),
    )


def _nights(counted: Counted, nodes: Sequence[Node], over: Callable[[], bool]) -> Iterator[int]:
    """How many sites each night of the period would have moved; the first one only places them."""
    partition: pd.DataFrame | None = None
    for day in _days(counted.period):
        needs = needs_of(counted, day, len(nodes))
        if needs.profiles.empty:
            continue
        if over():
            return
        if partition is None:
            _, partition = _place(needs, nodes)
            continue
        placing_problem = _build(needs, nodes, partition)
        solver = SOLVERS["auto"]
        decision = decide(placing_problem, solver, Budget(STEPS), trigger=TRIGGER, margin=0.0)
        yield _sites_that_move(placing_problem, decision.rows)
        partition = problem.partition_of(placing_problem, decision.rows)


def _sites_that_move(placing_problem: Problem, rows: np.ndarray) -> int:
    """Sites that were there before and come to another node."""
    new = score.new_rows(placing_problem, rows)
    return len(set(new[:, 0].tolist()) & set(placing_problem.old[:, 0].tolist()))


def _days(period: Period) -> Iterator[Period]:
    day = period.start
    while day < period.end:
        yield Period(day, day + timedelta(days=1))
        day += timedelta(days=1)


def _enough(needs: Needs, sample: Sample, nodes: Sequence[Node], in_turn: Forecast) -> int:
    """The fewest nodes that serve as many requests a second with FLEX as all of them do in turn."""
    enough = len(nodes)
    for number in range(len(nodes) - 1, 0, -1):
        fewer = nodes[:number]
        _, partition = _place(needs, fewer)
        forecast = replay_forecast.forecast(sample, partition, fewer, policy=benefit.AFTER)
        if forecast.throughput < in_turn.throughput:
            break
        enough = number
    return enough


def hours_of_nodes(counted: Counted, partition: pd.DataFrame) -> dict[str, tuple[float, ...]]:
    """Answers of each node in each hour of the day, were the sites where the partition has them."""
    copies = partition.groupby("site", observed=True).size().rename("copies")
    days = counted.period.last_day - counted.period.first_day + 1
    hourly_answers: dict[str, np.ndarray] = {}
    pieces = add_up_hours_and_sample.hours_by_day(counted.store, counted.folder, counted.period)
    for piece in pieces:
        rows = piece.merge(partition, on="site").join(copies, on="site")
        for node, of_node in rows.groupby("node", observed=True):
            answers = of_node["requests"] / of_node["copies"] / days
            hourly_answers.setdefault(str(node), np.zeros(24))
            np.add.at(hourly_answers[str(node)], of_node["hour"].to_numpy() % 24, answers)
    return {node: tuple(hours.tolist()) for node, hours in sorted(hourly_answers.items())}

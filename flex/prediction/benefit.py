"""Whether FLEX helps a cluster, and why not where it does not.

Takes the forecasts of a partition, of round robin and of what these are compared with, and what
they were made from. Returns a Benefit. A reason is given only where the answer would be another one
without it. Does not put anything in words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from flex.frame_schemas import PLACEMENT
from flex.model.nodes import Node
from flex.model.predicted_node_loads import HARDLY_BUSY, Benefit, Forecast, Verdict
from flex.prediction import replay_forecast
from flex.prediction.cache_replay import Sample
from flex.prediction.replay_forecast import ROUND_ROBIN
from flex.prediction.target_classes import Kinds

# What a partition does with accesses.
Predict: TypeAlias = "Callable[[Sample, pd.DataFrame], Forecast]"

AFTER, BEST, FROM_SCRATCH = "after", "best", "from scratch"
# A partition helps where the cluster serves so much more than with round robin. A guess.
WORTH = 0.05
# It helps, too, where it serves no less and so many fewer of the requests wait for a disk. A guess.
FEWER = 0.01


def best(
    sample: Sample, sites: Sequence[str], nodes: Sequence[Node], forecast: Forecast
) -> Forecast:
    """All active nodes as one machine: no memory holds anything twice, and no node waits for
    another one. Where the partition of the `forecast` serves more, that is the best known.
    """
    active = _active(nodes)
    whole = Node("all", (), sum(node.ram for node in active), sum(node.capacity for node in active))
    there = pd.DataFrame({"site": list(sites), "node": whole.name})
    ideal = replay_forecast.forecast(sample, PLACEMENT.make(there), [whole], policy=BEST)
    if ideal.throughput >= forecast.throughput:
        return ideal
    served = tuple(
        replace(node_forecast, passed_on=0, passed_on_bytes=0) for node_forecast in forecast.nodes
    )
    return replace(forecast, policy=BEST, nodes=served)


def judge(
    forecasts: Iterable[Forecast],
    sample: Sample,
    partition: pd.DataFrame,
    nodes: Sequence[Node],
    predicted: Predict,
    *,
    parts: Collection[str] = (),
    enough: bool = True,
) -> Benefit | None:
    """What the partition does with other accesses is `predicted` as its forecast was. `parts` are
    in it like sites, and are none; `enough` says whether the sample holds enough accesses to tell.
    None where nothing is predicted.
    """
    by_policy = {forecast.policy: forecast for forecast in forecasts}
    if not {AFTER, ROUND_ROBIN} <= by_policy.keys():
        return None
    after, in_turn = by_policy[AFTER], by_policy[ROUND_ROBIN]
    if not (after.throughput and in_turn.throughput):
        return None
    active = _active(nodes)
    benefit = Benefit(
        "helps",
        busiest=max(map(replay_forecast.busiest_utilisation, in_turn.nodes)),
        files_bytes=_bytes_of_files(sample, set(partition["site"]) - set(parts)),
        least_ram=min(node.ram for node in active),
    )
    if len(active) == 1:
        return replace(benefit, verdict="one node")
    if not enough:
        return replace(benefit, verdict="unknown")
    if benefit.files_bytes <= benefit.least_ram and not _more(
        _from_memory(after, nodes), _from_memory(in_turn, nodes)
    ):
        return replace(benefit, verdict="fits")
    if _spares_reads(after, in_turn):
        return benefit
    if _more(after.throughput, in_turn.throughput):
        return replace(benefit, verdict="hardly busy" if benefit.busiest < HARDLY_BUSY else "helps")
    if verdict := _better(by_policy, nodes):
        return replace(benefit, verdict=verdict)
    site, share = _heaviest(sample, partition, parts)
    if share * len(active) > 1 and _helps_without(site, sample, partition, nodes, predicted):
        return replace(benefit, verdict="one site", site=site, site_share=share)
    would = _helps(by_policy.get(BEST, after), in_turn)
    return replace(benefit, verdict="not found" if would else "nothing to gain")


def _better(by_policy: dict[str, Forecast], nodes: Sequence[Node]) -> Verdict | None:
    """What would help in place of a partition that does not."""
    in_turn = by_policy[ROUND_ROBIN]
    if _helps(by_policy.get(FROM_SCRATCH, by_policy[AFTER]), in_turn):
        return "not yet"
    if _helps(_drop_forwarding(by_policy[AFTER], nodes), in_turn):
        return "passed on"
    return None


def _helps(forecast: Forecast, in_turn: Forecast) -> bool:
    return _spares_reads(forecast, in_turn) or _more(forecast.throughput, in_turn.throughput)


def _spares_reads(forecast: Forecast, in_turn: Forecast) -> bool:
    return (
        forecast.throughput >= in_turn.throughput
        and in_turn.miss_ratio - forecast.miss_ratio >= FEWER
    )


def _more(throughput: float, other: float) -> bool:
    return throughput >= (1 + WORTH) * other


def _active(nodes: Sequence[Node]) -> list[Node]:
    """Where none is, all: something has to be compared."""
    return [node for node in nodes if node.takes_sites] or list(nodes)


def _from_memory(forecast: Forecast, nodes: Sequence[Node]) -> float:
    """What it could serve once every file was read for the first time."""
    warm = tuple(replace(node, misses=0, disk_bytes=0) for node in forecast.nodes)
    return replay_forecast.throughput(replace(forecast, nodes=warm), nodes)


def _drop_forwarding(forecast: Forecast, nodes: Sequence[Node]) -> Forecast:
    """As if every visitor came to a node of the site."""
    alone = replace(
        forecast,
        nodes=tuple(replace(node_forecast, passed_on=0) for node_forecast in forecast.nodes),
    )
    return replace(alone, throughput=replay_forecast.throughput(alone, nodes))


def _kinds_of(sample: Sample, sites: Collection[str]) -> tuple[Kinds, np.ndarray]:
    """All files as kinds, and which of them are of these sites."""
    kinds = sample.totals or sample.kinds()
    return kinds, pd.Index(sample.sites).isin(list(sites))[kinds.site]


def _bytes_of_files(sample: Sample, sites: Collection[str]) -> int:
    kinds, theirs = _kinds_of(sample, sites)
    whole = 1.0 if sample.totals else sample.rate
    return round(int(kinds.working_set[theirs].sum()) / whole)


def _heaviest(sample: Sample, partition: pd.DataFrame, parts: Collection[str]) -> tuple[str, float]:
    """The site that sends most, with its share of all bytes; that of a part counts for no site."""
    placed = set(partition["site"])
    kinds, theirs = _kinds_of(sample, placed)
    every = float(kinds.bytes[theirs].sum())
    _, own = _kinds_of(sample, placed - set(parts))
    sent = np.bincount(kinds.site[own], kinds.bytes[own], minlength=len(sample.sites))
    site = int(sent.argmax())
    return sample.sites[site], float(sent[site]) / every


def _helps_without(
    site: str, sample: Sample, partition: pd.DataFrame, nodes: Sequence[Node], predicted: Predict
) -> bool:
    """Whether the others alone gain where the partition puts them. Without others a partition has
    nothing to part.
    """
    rest = sample.drop_site(site)
    others = partition[partition["site"] != site].reset_index(drop=True)
    in_turn = replay_forecast.round_robin(rest, nodes, sites=set(others["site"]))
    return _helps(predicted(rest, others), in_turn)

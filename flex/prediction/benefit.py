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

from flex.model.nodes import Node
from flex.model.predicted_node_loads import HARDLY_BUSY, Benefit, Forecast, Verdict
from flex.prediction import predict
from flex.prediction.predict import ROUND_ROBIN
from flex.prediction.replay_accesses_through_caches import Sample
from flex.prediction.similar_targets import Kinds
from flex.table_schemas import PLACEMENT

# What a partition does with accesses.
Predict: TypeAlias = "Callable[[Sample, pd.DataFrame], Forecast]"

AFTER, BEST, FROM_SCRATCH = "after", "best", "from scratch"
# A partition helps where the cluster serves so much more than with round robin. A guess.
WORTH = 0.05
# It helps, too, where it serves no less and so many fewer of the requests wait for a disk. A guess.
FEWER = 0.01


def best(sample: Sample, sites: Sequence[str], nodes: Sequence[Node], made: Forecast) -> Forecast:
    """All active nodes as one machine: no memory holds anything twice, and no node waits for
    another one. Where the partition that was `made` serves more, that is the best known.
    """
    active = _active(nodes)
    whole = Node("all", (), sum(node.ram for node in active), sum(node.capacity for node in active))
    there = pd.DataFrame({"site": list(sites), "node": whole.name})
    found = predict.forecast(sample, PLACEMENT.make(there), [whole], policy=BEST)
    if found.throughput >= made.throughput:
        return found
    served = tuple(replace(one, passed_on=0, passed_on_bytes=0) for one in made.nodes)
    return replace(made, policy=BEST, nodes=served)


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
    by_policy = {one.policy: one for one in forecasts}
    if not {AFTER, ROUND_ROBIN} <= by_policy.keys():
        return None
    after, in_turn = by_policy[AFTER], by_policy[ROUND_ROBIN]
    if not (after.throughput and in_turn.throughput):
        return None
    active = _active(nodes)
    found = Benefit(
        "helps",
        busiest=max(map(predict.busiest_utilisation, in_turn.nodes)),
        files_bytes=_bytes_of_files(sample, set(partition["site"]) - set(parts)),
        least_ram=min(node.ram for node in active),
    )
    if len(active) == 1:
        return replace(found, verdict="one node")
    if not enough:
        return replace(found, verdict="unknown")
    if found.files_bytes <= found.least_ram and not _more(
        _from_memory(after, nodes), _from_memory(in_turn, nodes)
    ):
        return replace(found, verdict="fits")
    if _spares_reads(after, in_turn):
        return found
    if _more(after.throughput, in_turn.throughput):
        return replace(found, verdict="hardly busy" if found.busiest < HARDLY_BUSY else "helps")
    if verdict := _better(by_policy, nodes):
        return replace(found, verdict=verdict)
    site, share = _heaviest(sample, partition, parts)
    if share * len(active) > 1 and _helps_without(site, sample, partition, nodes, predicted):
        return replace(found, verdict="one site", site=site, site_share=share)
    would = _helps(by_policy.get(BEST, after), in_turn)
    return replace(found, verdict="not found" if would else "nothing to gain")


def _better(by_policy: dict[str, Forecast], nodes: Sequence[Node]) -> Verdict | None:
    """What would help in place of a partition that does not."""
    in_turn = by_policy[ROUND_ROBIN]
    if _helps(by_policy.get(FROM_SCRATCH, by_policy[AFTER]), in_turn):
        return "not yet"
    if _helps(_without_doors(by_policy[AFTER], nodes), in_turn):
        return "passed on"
    return None


def _helps(made: Forecast, in_turn: Forecast) -> bool:
    return _spares_reads(made, in_turn) or _more(made.throughput, in_turn.throughput)


def _spares_reads(made: Forecast, in_turn: Forecast) -> bool:
    return made.throughput >= in_turn.throughput and in_turn.miss_ratio - made.miss_ratio >= FEWER


def _more(one: float, other: float) -> bool:
    return one >= (1 + WORTH) * other


def _active(nodes: Sequence[Node]) -> list[Node]:
    """Where none is, all: something has to be compared."""
    return [node for node in nodes if node.state == "active"] or list(nodes)


def _from_memory(made: Forecast, nodes: Sequence[Node]) -> float:
    """What it could serve once every file was read for the first time."""
    warm = tuple(replace(node, misses=0, disk_bytes=0) for node in made.nodes)
    return predict.throughput(replace(made, nodes=warm), nodes)


def _without_doors(made: Forecast, nodes: Sequence[Node]) -> Forecast:
    """As if every visitor came to a node of the site."""
    alone = replace(made, nodes=tuple(replace(one, passed_on=0) for one in made.nodes))
    return replace(alone, throughput=predict.throughput(alone, nodes))


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
    rest = sample.without(site)
    others = partition[partition["site"] != site].reset_index(drop=True)
    in_turn = predict.round_robin(rest, nodes, sites=set(others["site"]))
    return _helps(predicted(rest, others), in_turn)

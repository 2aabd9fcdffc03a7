"""What the doors of nodes pass on: requests that come to a node which does not have their site.

Takes the facts of a night and the partition to look at. Returns how much each node's door passes
on, and facts in which that counts as load of these nodes. Does not ask doors: `arrivals` of the
facts say what they counted.

Two kinds of visitors come to a node without their site. Some came there before, by an address that
a resolver or a person kept: doors counted them, and they go on coming. The others ask for a site
whose DNS FLEX does not change: they go on coming to the nodes that have it in the partition in
force, wherever the site goes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from flex.frame_schemas import PROFILES
from flex.partition import join_partitions, rows_of_other_sites, rows_of_sites
from flex.planning.facts_and_rules import Facts
from flex.prediction.cache_replay import Ints
from flex.prediction.replay_forecast import PAPER

# What the site of a node's forwarding is called in a problem, behind the node's name. No host name
# has the sign.
MARK = "#doors"
# What a request that is passed on costs, in answers and in bytes of them.
ANSWERS = PAPER.forwarding * PAPER.operations
BYTES = ANSWERS * PAPER.answer


@dataclass(frozen=True, slots=True, eq=False)
class Forwarded:
    """What each node's door passes on in the period, by the position of the node."""

    requests: Ints
    bytes: Ints
    busy_hour_bytes: Ints


def forwarding(facts: Facts, partition: pd.DataFrame) -> Forwarded:
    """Under a partition (PLACEMENT). A node that is down passes nothing on: nobody reaches it."""
    if not facts.arrivals and not facts.doors_alone:
        none = np.zeros(len(facts.nodes), dtype=np.int64)
        return Forwarded(none, none, none)
    nodes = [node.name for node in facts.nodes]
    came = pd.concat([_shares_at_doors(facts), _left_behind(facts, partition)])
    came = came[came["site"].isin(partition["site"])]
    away = _not_among(came, partition).merge(facts.profiles, on="site")
    away = away[away["node"].isin([node.name for node in facts.nodes if node.is_serving])]
    position = pd.Index(nodes).get_indexer(pd.Index(away["node"]))

    def total(column: str) -> Ints:
        weights = away["share"].to_numpy(np.float64) * away[column].to_numpy(np.float64)
        sums = np.bincount(position, weights, len(nodes))
        return np.rint(sums).astype(np.int64)

    return Forwarded(total("requests"), total("access_bytes"), total("busy_hour_bytes"))


def count_forwarding(facts: Facts) -> Facts:
    """The same facts with what each door passes on as a part that stays at its node.

    It is what doors pass on by the partition in force: most of it is the same under the next one.
    A node that takes no sites now is not compared with others, and has none.
    """
    sites = rows_of_other_sites(facts.placement, facts.parts)
    forwarded = forwarding(facts, sites)
    rows = []
    for at, node in enumerate(facts.nodes):
        requests, sent = int(forwarded.requests[at]), int(forwarded.bytes[at])
        if node.takes_sites and requests:
            busy = int(forwarded.busy_hour_bytes[at]) / sent if sent else 0.0
            cost = round(requests * BYTES)
            answers = round(requests * ANSWERS)
            rows.append((node.name + MARK, cost, 0, answers, 0, 0, round(cost * busy)))
    if not rows:
        return facts
    parts = PROFILES.make(pd.DataFrame(rows, columns=PROFILES.earlier))
    names = frozenset(parts["site"])
    at_doors = pd.DataFrame({"site": parts["site"], "node": parts["site"].str.removesuffix(MARK)})
    return replace(
        facts,
        profiles=PROFILES.make(pd.concat([facts.profiles, parts], ignore_index=True)),
        placement=join_partitions(facts.placement, at_doors),
        fixed=facts.fixed | names,
        parts=facts.parts | names,
    )


def _shares_at_doors(facts: Facts) -> pd.DataFrame:
    """What doors counted of visitors, as shares of all requests for the site: at most all."""
    rows = [(arrival.site, arrival.node, arrival.share) for arrival in facts.arrivals]
    shares = pd.DataFrame(rows, columns=["site", "node", "share"])
    whole = shares.groupby("site")["share"].transform("sum")
    return shares.assign(share=shares["share"] / whole.clip(lower=1.0))


def _left_behind(facts: Facts, partition: pd.DataFrame) -> pd.DataFrame:
    """The visitors that a site leaves behind at the nodes that have it in the partition in force,
    where DNS does not follow it.
    """
    alone = rows_of_sites(facts.placement, facts.doors_alone)
    left = _not_among(alone, partition)
    nodes = alone[alone["site"].isin(left["site"])].groupby("site").size()
    elsewhere = _shares_at_doors(facts).groupby("site")["share"].sum()
    rest = 1.0 - left["site"].map(elsewhere).fillna(0.0).astype(float)
    return left.assign(share=rest / left["site"].map(nodes).astype(float))


def _not_among(rows: pd.DataFrame, partition: pd.DataFrame) -> pd.DataFrame:
    """The rows whose site is not on their node in the partition."""
    merged = rows.merge(partition, on=["site", "node"], how="left", indicator=True)
    return merged[merged["_merge"] == "left_only"].drop(columns="_merge")

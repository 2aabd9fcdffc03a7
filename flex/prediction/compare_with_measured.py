"""How good the prediction for the partition in force was, once the next period has been measured.

Takes the plan that the prediction was made with, what the nodes and sites then did, and a replay of
the same model with the traffic that came. Returns a Measured. Does not change the model.

The error of a node has two parts. The part of the traffic is the difference between the model with
the accesses that came and the model with the accesses that it knew. The part of the model is the
difference between the logs of the node and the model with the accesses that came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from flex.model.accuracy import Measured, NodeOff, SiteOff
from flex.model.balance import Balance
from flex.model.log_reading import Segment
from flex.model.plan import Plan
from flex.model.predicted_node_loads import Forecast

AFTER = "after"
# So many sites are kept of a night, those whose bytes were farthest off.
FARTHEST = 100


def loads(plan: str, predicted: Balance, measured: Balance) -> Measured:
    """What was predicted of the nodes' access rates and working sets, beside what was found."""
    then = {load.node: load for load in predicted.nodes}
    pairs = [(then[load.node], load) for load in measured.nodes if load.node in then and load.fair]
    distances = [
        abs(getattr(now, name) - getattr(earlier, name)) / now.fair
        for earlier, now in pairs
        for name in ("access", "working_set")
    ]
    nodes = tuple((now.node, earlier.access, now.access) for earlier, now in pairs)
    return Measured(plan, nodes, float(np.median(distances)) if distances else 0.0)


def compare_nodes(base: Plan, came: Forecast, logged: Mapping[str, int]) -> tuple[NodeOff, ...]:
    """For each node: the load as predicted, the load by the model with the traffic that came, and
    the load by its own logs. The last is known only where every node has logs.
    """
    then = next((forecast for forecast in base.forecasts if forecast.policy == AFTER), None)
    if then is None:
        return ()
    before = {node.node: node for node in then.nodes}
    now = [node for node in came.nodes if node.node in before]
    names = [node.node for node in now]
    predicted = _shares([before[name].requests for name in names])
    modelled = _shares([node.requests for node in now])
    in_logs = [logged.get(name, 0) for name in names]
    known = any(in_logs) and all(
        answers or not node.requests for answers, node in zip(in_logs, now, strict=True)
    )
    by_log = _shares(in_logs)
    return tuple(
        NodeOff(
            node.node,
            predicted[n],
            modelled[n],
            by_log[n] if known else None,
            before[node.node].miss_ratio,
            node.miss_ratio,
        )
        for n, node in enumerate(now)
    )


def compare_sites(
    expected: pd.Series[float], measured: pd.Series[float]
) -> tuple[tuple[SiteOff, ...], float | None]:
    """Bytes by site as they were expected and as they were: the farthest off, and the part of all
    that was off.
    """
    both = pd.concat({"expected": expected, "measured": measured}, axis=1).fillna(0.0).sort_index()
    off = (both["measured"] - both["expected"]).abs()
    farthest = both.loc[off[off > 0].sort_values(ascending=False, kind="stable").index[:FARTHEST]]
    rows = zip(
        farthest.index, farthest["expected"].tolist(), farthest["measured"].tolist(), strict=True
    )
    total = float(both["measured"].sum())
    return tuple(SiteOff(str(site), round(e), round(m)) for site, e, m in rows), float(
        off.sum()
    ) / total if total else None


def answers_in_logs(segments: Iterable[Segment], first_hour: int, end_hour: int) -> dict[str, int]:
    """The answers in the logs of each node, in those hours since 1970."""
    totals: dict[str, int] = {}
    for segment in segments:
        in_time = sum(answers for hour, answers in segment.hours if first_hour <= hour < end_hour)
        totals[segment.node] = totals.get(segment.node, 0) + in_time
    return totals


def _shares(counts: list[int]) -> list[float]:
    """As ratios of a fair share."""
    fair = sum(counts) / max(len(counts), 1)
    return [count / fair if fair else 0.0 for count in counts]

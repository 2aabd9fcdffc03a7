"""How the prediction turned out that the partition in force was made with.

Takes a world and tonight's facts. Returns how far the prediction was off for each node and each
site, or None as long as no later period has been seen.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from flex.model.accuracy import Measured
from flex.model.plan import Plan
from flex.placing import score
from flex.planning import propose_plan
from flex.planning.facts_and_rules import Facts
from flex.planning.forwarding_load import count_forwarding
from flex.prediction import compare_with_measured, replay_forecast, site_traffic_forecast
from flex_api.facts import past_traffic
from flex_api.wiring import World

_BYTES = "access_bytes"


def measure(world: World, plain: Facts) -> Measured | None:
    """None until a later period has been seen than that which the partition in force was made
    for.
    """
    base = world.store.plan(plain.base) if plain.base else None
    if base is None or base.period.end >= plain.period.end:
        return None
    problem = propose_plan.build(count_forwarding(replace(plain, pins=())), world.rules)
    measured = compare_with_measured.loads(base.id, base.after, score.balance_in_force(problem))
    partition = world.store.placement_of(base.id)
    came = replay_forecast.forecast(
        plain.sample, partition, plain.nodes, policy=compare_with_measured.AFTER
    )
    hours = (24 * plain.period.first_day, 24 * (plain.period.last_day + 1))
    logged = compare_with_measured.answers_in_logs(
        world.store.segments(plain.period.first_day, plain.period.last_day), *hours
    )
    sites, off = compare_with_measured.compare_sites(
        _expected_bytes(world, base, plain), _bytes_sent(plain.profiles)
    )
    return replace(
        measured,
        served=compare_with_measured.compare_nodes(base, came, logged),
        sites=sites,
        site_error=off,
    )


def _expected_bytes(world: World, base: Plan, plain: Facts) -> pd.Series[float]:
    """Bytes by site as the plan in force expected them: of a period that is forgotten, nothing."""
    foretold = base.outlook is not None and base.outlook.method != site_traffic_forecast.YESTERDAY
    past = (
        past_traffic.bytes_sent(world, base.period, plain.sites)
        if foretold
        else world.store.bytes_sent(base.period, 1)
    )
    if not past.shape[1]:
        return pd.Series(dtype="float64")
    return site_traffic_forecast.outlook(past)[1]


def _bytes_sent(profiles: pd.DataFrame) -> pd.Series[float]:
    return pd.Series(profiles[_BYTES].to_numpy(dtype="float64"), index=pd.Index(profiles["site"]))

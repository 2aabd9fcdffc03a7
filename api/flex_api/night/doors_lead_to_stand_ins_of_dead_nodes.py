"""Whom the doors lead the visitors of a dead node's sites to, before a failover has changed DNS,
and also where it cannot.

Takes the settings, the store and a partition. Returns the partition on nodes that serve. Changes
nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import pandas as pd

from flex.model.content_of_dead_nodes import LeftAtNode
from flex.model.period import Period
from flex.planning import heirs_of_dead_nodes
from flex.planning.facts_and_rules import Facts
from flex.ports import Store
from flex.prediction.replay_accesses_through_caches import no_sample
from flex.table_schemas import PLACEMENT, PROFILES, SPREADS
from flex.wishes.wishes_in_force_now import in_force
from flex_api.night import find_content_of_dead_nodes
from flex_api.settings.file import Settings
from flex_api.wiring import nodes, rules


def on_serving_nodes(
    settings: Settings, store: Store, placement: pd.DataFrame, serving: Collection[str], plan: str
) -> pd.DataFrame:
    """The partition of `plan`, where every site has a node that serves: nearly always. Sites that
    people keep FLEX away from get no other node, and those whose content is at a dead node alone
    stay there, where nobody answers for them.
    """
    now = datetime.now(UTC)
    known, pins = nodes(settings, store), in_force(store.pins(), now)
    content = find_content_of_dead_nodes.find(settings, store, known, pins, placement, plan)
    here = placement[placement["node"].isin(list(serving))]
    if content.away:
        here = _with_left(here, content.away)
    lost = set(placement["site"]) - set(here["site"])
    if not lost:
        return here
    nothing = (Period.days_before(now, 0), PROFILES.empty(), SPREADS.empty())
    period, profiles, spreads = store.profiles() or nothing
    facts = Facts(
        period,
        profiles,
        spreads,
        no_sample(),
        known,
        pins,
        store.in_force(),
        placement,
        content=content,
    )
    found = heirs_of_dead_nodes.heirs(facts.without_excluded(), rules(settings, pins))
    taken = found[found["site"].isin(list(lost)) & found["node"].isin(list(serving))]
    return PLACEMENT.make(pd.concat([here, taken], ignore_index=True))


def _with_left(here: pd.DataFrame, away: Mapping[str, LeftAtNode]) -> pd.DataFrame:
    others = here[~here["site"].isin(list(away))]
    left = PLACEMENT.from_columns({"site": list(away), "node": [one.node for one in away.values()]})
    return PLACEMENT.make(pd.concat([others, left], ignore_index=True))

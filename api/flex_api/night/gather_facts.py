"""What a plan is made from, as it is now.

Takes a world. Returns Facts. Changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from flex.errors import NoData
from flex.model.dns_edits_by_others import Said
from flex.planning.facts_and_rules import Facts
from flex.prediction.replay_accesses_through_caches import no_sample
from flex.table_schemas import texts
from flex.zones.names_going_along import pairs_of
from flex_api.facts import other_names
from flex_api.facts.last_words_on_sites import last_words
from flex_api.night import find_content_of_dead_nodes
from flex_api.night.put_visitors_at_doors_into_facts import with_visitors
from flex_api.wiring import World
from flex_logs_ingest.counts import add_up_hours_and_sample


def facts(world: World, *, replayed: bool = True) -> Facts:
    """What a plan is made from. To look whether a wish can be kept nothing is replayed, and no log
    is needed.
    """
    return gather(world, replayed=replayed).without_excluded()


def gather(world: World, *, replayed: bool = True) -> Facts:
    """The same with the sites that people keep FLEX away from."""
    # A profile of days that are still to come was made under a clock that ran ahead, or as of
    # another day.
    found = world.store.profiles(until=world.clock())
    if found is None:
        raise NoData(
            "making a plan",
            "no profile of any site is there yet",
            kept="nothing was changed",
            advice="read the logs first: `flex ingest`",
        )
    period, profiles, spreads = found
    base, partition = world.store.placement()
    settings = world.settings.ingest
    others = other_names.of_sites(
        world.settings, {*texts(profiles["site"]), *texts(partition["site"])}
    )
    every = Facts(
        period=period,
        profiles=profiles,
        spreads=spreads,
        sample=add_up_hours_and_sample.sample_of(
            world.store, settings.directory, period, limit=settings.sample_limit
        )
        if replayed
        else no_sample(),
        nodes=world.nodes,
        pins=world.pins_of_next_plan,
        base=base,
        placement=partition,
        others=other_names.shares(world, period, others) if replayed else others,
        said=_said_in_force(world, base),
        along=pairs_of(world.store.plan(base).zone_plans) if base else (),
        content=find_content_of_dead_nodes.of_partition(world, world.nodes),
        words=last_words(world.store, world.time_of_day()),
    )
    return with_visitors(world, every, ask=replayed)


def _said_in_force(world: World, base: str) -> Said:
    """What the plan in force said. While another one is on its way, moving names have a lower TTL,
    which is nobody's edit.
    """
    said = world.store.plan(base).said if base else Said()
    return replace(said, ttl=0) if world.store.plans(state="applying") else said

"""What a plan is made from, as it is now.

Takes a world. Returns Facts. Changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from flex.errors import NoData
from flex.model.dns_edits_by_others import Said
from flex.partition import sites_in
from flex.planning.facts_and_rules import Facts
from flex.prediction.cache_replay import no_sample
from flex.zones.names_going_along import pairs_of
from flex_api.facts import other_names
from flex_api.facts.left_alone_times import last_words
from flex_api.night import stranded_sites
from flex_api.night.visitors_at_doors import add_visitors
from flex_api.wiring import World
from flex_logs_ingest.counts import add_up_hours_and_sample


def facts(world: World, *, replayed: bool = True) -> Facts:
    """What a plan is made from. To look whether a wish can be kept nothing is replayed, and no log
    is needed.
    """
    return gather(world, replayed=replayed).drop_excluded_sites()


def gather(world: World, *, replayed: bool = True) -> Facts:
    """The same with the sites that people keep FLEX away from."""
    # A profile of days that are still to come was made under a clock that ran ahead, or as of
    # another day.
    latest_profiles = world.store.profiles(until=world.clock())
    if latest_profiles is None:
        raise NoData(
            "making a plan",
            "no profile of any site is there yet",
            advice="read the logs first: `flex ingest`",
        )
    period, profiles, spreads = latest_profiles
    base, partition = world.store.placement()
    settings = world.settings.ingest
    others = other_names.list_other_names(world.settings, sites_in(profiles) | sites_in(partition))
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
        content=stranded_sites.find_in_force(world, world.nodes),
        words=last_words(world.store, world.time_of_day()),
    )
    return add_visitors(world, every, ask=replayed)


def _said_in_force(world: World, base: str) -> Said:
    """What the plan in force said. While another one is on its way, moving names have a lower TTL,
    which is nobody's edit.
    """
    announced = world.store.plan(base).said if base else Said()
    return replace(announced, ttl=0) if world.store.plans(state="applying") else announced

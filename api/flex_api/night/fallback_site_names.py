"""The names of sites for what cannot wait until somebody has corrected the settings: a dead node.

Takes a world. Returns the same, with names that hold where two sites claim one, or where a file of
names cannot be read. A night reads no log meanwhile, and says why; but the sites of a dead node
leave it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flex.errors import BadSetting
from flex.zones.names_going_along import pairs_of
from flex_api import other_names_in_settings
from flex_api.settings.whole_settings import Ingest
from flex_api.wiring import World, site_names


def settle_names(world: World) -> World:
    """Names that the partition in force gave addresses are of the sites that they had there."""
    try:
        site_names(world.settings)
    except BadSetting as error:
        world.say(f"{error}: names are taken as they were known before.")
    else:
        return world
    ingest = world.settings.ingest
    base = world.store.in_force()
    going = pairs_of(world.store.plan(base).zone_plans) if base else ()
    names = {**other_names_in_settings.names_despite_faults(ingest), **dict(going)}
    settled = ingest.model_copy(
        update={
            "aliases": names,
            "aliases_file": None,
            "vhosts": (),
            "sites_file": _if_readable(ingest),
        }
    )
    return replace(world, settings=world.settings.model_copy(update={"ingest": settled}))


def _if_readable(ingest: Ingest) -> Path | None:
    try:
        other_names_in_settings.listed_sites(ingest)
    except BadSetting:
        return None
    return ingest.sites_file

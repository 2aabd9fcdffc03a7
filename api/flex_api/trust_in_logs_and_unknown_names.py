"""How far the logs can be trusted, and what visitors asked of names that are no sites: the answers
of `flex data` and `flex sites unknown`, for the terminal and programs.

Takes a World. Returns output models. Does not read logs: it reads the counts that are made of them.
"""

from __future__ import annotations

from flex.model.period import LAST_DAY, Period
from flex_api.facts import logs_good_enough
from flex_api.schemas.log_verbs_output import DataOutput
from flex_api.schemas.verbs_output import UnknownName, UnknownOutput
from flex_api.wiring import World
from flex_logs_ingest.counts.file_of_unknown_hosts import requests_for_unknown_hosts


def data_output(world: World) -> DataOutput:
    settings, store, moment = world.settings, world.store, world.clock()
    period = Period.days_before(moment, settings.profile.window.days)
    return logs_good_enough.data_output(
        logs_good_enough.judge(settings, store, period, moment),
        period,
        logs_good_enough.unused_files(settings, store, period),
    )


def unknown_output(world: World, most: int) -> UnknownOutput:
    """At most so many names, since the profiles begin."""
    settings = world.settings
    since = Period.days_before(world.clock(), settings.profile.window.days).start
    days = (int(since.timestamp()) // 86400, LAST_DAY)
    told = requests_for_unknown_hosts(
        settings.ingest.directory, world.store.segments(*days), *days, most
    )
    items = [
        UnknownName(name=name, requests_at_least=requests)
        for name, requests in told.names
    ]
    return UnknownOutput(
        since=since, requests=told.requests, bytes=told.bytes, items=items
    )

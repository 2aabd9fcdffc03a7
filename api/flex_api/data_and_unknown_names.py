"""How far the logs can be trusted, and what visitors asked of names that are no sites: the answers
of `flex data` and `flex sites unknown`, for the terminal and programs.

Takes a World. Returns output models. Does not read logs: it reads the counts that are made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from flex.errors import NoData
from flex.frame_schemas import texts
from flex.model.period import LAST_DAY, Period
from flex_api.facts import core_to_output_models, logs_good_enough, proposed_names
from flex_api.facts.names_that_stay import newest_plan
from flex_api.facts.proposed_names import NamesInLogs
from flex_api.schemas.log_verbs_output import DataOutput, QualityRow
from flex_api.schemas.verbs_output import ProposalRow, UnknownName, UnknownOutput
from flex_api.wiring import World, merging, site_names
from flex_logs_ingest.counts.file_of_unknown_hosts import requests_for_unknown_hosts
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.counts.sites_with_same_files import SameFiles, same_files
from flex_logs_ingest.scan.site_rules import spelling_in_logs

# Unknown names among which those of sites are looked for: as many as a reading keeps.
MOST_LOOKED_AT = 1000
# Silent sources of which it is said when they had a line. A guess: each is a question to the store.
MOST_SILENT = 200


def data_output(world: World) -> DataOutput:
    settings, store, moment = world.settings, world.store, world.clock()
    period = Period.days_before(moment, settings.profile.window.days)
    output = logs_good_enough.data_output(
        logs_good_enough.judge(settings, store, period, moment),
        period,
        logs_good_enough.unused_files(settings, store, period),
    )
    last = partial(logs_good_enough.last_line, store)
    return output.model_copy(
        update={
            "nodes": [_add_last_line(row, partial(last, "")) for row in output.nodes],
            "sources": [
                *(_add_last_line(row, last) for row in output.sources[:MOST_SILENT]),
                *output.sources[MOST_SILENT:],
            ],
        }
    )


def _add_last_line(row: QualityRow, last_line: Callable[[str], int]) -> QualityRow:
    """Also where that is longer ago than logs are judged by."""
    if row.last_line:
        return row
    moment = core_to_output_models.moment(last_line(row.name))
    return row.model_copy(update={"last_line": moment})


def unknown_output(world: World, most: int) -> UnknownOutput:
    """At most so many names, since the profiles begin."""
    settings = world.settings
    since = Period.days_before(world.clock(), settings.profile.window.days).start
    days = (int(since.timestamp()) // 86400, LAST_DAY)
    told = requests_for_unknown_hosts(
        settings.ingest.directory, world.store.segments(*days), *days, MOST_LOOKED_AT
    )
    items = [
        UnknownName(name=name, requests_at_least=requests) for name, requests in told.names[:most]
    ]
    return UnknownOutput(
        since=since,
        requests=told.requests,
        bytes=told.bytes,
        items=items,
        proposals=_proposals(world, dict(told.names))[:most],
    )


def _proposals(world: World, unknown: Mapping[str, int]) -> list[ProposalRow]:
    kept, ingest = world.store.profiles(), world.settings.ingest
    if kept is None:
        return []
    period, profiles, _ = kept
    requests = profiles["requests"].tolist()
    # What is written down already is not counted so before the next reading.
    written = set(map(spelling_in_logs, site_names(world.settings).aliases))
    site_requests = {
        site: number
        for site, number in zip(texts(profiles["site"]), requests, strict=True)
        if site not in written
    }
    names = NamesInLogs(
        {name: number for name, number in unknown.items() if name not in written},
        site_requests,
        are_listed=ingest.sites_file is not None,
        www=ingest.www,
    )
    proposals = proposed_names.proposals(
        names, newest_plan(world), () if names.are_listed else _same_files(world, period)
    )
    return [ProposalRow.like(proposal) for proposal in proposals]


def _same_files(world: World, period: Period) -> list[SameFiles]:
    """None where the counts of the period are gone: what else is known counts all the same."""
    try:
        told = merging(world, period)
        table = file_table(world.store, world.settings.ingest.directory, period, told)
        return same_files(table)
    except NoData:
        return []

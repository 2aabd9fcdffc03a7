"""What visitors ask of a site, file by file: the answer of `flex files`, for the terminal, programs
and pages.

Takes a World and the site. Returns an output model. Makes the file table of the period where there
is none yet.
"""

from __future__ import annotations

import pandas as pd

from flex.errors import NoData
from flex.model.period import Period
from flex.wishes.pins_for_solvers import unknown_site
from flex_api.facts import core_to_output_models
from flex_api.schemas.verbs_output import FileRow, FilesOutput, LocalityRow
from flex_api.wiring import World, merging
from flex_logs_ingest.counts import file_table_queries
from flex_logs_ingest.counts.file_table import file_table


def files_output(
    world: World,
    site: str = "",
    *,
    days: int = 0,
    order: str = "requests",
    limit: int = 20,
    match: str = "",
) -> FilesOutput:
    """The files of one site, or of all; in so many last days, or in the period of the latest
    profiles.

    Raises Unknown when nothing was asked for on that site, NoData before the first profiles.
    """
    period = Period.days_before(world.clock(), days) if days else _latest(world)
    told = merging(world, period)
    table = file_table(world.store, world.settings.ingest.directory, period, told)
    locality = file_table_queries.locality(table, site)
    if site and not len(locality):
        raise unknown_site(
            site, file_table_queries.ask(table, "SELECT DISTINCT site FROM files")["site"].tolist()
        )
    largest_files = file_table_queries.largest(table, site, order=order, limit=limit, match=match)
    return FilesOutput(
        site=site,
        period_start=period.start,
        period_end=period.end,
        items=_files(largest_files),
        locality=_locality(locality),
    )


def _latest(world: World) -> Period:
    latest_profiles = world.store.profiles()
    if latest_profiles is None:
        raise NoData(
            "the files of the latest period",
            "no profile of any site is there yet",
            advice="read the logs first: `flex ingest`, then `flex plan`; or name a "
            "number of days with --days",
        )
    return latest_profiles[0]


def _files(table: pd.DataFrame) -> list[FileRow]:
    return [
        FileRow(
            site=str(row["site"]),
            target=str(row["target"]),
            requests=int(row["requests"]),
            sent_bytes=int(row["bytes"]),
            size_bytes=int(row["size"]),
            last_access=core_to_output_models.moment(int(row["last"])),
        )
        for row in table.to_dict("records")
    ]


def _locality(table: pd.DataFrame) -> list[LocalityRow]:
    return [
        LocalityRow(
            of="requests" if row["of"] == "requests" else "bytes",
            percent=int(row["percent"]),
            files=int(row["files"]),
            size_bytes=int(row["size"]),
            all_files=int(row["all_files"]),
            working_set_bytes=int(row["all_size"]),
        )
        for row in table.to_dict("records")
    ]

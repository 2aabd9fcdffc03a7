"""The verb `flex files`: what visitors ask of a site, file by file."""

from __future__ import annotations

import csv
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from flex_api.cli import local_or_server
from flex_api.cli.common import context
from flex_api.in_words import amounts
from flex_api.in_words.terminal_tables import grid

if TYPE_CHECKING:
    from rich.console import Console

    from flex_api.schemas.verbs_output import FilesOutput, LocalityRow


class FileOrder(StrEnum):
    """ORDERS of flex_logs_ingest/counts/file_table_queries.py."""

    REQUESTS = "requests"
    BYTES = "bytes"
    SIZE = "size"
    LAST = "last"


def add_to(app: typer.Typer) -> None:
    app.command()(files)


def files(
    ctx: typer.Context,
    site: Annotated[
        str, typer.Argument(metavar="[SITE]", help="all sites together when none is given")
    ] = "",
    sort: Annotated[
        FileOrder, typer.Option(help="sort by this, the largest first")
    ] = FileOrder.REQUESTS,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="how many files")] = 20,
    match: Annotated[
        str, typer.Option(metavar="PATTERN", help="only paths like this: '/img/*.jpg'")
    ] = "",
    days: Annotated[
        int,
        typer.Option(
            min=0,
            max=366,
            help="the last days, this many; the period of the latest profiles when left out",
        ),
    ] = 0,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="print comma-separated values, one line per file")
    ] = False,
) -> None:
    """Show the files of a site: the most requested and the largest. It also says how few files make
    nearly all of its traffic.
    """
    call_context = context(ctx)
    output = local_or_server.logs(call_context).files(
        site, order=sort.value, limit=limit, match=match, days=days
    )
    if as_csv:
        _write_csv(output)
    else:
        call_context.show(output, lambda console: _show(console, output))


def _write_csv(output: FilesOutput) -> None:
    from flex_api.schemas.verbs_output import FileRow

    names = list(FileRow.model_fields)
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.model_dump(mode="json") for row in output.items)


def _show(console: Console, output: FilesOutput) -> None:
    table = grid("site", "path", "requests>", "sent>", "size>", "last access")
    for row in output.items:
        sizes = (
            amounts.size(row.sent_bytes),
            amounts.size(row.size_bytes) if row.size_bytes else "not known",
        )
        last = amounts.when(row.last_access) if row.last_access else ""
        table.add_row(row.site, row.target, f"{row.requests:,}", *sizes, last)
    console.print(table)
    console.print()
    for locality in output.locality:
        console.print(_sentence(locality))


def _sentence(row: LocalityRow) -> str:
    """1,203 of 17,955 files (243 MB, 24 % of the working set) answer 97 % of the requests."""
    share = (
        amounts.share(row.size_bytes / row.working_set_bytes) if row.working_set_bytes else "none"
    )
    files = f"{row.files:,} of {amounts.count(row.all_files, 'file')}"
    does = "answer" if row.of == "requests" else "send"
    return (
        f"{files} ({amounts.size(row.size_bytes)}, {share} of the working set) "
        f"{does} {row.percent} % of the {row.of}."
    )

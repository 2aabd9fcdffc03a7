"""Any question to a file table: DuckDB reads its file, within a limit of memory.

Takes a FileTable and a question. Returns small tables. `ask` takes any SQL over the relation
`files`, which has the columns of FILES. Does not write anything but what DuckDB spills to its own
folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pandas as pd

from flex.frame_schemas import FILES, Schema
from flex_logs_ingest.counts.file_table import FileTable
from flex_logs_ingest.counts.sorted_runs import gone_error

# By what files are put in order, the largest first.
ORDERS = ("requests", "bytes", "size", "last")

# Shares in percent, as in the locality table of the FLEX paper.
SHARES = (97, 98, 99)

# How few files answer so many percent of all requests, or send so many percent of all bytes:
# `files` of them, of `size` bytes together. The files that are asked for most (that sent most) come
# first, of equal ones the smallest.
LOCALITY = Schema(
    "locality",
    {
        "of": "str",
        "percent": "int64",
        "files": "int64",
        "size": "int64",
        "all_files": "int64",
        "all_size": "int64",
    },
    key=("of", "percent"),
)

# Memory that DuckDB may take. A guess.
_MEMORY = "512MB"


def largest(
    table: FileTable, site: str = "", *, order: str = "requests", limit: int = 20, match: str = ""
) -> pd.DataFrame:
    """The first `limit` files in that order, in the columns of FILES: of one site, or of all; those
    whose target is like `match`, in which * stands for any text and ? for any character.
    """
    assert order in ORDERS, order
    where, values = _site_condition(site)
    if match:
        where, values = f"{where} AND target GLOB ?", [*values, match]
    # The order is one of ORDERS.
    rows = f"SELECT * FROM files WHERE {where}"  # noqa: S608
    question = f"{rows} ORDER BY {order} DESC, site, target LIMIT ?"
    return ask(table, question, [*values, limit]).astype(dict(FILES.columns))


def locality(table: FileTable, site: str = "") -> pd.DataFrame:
    """LOCALITY of a site, or of all sites together; without rows where nothing was asked for or
    nothing sent.
    """
    rows = [row for of in ("requests", "bytes") for row in _locality(table, site, of)]
    return LOCALITY.make(pd.DataFrame(rows, columns=list(LOCALITY.columns)))


def ask(table: FileTable, question: str, values: Sequence[object] = ()) -> pd.DataFrame:
    """What DuckDB answers. Raises NoData when the file is gone or damaged."""
    with _connect(table) as connection:
        answer: pd.DataFrame = (
            connection.sql(question, params=list(values)).to_arrow_table().to_pandas()
        )
    return answer


def _site_condition(site: str) -> tuple[str, list[object]]:
    return ("site = ?", [site]) if site else ("true", [])


def _locality(
    table: FileTable, site: str, of: str
) -> Iterator[tuple[str, int, int, int, int, int]]:
    """Files of one weight and one size are alike: there are few enough kinds of them to be put in
    order.
    """
    where, values = _site_condition(site)
    alike = (
        f"SELECT {of} AS weight, size, count(*) AS files FROM files "  # noqa: S608  a column
        f"WHERE {where} GROUP BY ALL"
    )
    upto = "sum({}) OVER (ORDER BY weight DESC, size ROWS UNBOUNDED PRECEDING) AS {}"
    columns = ", ".join(
        upto.format(*column)
        for column in (
            ("weight::HUGEINT * files", "weights"),
            ("files", "all_files"),
            ("size::HUGEINT * files", "sizes"),
        )
    )
    with _connect(table) as connection:
        connection.execute(
            f"CREATE TABLE upto AS SELECT *, {columns} FROM ({alike})",  # noqa: S608  as above
            values,
        )
        whole = connection.execute(
            "SELECT max(weights), max(all_files), max(sizes) FROM upto"
        ).fetchone()
        total, files, size = whole if whole and whole[0] else (0, 0, 0)
        for percent in SHARES if total else ():
            wanted = -(-int(total) * percent // 100)
            yield (of, percent, *_first(connection, wanted), int(files), int(size))


def _first(connection: duckdb.DuckDBPyConnection, wanted: int) -> tuple[int, int]:
    """How many files it takes to come to that weight, and their size."""
    row = connection.execute(
        "SELECT weight, size, weights, all_files, sizes FROM upto WHERE weights >= ? "
        "ORDER BY weights LIMIT 1",
        [wanted],
    ).fetchone()
    assert row is not None, "all files together come to any share"
    weight, size, weights, all_files, sizes = map(int, row)
    spared = (weights - wanted) // weight
    return all_files - spared, sizes - spared * size


@contextmanager
def _connect(table: FileTable) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the relation `files`; it fetches no extension, and looks at no other file of the
    folder.
    """
    with tempfile.TemporaryDirectory(prefix="flex-duckdb-") as spill:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "temp_directory": spill,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        with duckdb.connect(config=settings) as connection:
            try:
                connection.read_parquet(str(table.path)).create_view("files")
                yield connection
            except (duckdb.IOException, duckdb.InvalidInputException) as error:
                raise gone_error(table.path, str(error).splitlines()[0]) from error

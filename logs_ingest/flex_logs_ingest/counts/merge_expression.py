"""The merge of counts as one expression for any engine that Ibis speaks to: DuckDB here, PySpark on
a cluster.

Takes the counts of any readings as an Ibis table. Returns the file table, the hours and the sums
per site of a period, as relations: the engine computes them when it is asked, and may write them
elsewhere. `table` returns a whole relation, the same to the last byte with every engine. Does not
merge without an engine: merge_reference.py makes the same tables so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from flex.frame_schemas import HOURS, Schema
from flex.model.period import Period
from flex_logs_ingest.counts import SIZE_LOOKBACK_DAYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Ibis makes its tables and columns at run time: there are no types to follow.
Relation = Any

# What a site's file table comes to: A without errors, W, and what was asked for once only.
SITES = Schema(
    "sums per site",
    {
        "site": "str",
        "requests": "int64",
        "bytes": "int64",
        "working_set": "int64",
        "targets": "int64",
        "one_timers": "int64",
        "one_timer_bytes": "int64",
    },
    key=("site",),
)


def on_duckdb(paths: Sequence[str], memory: str = "2GB") -> Relation:
    """The rows of these Parquet files, for DuckDB on this machine, which takes no more memory than
    that.
    """
    import ibis

    engine = ibis.duckdb.connect(memory_limit=memory)
    return engine.read_parquet(list(paths), union_by_name=True)


def on_spark(spark: SparkSession, paths: Sequence[str]) -> Relation:
    """The rows of these Parquet files, paths or URIs, for the cluster of that session."""
    import ibis

    # Ibis reads from what has a name; a second set of files gets another one.
    name = f"counts_{len(spark.catalog.listTables())}"
    spark.read.option("mergeSchema", "true").parquet(*paths).createOrReplaceTempView(name)
    return ibis.pyspark.connect(spark).table(name)


def files(partial: Relation, period: Period) -> Relation:
    """FILES of rows of PARTIAL; a size that the period did not show is the largest of the days
    before it.
    """
    first, last = period.first_day, period.last_day
    since = partial.filter(partial["day"].between(max(first - SIZE_LOOKBACK_DAYS, 0), last))
    within = since["day"] >= first
    summed = since.group_by("site", "target").agg(
        requests=since["requests"].sum(where=within),
        bytes=since["bytes"].sum(where=within),
        shown=since["size"].max(where=within),
        before=since["size"].max(where=~within),
        last=since["last"].max(where=within),
    )
    accessed = summed.filter(summed["requests"] > 0)
    size = (accessed["shown"] > 0).ifelse(accessed["shown"], accessed["before"].fill_null(0))
    return accessed.select("site", "target", "requests", "bytes", size=size, last=accessed["last"])


def hours(counted: Relation, period: Period) -> Relation:
    """HOURS of rows of HOURS."""
    within = counted.filter(
        counted["hour"].between(period.first_day * 24, period.last_day * 24 + 23)
    )
    # Files of earlier versions, and of logs without times, lack the later columns.
    sums = {
        name: within[name].sum().fill_null(0)
        for name in ("requests", "bytes", *HOURS.later)
        if name in within.columns
    }
    return within.group_by("site", "hour").agg(**sums)


def sites(files: Relation) -> Relation:
    """SITES of a file table."""
    once = files["requests"] == 1
    return files.group_by("site").agg(
        requests=files["requests"].sum(),
        bytes=files["bytes"].sum(),
        working_set=files["size"].sum(),
        targets=files.count(),
        one_timers=once.sum(),
        one_timer_bytes=files["size"].sum(where=once).fill_null(0),
    )


def table(relation: Relation, schema: Schema) -> pd.DataFrame:
    """All of the relation, in the canonical form of its schema."""
    return schema.make(relation.to_pyarrow().to_pandas())

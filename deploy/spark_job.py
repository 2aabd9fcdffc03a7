"""Logs that live on a cluster: read there, and merged there where that is wanted.
docs/howto/logs-on-a-cluster.md says how to run it.

    spark-submit deploy/spark_job.py read --source shop --node web-1 \\
        --to hdfs://name/flex 'hdfs://name/logs/web-1/*'
    python deploy/spark_job.py send --of hdfs://name/flex --to /srv/flex/incoming/web-1
    spark-submit deploy/spark_job.py merge --first 2026-11-14 --days 7 \\
        --of hdfs://name/flex --to hdfs://name/week

`read` leaves counts and says what became of each file, `send` makes parcels of new counts for `flex
import`, `merge` writes the file table and the sums per site of a period as Parquet. The exit code
is 0, or that of the error that flex would end with.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from flex.errors import FlexError
from flex.model.period import Period
from flex_logs_ingest import read_with_spark
from flex_logs_ingest.counts import merge_expression
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import FAILED
from flex_logs_ingest.scan.site_rules import SiteRule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    try:
        code: int = given.work(given)
    except FlexError as error:
        sys.stderr.write(f"{error}\nkept: {error.kept}\nnext: {error.advice}\n")
        code = error.exit_code
    return code


@contextmanager
def _session(verb: str) -> Iterator[SparkSession]:
    # Only here: a controller that sends parcels needs no Spark.
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName(f"flex {verb}").getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def read(given: argparse.Namespace) -> int:
    rule = SiteRule(fixed=given.site, pattern=given.site_pattern)
    source = Source(given.source, tuple(given.logs), given.node, rule, given.format)
    with _session("read") as spark:
        reports = read_with_spark.read(
            read_with_spark.on_spark(spark), source, given.to, read_at=int(time.time())
        )
    for report in reports:
        lines = ", ".join(f"{number:,} {name}" for name, number in report.lines if number)
        sys.stdout.write(
            f"{report.path}: {': '.join(filter(None, (report.outcome, report.note, lines)))}\n"
        )
    return 20 if all(report.outcome in FAILED for report in reports) else 0


def merge(given: argparse.Namespace) -> int:
    start = datetime.fromisoformat(given.first).replace(tzinfo=UTC)
    period = Period(start, start + timedelta(days=given.days))
    counts = read_with_spark.counts(given.of, "files")
    with _session("merge") as spark:
        files = merge_expression.files(merge_expression.on_spark(spark, counts), period)
        files.order_by("site", "target").to_parquet_dir(f"{given.to}/files")
        merge_expression.sites(files).order_by("site").to_parquet_dir(f"{given.to}/sites")
    return 0


def send(given: argparse.Namespace) -> int:
    sys.stdout.write(f"{read_with_spark.send(given.of, given.to)} parcels in {given.to}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Count logs on a cluster.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    reading = verbs.add_parser("read", help="count what is new in logs")
    reading.set_defaults(work=read)
    reading.add_argument(
        "--source",
        required=True,
        help="the name of the source, as the controller's settings have it",
    )
    reading.add_argument("--node", required=True, help="which node wrote the logs")
    reading.add_argument("--format", default="auto", help="a format of docs/reference/formats.md")
    reading.add_argument("--site", help="of logs whose lines do not name theirs")
    reading.add_argument(
        "--site-pattern", default="", help="the site is this group of the file's name"
    )
    reading.add_argument("--to", required=True, help="folder for the counts")
    reading.add_argument("logs", nargs="+", help="paths or URIs; the last part may be a pattern")
    merging = verbs.add_parser("merge", help="file table and sums per site of a period")
    merging.set_defaults(work=merge)
    merging.add_argument("--first", required=True, help="first day, such as 2026-11-14")
    merging.add_argument("--days", type=int, required=True)
    merging.add_argument("--of", required=True, help="folder with the counts")
    merging.add_argument("--to", required=True, help="folder for the tables")
    sending = verbs.add_parser("send", help="parcels of what is new, for `flex import`")
    sending.set_defaults(work=send)
    sending.add_argument("--of", required=True, help="folder with the counts")
    sending.add_argument(
        "--to", type=Path, required=True, help="directory that the controller imports from"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Real logs, counted in several ways that must agree to the last byte: `python -m
bench.ingest.identity TRACES`.

Takes a folder with a folder for each set of logs. Prints a table. Ends with exit code 1 where two
ways differ. It compares the whole file table and all hours, not only sums.

- native: the native loops and our own merge
- python: the Python loops and our own merge
- duckdb: the counts of the native loops, merged by DuckDB
- spark: logs read by tasks of Spark, merged by Spark; where pyspark and a Java are installed

Logs whose lines name no site count for a site that has the name of the set. What FLEX refuses is
refused in all ways.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from bench.ingest.rounds import ROOT
from flex import native_or_python
from flex.errors import FlexError, NoData
from flex.frame_schemas import FILES, HOURS
from flex.model.period import LAST_DAY, Period
from flex.store import MemoryStore
from flex_logs_ingest import read_with_spark
from flex_logs_ingest.counts import add_up_hours_and_sample, merge_expression
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source, Unusable
from flex_logs_ingest.formats import detect, layout_of
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Bytes of a log in which its format is searched, as FLEX does.
LOOK = 2**16
WAYS = ("native", "python", "duckdb", "spark")
# Logs of the web are younger than this, and those with a broken clock are not older than it.
ALWAYS = Period(datetime(1971, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


# The loops are chosen when they are imported, so the reference has a process of its own.
REFERENCE = """
import sys
sys.modules["flex_native"] = None
from bench.ingest import identity
identity.print_totals(sys.argv[1])
"""


@dataclass(frozen=True, slots=True)
class Totals:
    """What one way counted of one set; `digest` is of every row of both tables."""

    sites: int
    targets: int
    requests: int
    sent: int
    digest: str


def main(arguments: Sequence[str]) -> int:
    asked = argparse.ArgumentParser(description="Count real logs in several ways and compare.")
    asked.add_argument("--without-spark", action="store_true")
    asked.add_argument("traces", type=Path, help="a folder that has a folder for each set of logs")
    asked.add_argument("sets", nargs="*", help="all of them when none is named")
    given = asked.parse_args(arguments)
    if native_or_python.NATIVE is None:
        sys.exit(native_or_python.WHY_NOT)
    folders = sorted(path for path in given.traces.iterdir() if path.is_dir())
    with nullcontext() if given.without_spark else _spark() as spark:
        found = {
            folder.name: _count(folder, spark)
            for folder in folders
            if not given.sets or folder.name in given.sets
        }
    _show(found)
    differing = [name for name, (_, ways) in found.items() if len(set(ways.values())) > 1]
    print(f"they differ on {', '.join(differing)}" if differing else "they agree on every set")
    return 1 if differing else 0


def _show(found: Mapping[str, tuple[int, Mapping[str, Totals]]]) -> None:
    table = Table(title="real logs, counted in several ways", title_justify="left")
    for column in ("set", "lines", "sites", "targets", "requests", "bytes", *WAYS):
        table.add_column(column, justify="left" if column in ("set", *WAYS) else "right")
    for name, (lines, ways) in found.items():
        table.add_row(*_row(name, lines, ways))
    Console(width=None if sys.stdout.isatty() else 150).print(table)


def print_totals(folder: str) -> None:
    with tempfile.TemporaryDirectory() as counts:
        _, totals = _here(_sources(Path(folder)), Path(counts))
    print(json.dumps(asdict(totals)))


def _row(name: str, lines: int, ways: Mapping[str, Totals]) -> list[str]:
    first = ways["native"]
    numbers = (lines, first.sites, first.targets, first.requests, first.sent)
    verdicts = [
        "-" if way not in ways else "same" if ways[way] == first else repr(ways[way])
        for way in WAYS
    ]
    return [name, *(f"{number:,}" for number in numbers), *verdicts]


def _count(folder: Path, spark: SparkSession | None) -> tuple[int, dict[str, Totals]]:
    """How many lines were read, and what each way made of them."""
    sources = _sources(folder)
    found: dict[str, Totals] = {}
    with tempfile.TemporaryDirectory() as scratch:
        counts = Path(scratch, "counts")
        lines, found["native"] = _here(sources, counts)
        found["python"] = _by_reference(folder)
        if lines:
            found["duckdb"] = _merge(
                merge_expression.on_duckdb, *(_paths(counts, kind) for kind in ("files", "hours"))
            )
        if lines and spark:
            found["spark"] = _there(spark, sources, f"{scratch}/there")
    return lines, found


def _sources(folder: Path) -> list[Source]:
    """The set's logs that name their sites, and those that do not."""
    named: list[str] = []
    unnamed: list[str] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        (named if _names_sites(path) else unnamed).append(escape(str(path)))
    rules = ((named, SiteRule()), (unnamed, SiteRule(fixed=f"{folder.name}.example")))
    return [
        Source(f"{folder.name} {number}", tuple(globs), "node", rule)
        for number, (globs, rule) in enumerate(rules)
        if globs
    ]


def _names_sites(path: Path) -> bool:
    try:
        with Log(str(path)) as log:
            return "vhost" in layout_of(detect(log.read(LOOK))).fields
    except (FlexError, Unusable):
        return False


def _here(sources: Sequence[Source], counts: Path) -> tuple[int, Totals]:
    store = MemoryStore()
    for source in sources:
        with suppress(NoData):
            ingest([source], store, counts)
    lines = sum(number for segment in store.segments(0, LAST_DAY) for _, number in segment.lines)
    return lines, _totals(
        file_table(store, counts, ALWAYS).whole(),
        add_up_hours_and_sample.hours_of(store, counts, ALWAYS),
    )


def _by_reference(folder: Path) -> Totals:
    command = [sys.executable, "-c", REFERENCE, str(folder)]
    return Totals(
        **json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    )


def _there(spark: SparkSession, sources: Sequence[Source], to: str) -> Totals:
    for source in sources:
        read_with_spark.read(read_with_spark.on_spark(spark), source, to)
    return _merge(
        partial(merge_expression.on_spark, spark),
        read_with_spark.counts(to, "files"),
        read_with_spark.counts(to, "hours"),
    )


def _paths(counts: Path, kind: str) -> list[str]:
    return sorted(str(path) for path in counts.glob(f"*.{kind}.parquet"))


def _merge(
    rows: Callable[[Sequence[str]], Any], files: Sequence[str], hours: Sequence[str]
) -> Totals:
    return _totals(
        merge_expression.table(merge_expression.files(rows(files), ALWAYS), FILES),
        merge_expression.table(merge_expression.hours(rows(hours), ALWAYS), HOURS),
    )


def _totals(files: pd.DataFrame, hours: pd.DataFrame) -> Totals:
    digest = hashlib.sha256()
    for frame in (files, hours):
        digest.update(frame.to_csv(index=False).encode())
    sites = int(hours["site"].nunique())
    return Totals(
        sites,
        len(files),
        int(hours["requests"].sum()),
        int(hours["bytes"].sum()),
        digest.hexdigest()[:12],
    )


@contextmanager
def _spark() -> Iterator[SparkSession | None]:
    """Spark on this machine alone; None where it cannot be had."""
    if not shutil.which("java") or not importlib.util.find_spec("pyspark"):
        sys.stderr.write(
            "left out: Spark needs a Java and the packages of requirements/spark.txt\n"
        )
        yield None
        return
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    settings = {
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "sql.shuffle.partitions": "4",
    }
    conf = {f"spark.{name}": value for name, value in settings.items()}
    session = SparkSession.builder.master("local[*]").config(map=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

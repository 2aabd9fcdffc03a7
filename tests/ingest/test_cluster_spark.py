"""The job of docs/howto/logs-on-a-cluster.md on PySpark in local mode: workers that are processes
of their own, Spark's own engine.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from bench.ingest import synthetic
from flex.frame_schemas import FILES
from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest import read_with_spark
from flex_logs_ingest.counts import merge_expression
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

pytestmark = [
    pytest.mark.torture,
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
    pytest.mark.skipif(
        not shutil.which("java"), reason="Spark needs a Java, and there is none on the PATH"
    ),
    pytest.mark.skipif(
        not importlib.util.find_spec("pyspark"),
        reason="pyspark is not installed: make torture does it",
    ),
]

JOB = Path(__file__).resolve().parents[2] / "deploy/spark_job.py"
PERIOD = Period(datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC))


def job(*arguments: str | Path) -> str:
    # One core of its own, so that its workers are not those of other tests; nothing listens but on
    # loopback.
    settings = ("spark.master=local[2]", "spark.ui.enabled=false", "spark.sql.shuffle.partitions=4")
    options = [word for setting in settings for word in ("--conf", setting)]
    local = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    submitted = {
        **os.environ,
        **local,
        "PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"]),
    }
    done = subprocess.run(
        [sys.executable, JOB, *arguments],
        env=submitted,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def source(logs: Path) -> Source:
    """Made-up logs of many sites; one lies there a second time, and one is no log."""
    for number in range(3):
        synthetic.write(logs / f"access.log.{number}", 5_000, seed=number + 1)
    packed = gzip.compress((logs / "access.log.2").read_bytes())
    (logs / "access.log.2.gz").write_bytes(packed)
    (logs / "notes.txt").write_text("no log\n" * 100)
    return Source("one", (f"{logs}/*",), "node-1", SiteRule())


def test_spark_counts_and_merges_as_this_machine_does(
    source: Source, store: MemoryStore, counts: Path, tmp_path: Path
) -> None:
    there, tables = tmp_path / "there", tmp_path / "tables"
    said = job(
        "read", "--source", "one", "--node", "node-1", "--to", f"file://{there}", *source.globs
    )
    assert said.count(": read: ") == 3
    assert "notes.txt: un" in said
    job("merge", "--first", "2026-11-20", "--days", "1", "--of", there, "--to", tables)
    ingest([source], store, counts)
    local = merge_expression.files(
        merge_expression.on_duckdb(read_with_spark.counts(str(there), "files")), PERIOD
    )
    files = file_table(store, counts, PERIOD).whole()
    assert len(files) > 5_000
    pd.testing.assert_frame_equal(merge_expression.table(local, FILES), files)
    pd.testing.assert_frame_equal(FILES.make(pq.read_table(tables / "files").to_pandas()), files)
    sites = merge_expression.SITES.make(pq.read_table(tables / "sites").to_pandas())
    pd.testing.assert_frame_equal(
        sites, merge_expression.table(merge_expression.sites(local), merge_expression.SITES)
    )

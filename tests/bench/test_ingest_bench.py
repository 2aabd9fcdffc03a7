"""What the figures of the ingest bench stand on: its made-up log, and that it measures all it
promises.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.ingest import copytruncate, synthetic
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

ROOT = Path(__file__).resolve().parents[2]
LINES = 20_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "one.log"
    synthetic.write(path, LINES)
    return path


@pytest.mark.slow
def test_the_made_up_log_is_the_same_every_time(log: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again.log", tmp_path / "other.log"
    synthetic.write(again, LINES)
    synthetic.write(other, LINES, seed=2)
    assert log.read_bytes() == again.read_bytes()
    assert log.read_bytes() != other.read_bytes()


def test_the_made_up_log_has_the_lines_it_says_and_few_that_are_broken(
    log: Path, tmp_path: Path
) -> None:
    source = Source("one", (str(log),), "node-1", SiteRule())
    (report,) = ingest([source], MemoryStore(), tmp_path / "counts")
    lines = dict(report.lines)
    assert report.format == "vhost_combined"
    assert sum(lines.values()) == LINES
    assert 0 < lines["malformed"] + lines["no_request"] < LINES // 500


def test_our_own_figure_under_copytruncate_is_none_too_many(tmp_path: Path) -> None:
    assert copytruncate.figures(tmp_path, None) == {"copytruncate_flex_extra_lines": 0}


@pytest.mark.torture
def test_the_bench_measures_what_its_page_says() -> None:
    """All but what needs programs and logs that are not everywhere."""
    page = (ROOT / "docs/why/bench.md").read_text().partition("\n## ingest\n")[2]
    page = page.partition("\n## ")[0]
    promised = {
        name
        for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    script = "import json; from bench.ingest import speed; print(json.dumps(speed.measure()))"
    small = {**os.environ, "SCALE": "0.001", "ROUNDS": "1", "TRACES": "", "GOACCESS": ""}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=small,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    elsewhere = {name for name in promised if re.search("goaccess|wc_real|SET|zstd|two_core", name)}
    assert promised - elsewhere
    assert promised - elsewhere - set(json.loads(done.stdout)) == set()

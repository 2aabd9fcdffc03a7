"""The check that real logs are counted alike in every way, on logs that are small and made up."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bench.ingest import identity, synthetic
from flex import native_or_python

pytestmark = [
    pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT),
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
]
COMBINED = b'192.0.2.1 - - [20/Nov/2026:12:00:%02d +0000] "GET /%d HTTP/1.1" 200 10 "-" "-"\n'


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Two sets of logs, and one of what is none."""
    for name in ("many", "one", "none"):
        (tmp_path / "traces" / name / "below").mkdir(parents=True)
    synthetic.write(tmp_path / "traces/many/access.log", 3_000)
    lines = b"".join(COMBINED % (n % 60, n) for n in range(200))
    (tmp_path / "traces/one/access.log").write_bytes(lines)
    (tmp_path / "traces/one/below/[1].log.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "traces/none/below/notes.txt").write_bytes(b"no log\n" * 100)
    return tmp_path / "traces"


@pytest.mark.slow
def test_every_way_counts_alike(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert identity.main(["--without-spark", str(traces)]) == 0
    rows = [
        line.split("│")[1:-1]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("│")
    ]
    assert [(row[0].strip(), int(row[1].replace(",", ""))) for row in rows] == [
        ("many", 3_000),
        ("none", 0),
        ("one", 200),
    ]
    assert [cell.strip() for cell in rows[0][-4:]] == ["same", "same", "same", "-"]

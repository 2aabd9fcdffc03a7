"""A small parcel that stands for very much is refused in little memory, and what is said of it fits
into a line.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.parcels.pack_parcels import KINDS, Outbox
from flex_logs_ingest.parcels.parcel_intake import take
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

NOON = 1_700_049_600
MEBIBYTE = 2**20

# Takes a good parcel and then a hostile one, and prints what became of it and the most memory, in
# MiB, of itself and of the processes that it started.
TAKER = """
import resource, sys
from pathlib import Path
from flex.store import MemoryStore
from flex_logs_ingest.parcels.parcel_intake import take

good, bad, counts = map(Path, sys.argv[1:])
take([good], MemoryStore(), counts, {("one", "node-1")})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
(arrival,) = take([bad], MemoryStore(), counts, {("one", "node-1")})
asked = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
peaks = [resource.getrusage(who).ru_maxrss for who in asked]
print(arrival.outcome, *[(peak - before) // 1024 for peak in peaks])
print(arrival.note)
"""


@pytest.fixture
def good(tmp_path: Path, logs: Path) -> Path:
    lines = (
        f'192.0.2.1 - - [15/Nov/2023:12:00:00 +0000] "GET /{i} HTTP/1.1" 200 100 "-" "-"\n'
        for i in range(20)
    )
    (logs / "access.log").write_text("".join(lines))
    source = Source("one", (f"{logs}/*",), "node-1", SiteRule(fixed="a.example"))
    ingest(
        [source], Outbox(MemoryStore(), tmp_path / "beside", tmp_path / "out"), tmp_path / "beside"
    )
    (parcel,) = (tmp_path / "out").glob("*.parcel")
    return parcel


def repeated(value: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([value]))


def table(site: pa.Array, target: pa.Array) -> bytes:
    rows = len(site)
    numbers = {
        name: pa.array([NOON // 86400 if name == "day" else 1] * rows)
        for name in ("day", "requests", "bytes")
    }
    columns = {
        "day": numbers["day"],
        "site": site,
        "target": target,
        **numbers,
        "size": numbers["bytes"],
    }
    file = io.BytesIO()
    pq.write_table(
        pa.table({**columns, "last": pa.array([NOON] * rows)}),
        file,
        compression="zstd",
        store_schema=False,
    )
    return file.getvalue()


def with_files(good: Path, content: bytes, rows: int) -> Path:
    """A parcel whose first line agrees with this table of counts."""
    first, _, rest = good.read_bytes().partition(b"\n")
    said = json.loads(first)
    said["segment"]["lines"] = [["counted", rows]]
    said["files"]["files"] = [len(content), hashlib.sha256(content).hexdigest()]
    size = json.loads(first)["files"]["files"][0]
    bad = good.with_name("bad.parcel")
    bad.write_bytes(json.dumps(said).encode() + b"\n" + content + rest[size:])
    return bad


@pytest.mark.slow("2000000-800-site")
@pytest.mark.parametrize("column", ["site", "target"])
@pytest.mark.parametrize(
    ("length", "rows"),
    [
        (2_000_000, 800),
        *(
            pytest.param(*each, marks=pytest.mark.torture)
            for each in ((8_000, 1_000_000), (200, 4_000_000), (4 * 10**8, 1))
        ),
    ],
)
def test_a_small_parcel_that_unfolds_to_a_large_one_is_refused_in_little_memory(
    good: Path, tmp_path: Path, column: str, length: int, rows: int
) -> None:
    columns = {"site": repeated("a.example", rows), "target": repeated("/", rows)}
    columns[column] = repeated("/" + "a" * (length - 1), rows)
    bad = with_files(good, table(columns["site"], columns["target"]), rows)
    assert bad.stat().st_size < 300_000
    command = [sys.executable, "-c", TAKER, str(good), str(bad), str(tmp_path / "counts")]
    said = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=300
    ).stdout.splitlines()
    outcome, ours, beside = said[0].split()
    assert outcome == "refused"
    assert int(ours) < 64, said
    assert int(beside) < 320, said


def test_what_is_no_table_says_so_in_a_line(good: Path, tmp_path: Path) -> None:
    store, named = MemoryStore(), "x" * 900_000
    hostile = {
        "columns": pa.table({named: [1]}),
        "key": pa.table(
            {"day": [1, 1], "site": ["a" * 250] * 2, "target": ["/" + "b" * 8000] * 2, **_ones(2)}
        ),
        "type": pa.table({"day": [1], "site": [1], "target": ["/"], **_ones(1)}),
    }
    for content in hostile.values():
        file = io.BytesIO()
        pq.write_table(content, file, store_schema=False)
        (arrival,) = take(
            [with_files(good, file.getvalue(), 2)], store, tmp_path / "counts", {("one", "node-1")}
        )
        assert arrival.outcome == "refused"
        assert len(arrival.note) <= 400
        assert "\n" not in arrival.note
    first, _, rest = good.read_bytes().partition(b"\n")
    for claim in (
        {"source": named},
        {"id": named},
        {"lines": [[named, 1]]},
        {"first_time": named},
        {"copy_of": named},
    ):
        said = json.loads(first)
        said["segment"] |= claim
        bad = good.with_name("bad.parcel")
        bad.write_bytes(json.dumps(said).encode() + b"\n" + rest)
        (arrival,) = take([bad], store, tmp_path / "counts", {("one", "node-1")})
        assert arrival.outcome == "refused"
        assert len(arrival.note) <= 400


@pytest.mark.parametrize("size", [2**33, 2**62, 10**30])
@pytest.mark.parametrize("kind", KINDS)
def test_a_length_that_is_not_there_takes_no_memory(
    good: Path, tmp_path: Path, kind: str, size: int
) -> None:
    first, _, rest = good.read_bytes().partition(b"\n")
    said = json.loads(first)
    said["files"][kind][0] = size
    good.write_bytes(json.dumps(said).encode() + b"\n" + rest)
    (arrival,) = take([good], MemoryStore(), tmp_path / "counts", {("one", "node-1")})
    assert arrival.outcome == "refused"


def _ones(rows: int) -> dict[str, list[int]]:
    return {name: [1] * rows for name in ("requests", "bytes", "size", "last")}

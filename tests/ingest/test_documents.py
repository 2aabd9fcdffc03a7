"""Sizes of files on disk stand for those that a log does not name, and never for files outside of
the document root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import NoData
from flex.frame_schemas import HOURS, PARTIAL, Schema
from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.document_root import Documents
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.lines.headings import heading_of, split_at_headings
from flex_logs_ingest.lines.layout import is_directive
from flex_logs_ingest.reading.read_logs import ingest

SITE = "a.example"
DAY = Period(datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 2, tzinfo=UTC))
# What a log said: requests, bytes, size.
SAID = (4, 900, 300)

# Day, site, target, requests, bytes, size; site, hour, requests, bytes.
Row = tuple[int, str, str, int, int, int]
Hour = tuple[str, int, int, int]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "www"
    for name, size in {
        "a.png": 1000,
        "b c.txt": 10,
        "shop/index.html": 70,
        "old/index.htm": 80,
        "é": 5,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(size))
    (root / "empty").mkdir()
    return root


class Reading:
    """The tables that one reading left."""

    def __init__(self, folder: Path) -> None:
        self.files, self.hours = folder / "x.files.parquet", folder / "x.hours.parquet"

    def leave(self, rows: Sequence[Row], hours: Sequence[Hour]) -> None:
        _write(self.files, PARTIAL, [(*row, 1) for row in rows])
        _write(self.hours, HOURS, hours)

    def rows(self) -> list[tuple[str, int, int]]:
        table = pq.read_table(self.files).to_pydict()
        return list(zip(table["target"], table["bytes"], table["size"], strict=True))


def _write(path: Path, schema: Schema, rows: Sequence[tuple[object, ...]]) -> None:
    frame = schema.make(pd.DataFrame(rows, columns=schema.earlier))
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=2)


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(tmp_path)


def size_of(target: str, documents: Documents, reading: Reading, site: str = SITE) -> int:
    """The size that the target has, of which the log knew nothing."""
    reading.leave([(0, site, target, 1, 0, 0)], [(site, 0, 1, 0)])
    documents.resize(reading.files, reading.hours)
    ((_, _, size),) = reading.rows()
    return size


@pytest.mark.parametrize(
    ("target", "size"),
    [
        ("/a.png", 1000),
        ("/b%20c.txt", 10),
        ("/%C3%A9", 5),
        ("/shop/", 70),
        ("/old/", 80),
        ("/shop", 0),
        ("/empty/", 0),
        ("/none.png", 0),
        ("/a.png/x", 0),
        ("/a.png%00", 0),
        ("/" + "x" * 5000, 0),
        ("/shop%2F..%2Fa.png", 1000),
    ],
)
def test_a_target_has_the_size_of_its_file_and_a_directory_that_of_its_index(
    target: str, size: int, root: Path, reading: Reading
) -> None:
    assert size_of(target, Documents(str(root)), reading) == size


@pytest.mark.parametrize(
    "target",
    ["/..%2Fsecret", "/shop%2F..%2F..%2Fsecret", "/link", "/linked/secret", "/loop", "/pipe"],
)
def test_nothing_outside_of_the_root_is_looked_at(
    target: str, root: Path, reading: Reading
) -> None:
    secret = root.parent / "secret"
    secret.write_bytes(bytes(123))
    (root / "link").symlink_to(secret)
    (root / "linked").symlink_to(root.parent)
    (root / "loop").symlink_to(root / "loop")
    (root / "pipe").symlink_to("/dev/zero")
    assert size_of(target, Documents(str(root)), reading) == 0


def test_links_inside_the_root_are_followed(root: Path, reading: Reading) -> None:
    (root / "same.png").symlink_to("a.png")
    (root / "market").symlink_to(root / "shop")
    assert size_of("/same.png", Documents(str(root)), reading) == 1000
    assert size_of("/market/", Documents(str(root)), reading) == 70


def test_every_site_has_its_own_root_where_the_setting_names_it(
    root: Path, reading: Reading
) -> None:
    (root / SITE).mkdir()
    (root / SITE / "x").write_bytes(bytes(7))
    documents = Documents(f"{root}/{{site}}")
    assert size_of("/x", documents, reading) == 7
    for site in ("b.example", "..", "(unknown)", "../www", "/"):
        assert size_of("/a.png", documents, reading, site) == 0


def test_a_root_that_is_not_there_is_noticed(root: Path) -> None:
    assert Documents(str(root)).is_there()
    assert Documents(f"{root}/{{site}}/htdocs").is_there()
    assert not Documents(f"{root}/none").is_there()


def test_a_log_that_names_bytes_keeps_them_and_the_sizes_of_what_is_no_file(
    root: Path, reading: Reading
) -> None:
    rows = [(0, SITE, "/a.png", *SAID), (0, SITE, "/made.php", *SAID), (1, SITE, "/a.png", 1, 5, 0)]
    reading.leave(rows, [(SITE, 3, 4, 900)])
    Documents(str(root)).resize(reading.files, reading.hours)
    assert reading.rows() == [("/a.png", 900, 1000), ("/made.php", 900, 300), ("/a.png", 5, 1000)]
    assert pq.read_table(reading.hours)["bytes"].to_pylist() == [900]


def test_full_answers_of_a_log_without_bytes_have_the_size_of_the_file(
    root: Path, reading: Reading
) -> None:
    """Three full answers for /a.png and two for what is no file on the first day, one for /b c.txt
    on the second.
    """
    rows = [
        (0, SITE, "/a.png", 5, 3, 1),
        (0, SITE, "/made.php", 2, 2, 1),
        (1, SITE, "/b%20c.txt", 1, 1, 1),
    ]
    reading.leave(rows, [(SITE, 3, 6, 4), (SITE, 9, 5, 1), (SITE, 23, 1, 0), (SITE, 24, 1, 1)])
    Documents(str(root), unsized=True).resize(reading.files, reading.hours)
    assert reading.rows() == [("/a.png", 3000, 1000), ("/made.php", 0, 0), ("/b%20c.txt", 10, 10)]
    assert pq.read_table(reading.hours)["bytes"].to_pylist() == [2400, 600, 0, 10]


def test_tables_of_nothing_stay_so(root: Path, reading: Reading) -> None:
    reading.leave([], [])
    Documents(str(root), unsized=True).resize(reading.files, reading.hours)
    assert reading.rows() == []


IIS = b"""#Software: Microsoft Internet Information Services 10.0
#Fields: date time cs-method cs-uri-stem sc-status
1970-01-01 03:00:00 GET /a.png 200
1970-01-01 03:00:01 GET /a.png 304
1970-01-01 03:00:02 HEAD /a.png 200
1970-01-01 09:00:00 GET /none.png 404
"""


@pytest.mark.parametrize(
    "format_", ["auto", "w3c", "w3c date time cs-method cs-uri-stem sc-status"]
)
def test_a_log_without_bytes_is_read_where_the_files_are(
    format_: str, root: Path, source: Source, logs: Path, store: MemoryStore, counts: Path
) -> None:
    (logs / "u_ex700101.log").write_bytes(IIS)
    with pytest.raises(
        NoData, match=r"IIS Manager, Logging, Select Fields, turn on Bytes Sent .* document_root"
    ):
        ingest([replace(source, format=format_)], store, counts)
    (report,) = ingest([replace(source, format=format_, document_root=str(root))], store, counts)
    assert dict(report.lines) == {"counted": 3, "other_status": 1, "no_request": 2, "malformed": 0}
    (segment,) = store.segments(0, 0)
    files, hours = (
        pq.read_table(counts / f"{segment.id}.{kind}.parquet") for kind in ("files", "hours")
    )
    assert files.select(["target", "requests", "bytes", "size"]).to_pylist() == [
        {"target": "/a.png", "requests": 3, "bytes": 1000, "size": 1000}
    ]
    assert hours["bytes"].to_pylist() == [1000, 0]


def test_a_log_is_not_read_while_its_document_root_is_away(
    root: Path, source: Source, logs: Path, store: MemoryStore, counts: Path
) -> None:
    (logs / "u_ex700101.log").write_bytes(IIS)
    with pytest.raises(NoData, match="no document_root"):
        ingest([replace(source, document_root=f"{root}/away")], store, counts)
    (report,) = ingest([replace(source, document_root=str(root))], store, counts)
    assert report.outcome == "read"


CHANGING = b"""#Fields: date time cs-method cs-uri-stem sc-status
1970-01-01 03:00:00 GET /a.png 200
1970-01-01 03:00:01 GET /gone 200
#Fields: date time cs-method cs-uri-stem sc-status sc-bytes
1970-01-01 03:00:02 GET /gone 200 77
1970-01-01 03:00:03 GET /a.png 200 99
#Fields: date time cs-method cs-uri-stem sc-status
1970-01-01 04:00:00 GET /a.png 200
"""


@pytest.mark.parametrize("at", [None, *range(2, CHANGING.count(b"\n"))])
def test_where_readings_end_does_not_matter_to_a_log_that_names_its_bytes_only_now_and_then(
    at: int | None, root: Path, source: Source, logs: Path, store: MemoryStore, counts: Path
) -> None:
    log, lines = logs / "u_ex700101.log", CHANGING.splitlines(keepends=True)
    for text in (lines[:at], lines[at:]) if at else (lines,):
        with log.open("ab") as file:
            file.write(b"".join(text))
        ingest([replace(source, document_root=str(root))], store, counts)
    files = file_table(store, counts, DAY).whole()
    assert files[["target", "requests", "bytes", "size"]].to_numpy().tolist() == [
        ["/a.png", 3, 2099, 1000],
        ["/gone", 2, 77, 77],
    ]


def test_the_end_of_a_line_is_no_heading_wherever_it_is_cut() -> None:
    pieces = list(split_at_headings([b"x", b"#Fields: a\n", b"#Fields: b\n"]))
    assert [heading_of(piece) for piece in pieces if heading_of(piece)] == [b"#Fields: b"]


@given(
    st.lists(
        st.sampled_from([b"#", b"#Fields: a", b"#fields:", b"\n", b"\0", b"x", b"\r\n"]),
        max_size=30,
    ),
    st.randoms(),
)
def test_pieces_that_end_behind_headings_are_the_log_however_it_comes(
    parts: list[bytes], chance: Random
) -> None:
    log = b"".join(parts)
    cuts = sorted(chance.randrange(len(log) + 1) for _ in range(4))
    chunks = [log[start:end] for start, end in pairwise([0, *cuts, len(log)]) if start < end]
    pieces = list(split_at_headings(chunks))
    assert b"".join(pieces) == log
    headings = [line for line in log.split(b"\n")[:-1] if is_directive(line.lstrip(b"\0"))]
    assert len([piece for piece in pieces if heading_of(piece)]) == len(headings)

"""What was asked of names that are no sites is kept beside the counts, and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from flex.store import MemoryStore
from flex_logs_ingest.counts import count_files
from flex_logs_ingest.counts.file_of_unknown_hosts import Unhosted, requests_for_unknown_hosts
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule

LISTED = SiteRule(listed=frozenset(["a.example"]))


def line(host: str, day: int = 0) -> str:
    return (
        f'{host}:80 192.0.2.1 - - [{day + 1:02}/Jan/1970:03:00:00 +0000] "GET /x '
        'HTTP/1.1" 404 10 "-" "-"\n'
    )


@pytest.fixture
def read(logs: Path, store: MemoryStore, counts: Path) -> None:
    """Two logs of a node that other names lead to as well."""
    (logs / "1").write_text(line("a.example") + line("b.example") * 3 + line("c.example", day=1))
    (logs / "2").write_text(line("b.example", day=5) + line("192.0.2.1") * 2 + line("[b]<x>"))
    ingest([Source("one", (f"{logs}/*",), "node-1", LISTED)], store, counts)


@pytest.mark.usefixtures("read")
def test_names_of_all_readings_are_added_up_and_the_traffic_of_the_days_asked_for(
    store: MemoryStore, counts: Path
) -> None:
    names = (("b.example", 4), ("192.0.2.1", 2), ("[b]", 1), ("c.example", 1))
    found = requests_for_unknown_hosts(counts, store.segments(0, 9), 0, 9, most=10)
    assert sorted(found.names) == sorted(names)
    assert (found.names[0], found.requests, found.bytes) == (("b.example", 4), 8, 80)
    assert requests_for_unknown_hosts(counts, store.segments(5, 9), 5, 9, most=1) == Unhosted(
        1, 10, (("192.0.2.1", 2),)
    )


@pytest.mark.usefixtures("read")
def test_names_that_are_lost_leave_the_counts_as_they_are(store: MemoryStore, counts: Path) -> None:
    for path in counts.glob("*.strangers.parquet"):
        path.write_bytes(b"damaged")
    assert requests_for_unknown_hosts(counts, store.segments(0, 9), 0, 9, most=10) == Unhosted(
        8, 80, ()
    )


@pytest.mark.usefixtures("read")
def test_what_a_killed_run_left_is_cleared_with_its_counts(
    store: MemoryStore, counts: Path
) -> None:
    for name in (f"{'0' * 40}.strangers.parquet", f"{'0' * 40}.strangers.parquet.part"):
        (counts / name).write_bytes(b"")
    count_files.clear(counts, {segment.id for segment in store.segments(0, 9)})
    assert len(list(counts.glob("*.strangers.parquet*"))) == 2


def test_a_reading_without_such_names_leaves_no_file(
    logs: Path, store: MemoryStore, counts: Path
) -> None:
    (logs / "1").write_text(line("a.example"))
    ingest([Source("one", (f"{logs}/*",), "node-1", LISTED)], store, counts)
    assert list(counts.glob("*.strangers.parquet")) == []

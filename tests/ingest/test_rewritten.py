"""A log whose lines were edited after reading counts once, and is shown; logs that are alike by
chance both count.
"""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from flex.model.log_reading import Segment, Stream
from flex.model.period import Period
from flex.store import MemoryStore
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.counts.signature import signature, signature_of_all
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.formats import layout_of
from flex_logs_ingest.parcels import parcel_intake
from flex_logs_ingest.parcels.pack_parcels import Outbox
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.reading.rewritten_logs import ENOUGH
from flex_logs_ingest.scan.python_loop import ReferenceScan
from flex_logs_ingest.scan.segment_scan import Scanner, new_scanner
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.ingest.given import DyingStore, Killed

Line = Callable[..., bytes]
Read = Callable[[], dict[str, FileReport]]

NOON = 1_700_049_600
EVER = Period(datetime(2023, 11, 1, tzinfo=UTC), datetime(2023, 12, 1, tzinfo=UTC))
MASKS = (b"192.0.2.0", b"0.0.0.0", b"2001:db8:ffff:ffff:ffff:ffff:ffff:0", b"-")


def lines(number: int, first: int = 0) -> list[bytes]:
    """Some minutes apart, each of another address; some are not found, and some malformed."""
    found = []
    for i in range(first, first + number):
        at = datetime.fromtimestamp(NOON + i * 97, UTC)
        status = 404 if i % 11 == 3 else 200
        target = f"/{i % 17}/page"
        request = (
            f'"GET {target} HTTP/1.1" {status} {100 + i * 7 % 50_000}'
            if i % 41 != 40
            else "nonsense"
        )
        found.append(
            f'192.0.2.{i % 250} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] {request} "-" "-"\n'.encode()
        )
    return found


def masked(given: list[bytes], mask: bytes = MASKS[0]) -> bytes:
    return b"".join(mask + line[line.index(b" ") :] for line in given)


def requests(store: MemoryStore, counts: Path) -> int:
    """The sum of all that was counted."""
    return int(file_table(store, counts, EVER).whole()["requests"].sum())


def answered(given: list[bytes]) -> int:
    return sum(b" 200 " in line for line in given)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("readings", [(400,), (1, 399), (30, 30, 340)])
def test_a_log_whose_addresses_were_masked_after_reading_counts_once(
    logs: Path,
    counts: Path,
    store: MemoryStore,
    read: Read,
    mask: bytes,
    packed: bool,
    readings: tuple[int, ...],
) -> None:
    given, live = lines(400), logs / "access.log"
    for number in readings:
        with live.open("ab") as file:
            begin = live.read_bytes().count(b"\n")
            file.write(b"".join(given[begin : begin + number]))
        read()
    live.unlink()
    edited = masked(given, mask)
    (logs / "access.log.1").write_bytes(gzip.compress(edited) if packed else edited)
    report = read()["access.log.1"]
    assert report.outcome == "rewritten"
    assert "its 400 lines are those of" in report.note
    assert requests(store, counts) == answered(given)
    assert read()["access.log.1"].outcome == "nothing new"
    assert requests(store, counts) == answered(given)


def test_what_was_written_after_the_last_reading_counts_from_the_edited_log(
    logs: Path, counts: Path, store: MemoryStore, read: Read
) -> None:
    given, live = lines(500), logs / "access.log"
    live.write_bytes(b"".join(given[:420]))
    read()
    live.unlink()
    (logs / "access.log.1").write_bytes(masked(given))
    report = read()["access.log.1"]
    assert report.outcome == "rewritten"
    assert "its first 420 lines are those of" in report.note
    assert "80 behind them are new" in report.note
    assert requests(store, counts) == answered(given)
    # Masked once more, as it is packed: what was counted in either is known.
    (logs / "access.log.1").unlink()
    (logs / "access.log.2.gz").write_bytes(gzip.compress(masked(given, b"::")))
    assert read()["access.log.2.gz"].outcome == "rewritten"
    assert requests(store, counts) == answered(given)


def test_an_edited_copy_that_is_still_being_written_waits_until_it_is_whole(
    logs: Path, counts: Path, store: MemoryStore, read: Read
) -> None:
    given, live = lines(400), logs / "access.log"
    live.write_bytes(b"".join(given))
    read()
    edited = masked(given)
    for size in (len(edited) // 2, len(edited) - 5, len(edited)):
        (logs / "masked.log").write_bytes(edited[:size])
        assert read()["masked.log"].outcome == "rewritten"
        assert requests(store, counts) == answered(given)


def test_the_edited_copy_beside_the_log_counts_once_whichever_is_read_first(
    logs: Path, counts: Path, store: MemoryStore, source: Source
) -> None:
    given = lines(300)
    (logs / "a.log").write_bytes(b"".join(given))
    (logs / "b.log").write_bytes(masked(given))
    reports = ingest([source], store, counts, workers=4)
    assert sorted(report.outcome for report in reports) == ["read", "rewritten"]
    assert requests(store, counts) == answered(given)


def test_a_log_counted_elsewhere_and_sent_counts_once_when_it_is_edited(
    logs: Path, counts: Path, store: MemoryStore, source: Source, tmp_path: Path
) -> None:
    beside, out = MemoryStore(), tmp_path / "out"
    given = lines(450)
    (logs / "access.log").write_bytes(b"".join(given[:400]))
    ingest([source], Outbox(beside, tmp_path / "beside", out), tmp_path / "beside")
    (logs / "access.log").unlink()
    (logs / "access.log.1").write_bytes(masked(given))
    (report,) = ingest([source], Outbox(beside, tmp_path / "beside", out), tmp_path / "beside")
    assert report.outcome == "rewritten"
    taken = parcel_intake.take([out], store, counts, {("one", "node-1")})
    assert [arrival.outcome for arrival in taken] == ["taken"] * 3, [
        arrival.note for arrival in taken
    ]
    assert requests(store, counts) == answered(given)
    assert [bool(each.copy_of) for each in store.segments(0, 10**6)].count(True) == 1


def test_after_a_yes_an_edited_copy_counts(
    logs: Path, counts: Path, store: MemoryStore, source: Source
) -> None:
    given = lines(300)
    (logs / "a.log").write_bytes(b"".join(given[:200]))
    ingest([source], store, counts)
    other = logs / "b.log"
    other.write_bytes(masked(given))
    ingest([source], store, counts)
    named = replace(source, globs=(), files=(str(other),))
    for outcome in ("read", "nothing new"):
        (report,) = ingest([named], store, counts, copies_too=True)
        assert report.outcome == outcome
        assert requests(store, counts) == answered(given) + answered(given[:200])
    with other.open("ab") as file:
        file.write(lines(1, 301)[0])
    assert {report.outcome for report in ingest([source], store, counts)} == {"nothing new", "read"}
    assert requests(store, counts) == answered(given) + answered(given[:200]) + 1


def test_a_yes_before_the_copy_was_looked_at_counts_it_too(
    logs: Path, counts: Path, store: MemoryStore, source: Source
) -> None:
    given = lines(300)
    for name, content in (("a.log", b"".join(given)), ("b.log", masked(given))):
        (logs / name).write_bytes(content)
        ingest(
            [replace(source, globs=(), files=(str(logs / name),))], store, counts, copies_too=True
        )
    assert requests(store, counts) == 2 * answered(given)


@pytest.mark.parametrize("other", ["target", "bytes", "second", "site", "status"])
def test_a_log_that_differs_in_what_counts_is_another(
    logs: Path, counts: Path, store: MemoryStore, other: str
) -> None:
    given = lines(300)
    edits = {
        "target": (b"/5/page", b"/6/page"),
        "bytes": (b" 200 135 ", b" 200 136 "),
        "second": (b":12:08:05 ", b":13:08:05 "),
        "site": (b"a.example", b"b.example"),
        "status": (b" 404 ", b" 200 "),
    }
    of_site = [b"a.example:80 " + line for line in given]
    (logs / "a.log").write_bytes(b"".join(of_site))
    source = Source("one", (f"{logs}/*",), "node-1", SiteRule())
    ingest([source], store, counts)
    old, new = edits[other]
    changed = b"".join(of_site).replace(b"192.0.2.", b"198.51.100.")
    assert old in changed
    # The first line stays as it is, so that the logs open alike, but where every line has another
    # site.
    first, _, rest = changed.partition(b"\n")
    first = first.replace(old, new) if other == "site" else first
    (logs / "b.log").write_bytes(first + b"\n" + rest.replace(old, new))
    reports = {Path(report.path).name: report for report in ingest([source], store, counts)}
    assert reports["b.log"].outcome == "read"
    assert requests(store, counts) >= 2 * answered(given)


@pytest.mark.parametrize("number", [1, 2, ENOUGH - 1])
def test_logs_of_a_few_lines_both_count_and_it_is_said(
    logs: Path, counts: Path, store: MemoryStore, read: Read, number: int
) -> None:
    given = lines(number, 1)
    (logs / "a.log").write_bytes(b"".join(given))
    read()
    (logs / "b.log").write_bytes(masked(given))
    report = read()["b.log"]
    assert report.outcome == "read"
    assert "too few lines to tell" in report.note
    assert requests(store, counts) == 2 * answered(given)


def test_logs_of_two_sites_that_only_a_monitor_asks_for_both_count(
    logs: Path, counts: Path, store: MemoryStore, line: Line
) -> None:
    for site in ("a", "b"):
        asked = b"".join(line("/", NOON + 60 * i) for i in range(300))
        (logs / f"{site}.example.log").write_bytes(
            asked if site == "a" else asked.replace(b"192.0.2.1", b"::1")
        )
    source = Source("one", (f"{logs}/*",), "node-1", SiteRule(pattern=r"(?P<site>.+)[.]log"))
    assert {report.outcome for report in ingest([source], store, counts)} == {"read"}
    assert requests(store, counts) == 600


def test_readings_of_older_versions_are_told_by_their_hours(
    logs: Path, counts: Path, source: Source
) -> None:
    store = _Unsigned()
    given = lines(400)
    (logs / "access.log").write_bytes(b"".join(given))
    ingest([source], store, counts)
    (logs / "access.log").unlink()
    (logs / "access.log.1").write_bytes(masked(given))
    (report,) = ingest([source], store, counts)
    assert report.outcome == "rewritten"
    assert requests(store, counts) == answered(given)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("died", [1, 2])
def test_what_is_killed_while_an_edited_log_is_read_loses_nothing_and_counts_nothing_twice(
    logs: Path, counts: Path, source: Source, died: int, after: bool
) -> None:
    store = DyingStore()
    given = lines(500)
    (logs / "access.log").write_bytes(b"".join(given[:420]))
    ingest([source], store, counts)
    (logs / "access.log").unlink()
    (logs / "access.log.1").write_bytes(masked(given))
    store.countdown, store.after = died, after
    with pytest.raises(Killed):
        ingest([source], store, counts)
    ingest([source], store, counts)
    assert requests(store, counts) == answered(given)


@pytest.mark.parametrize("after", [False, True])
def test_a_yes_that_was_killed_counts_once(
    logs: Path, counts: Path, source: Source, after: bool
) -> None:
    store = DyingStore()
    given = lines(300)
    for name, content in (("a.log", b"".join(given)), ("b.log", masked(given))):
        (logs / name).write_bytes(content)
        ingest([source], store, counts)
    named = replace(source, globs=(), files=(str(logs / "b.log"),))
    store.countdown, store.after = 1, after
    with pytest.raises(Killed):
        ingest([named], store, counts, copies_too=True)
    ingest([named], store, counts, copies_too=True)
    assert requests(store, counts) == 2 * answered(given)


def test_both_engines_sign_alike() -> None:
    layout, rule = layout_of("combined"), SiteRule(fixed="a.example")
    native, reference = (new_scanner(layout, rule, 10), Scanner(ReferenceScan(layout, rule, 10)))
    for scanner in (native, reference):
        scanner.feed(b"".join(lines(1000)) + masked(lines(3), b"::") * 3)
    one, other = signature(native.finish()), signature(reference.finish())
    assert one == other != signature(native.finish())


def test_an_edited_log_that_a_pipe_brings_is_not_counted_without_a_yes(
    logs: Path, counts: Path, store: MemoryStore, source: Source, tmp_path: Path
) -> None:
    given = lines(300)
    (logs / "a.log").write_bytes(b"".join(given))
    ingest([source], store, counts)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    named = replace(source, globs=(), files=(str(pipe),))
    for content, copies_too, outcome, times in (
        (given, False, "nothing new", 1),
        ([masked(given)], False, "rewritten", 1),
        ([masked(given)], True, "read", 2),
    ):
        writer = Thread(target=_write, args=(pipe, b"".join(content)), daemon=True)
        writer.start()
        (report,) = ingest([named], store, counts, copies_too=copies_too)
        writer.join(300)
        assert report.outcome == outcome
        assert requests(store, counts) == times * answered(given)


def _write(pipe: Path, content: bytes) -> None:
    with suppress(BrokenPipeError):
        pipe.write_bytes(content)


class _Unsigned(MemoryStore):
    """Knows of readings what stood in the database before there were signatures."""

    def record_all(
        self, readings: Sequence[tuple[Segment, Stream, Stream | None]]
    ) -> frozenset[str]:
        return super().record_all(
            [
                (replace(segment, signature="", opening=""), stream, replaces)
                for segment, stream, replaces in readings
            ]
        )


def test_signatures_add_up_however_a_log_is_read(logs: Path, counts: Path, source: Source) -> None:
    given = lines(1000)
    random.Random(1).shuffle(given)
    whole, pieces = MemoryStore(), MemoryStore()
    (logs / "access.log").write_bytes(b"".join(given))
    ingest([source], whole, counts / "whole")
    for end in (1, 2, 500, 999, 1000):
        (logs / "access.log").write_bytes(b"".join(given[:end]))
        ingest([source], pieces, counts / "pieces")
    (one,) = whole.segments(0, 10**6)
    assert len(pieces.segments(0, 10**6)) == 5
    assert signature_of_all(each.signature for each in pieces.segments(0, 10**6)) == one.signature

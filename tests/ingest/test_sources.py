"""What a source's files are, whatever they are packed in, and what becomes of those that cannot be
read.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from flex.errors import NoData
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import CHUNK, PACKINGS, Log, Source, paths
from flex_logs_ingest.reading.read_logs import FileReport, Step, ingest
from flex_logs_ingest.scan.site_rules import SiteRule

Line = Callable[..., bytes]
Read = Callable[[], dict[str, FileReport]]

MIB = 2**20
PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda text: lzma.compress(text, preset=0),
    "zstd": zstandard.compress,
}
# A text that does not pack to nothing, longer than what is read at once.
TEXT = b"".join(b"%d %d\n" % (i, i * i % 99_991) for i in range(120_000))


def content(path: Path) -> tuple[bytes, str]:
    with Log(str(path)) as log:
        return b"".join(log.chunks()), log.note


def counted(report: FileReport) -> int:
    return dict(report.lines)["counted"]


def test_every_packing_is_tested() -> None:
    assert set(PACK) == {"plain", *PACKINGS}


@pytest.mark.parametrize("packing", PACK)
def test_a_log_is_known_by_its_content_and_not_by_its_name(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "access.log.zip"
    path.write_bytes(PACK[packing](TEXT))
    with Log(str(path)) as log:
        assert log.packing == packing
        chunks = list(log.chunks())
    assert b"".join(chunks) == TEXT
    assert max(map(len, chunks)) <= CHUNK < len(TEXT)


@pytest.mark.parametrize("packing", PACK)
def test_a_small_file_that_unpacks_to_a_large_one_is_never_in_memory_as_a_whole(
    packing: str, tmp_path: Path
) -> None:
    path, zeros = tmp_path / "access.log", bytes(40 * MIB)
    path.write_bytes(PACK[packing](zeros))
    tracemalloc.start()
    try:
        with Log(str(path)) as log:
            unpacked = sum(map(len, log.chunks()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert unpacked == len(zeros)
    assert peak < 48 * MIB


@pytest.mark.parametrize("packing", PACK)
def test_parts_packed_one_by_one_are_one_log(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(
        b"".join(PACK[packing](TEXT[at : at + 300_000]) for at in range(0, len(TEXT), 300_000))
    )
    assert content(path) == (TEXT, "")


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_cut_file_gives_what_can_be_read_and_says_so(packing: str, tmp_path: Path) -> None:
    packed = PACK[packing](TEXT)
    path = tmp_path / "access.log"
    # Early enough to lose something, late enough to hold a whole block of every packing.
    path.write_bytes(packed[: len(packed) - 20])
    read, note = content(path)
    assert TEXT.startswith(read)
    assert f"the {packing} data end early or are damaged" in note
    assert read or packing in ("bzip2", "xz")


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("offset", [0, 5, 4096, len(TEXT) - 1, len(TEXT)])
def test_one_can_go_on_anywhere_forward_and_back(packing: str, offset: int, tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(PACK[packing](TEXT))
    with Log(str(path)) as log:
        log.read(1_000)
        for _ in range(2):
            assert log.seek(offset)
            assert log.read(100) == TEXT[offset : offset + 100]
        assert not log.seek(len(TEXT) + 1)


def test_globs_are_expanded_in_one_order_and_each_file_once(tmp_path: Path) -> None:
    for name in ("b.log", "a.log.2.gz", "a.log"):
        (tmp_path / name).touch()
    source = Source("one", (f"{tmp_path}/*", f"{tmp_path}/a*"), "node-1", SiteRule())
    assert [Path(path).name for path in paths(source)] == ["a.log", "a.log.2.gz", "b.log"]


def test_what_is_no_log_is_an_outcome_and_the_others_are_read(
    logs: Path, line: Line, read: Read
) -> None:
    (logs / "access.log").write_bytes(line("/a") + line("/b"))
    (logs / "blank").write_bytes(b"\0\n\n")
    (logs / "empty").touch()
    (logs / "folder").mkdir()
    os.mkfifo(logs / "pipe")
    (logs / "gone").symlink_to(logs / "nowhere")
    (logs / "damaged.gz").write_bytes(b"\x1f\x8b\x08\x00damaged")
    reports = read()
    assert {name: report.outcome for name, report in reports.items()} == {
        "access.log": "read",
        "blank": "unknown format",
        "damaged.gz": "unreadable",
        "empty": "empty",
        "folder": "unreadable",
        "gone": "unreadable",
        "pipe": "unreadable",
    }
    assert reports["folder"].note == "it is a directory"
    assert reports["pipe"].note == "it is not a regular file"
    assert reports["gone"].note == "No such file or directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_the_right_to_read_it_is_an_outcome(
    logs: Path, line: Line, read: Read
) -> None:
    for name in ("access.log", "secret.log"):
        (logs / name).write_bytes(line("/a"))
    (logs / "secret.log").chmod(0)
    assert read()["secret.log"].note == "Permission denied"


def test_an_xz_that_asks_for_a_gigabyte_to_unpack_is_shown_and_not_unpacked(
    logs: Path, line: Line, read: Read
) -> None:
    small = bytearray(
        lzma.compress(line("/x") * 9, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 4096}])
    )
    # The block's header: its size in words, flags, filter, length and value of the filter's
    # property, checksum.
    end = 12 + 4 * (small[12] + 1) - 4
    small[16] = 36
    small[end : end + 4] = zlib.crc32(small[12:end]).to_bytes(4, "little")
    (logs / "access.log.xz").write_bytes(small)
    (logs / "other.log").write_bytes(line("/y"))
    report = read()["access.log.xz"]
    assert (report.outcome, counted(report)) == ("unreadable", 0)
    assert "emory" in report.note


def test_xz_streams_one_behind_the_other_are_one_log(logs: Path, line: Line, read: Read) -> None:
    streams = [lzma.compress(line(f"/{n}") * 3, preset=0) for n in range(3)]
    (logs / "access.log.xz").write_bytes(bytes(8).join(streams))
    assert counted(read()["access.log.xz"]) == 9


@pytest.mark.parametrize("kind", [0x50, 0x5F])
def test_zstd_may_begin_with_frames_that_hold_no_data(
    logs: Path, line: Line, read: Read, kind: int
) -> None:
    index = bytes((kind, 0x2A, 0x4D, 0x18)) + (700).to_bytes(4, "little") + bytes(700)
    frames = [index + zstandard.compress(line(f"/{n}") * 3) for n in range(3)]
    (logs / "access.log.zst").write_bytes(b"".join(frames) + index)
    report = read()["access.log.zst"]
    assert (counted(report), report.packing, report.note) == (9, "zstd", "")


@pytest.mark.parametrize("byte", [-8, -4])
def test_a_gzip_whose_checksum_is_another_is_said_to_be_damaged(
    logs: Path, line: Line, read: Read, byte: int
) -> None:
    packed = bytearray(gzip.compress(b"".join(line(f"/{i * 7919 % 10_007}") for i in range(2_000))))
    packed[byte] ^= 1
    (logs / "access.log.1.gz").write_bytes(packed)
    assert "checksum" in read()["access.log.1.gz"].note


def test_a_cut_gzip_counts_its_whole_lines(logs: Path, line: Line, read: Read) -> None:
    text = b"".join(line(f"/{i * 7919 % 10_007}") for i in range(2_000))
    (logs / "access.log.1.gz").write_bytes(gzip.compress(text)[:-2_000])
    report = read()["access.log.1.gz"]
    assert report.outcome == "read"
    assert "end early" in report.note
    assert 0 < counted(report) < 2_000


def test_a_log_in_no_known_format_is_an_outcome(logs: Path, line: Line, read: Read) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    (logs / "error.log").write_bytes(b"child 1 exit signal Segmentation fault\n" * 50)
    reports = read()
    assert (reports["access.log"].outcome, reports["access.log"].format) == ("read", "combined")
    assert reports["error.log"].outcome == "unknown format"
    assert "Segmentation fault" in reports["error.log"].note


def test_a_glob_that_matches_nothing_is_an_outcome_beside_one_that_does(
    logs: Path, line: Line, source: Source, store: MemoryStore, counts: Path
) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    other = Source("other", (f"{logs}/nothing/*",), "node-2", SiteRule())
    reports = ingest([source, other], store, counts)
    assert reports[-1].outcome == "nothing matches"
    assert reports[-1].path == f"{logs}/nothing/*"


def test_nothing_to_read_at_all_is_an_error_that_says_what_was_tried(
    logs: Path, store: MemoryStore, counts: Path
) -> None:
    source = Source("one", (f"{logs}/*.log",), "node-1", SiteRule())
    with pytest.raises(NoData) as caught:
        ingest([source], store, counts)
    assert f"{logs}/*.log: nothing matches" in caught.value.answer


def test_a_name_that_is_no_text_is_shown_as_one(logs: Path, line: Line, read: Read) -> None:
    Path(os.fsdecode(bytes(logs / "access") + b"\xff.log")).write_bytes(line("/a"))
    assert read()["access\\xff.log"].outcome == "read"


def test_progress_reaches_the_size_of_each_file_and_of_the_source(
    logs: Path, line: Line, source: Source, store: MemoryStore, counts: Path
) -> None:
    for name in ("access.log.1.gz", "access.log.2.gz"):
        (logs / name).write_bytes(gzip.compress(line(f"/{name}") * 50_000))
    told: list[Step] = []
    ingest([source], store, counts, progress=told.append)
    size = sum(path.stat().st_size for path in logs.iterdir())
    assert (told[-1].done, told[-1].source_done, told[-1].source_size) == (
        told[-1].size,
        size,
        size,
    )
    assert told[-1].source_lines == 100_000
    assert [step.source_done for step in told] == sorted(step.source_done for step in told)

"""Files that no log should be in: each is an outcome, none stops a run, and memory stays flat
whatever they hold.
"""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
import random
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard

from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import PACKINGS, Log, Source, paths
from flex_logs_ingest.reading.read_logs import FAILED, FileReport
from flex_logs_ingest.scan.site_rules import SiteRule

Line = Callable[..., bytes]
Read = Callable[[], dict[str, FileReport]]

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda text: lzma.compress(text, preset=0),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TEXT = b"".join(b"%d %d\n" % (i, i * i % 99_991) for i in range(20_000))

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage behind it": lambda packed: packed + b"garbage\n" * 99,
    "zeros behind it": lambda packed: packed + b"\0" * 5000,
    "another one's beginning behind it": lambda packed: packed + packed[:7],
    "itself without its beginning behind it": lambda packed: packed + packed[9:],
    "nothing but its beginning": lambda packed: packed[:6],
    "its header twice": lambda packed: packed[:10] + packed,
    "no end": lambda packed: packed[:-1],
    "half of it": lambda packed: packed[: len(packed) // 2],
    "zeros in the middle": lambda packed: packed[:400] + b"\0" * 400 + packed[800:],
    "ones at the end": lambda packed: packed[:-9] + b"\xff" * 9,
}


def content(path: Path) -> tuple[bytes, str]:
    with Log(str(path)) as log:
        return b"".join(log.chunks()), log.note


def test_what_takes_too_much_memory_to_unpack_is_told_with_the_way_round(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    far = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    packer = zstandard.ZstdCompressor(compression_params=far).compressobj()
    path.write_bytes(packer.compress(TEXT * 50) + packer.flush())
    read, note = content(path)
    assert read == b""
    assert "| flex ingest -" in note
    with Log(str(path)) as log:
        assert log.is_wide


@pytest.mark.parametrize(("packing", "wide"), [("zstd", False), ("xz", True), ("gzip", False)])
def test_only_what_may_take_much_memory_waits_for_others_of_its_kind(
    tmp_path: Path, packing: str, wide: bool
) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(PACK[packing](TEXT))
    with Log(str(path)) as log:
        assert log.is_wide is wide


def test_every_packing_is_tortured() -> None:
    assert set(PACK) == set(PACKINGS)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("packing", PACK)
def test_a_damaged_file_gives_what_stands_before_the_damage(
    packing: str, damage: str, tmp_path: Path
) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(DAMAGES[damage](PACK[packing](TEXT)))
    read, note = content(path)
    assert TEXT.startswith(read[: len(TEXT)]) or damage == "zeros in the middle"
    assert read.startswith(TEXT) or f"the {packing} data end early or are damaged" in note


@pytest.mark.parametrize("packing", PACK)
def test_a_flipped_bit_anywhere_stops_nothing(packing: str, tmp_path: Path) -> None:
    chance, packed, path = (random.Random(1), PACK[packing](TEXT[:2_000]), tmp_path / "access.log")
    for _ in range(300):
        damaged = bytearray(packed)
        damaged[chance.randrange(len(packed))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        read, _ = content(path)
        assert len(read) <= 2 * len(TEXT)


def test_files_that_are_none_are_outcomes_and_the_logs_beside_them_count(
    logs: Path, line: Line, read: Read
) -> None:
    (logs / "access.log").write_bytes(line("/a"))
    (logs / "empty").touch()
    (logs / "folder").mkdir()
    os.mkfifo(logs / "pipe")
    for device in ("zero", "full", "null", "tty", "stdin"):
        (logs / device).symlink_to(f"/dev/{device}")
    (logs / "memory").symlink_to("/proc/self/mem")
    (logs / "kernel").symlink_to("/proc/kmsg")
    (logs / "loop").symlink_to(logs / "loop")
    (logs / "there").symlink_to(logs / "back")
    (logs / "back").symlink_to(logs / "there")
    (logs / "unpacked.gz").write_bytes(gzip.compress(b""))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(logs / "socket"))
        reports = read()
    assert set(reports) == {path.name for path in logs.iterdir()}
    usable = {name for name, report in reports.items() if report.outcome not in FAILED}
    assert usable - {"stdin", "memory", "kernel"} == {"access.log", "empty", "unpacked.gz"}
    assert all(report.note for report in reports.values() if report.outcome in FAILED)
    assert sum(dict(report.lines)["counted"] for report in reports.values()) == 1


NAMES = [
    b"two\nlines.log",
    b"\x1b[31mred\x07.log",
    b"no\xfftext\xc3.log",
    b"-rf",
    b"* ? [a-z].log",
    b"'\";$(touch x)`.log",
    "é\u2028\u202e.log".encode(),
    b" ",
    b"n" * 255,
    b"%s%n{0}.log",
]


def test_any_name_that_a_file_can_have_is_read_and_shown(
    logs: Path, line: Line, read: Read, store: MemoryStore
) -> None:
    for number, name in enumerate(NAMES):
        Path(os.fsdecode(bytes(logs) + b"/" + name)).write_bytes(line(f"/{number}"))
    reports = read()
    assert [report.outcome for report in reports.values()] == ["read"] * len(NAMES)
    assert "two\\nlines.log" in reports
    stored = [segment.path for segment in store.segments(0, 10**6)]
    assert [
        path
        for path in [*stored, *(report.path for report in reports.values())]
        if not path.isprintable()
    ] == []
    assert {report.outcome for report in read().values()} == {"nothing new"}


def test_links_that_lead_back_are_followed_by_no_glob(logs: Path, line: Line) -> None:
    (logs / "a/b").mkdir(parents=True)
    (logs / ".hidden").mkdir()
    for folder in (logs, logs / "a", logs / "a/b", logs / ".hidden"):
        (folder / "access.log").write_bytes(line("/a"))
        for name in ("back", "again", "up"):
            (folder / name).symlink_to("..", target_is_directory=True)
    found = paths(Source("one", (f"{logs}/**/*.log", f"{logs}/**/b/**"), "node-1", SiteRule()))
    assert [path.removeprefix(f"{logs}/") for path in found if path.endswith("log")] == [
        "a/access.log",
        "a/b/access.log",
        "access.log",
    ]


# Reads one file, and says how much memory that took at most.
READER = """
import sys
from pathlib import Path
from flex.store import MemoryStore
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from flex_logs_ingest.files.find_and_unpack_logs import Source

log, counts, format = sys.argv[1:]
rule = SiteRule("a.example" if format == "combined" else None)
source = Source("one", (log,), "node-1", rule, format=format)
(report,) = ingest([source], MemoryStore(), Path(counts))
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(sum(number for _, number in report.lines), int(peak) // 1024)
"""
MIB = 2**20


def read_alone(path: Path, format_: str = "combined") -> tuple[int, int]:
    """Lines, and MiB of memory at most."""
    command = [sys.executable, "-c", READER, str(path), f"{path}.counts", format_]
    lines, peak = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=300
    ).stdout.split()
    return int(lines), int(peak)


def zipped(pieces: Iterator[bytes]) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*map(packer.compress, pieces), packer.flush()])


def xzipped(pieces: Iterator[bytes]) -> bytes:
    packer = lzma.LZMACompressor(preset=6)
    return b"".join([*map(packer.compress, pieces), packer.flush()])


def zstandardised(pieces: Iterator[bytes]) -> bytes:
    packer = zstandard.ZstdCompressor(level=19).compressobj()
    return b"".join([*map(packer.compress, pieces), packer.flush()])


def bzipped(pieces: Iterator[bytes]) -> bytes:
    packer = bz2.BZ2Compressor()
    return b"".join([*map(packer.compress, pieces), packer.flush()])


BOMBS = {"gzip": zipped, "xz": xzipped, "zstd": zstandardised, "bzip2": bzipped}
LINE = b'192.0.2.1 - - [15/Nov/2023:12:00:00 +0000] "GET /a HTTP/1.1" 200 100 "-" "-"\n'
CONTENTS = {
    "zeros": b"\0" * MIB,
    "one line": b"a" * MIB,
    "lines without text": b"\n" * MIB,
    "lines": LINE * (MIB // len(LINE)),
}


@pytest.mark.torture("bzip2", "xz", "zstd")
@pytest.mark.slow("bzip2", "xz", "zstd")
@pytest.mark.parametrize("packing", BOMBS)
def test_a_small_file_that_unpacks_to_a_large_one_takes_no_more_memory(
    packing: str, tmp_path: Path
) -> None:
    bomb = tmp_path / "access.log"
    bomb.write_bytes(BOMBS[packing](itertools.repeat(CONTENTS["zeros"], 200)))
    lines, peak = read_alone(bomb)
    assert lines == 0
    assert peak < 256


@pytest.mark.torture
@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("packing", BOMBS)
def test_gigabytes_of_anything_take_no_more_memory(
    packing: str, content: str, tmp_path: Path
) -> None:
    bomb, pieces = tmp_path / "access.log", 200 if packing == "bzip2" else 2000
    bomb.write_bytes(BOMBS[packing](itertools.repeat(CONTENTS[content], pieces)))
    lines, peak = read_alone(bomb)
    assert lines == pieces * CONTENTS[content].count(b"\n")
    assert peak < 256


def line_of(host: str = "a.example", target: str = "/", hours: int = 0) -> bytes:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
    return (
        f'{host} 192.0.2.1 - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET {target} '
        'HTTP/1.1" 200 1 "-" "-"\n'
    ).encode()


# Whatever there are many of.
MANY: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "targets": (1_000_000, lambda i: line_of(target=f"/{i}")),
    "long targets": (60_000, lambda i: line_of(target=f"/{'x' * 4000}{i}")),
    "hosts": (500_000, lambda i: line_of(host=f"h{i}.example")),
    "long hosts": (60_000, lambda i: line_of(host=f"{'x' * 4000}{i}.example")),
    "days": (30_000, lambda i: line_of(hours=i * 1000)),
    "hours": (500_000, lambda i: line_of(hours=i % 50_000, host=f"h{i // 50_000}.example")),
}


@pytest.mark.torture
@pytest.mark.parametrize("what", MANY)
def test_however_many_there_are_of_anything_they_take_no_more_memory(
    what: str, tmp_path: Path
) -> None:
    number, line = MANY[what]
    log = tmp_path / "access.log"
    with log.open("wb") as file:
        file.writelines(map(line, range(number)))
    lines, peak = read_alone(log, "vhost_combined")
    assert lines == number
    assert peak < 256

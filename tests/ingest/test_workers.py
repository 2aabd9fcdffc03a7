"""Several logs read at once: the same is counted as if they were read one after the other, in
bounded memory.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from flex.errors import NotWritten
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading import which_in_parallel
from flex_logs_ingest.reading.read_logs import FileReport, ingest
from flex_logs_ingest.reading.which_in_parallel import ReadApart, Stopped

Line = Callable[..., bytes]
NOON = 1_700_049_600


@pytest.fixture
def rotated(logs: Path, line: Line) -> Path:
    """Logs of their own, one that begins like another, a copy of one, a short one, an empty one."""
    texts = [
        b"".join(line(f"/{name}/{i}", NOON + 1000 * name + i) for i in range(300))
        for name in range(6)
    ]
    for name, text in enumerate(texts):
        (logs / f"{name}.log").write_bytes(text)
    (logs / "cut.log").write_bytes(texts[1][:-1000])
    (logs / "same.log").write_bytes(texts[2])
    (logs / "longer.log").write_bytes(texts[3] + line("/more"))
    (logs / "short.log").write_bytes(texts[4][:40])
    (logs / "empty.log").touch()
    return logs


def read_with(
    workers: int, source: Source, counts: Path
) -> tuple[list[FileReport], list[object], list[bytes]]:
    """Reports without how long it took, segments and the counts themselves."""
    store = MemoryStore()
    found = ingest([source], store, counts, workers=workers, memory=2**26)
    reports = [replace(report, seconds=0) for report in found]
    written = [path.read_bytes() for path in sorted(counts.glob("*.parquet"))]
    return reports, list(store.segments(0, 10**6)), written


@pytest.mark.usefixtures("rotated")
def test_many_workers_count_what_one_counts(source: Source, tmp_path: Path) -> None:
    alone = read_with(1, source, tmp_path / "alone")
    for workers in (2, 4):
        assert read_with(workers, source, tmp_path / f"with {workers}") == alone


def test_logs_that_have_nothing_to_do_with_each_other_are_read_at_once() -> None:
    meeting = threading.Barrier(2, timeout=300)
    assert sorted(ReadApart(2).each(lambda _: meeting.wait(), [("a", b"one"), ("b", b"two")])) == [
        0,
        1,
    ]


def test_logs_that_begin_alike_are_read_one_after_the_other() -> None:
    inside: list[str] = []
    most: list[int] = []
    doors = ReadApart(4)

    def read(path: str) -> None:
        with doors.alone(b"the same" if path in "abcd" else path.encode()):
            inside.append(path)
            most.append(len([other for other in inside if other in "abcd"]))
            inside.remove(path)

    doors.each(read, [(path, path.encode()) for path in "abcdefgh" * 20])
    assert max(most) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_log_is_in_the_group_of_all_that_it_may_begin_like(seed: int) -> None:
    draw = random.Random(seed)
    logs = [(str(i), bytes(draw.choices(b"ab", k=draw.randrange(5)))) for i in range(30)]
    ran: list[list[str]] = []
    doors = ReadApart(1)
    groups = which_in_parallel._groups(logs)
    place = {path: number for number, group in enumerate(groups) for path in group}
    assert sorted(path for group in groups for path in group) == sorted(path for path, _ in logs)
    for path, head in logs:
        for other, longer in logs:
            assert place[path] == place[other] or not (head and longer and longer.startswith(head))
    ran.append(doors.each(str, logs))
    assert ran == [[path for path, _ in logs]]


def test_nothing_more_is_read_when_one_reader_fails() -> None:
    doors = ReadApart(2)
    failed = threading.Event()

    def read(path: str) -> None:
        if path == "a":
            failed.set()
            raise NotWritten("writing", "the disk is full", kept="nothing", advice="make room")
        failed.wait(300)
        while True:
            doors.check()

    with pytest.raises(NotWritten):
        doors.each(read, [("a", b"a"), ("b", b"b"), ("c", b"c")])
    with pytest.raises(Stopped):
        doors.check()


HOSTILE: dict[str, Callable[[int], tuple[str, int, str]]] = {
    "targets": lambda i: (f"{i % 7}.example", NOON + i % 86_400, f"/{i}/{'x' * 100}"),
    "long targets": lambda i: ("a.example", NOON, f"/{i}/{'x' * 8_000}"),
    "sites": lambda i: (f"{i}.{'x' * 100}.example", NOON, "/"),
    "hours": lambda i: ("a.example", 3600 * i, "/"),
    "sites and hours": lambda i: (f"{i}.example", 3600 * (i % 1_000_000), f"/{i}"),
    "one target": lambda _: ("a.example", NOON, "/"),
}

READ = """
import json, sys
from pathlib import Path
from flex.store import MemoryStore
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from flex_logs_ingest.files.find_and_unpack_logs import Source
if sys.argv[3] == "python":
    sys.modules["flex_native"] = None
logs, counts = sys.argv[1:3]
source = Source("one", (logs + "/*",), "node", SiteRule(), "vhost_combined")
(report,) = ingest([source], MemoryStore(), Path(counts))
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))
print(json.dumps([report.outcome, dict(report.lines)["counted"], peak]))
"""


def lines(kind: str, count: int) -> Iterator[bytes]:
    from datetime import UTC, datetime

    for i in range(count):
        site, time, target = HOSTILE[kind](i)
        at = f"{datetime.fromtimestamp(time, UTC):%d/%b/%Y:%H:%M:%S} +0000"
        yield f'{site}:80 192.0.2.1 - - [{at}] "GET {target} HTTP/1.1" 200 5 "-" "-"\n'.encode()


def peak_of_reading(kind: str, count: int, folder: Path, engine: str = "native") -> int:
    """MiB, of a process of its own."""
    (folder / "logs").mkdir()
    with (folder / "logs/access.log").open("wb") as log:
        log.writelines(lines(kind, count))
    command = [sys.executable, "-c", READ, str(folder / "logs"), str(folder / "counts"), engine]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    outcome, counted, peak = json.loads(answer.stdout)
    assert (outcome, counted) == ("read", count)
    return int(peak)


@pytest.mark.torture
@pytest.mark.parametrize("kind", HOSTILE)
def test_memory_stays_small_whatever_a_log_holds(kind: str, tmp_path: Path) -> None:
    assert peak_of_reading(kind, 100_000 if kind == "long targets" else 2_500_000, tmp_path) < 256


@pytest.mark.slow
def test_memory_stays_small_where_every_line_asks_for_something_else(tmp_path: Path) -> None:
    assert peak_of_reading("long targets", 15_000, tmp_path) < 256

"""Any history of a log, and of the runs that read it, ends with every line counted once.

A web server writes, logrotate rotates in either of its ways, an administrator packs and copies, and
FLEX reads, each at random; FLEX is killed at random as well, by an exception that nobody handles
or, in a process of its own, by kill -9.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL
from typing import Protocol

import pytest
import zstandard

from flex.model.period import Period
from flex.ports import Segments
from flex.store import open_store
from flex_logs_ingest.counts import count_files_of_days
from flex_logs_ingest.counts.file_table import file_table
from flex_logs_ingest.files.find_and_unpack_logs import Source
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from tests.ingest.given import DyingStore, Killed
from tests.migrated import new_database
from tests.thorough import first_quick

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lambda text: lzma.compress(text, preset=0),
    ".zst": zstandard.compress,
}
EVER = Period(datetime(2023, 11, 1, tzinfo=UTC), datetime(2023, 12, 1, tzinfo=UTC))
NOON = 1_700_049_600
# How many readings are recorded together, at most.
TOGETHER = (1, 2, 5, 512)
# So little that one reading of a log is recorded in several pieces.
MEMORY = 2**13


class Reader(Protocol):
    """FLEX, reading the logs of a folder."""

    def ingest(self) -> None: ...
    def die(self, chance: random.Random) -> None:
        """Begin to read, and end somewhere in the middle."""

    def counted(self) -> Counter[str]: ...


def source(logs: str) -> Source:
    return Source("one", (logs,), "node-1", SiteRule(fixed="a.example"), "combined")


def targets(store: Segments, counts: Path) -> Counter[str]:
    files = file_table(store, counts, EVER).whole()
    return Counter(dict(zip(files["target"], files["requests"].tolist(), strict=True)))


class InMemory:
    """Killed by exceptions: at the store, or while it reads."""

    def __init__(self, folder: Path) -> None:
        self.source, self.counts, self.store = (
            source(f"{folder}/logs/*"),
            folder / "counts",
            DyingStore(),
        )

    def ingest(self, progress: Callable[..., None] | None = None, together: int = 512) -> None:
        ingest(
            [self.source],
            self.store,
            self.counts,
            progress=progress,
            memory=MEMORY,
            together=together,
        )

    def die(self, chance: random.Random) -> None:
        left = iter(range(chance.randrange(4)))
        together = chance.choice(TOGETHER)

        def die(*_step: object) -> None:
            if next(left, None) is None:
                raise Killed

        self.store.countdown, self.store.after = (
            chance.choice([0, 1, 2, 3, 4]),
            chance.random() < 0.5,
        )
        with suppress(Killed):
            self.ingest(None if self.store.countdown else die, together)
        self.store.countdown = 0

    def counted(self) -> Counter[str]:
        return targets(self.store, self.counts)


# What a process does that is killed: by itself, as it asks the system or the store for the n-th
# time, or from outside.
READ = """
import os, signal, sys
from pathlib import Path
from flex.store import open_store
from flex_logs_ingest.reading.read_logs import ingest
from flex_logs_ingest.scan.site_rules import SiteRule
from flex_logs_ingest.files.find_and_unpack_logs import Source

ASKED = {"open", "os.rename", "os.remove", "os.mkdir", "os.scandir", "sqlite3.connect"}

def ask(event, _arguments=()):
    global steps
    if event == "record" if at_the_store else event in ASKED:
        steps -= 1
        if not steps:
            os.kill(os.getpid(), signal.SIGKILL)

class Asked:
    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    def record(self, *what):
        ask("record")
        recorded = self._store.record(*what)
        ask("record")
        return recorded

    def record_all(self, readings):
        ask("record")
        known = self._store.record_all(readings)
        ask("record")
        return known

source = Source("one", (logs,), "node-1", SiteRule(fixed="a.example"), "combined")
with open_store(url) as store:
    sys.addaudithook(ask)
    ingest([source], Asked(store), Path(counts), memory=memory, together=together)
"""
# Started from a process that does nothing else, so that no thread of the tests is half copied.
PROCESSES = get_context("forkserver")


class InProcesses:
    """Counts into SQLite, and is killed by kill -9."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.counts, self.url = (
            f"{folder}/logs/*",
            folder / "counts",
            f"sqlite:///{folder}/flex.db",
        )
        self.killed = 0
        new_database(folder / "flex.db")
        PROCESSES.set_forkserver_preload(
            ["__main__", "flex.store", "flex_logs_ingest.reading.read_logs"]
        )

    def ingest(self) -> None:
        with open_store(self.url) as store:
            ingest([source(self.logs)], store, self.counts, memory=MEMORY)

    def die(self, chance: random.Random) -> None:
        at_the_store, steps, delay = chance.choice(
            [
                (True, chance.randrange(1, 5), None),
                (False, chance.randrange(1, 60), None),
                (False, 0, chance.uniform(0, 0.1)),
            ]
        )
        names = {"logs": self.logs, "counts": str(self.counts), "url": self.url, "memory": MEMORY}
        names |= {"at_the_store": at_the_store, "steps": steps, "together": chance.choice(TOGETHER)}
        process = PROCESSES.Process(target=exec, args=(READ, names))
        process.start()
        process.join(delay)
        process.kill()
        process.join()
        self.killed += process.exitcode == -SIGKILL
        assert process.exitcode in (0, -SIGKILL)
        process.close()

    def counted(self) -> Counter[str]:
        with open_store(self.url) as store:
            known = set(count_files_of_days.files_left(store, 0, 10**6))
            assert {path.name[:40] for path in self.counts.glob("*.parquet*")} == known, (
                "leftovers were not cleared"
            )
            return targets(store, self.counts)


class History:
    """Each line asks for another target, so the file table says which lines were counted and how
    often.
    """

    def __init__(self, folder: Path, seed: int, reader: Reader) -> None:
        self.random = random.Random(seed)
        self.reader = reader
        self.live = folder / "logs/access.log"
        self.live.parent.mkdir()
        self.copy = folder / "logs/access.log.copy"
        self.writer = self.live.open("ab", buffering=0)
        self.half = b""
        self.written = 0
        self.rotated = 0
        self.done: list[str] = []

    def play(self, steps: int) -> None:
        often = [self.log_lines] * 6 + [self.ingest] * 2 + [self.die] * 3
        seldom = [self.rename, self.tell_the_server, self.tell_the_server, self.copy_and_truncate]
        other = [
            self.compress,
            self.compress,
            self.pack_again,
            self.rename_again,
            self.copy_half,
            self.copy_whole,
        ]
        for _ in range(steps):
            step = self.random.choice([*often, *seldom, *other, self.remove_the_copy])
            self.done.append(step.__name__)
            step()
        self.write(0)
        self.ingest()
        self.ingest()
        self.writer.close()

    def ingest(self) -> None:
        self.reader.ingest()

    def die(self) -> None:
        self.reader.die(self.random)

    def log_lines(self) -> None:
        self.write(self.random.choice([1, 5, 60]), self.random.random() < 0.3)

    def rename(self) -> None:
        """The server goes on writing to the renamed file until it is told."""
        if self.is_live():
            self.live.rename(self.next_name())
            self.live.touch()

    def tell_the_server(self) -> None:
        self.write(0)
        self.writer.close()
        self.writer = self.live.open("ab", buffering=0)

    def copy_and_truncate(self) -> None:
        if self.is_live():
            self.write(0)
            shutil.copy(self.live, self.next_name())
            os.truncate(self.live, 0)

    def compress(self) -> None:
        """Half-way, done with the original still there, or done and gone."""
        plain = [path for path in self.rotated_logs() if path.suffix not in PACK]
        if not plain or not self.is_live():
            return
        path, ending = self.random.choice(plain), self.random.choice(sorted(PACK))
        packed, stage = (
            PACK[ending](path.read_bytes()),
            self.random.choice(["cut", "beside", "gone"]),
        )
        path.with_name(path.name + ending).write_bytes(
            packed[: len(packed) // 2] if stage == "cut" else packed
        )
        if stage == "gone":
            path.unlink()

    def pack_again(self) -> None:
        """What was packed whole with gzip, in two members."""
        for path in self.rotated_logs():
            if path.suffix == ".gz" and not path.with_suffix("").exists():
                with suppress(EOFError):
                    text = gzip.decompress(path.read_bytes())
                    half = len(text) // 2
                    path.write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))

    def rename_again(self) -> None:
        """As logrotate does with what it rotated before; the whole file goes, the server may still
        write to it.

        No file takes another's place: where a whole log is gone, nobody can tell that a cut copy of
        it is one.
        """
        if logs := self.rotated_logs():
            path, name = self.random.choice(logs), self.next_name()
            path.rename(name.with_name(name.name + (path.suffix if path.suffix in PACK else "")))

    def copy_half(self) -> None:
        """As one sees a log while another program copies it."""
        text = self.live.read_bytes()
        self.copy.write_bytes(text[: len(text) // 2])

    def copy_whole(self) -> None:
        if logs := self.rotated_logs():
            shutil.copy(self.random.choice(logs), self.copy)

    def remove_the_copy(self) -> None:
        self.copy.unlink(missing_ok=True)

    def write(self, lines: int, cut: bool = False) -> None:
        text = self.half + b"".join(self.line(self.written + i) for i in range(lines))
        self.written += lines
        keep = len(text) - 20 if cut else len(text)
        self.writer.write(text[:keep])
        self.half = text[keep:]

    @staticmethod
    def line(number: int) -> bytes:
        at = datetime.fromtimestamp(NOON + number, UTC)
        width = "x" * (number * 37 % 120)
        return (
            f'192.0.2.1 - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET /{number} '
            f'HTTP/1.1" 200 9 "-" "{width}"\n'
        ).encode()

    def is_live(self) -> bool:
        return os.path.samestat(os.fstat(self.writer.fileno()), self.live.stat())

    def rotated_logs(self) -> list[Path]:
        return sorted(
            path for path in self.live.parent.iterdir() if path not in (self.live, self.copy)
        )

    def next_name(self) -> Path:
        """With a number behind it, or with a date."""
        self.rotated += 1
        date = f"access.log-20231{self.rotated:03}"
        return self.live.with_name(self.random.choice([f"access.log.{self.rotated}", date]))


def play(folder: Path, seed: int, steps: int, reader: Reader) -> None:
    history = History(folder, seed, reader)
    history.play(steps)
    assert history.written, "a history without lines proves nothing"
    times = reader.counted()
    lost = [target for target in map("/{}".format, range(history.written)) if target not in times]
    twice = [target for target, number in times.items() if number > 1]
    assert not lost, (seed, history.done)
    assert not twice, (seed, history.done)


@pytest.mark.parametrize("seed", first_quick(range(40), 16))
def test_every_line_of_any_history_is_counted_exactly_once(seed: int, tmp_path: Path) -> None:
    play(tmp_path, seed, 30, InMemory(tmp_path))


@pytest.mark.parametrize("seed", first_quick([4, *range(4), *range(5, 10)]))
def test_so_it_is_when_kill_9_ends_the_runs_that_read_it(seed: int, tmp_path: Path) -> None:
    play(tmp_path, seed, 30, InProcesses(tmp_path))


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(1_000, 2_000))
def test_every_line_of_1000_long_histories_is_counted_exactly_once(
    seed: int, tmp_path: Path
) -> None:
    play(tmp_path, seed, 60, InMemory(tmp_path))


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(1_000, 2_000))
def test_every_line_of_1000_histories_with_kill_9_is_counted_exactly_once(
    seed: int, tmp_path: Path
) -> None:
    play(tmp_path, seed, 30, InProcesses(tmp_path))

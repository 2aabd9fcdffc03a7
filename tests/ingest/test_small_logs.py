"""Laws of small logs, which are looked at many at a time: each gives the same as when it is looked
at alone, on either engine.
"""

from __future__ import annotations

import bz2
import gzip
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex.errors import BadInput, NoData
from flex.store import MemoryStore
from flex_logs_ingest.files.find_and_unpack_logs import Log, Source
from flex_logs_ingest.files.small_log_in_memory import HeldLog, Seen
from flex_logs_ingest.formats import FORMATS, detect, usual_formats
from flex_logs_ingest.reading import small_logs
from flex_logs_ingest.reading.read_logs import FileReport, Step, ingest
from flex_logs_ingest.reading.run_state import Reader, ReadingRun
from flex_logs_ingest.reading.small_logs import Look, SmallLogs, reference_look_at_logs
from flex_logs_ingest.scan.count_small_logs import Task, Told, count_logs, reference_count_logs
from flex_logs_ingest.scan.counts_as_columns import ScannedColumns
from flex_logs_ingest.scan.site_rules import SiteRule
from flex_logs_ingest.scan.worldcup_binary_logs import is_records
from tests.ingest.conftest import NOON, access
from tests.ingest.given import RULES
from tests.thorough import times

SAMPLES = Path(__file__).parent.parent / "data" / "logs"
LAYOUTS = [layout for layout in FORMATS.values() if layout.kind != "records"]
EVER = (0, 10**6)
NAMED = SiteRule(pattern=r"(?P<site>[a-z]+\.example)[.\d]*(log|gz|bz2)?")
KINDS = (SiteRule(fixed="a.example"), SiteRule(), NAMED)

needs_native = pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT)

real_lines = [
    line
    for log in sorted(SAMPLES.glob("*.log"))
    for line in log.read_bytes().splitlines(keepends=True)
]
some_lines = st.lists(
    st.sampled_from(real_lines)
    | st.builds(
        access,
        st.sampled_from(["/", "/a", "/b?c", "/%2e", "x"]),
        st.integers(NOON, NOON + 9_000),
        st.integers(0, 10**6),
        st.sampled_from([200, 206, 304, 404, 999]),
    )
    | st.sampled_from([b"\n", b"\0\0\0", b"rubbish\n", b"#Fields: date\r\n", b"no end"]),
    max_size=40,
).map(b"".join)
of_one_format = st.sampled_from(sorted(SAMPLES.glob("*.log"))).flatmap(
    lambda log: st.integers(0, 2_000).map(lambda size: log.read_bytes()[:size])
)
contents = some_lines | of_one_format | st.binary(max_size=200)
packed = contents.map(gzip.compress) | contents.map(bz2.compress)


@needs_native
@settings(max_examples=times(60))
@given(
    st.lists(contents | packed, max_size=8),
    st.sampled_from([0, 1, 20, 500, 4096]),
    st.booleans(),
    st.integers(1, 5),
)
def test_the_native_look_says_what_the_reference_says(
    texts: list[bytes], most: int, whole: bool, threads: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, text in enumerate(texts):
            (folder / f"{number}.log").write_bytes(text)
        (folder / "folder").mkdir()
        os.mkfifo(folder / "pipe")
        (folder / "nowhere").symlink_to(folder / "missing")
        (folder / "unreadable").write_bytes(b"x")
        (folder / "unreadable").chmod(0)
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff\n.log")).write_bytes(b"a\n")
        paths = [*sorted(map(str, folder.iterdir())), "/proc/version", "/dev/null"]
        given_ = (paths, small_logs._MAGICS, os.O_NONBLOCK, most, whole, 4096, threads)
        native: list[Look | None] = small_logs._look_at_logs(*given_)
        assert native == reference_look_at_logs(*given_)


@pytest.mark.slow
@needs_native
@settings(max_examples=times(100))
@given(
    st.lists(
        st.tuples(contents, st.integers(0, len(LAYOUTS) - 1), st.sampled_from(RULES)), max_size=6
    ),
    st.sampled_from([0, 5, 10**6]),
    st.sampled_from([10, 300, 2**16]),
    st.integers(1, 3),
)
def test_the_native_counts_are_those_of_the_reference(
    logs: list[Task], sample_limit: int, look: int, threads: int
) -> None:
    native = count_logs(logs, LAYOUTS, sample_limit, look, threads)
    reference = reference_count_logs(logs, LAYOUTS, sample_limit, look, threads)
    assert [_plain(told) for told in native] == [_plain(told) for told in reference]


def _plain(told: Told) -> object:
    """Without the memory, which is about as much as each engine takes."""
    opening, found, _ = told
    return opening and _values(opening), _values(found)


def _values(found: ScannedColumns) -> dict[str, object]:
    columns = {**found, **found["tables"].columns()}
    del columns["tables"]
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in columns.items()
    }


@pytest.mark.slow
@settings(max_examples=times(200))
@given(st.lists(contents, min_size=1, max_size=5), st.integers(1, 3))
def test_formats_of_many_logs_are_those_of_each(heads: list[bytes], threads: int) -> None:
    for head, found in zip(heads, usual_formats(heads, threads), strict=True):
        if found:
            assert found == detect(head)


def test_the_format_of_a_usual_log_is_told_with_that_of_others() -> None:
    """Else the law above would say nothing."""
    logs = [SAMPLES / f"{name}.log" for name in FORMATS if name != "worldcup98"]
    heads = [log.read_bytes() for log in logs if log.exists()]
    assert "" not in usual_formats(heads)


def test_a_log_of_which_hardly_any_line_fits_is_left_to_be_read_alone() -> None:
    few = access("/a") + b"rubbish\n" * 30
    assert usual_formats([access("/a") * 3 + b"rubbish\n" * 20, few]) == ["combined", ""]
    with pytest.raises(BadInput):
        detect(few)


@given(
    st.binary(min_size=1, max_size=300),
    st.lists(st.integers(0, 400) | st.sampled_from([b"", b"x", b"the head"]), max_size=9),
)
def test_a_held_log_answers_as_the_file_does(text: bytes, steps: list[int | bytes]) -> None:
    """Numbers are read if they are even, and else sought."""
    with tempfile.TemporaryDirectory() as name:
        path = str(Path(name) / "a.log")
        Path(path).write_bytes(text)
        (look,) = reference_look_at_logs([path], [], os.O_NONBLOCK, 300, True, 4096, 1)
        assert look
        with Log(path) as log, HeldLog(path, Seen(*look[:4]), look[4]) as held:
            # A packed log is not held.
            assume(log.is_plain)
            for step in steps:
                if isinstance(step, bytes):
                    Path(path).write_bytes(step + text)
                    assert held.begins_with(text[:4]) == log.begins_with(text[:4])
                elif step % 2:
                    assert held.seek(step) == (step <= len(text))
                    log.seek(step)
                elif Path(path).read_bytes() == text:
                    assert held.read(step) == log.read(step)
                    assert held.read_on_disk == log.read_on_disk
                assert held.position == log.position


@pytest.mark.parametrize(
    ("what", "still"), [("truncate", False), ("rename", True), ("remove", True)]
)
def test_a_held_log_was_truncated_or_only_renamed(what: str, still: bool, logs: Path) -> None:
    log = logs / "a.log"
    log.write_bytes(access("/a") * 9)
    (look,) = small_logs.heads([str(log)], 1)
    assert look
    held = HeldLog(str(log), Seen(*look[:4]), look[4])
    held.read(10**6)
    if what == "truncate":
        os.truncate(log, 10)
    else:
        log.rename(logs / "a.log.1")
    if what == "remove":
        (logs / "a.log.1").unlink()
    assert held.begins_with(look[4][:5]) is still


@given(st.binary(max_size=900) | contents)
def test_whether_a_log_is_binary_is_told_by_all_of_its_first_records(head: bytes) -> None:
    """A few bytes of each are looked at first; that changes no answer."""
    whole = [head[at : at + 20] for at in range(0, len(head) - 19, 20)][:1000]
    sound = [record[18] < 13 for record in whole]
    if is_records(head):
        assert sum(sound) * 4 >= len(sound) * 3
        assert sound


# What becomes of the logs of a night, by the number of the log that it happens to.
STEPS = ("grow", "rename", "copy", "cut", "mask", "truncate", "remove", "pack", "lock")


def change(step: str, log: Path, more: bytes) -> None:
    if not log.is_file():
        return
    text = log.read_bytes()
    if step == "grow":
        log.write_bytes(text + more)
    elif step == "rename":
        log.rename(log.with_name(f"{log.name}.1"))
    elif step == "copy":
        log.with_name(f"{log.name}.2").write_bytes(text)
    elif step == "cut":
        log.with_name(f"{log.name}.3").write_bytes(text[: len(text) // 2])
    elif step == "mask":
        log.write_bytes(text.replace(b"192.0.2.1 ", b"0.0.0.0 "))
    elif step == "truncate":
        log.write_bytes(more)
    elif step == "remove":
        log.unlink()
    elif step == "pack":
        log.with_name(f"{log.name}.gz").write_bytes(gzip.compress(text))
    elif step == "lock":
        log.unlink()
        log.mkdir()


def night(
    rule: SiteRule,
    folder: Path,
    nights: Sequence[Callable[[], None]],
    small: int,
    workers: int,
    run: Path,
) -> object:
    """All that some nights leave behind, but for how long they took."""
    run.mkdir()
    store = MemoryStore()
    source = Source("one", (f"{folder}/*",), "node", rule)
    told: list[list[FileReport]] = []
    for before in nights:
        before()
        try:
            found = ingest(
                [source], store, run, small=small, workers=workers, together=7, sample_limit=50
            )
        except NoData:
            found = ()
        told.append([replace(report, seconds=0) for report in found])
    files = {path.name: path.read_bytes() for path in run.glob("*.parquet")}
    return told, store.segments(*EVER), store.every_stream(), files


@settings(max_examples=times(60))
@given(
    st.lists(contents | packed, min_size=1, max_size=8),
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 7)), max_size=5),
    some_lines,
    st.sampled_from(KINDS),
    st.sampled_from([1, 100, 2**17]),
    st.sampled_from([1, 2]),
)
@example([access("/a") + access("/b", NOON + 1)], [("mask", 0)], b"", KINDS[0], 2**17, 1)
def test_nights_of_logs_that_are_looked_at_together_leave_what_logs_alone_leave(
    texts: list[bytes],
    steps: list[tuple[str, int]],
    more: bytes,
    rule: SiteRule,
    small: int,
    threads: int,
) -> None:
    left = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "logs"
        for size in (0, small):
            folder.mkdir()

            def first() -> None:
                for number, text in enumerate(texts):
                    log = folder / f"{chr(97 + number)}.example.log"
                    log.write_bytes(text)
                    os.utime(log, (NOON + number, NOON + number))

            def second() -> None:
                for step, number in steps:
                    change(step, folder / f"{chr(97 + number)}.example.log", more)
                for number, log in enumerate(sorted(folder.iterdir())):
                    os.utime(log, (NOON + number, NOON + number))

            run = Path(name) / f"run-{size}"
            nights = (first, second, lambda: None)
            left.append(night(rule, folder, nights, size, threads if size else 1, run))
            folder.rename(Path(name) / f"logs-{size}")
    assert left[0] == left[1]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("at", [1, 2, 70, 100, 149])
def test_logs_that_change_while_others_are_read_count_each_line_once(
    at: int, workers: int, logs: Path, source: Source, counts: Path
) -> None:
    """They are held already, or not looked at yet."""
    for number in range(150):
        (logs / f"{number:03}.log").write_bytes(access(f"/{number}", NOON + number))
    told: list[Step] = []

    def meanwhile(step: Step) -> None:
        told.append(step)
        if len(told) == at:
            for number in range(0, 150, 3):
                log = logs / f"{number:03}.log"
                log.write_bytes(log.read_bytes() + access("/more", NOON + 500 + number))
            for number in range(1, 150, 3):
                log = logs / f"{number:03}.log"
                log.rename(log.with_name(f"{log.name}.1"))
                log.write_bytes(access("/new", NOON + 1_000 + number))

    store = MemoryStore()
    ingest([source], store, counts, workers=workers, progress=meanwhile)
    ingest([source], store, counts, workers=workers)
    lines = sum(sum(dict(each.lines).values()) for each in store.segments(*EVER))
    assert lines == 150 + 50 + 50


def test_a_log_that_is_truncated_between_two_looks_is_left_to_be_read_alone(logs: Path) -> None:
    log = logs / "a.log"
    log.write_bytes(access("/a"))
    descriptor = os.open(log, os.O_RDONLY)
    try:
        text = log.read_bytes()
        assert small_logs._is_still(descriptor, text, 4096)
        log.write_bytes(text[:-1])
        assert not small_logs._is_still(descriptor, text, 4096)
        log.write_bytes(text.replace(b"192", b"193"))
        assert not small_logs._is_still(descriptor, text, 4096)
    finally:
        os.close(descriptor)


def test_no_more_is_held_than_one_step_of_logs(logs: Path, source: Source, counts: Path) -> None:
    for number in range(300):
        (logs / f"{number:03}.log").write_bytes(access(f"/{number}") * 50)
    found = [(str(log), log.stat().st_size) for log in sorted(logs.iterdir())]
    reader = Reader(source, ReadingRun(MemoryStore(), counts, 10, 2**26, 0))
    small = SmallLogs(reader, found)
    held = []
    for path, _ in found:
        log, ahead = small.open(path)
        assert isinstance(log, HeldLog)
        assert ahead.counted
        held.append(sum(map(len, small._made.values())))
    assert (max(held), held[-1]) == (255, 0)

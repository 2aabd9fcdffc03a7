"""Processor time of sites: read from cgroups, counted once, and sent with the counts of logs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex_logs_ingest.cpu.cpu_since_last_time import CpuSinceLastTime, Used, add_up
from flex_logs_ingest.cpu.read_cgroups import Counter, Pattern, Wrong, has_name, read
from flex_logs_ingest.scan.site_rules import UNKNOWN

SECOND = 1_000_000
HOUR = 3600
BEGIN = 500_000 * HOUR
POOL = Pattern("system.slice/php-fpm@{site}.service")


def name(text: str) -> str:
    return text


def tree(root: Path, **used: int | str) -> Path:
    """A root of cgroup v2 in which each cgroup of system.slice used so many microseconds."""
    (root / "system.slice").mkdir(parents=True, exist_ok=True)
    (root / "cgroup.controllers").write_text("cpu memory\n")
    for unit, number in used.items():
        folder = root / "system.slice" / f"php-fpm@{unit}.service"
        folder.mkdir(exist_ok=True)
        said = number if isinstance(number, str) else f"usage_usec {number}\nuser_usec 1\n"
        (folder / "cpu.stat").write_text(said)
    return root


def counted(root: Path, *patterns: Pattern) -> dict[tuple[str, ...], int]:
    counters, wrong = read(patterns or (POOL,), name, root)
    assert not wrong
    return {counter.sites: counter.used for counter in counters}


def test_each_cgroup_that_matches_gives_the_time_of_its_site(tmp_path: Path) -> None:
    root = tree(tmp_path, **{"a.example": 5, r"b\x2dc.example": 7, "D.example": 9})
    assert counted(root) == {("a.example",): 5, ("b-c.example",): 7, ("d.example",): 9}
    # The whole path is a pattern too.
    assert counted(root, Pattern(f"{root}/{POOL.text}")) == counted(root)


def test_a_pool_has_the_sites_that_its_file_names(tmp_path: Path) -> None:
    root = tree(tmp_path, p1=5, p2=7)
    pools = {"p1": ("a.example", "b.example"), "p2": ("a.example",)}
    pattern = Pattern("system.slice/php-fpm@{pool}.service", pools)
    assert counted(root, pattern) == {("a.example", "b.example"): 5, ("a.example",): 7}


def test_a_cgroup_within_another_that_matches_counts_once(tmp_path: Path) -> None:
    root = tree(tmp_path, **{"a.example": 5})
    inner = root / "system.slice/php-fpm@a.example.service/worker"
    inner.mkdir()
    (inner / "cpu.stat").write_text("usage_usec 4\n")
    within = Pattern("system.slice/php-fpm@{site}.service/worker")
    assert counted(root, POOL, within) == {("a.example",): 5}
    assert counted(root, within) == {("a.example",): 4}


@pytest.mark.parametrize(
    "said", ["", "usage_usec \n", "usage_usec -5\n", "usage_usec nan\n", "user_usec 5\n"]
)
def test_what_says_no_time_is_named_and_the_others_count(tmp_path: Path, said: str) -> None:
    used: dict[str, int | str] = {"a.example": 5, "b.example": said}
    root = tree(tmp_path, **used)
    counters, (wrong,) = read((POOL,), name, root)
    assert [counter.used for counter in counters] == [5]
    assert "b.example" in wrong.why


def test_no_cgroups_no_match_no_site_and_no_rights_are_said(tmp_path: Path) -> None:
    assert "no cgroup v2" in read((POOL,), name, tmp_path / "none")[1][0].why
    root = tree(tmp_path)
    assert read((POOL,), name, root)[1] == (Wrong(POOL.text, f"no cgroup of {root} matches"),)
    tree(tmp_path, x=5)
    assert "stands for no site" in read((POOL,), lambda _: UNKNOWN, root)[1][0].why
    pools = Pattern("system.slice/php-fpm@{pool}.service", {"y": ("a.example",)})
    assert "stands for no site" in read((pools,), name, root)[1][0].why
    stat = root / "system.slice/php-fpm@x.service/cpu.stat"
    stat.unlink()
    stat.mkdir()
    assert "Is a directory" in read((POOL,), name, root)[1][0].why


def test_a_pattern_says_once_where_the_name_stands() -> None:
    assert has_name("user.slice/user-{pool}.slice")
    assert not any(map(has_name, ("user.slice", "{site}/{pool}", "{name}")))


class Machine:
    """A machine with cgroups that use processor time, and what was sent of it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "cpu.json"
        self.counters: dict[str, Counter] = {}
        self.now, self.boot = float(BEGIN), "first"
        self.sent: list[Used] = []

    def runs(self, seconds: float, **used: int) -> None:
        """As many seconds pass, in which cgroups use so many seconds of processor."""
        self.now += seconds
        for pool, more in used.items():
            old = self.counters.get(pool, Counter(pool, (pool,), 1, 0))
            self.counters[pool] = Counter(pool, old.sites, old.inode, old.used + more * SECOND)

    def of(self, pool: str, *sites: str) -> None:
        self.counters[pool] = Counter(pool, sites, 1, 0)

    def starts_again(self, pool: str) -> None:
        old = self.counters[pool]
        self.counters[pool] = Counter(pool, old.sites, old.inode + 1, 0)

    def asked(self, patterns: tuple[str, ...] = ("p",)) -> CpuSinceLastTime:
        used = CpuSinceLastTime(self.file, processors=64)
        used.count([*self.counters.values()], patterns, self.now, self.boot)
        return used

    def sends(self, patterns: tuple[str, ...] = ("p",)) -> list[Used]:
        used = self.asked(patterns)
        found = used.take("r", 0, 10**6)
        used.settle(recorded=True)
        self.sent += found
        return found

    def seconds(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for site, _, used in self.sent:
            found[site] = found.get(site, 0) + used
        return {site: used // SECOND for site, used in found.items()}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_what_was_used_before_the_first_time_is_not_counted(machine: Machine) -> None:
    machine.runs(0, a=1000)
    assert machine.sends() == []
    machine.runs(HOUR, a=10)
    assert machine.sends() == [("a", 500_000, 10 * SECOND)]
    assert machine.sends() == []


def test_hours_share_what_was_used_between_two_times_equally(machine: Machine) -> None:
    machine.runs(HOUR / 2, a=0)
    machine.sends()
    machine.runs(2 * HOUR, a=8)
    assert machine.sends() == [
        ("a", 500_000, 2 * SECOND),
        ("a", 500_001, 4 * SECOND),
        ("a", 500_002, 2 * SECOND),
    ]


def test_counters_that_begin_again_count_from_nothing(machine: Machine) -> None:
    machine.runs(0, a=100, b=100)
    machine.sends()
    machine.starts_again("a")
    machine.runs(HOUR, a=200, b=3)
    machine.sends()
    assert machine.seconds() == {"a": 200, "b": 3}
    # The machine was started anew, and was already busier than ever.
    machine.boot = "second"
    machine.counters = {}
    machine.runs(HOUR, a=500, b=1)
    machine.sends()
    assert machine.seconds() == {"a": 700, "b": 4}


def test_other_patterns_begin_anew(machine: Machine) -> None:
    machine.runs(0, a=0)
    machine.sends()
    machine.runs(HOUR, a=5, old=10_000)
    assert machine.sends(("p", "q")) == []
    machine.runs(HOUR, a=5, old=1)
    machine.sends(("p", "q"))
    assert machine.seconds() == {"a": 5, "old": 1}


def test_no_counter_says_more_than_all_processors_can_do(machine: Machine) -> None:
    machine.runs(0, a=0)
    machine.sends()
    machine.runs(10, a=2**50 // SECOND)
    machine.sends()
    assert machine.seconds() == {"a": 640}
    # A clock that went back gives no time in which anything was used.
    machine.runs(-HOUR, a=5)
    assert machine.sends() == []


def test_a_pool_of_several_sites_is_parted_by_their_requests(machine: Machine) -> None:
    machine.of("p", "a", "b", "c")
    machine.sends()
    machine.runs(HOUR, p=9)
    machine.sends()
    assert machine.seconds() == {"a": 3, "b": 3, "c": 3}
    used = machine.asked()
    day = int(machine.now) // 86400
    used.note_requests({("a", day): 30, ("b", day): 10, ("b", day - 9): 10**6})
    used.save()
    machine.sent = []
    machine.runs(HOUR, p=8)
    machine.sends()
    assert machine.seconds() == {"a": 6, "b": 2}


def test_a_site_of_several_pools_has_the_sum(machine: Machine) -> None:
    machine.of("p", "a")
    machine.of("q", "a", "b")
    machine.sends()
    machine.runs(HOUR, p=4, q=2)
    machine.sends()
    assert machine.seconds() == {"a": 5, "b": 1}


def test_what_waits_for_a_day_goes_with_a_reading_of_that_day(machine: Machine) -> None:
    machine.runs(0, a=0)
    machine.sends()
    machine.runs(48 * HOUR, a=48)
    used = machine.asked()
    first = BEGIN // 86400
    of_day = used.take("r", first + 1, first + 1)
    assert {hour // 24 for _, hour, _ in of_day} == {first + 1}
    used.settle(recorded=True)
    rest = CpuSinceLastTime(machine.file).take("s", 0, 10**6)
    assert add_up([*of_day, *rest]) == sorted([*of_day, *rest])
    assert sum(used for *_, used in [*of_day, *rest]) == 48 * SECOND


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 9}', '{"version": 1, "x": 2}'])
def test_a_file_that_cannot_be_read_is_begun_anew(machine: Machine, content: str) -> None:
    machine.runs(0, a=5)
    machine.file.write_text(content)
    assert machine.sends() == []
    machine.runs(HOUR, a=5)
    assert machine.sends() == [("a", 500_000, 5 * SECOND)]


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_whatever_is_killed_each_second_is_sent_once(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    machine = Machine(tmp_path_factory.mktemp("cpu"))
    machine.runs(0, a=0, b=0)
    machine.sends()
    used = {"a": 0, "b": 0}
    recorded: set[str] = set()
    for number in range(20):
        more = {site: random.randrange(100) for site in used}
        used = {site: used[site] + more[site] for site in used}
        machine.runs(random.randrange(60, 3 * HOUR), **more)
        run = machine.asked()
        # As the Outbox does it: what a killed run took is settled by what became of its reading.
        run.settle(recorded=run.taken_by in recorded)
        found = run.take(f"r{number}", 0, 10**6)
        end = random.choice(["taken", "recorded", "settled"])
        if end != "taken":
            machine.sent += found
            recorded.add(f"r{number}")
        if end == "settled":
            run.settle(recorded=True)
    last = machine.asked()
    last.settle(recorded=last.taken_by in recorded)
    machine.sent += last.take("last", 0, 10**6)
    assert {site: machine.seconds().get(site, 0) for site in used} == used


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Path]:
    """A cgroup v2 of this machine's kernel, mounted where this test alone sees to it."""
    root = tmp_path / "cgroup"
    root.mkdir()
    done = subprocess.run(
        ["mount", "-t", "cgroup2", "none", str(root)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this machine lets nobody mount cgroup v2")
    made = root / f"flex-test-{os.getpid()}.slice"
    try:
        try:
            made.mkdir()
        except OSError:
            pytest.skip("this machine lets nobody make a cgroup")
        yield made
    finally:
        for inner in sorted(made.glob("*/"), reverse=True):
            inner.rmdir()
        with suppress(OSError):
            made.rmdir()
        subprocess.run(["umount", "-l", str(root)], check=True)


def test_a_real_cgroup_says_what_its_processes_used(real: Path) -> None:
    pattern = Pattern(f"{real.name}/php-fpm@{{site}}.service")
    for site in ("a.example", "b.example"):
        (real / f"php-fpm@{site}.service").mkdir()
    work = (
        "import time, pathlib, os; pathlib.Path({join!r}).write_text(str(os.getpid()))\n"
        "end = time.process_time() + {seconds}\n"
        "while time.process_time() < end: pass"
    )
    for site, seconds in (("a.example", 0.4), ("b.example", 0.05)):
        join = str(real / f"php-fpm@{site}.service" / "cgroup.procs")
        code = work.format(join=join, seconds=seconds)
        subprocess.run([sys.executable, "-S", "-c", code], check=True)
    counters, wrong = read((pattern,), name, real.parent)
    assert not wrong
    used = {counter.sites[0]: counter.used for counter in counters}
    assert used["a.example"] >= 400_000 > used["b.example"] >= 50_000

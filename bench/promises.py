"""Whether the tests notice when what ARCHITECTURE.md promises is no longer so.

promises.toml has a change of the code for each promise there: one that a person could make by
mistake, after which the promise is not kept. Each is made in a copy of this tree, where the tests
that stand beside the promise are run: at least one of them has to fail. As many are at work at once
as there are cores.

    make bench NAME=promises
    PROMISES=test_retention make bench NAME=promises     # those that name it
    CHANGES=mine.toml make bench NAME=promises           # the changes of another file
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

from bench.figures import Figures

ROOT = Path(__file__).parent.parent
CHANGES = Path(os.environ.get("CHANGES", Path(__file__).with_name("promises.toml")))
WANTED = os.environ.get("PROMISES", "")
COPIES = int(os.environ.get("COPIES", os.cpu_count() or 1))
PACKAGES = (".", "api", "dns", "logs_ingest", "solver")


@dataclass(frozen=True)
class Change:
    """A change of one place in one file, and the tests that have to notice it."""

    tests: tuple[str, ...]
    file: str
    takes: str
    gives: str

    def __str__(self) -> str:
        return f"{self.file} for {self.tests[0].rpartition('::')[2]}"


def measure() -> Figures:
    changes = [
        change
        for change in _changes()
        if WANTED in " ".join((*change.tests, change.file))
    ]
    started = perf_counter()
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(COPIES):
            copies.put(_copied(Path(folder, str(number))))

        def verdict(change: Change) -> str:
            copy = copies.get()
            try:
                return _verdict(copy, change)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(COPIES) as threads:
            verdicts = list(threads.map(verdict, changes))
    for change, said in zip(changes, verdicts, strict=True):
        if said != "noticed":
            print(f"{said}: {change}")
    return {
        "changes": len(changes),
        **{
            word: verdicts.count(word)
            for word in ("noticed", "not noticed", "not tried")
        },
        "took_seconds": perf_counter() - started,
    }


def _changes() -> list[Change]:
    return [
        Change(tuple(each["tests"]), each["file"], each["takes"], each["gives"])
        for each in tomllib.loads(CHANGES.read_text())["change"]
    ]


def _copied(folder: Path) -> Path:
    """The files of this tree that git knows or would take up, in a folder of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def _verdict(copy: Path, change: Change) -> str:
    """What the tests say of it. A change whose place is not there just once was not tried: the code
    went on, and the change has to be written anew.
    """
    path = copy / change.file
    text = path.read_text()
    if text.count(change.takes) != 1:
        return "not tried"
    _write(path, text.replace(change.takes, change.gives))
    try:
        ended = _tests_run(copy, change.tests)
    finally:
        _write(path, text)
    if ended.returncode == 1:
        return "noticed"
    # All other ends are words for tests that did not run; those skipped say nothing either.
    if ended.returncode == 0 and " passed" in ended.stdout:
        return "not noticed"
    print(ended.stdout[-2000:], ended.stderr[-2000:])
    return "not tried"


def _write(path: Path, text: str) -> None:
    """With a time in whole seconds that it never had: by that Python knows modules as changed."""
    after = path.stat().st_mtime + 2
    path.write_text(text)
    os.utime(path, (after, after))


def _tests_run(copy: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join(str((copy / package).resolve()) for package in PACKAGES)
    quick = ["-m", "not slow and not torture"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n0", *quick, *tests],
        cwd=copy,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": places},
    )

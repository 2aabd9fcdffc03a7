"""Whether the tests notice when what docs/why/promises.md promises is no longer so.

promises.toml has changes of the code for each promise there: mistakes that a person could make,
after which it is not kept. Each is made in a copy of this tree, where the tests that stand beside
the promise are run, slow ones left out: at least one of them has to fail. There are as many copies
as cores. Without any change the tests have to pass: `make test` says whether they do.

    make bench NAME=promises
    PROMISES=test_retention make bench NAME=promises     # those that name it
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

from bench.figures import Figures

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/why/promises.md"
CHANGES = Path(__file__).with_name("promises.toml")
WANTED = os.environ.get("PROMISES", "")
COPIES = int(os.environ.get("COPIES", os.cpu_count() or 1))
NOTICED, NOT_NOTICED, NOT_TRIED = "noticed", "not noticed", "not tried"
PACKAGES = (".", "api", "dns", "logs_ingest", "solver")


@dataclass(frozen=True)
class Change:
    """A change of one place in one file, and the tests that have to notice it."""

    tests: Sequence[str]
    file: str
    takes: str
    gives: str

    def __str__(self) -> str:
        return f"{self.file} for {self.tests[0]}"


def measure() -> Figures:
    wanted = [each for each in changes() if WANTED in f"{each} {each.tests}"]
    started = perf_counter()
    with tempfile.TemporaryDirectory(prefix="flex-bench-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(COPIES):
            copies.put(_copied(Path(folder, str(number))))

        def verdict(change: Change) -> str:
            copy = copies.get()
            try:
                said = _verdict(copy, change)
            finally:
                copies.put(copy)
            if said != NOTICED:
                print(f"{said}: {change}", flush=True)
            return said

        with ThreadPoolExecutor(COPIES) as threads:
            verdicts = list(threads.map(verdict, wanted))
    return {
        "promises": len({each.tests[0] for each in wanted}),
        "changes": len(wanted),
        "noticed": verdicts.count(NOTICED),
        "not_noticed": verdicts.count(NOT_NOTICED),
        "not_tried": verdicts.count(NOT_TRIED),
        "took_seconds": perf_counter() - started,
    }


def changes() -> list[Change]:
    tests = tests_of_promises()
    return [
        Change(tests[each["promise"]], each["file"], each["takes"], each["gives"])
        for each in tomllib.loads(CHANGES.read_text())["change"]
    ]


def tests_of_promises() -> dict[str, Sequence[str]]:
    """Those that stand beside each promise, by the first of them."""
    bullets = re.split(r"^- ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    tests = [re.findall(r"`(tests/[\w/]+\.py::\w+)`", bullet) for bullet in bullets]
    return {named[0]: named for named in tests}


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
        return NOT_TRIED
    _write(path, text.replace(change.takes, change.gives))
    try:
        ended = _tests_run(copy, change.tests)
    finally:
        _write(path, text)
    if ended.returncode == 1:
        return NOTICED
    # All other ends are words for tests that did not run; those skipped say nothing either.
    if ended.returncode == 0 and " passed" in ended.stdout:
        return NOT_NOTICED
    print(ended.stdout[-2000:], ended.stderr[-2000:])
    return NOT_TRIED


def _write(path: Path, text: str) -> None:
    """With a time in whole seconds that it never had: by that Python knows modules as changed."""
    after = path.stat().st_mtime + 2
    path.write_text(text)
    os.utime(path, (after, after))


def _tests_run(copy: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join(str((copy / package).resolve()) for package in PACKAGES)
    quick = ["-m", "not slow and not torture"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n0", *quick, *tests],
        cwd=copy,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": places, "HYPOTHESIS_PROFILE": "until-one-fails"},
    )

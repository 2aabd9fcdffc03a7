"""The wheels that the lock files name, as a tree of modules.

Takes a lock file and a Debian. Fetches each wheel from wherever pip is set up to ask, checked
against its hashes, and unpacks them into one folder. Does not run anything of them, so a tree for a
Python that this machine lacks can be made, too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.markers import Marker, default_environment
from packaging.utils import parse_wheel_filename

from deploy.packages.kinds import NEWEST_LIBC, Release

# What a tree does without: tests, headers and sources of the packages themselves, and what FLEX
# never loads. PuLP brings CBC for six systems, and FLEX gives its programs to HiGHS. FLEX asks no
# Flight server.
LEFT_OUT = (
    "numpy/**/tests",
    "pandas/tests",
    "pyarrow/tests",
    "pyarrow/include",
    "pyarrow/src",
    "pyarrow/includes",
    "pyarrow/*flight*",
    "pyarrow/**/*.pxd",
    "pyarrow/**/*.pyx",
    "pyarrow/**/*.pxi",
    "pulp/solverdir/cbc",
    "pulp/tests",
    "sqlalchemy/testing",
    "sqlalchemy/**/*.pyx",
    "sqlalchemy/**/*.pxd",
    "numpy/**/include",
    "numpy/**/*.a",
    "numpy/**/*.pxd",
    "numpy/**/*.pyi",
    "*/**/*.exe",
    # What lists a wheel's own files; dpkg has such a list of what is left.
    "*.dist-info/RECORD",
    "*.dist-info/INSTALLER",
)


def for_release(lock: Path, release: Release) -> Iterator[str]:
    """The entries of a lock file that this Debian's Python needs, hashes included."""
    full = f"{release.python}.0"
    environment: dict[str, str] = {
        **{name: str(value) for name, value in default_environment().items()},
        "python_version": release.python,
        "python_full_version": full,
        "implementation_version": full,
    }
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for block in blocks[1:]:
        # The name, and behind a semicolon for whom; the hashes follow.
        entry, _, rest = block.partition(" \\\n")
        asked, _, marker = entry.partition(";")
        if not marker or Marker(marker).evaluate(environment):
            hashes = re.findall(r"--hash=\S+", rest)
            yield f"{asked.strip()} {' '.join(hashes)}\n"


def fetch(lock: Path, release: Release, folder: Path) -> list[Path]:
    """One wheel for each entry, in the order of their names."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = folder / "asked.txt"
    asked.write_text("".join(for_release(lock, release)), encoding="utf-8")
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(NEWEST_LIBC, 4, -1)]
    platforms += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "download"),
            *("--quiet", "--require-hashes", "--no-deps", "--only-binary=:all:"),
            *("--implementation", "cp", "--python-version", release.python),
            *(word for each in platforms for word in ("--platform", each)),
            *("--requirement", str(asked), "--dest", str(wheels)),
        ],
        check=True,
    )
    return sorted(wheels.glob("*.whl"))


def unpack(wheels: list[Path], site: Path) -> None:
    """All into one folder, without what is left out."""
    site.mkdir(parents=True)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(site)
        name, version, _, _ = parse_wheel_filename(wheel.name)
        for data in site.glob("*.data"):
            _take_apart(data, site)
        assert any(site.glob("*.dist-info")), f"{name} {version} is no wheel"
    for pattern in LEFT_OUT:
        for path in sorted(site.glob(pattern)):
            _remove(path)


def _take_apart(data: Path, site: Path) -> None:
    """Modules belong with the others; what else a wheel has there, such as commands, is left."""
    for kind in ("purelib", "platlib"):
        if (data / kind).is_dir():
            shutil.copytree(data / kind, site, dirs_exist_ok=True)
    shutil.rmtree(data)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

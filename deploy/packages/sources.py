"""What is packaged: a commit, its version, and when it was made.

Takes a commit of this checkout. Exports it to a folder that is called the same on every machine,
since compilers write down where they found what they compiled. What is not committed is not
packaged.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
# One build at a time uses it.
BUILD = Path("/var/tmp/flex-packages")
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sources:
    """`epoch` is when the commit was made, in seconds: files of packages are dated so."""

    folder: Path
    version: str
    epoch: int

    @property
    def made(self) -> datetime:
        return datetime.fromtimestamp(self.epoch, UTC)


def _git(*words: str) -> str:
    command = ["git", "-C", str(CHECKOUT), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def export(commit: str, version: str = "") -> Sources:
    """Its files below BUILD. A version that is given replaces that of the commit."""
    folder = BUILD / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    archive = subprocess.Popen(
        ["git", "-C", str(CHECKOUT), "archive", commit], stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        raise SystemExit(f"packages: git archive {commit} failed; nothing was built")
    epoch = int(_git("log", "-1", "--format=%ct", commit))
    return Sources(folder, version or _version(folder, commit, epoch), epoch)


def _version(folder: Path, commit: str, epoch: int) -> str:
    """That of the code where the commit is tagged with it. Else one that is older than it, and
    newer than that of each earlier commit.
    """
    text = (folder / "flex/__init__.py").read_text(encoding="utf-8")
    found = _VERSION.search(text)
    assert found, "flex/__init__.py says the version"
    if f"v{found[1]}" in _git("tag", "--points-at", commit).split():
        return found[1]
    short = _git("rev-parse", "--short=8", commit)
    when = datetime.fromtimestamp(epoch, UTC)
    return f"{found[1]}~{when:%Y%m%d%H%M%S}.g{short}"

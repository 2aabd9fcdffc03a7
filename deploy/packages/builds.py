"""One build: from a commit to packages.

Takes which packages for which Debians, and where to. Returns their paths. Only one is at work at a
time on a machine: who calls it holds the lock of BUILD.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.packages import bill_of_materials, debs, our_wheels, trees, wheels
from deploy.packages.kinds import Kind, Release
from deploy.packages.sources import BUILD, CHECKOUT, Sources, export

KEPT = CHECKOUT / ".cache/packages"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built. `change` is done to the exported sources first; `again` uses nothing
    that was kept of an earlier build.
    """

    kinds: Sequence[Kind]
    releases: Sequence[Release]
    to: Path
    commit: str = "HEAD"
    version: str = ""
    native: bool = True
    # Packs nothing tightly: for packages that are only tried.
    loose: bool = False
    again: bool = False
    change: Callable[[Path], None] = lambda _: None


def say(text: str) -> None:
    sys.stderr.write(f"packages: {text}\n")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def alone() -> Iterator[None]:
    """The folder that builds share, which is this user's and nobody else may write to."""
    BUILD.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = BUILD.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise SystemExit(
            f"packages: {BUILD} is not this user's; nothing was built. Take it away, or "
            "build as the user whose it is"
        )
    BUILD.chmod(0o700)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(order: Order) -> list[Path]:
    sources = export(order.commit, order.version)
    order.change(sources.folder)
    ours, crates = _ours(order, sources)
    return [
        _package(kind, release, sources, ours, crates, order)
        for release in order.releases
        for kind in order.kinds
    ]


def _ours(order: Order, sources: Sources) -> tuple[list[Path], Path | None]:
    """Wheels of FLEX, and the list of the crates that are in them."""
    flex = our_wheels.build_flex(sources, BUILD / "wheels")
    if not order.native:
        return [flex], None
    native = our_wheels.build_native(sources, KEPT / "native", again=order.again)
    return [flex, native], native.parent / "Cargo.lock"


def _package(
    kind: Kind,
    release: Release,
    sources: Sources,
    ours: list[Path],
    crates: Path | None,
    order: Order,
) -> Path:
    lock = sources.folder / f"requirements/{kind.lock}.txt"
    folder = KEPT / f"{kind.name}-{release.codename}"
    packed = [*ours, *wheels.fetch(lock, release, folder)]
    made = f"{sources.made:%Y-%m-%dT%H:%M:%SZ}"
    bill = bill_of_materials.text(kind.name, sources.version, made, packed, crates)
    root = BUILD / "root"
    trees.fill(root, kind, release, sources, packed, bill)
    package = debs.pack(root, kind, release, sources, order.to, loose=order.loose)
    shutil.rmtree(root)
    (order.to / f"{package.name}.cdx.json").write_text(bill, encoding="utf-8")
    size = package.stat().st_size / 1e6
    say(f"{package} ({size:.0f} MB, sha256 {digest(package)})")
    return package

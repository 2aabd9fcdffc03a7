"""A package from a tree of files: what it needs, what it runs, and the archive itself.

Takes a filled folder. Returns the path of a .deb, the same to the byte for the same tree.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from deploy.packages.kinds import LIBRARIES, Kind, Release
from deploy.packages.sources import Sources
from deploy.packages.trees import maintainer

HERE = Path(__file__).parent
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")


def pack(
    root: Path, kind: Kind, release: Release, sources: Sources, to: Path, *, loose: bool = False
) -> Path:
    version = f"{sources.version}+deb{release.number}"
    control = root / "DEBIAN"
    control.mkdir()
    (control / "md5sums").write_text(_sums(root), encoding="utf-8")
    text = _control(kind, release, version, _size(root))
    (control / "control").write_text(text, encoding="utf-8")
    for name in SCRIPTS:
        (control / name).write_text(_script(name, kind, version), encoding="utf-8")
    for path in (*control.iterdir(), control):
        is_run = path == control or path.name in SCRIPTS
        path.chmod(0o755 if is_run else 0o644)
        os.utime(path, (sources.epoch, sources.epoch))
    to.mkdir(parents=True, exist_ok=True)
    package = to / f"{kind.name}_{version}_amd64.deb"
    subprocess.run(
        [
            *("dpkg-deb", "--root-owner-group"),
            *(("-Znone",) if loose else ("-Zxz", "-z3")),
            *("--build", str(root), str(package)),
        ],
        env={**os.environ, "SOURCE_DATE_EPOCH": str(sources.epoch)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return package


def _files(root: Path) -> list[Path]:
    return [
        path
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts
    ]


def _sums(root: Path) -> str:
    """MD5, as dpkg wants it: against damage, not against people."""
    return "".join(
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  "
        f"{path.relative_to(root)}\n"
        for path in _files(root)
    )


def _size(root: Path) -> int:
    """In KiB; each file takes whole ones."""
    return sum(-(-path.stat().st_size // 1024) for path in _files(root))


def _control(kind: Kind, release: Release, version: str, size: int) -> str:
    needs = ", ".join((*LIBRARIES, *release.needs, "adduser"))
    described = "".join(f" {line}\n" for line in kind.description.splitlines())
    return (
        f"Package: {kind.name}\n"
        f"Version: {version}\n"
        "Architecture: amd64\n"
        f"Maintainer: {maintainer()}\n"
        f"Installed-Size: {size}\n"
        f"Depends: {needs}\n"
        f"Recommends: {', '.join(kind.recommends)}\n"
        "Suggests: haproxy (>= 2.6), postgresql-client\n"
        f"Conflicts: {kind.other}\n"
        f"Replaces: {kind.other}\n"
        "Section: admin\n"
        "Priority: optional\n"
        f"Description: {kind.summary}\n{described}"
    )


def _script(name: str, kind: Kind, version: str) -> str:
    path = HERE / name
    if not path.exists():
        path = HERE / f"{name}.{'node' if kind.verbs else 'controller'}"
    text = path.read_text(encoding="utf-8")
    marks = {
        "@COMMON@": (HERE / "common.sh").read_text(encoding="utf-8"),
        "@PACKAGE@": kind.name,
        "@VERSION@": version,
        "@UNITS@": " ".join(kind.units),
        "@STATE@": kind.state,
    }
    for mark, meant in marks.items():
        text = text.replace(mark, meant)
    return text

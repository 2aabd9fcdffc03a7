"""The files of a package as they will lie on a machine.

Takes exported sources, wheels, pages of the manual and the list of parts. Fills a folder with a
root of its own. Does not make the package.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.packages import man_pages, wheels
from deploy.packages.kinds import Kind, Release
from deploy.packages.sources import Sources

HOME = "usr/lib/flex"
COMMAND = "/usr/sbin/flex"
# What stands for a path in a unit, and which path that is here.
UNIT_MARKS = {
    "@FLEX@": COMMAND,
    "@CONFIG@": "/etc/flex/flex.toml",
    "@KEYS@": "/etc/flex",
    "@HOME@": "yes",
    "@WRITABLE@": "",
}
LAUNCHER = """#!/usr/lib/flex/bin/python3 -IB
# -*- coding: utf-8 -*-
import sys
from flex_api.cli import main
sys.exit(main())
"""


def fill(
    root: Path, kind: Kind, release: Release, sources: Sources, packed: list[Path], bill: str
) -> None:
    shutil.rmtree(root, ignore_errors=True)
    site = root / HOME / f"lib/{release.interpreter}/site-packages"
    wheels.unpack(packed, site)
    _environment(root / HOME, release)
    _command(root)
    _units(root, kind, sources)
    _manual(root, kind, sources)
    _documents(root / f"usr/share/doc/{kind.name}", kind, sources, bill)
    _overrides(root, kind)
    _date(root, sources.epoch)


def _environment(home: Path, release: Release) -> None:
    """A virtual environment is a link to a Python, and this file beside it."""
    (home / "bin").mkdir(parents=True)
    (home / "bin/python3").symlink_to(f"../../../bin/{release.interpreter}")
    (home / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {release.python}\n",
        encoding="utf-8",
    )


def _command(root: Path) -> None:
    launcher = root / HOME / "bin/flex"
    launcher.write_text(LAUNCHER, encoding="utf-8")
    launcher.chmod(0o755)
    link = root / COMMAND[1:]
    link.parent.mkdir(parents=True)
    link.symlink_to("../lib/flex/bin/flex")


def _units(root: Path, kind: Kind, sources: Sources) -> None:
    folder = root / "usr/lib/systemd/system"
    folder.mkdir(parents=True)
    for name in kind.units:
        starter = sources.folder / "api/flex_api/starter" / name
        if not starter.exists():  # an older commit
            continue
        text = starter.read_text(encoding="utf-8")
        for mark, meant in UNIT_MARKS.items():
            text = text.replace(mark, meant)
        (folder / name).write_text(text, encoding="utf-8")


def _manual(root: Path, kind: Kind, sources: Sources) -> None:
    """The help is asked of FLEX itself, with the libraries of who builds."""
    folder = root / f"usr/share/man/man{man_pages.SECTION}"
    folder.mkdir(parents=True)
    source = sources.folder
    packages = ("", "api", "solver", "dns", "logs_ingest")
    places = os.pathsep.join(str(source / each) for each in packages)
    version, day = sources.version, f"{sources.made:%Y-%m-%d}"
    subprocess.run(
        [sys.executable, "-P", man_pages.__file__, str(folder), version, day],
        env={**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=folder,
        check=True,
    )
    wanted = {"flex", *(f"flex-{verb}" for verb in kind.verbs)}
    for page in sorted(folder.iterdir()):
        if not kind.verbs or page.stem in wanted:
            _pack(page)
        else:
            page.unlink()


def _documents(folder: Path, kind: Kind, sources: Sources, bill: str) -> None:
    folder.mkdir(parents=True)
    licence = (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: FLEX\n\n"
        "Files: *\n"
        f"Copyright: {sources.made:%Y} the authors of FLEX\n"
        "License: Apache-2.0\n"
        " On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n"
        " .\n"
        " Below /usr/lib/flex are Python packages of others. bom.cdx.json lists each with\n"
        " its version and licence; its text is in its folder there, *.dist-info.\n"
    )
    (folder / "copyright").write_text(licence, encoding="utf-8")
    when = f"{sources.made:%a, %d %b %Y %H:%M:%S} +0000"
    entry = (
        f"{kind.name} ({sources.version}) stable; urgency=medium\n\n"
        "  * What users notice is in CHANGELOG.md.gz.\n\n"
        f" -- {maintainer()}  {when}\n"
    )
    (folder / "changelog").write_text(entry, encoding="utf-8")
    _pack(folder / "changelog")
    shutil.copyfile(sources.folder / "CHANGELOG.md", folder / "CHANGELOG.md")
    _pack(folder / "CHANGELOG.md")
    (folder / "bom.cdx.json").write_text(bill, encoding="utf-8")
    _pack(folder / "bom.cdx.json")
    watching = sources.folder / "deploy/watching"
    if not kind.verbs and watching.is_dir():
        shutil.copytree(watching, folder / "watching")
        alerts = sources.folder / "api/flex_api/starter/flex-alerts.yml"
        shutil.copyfile(alerts, folder / "watching/flex-alerts.yml")


def maintainer() -> str:
    """Whoever builds a package may answer for it: $MAINTAINER. Nobody reads mail at the default."""
    return os.environ.get("MAINTAINER") or "The authors of FLEX <flex@flex.invalid>"


def _overrides(root: Path, kind: Kind) -> None:
    text = (Path(__file__).parent / "lintian-overrides").read_text(encoding="utf-8")
    folder = root / "usr/share/lintian/overrides"
    folder.mkdir(parents=True)
    (folder / kind.name).write_text(text.replace("@PACKAGE@", kind.name), encoding="utf-8")


def _pack(path: Path) -> None:
    packed = gzip.compress(path.read_bytes(), compresslevel=9, mtime=0)
    path.with_name(f"{path.name}.gz").write_bytes(packed)
    path.unlink()


def _date(root: Path, epoch: int) -> None:
    """All files of one moment, and with the rights that Debian gives."""
    for here, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(here, name)
            if not path.is_symlink():
                is_run = path.is_dir() or path == root / HOME / "bin/flex"
                path.chmod(0o755 if is_run else 0o644)
            os.utime(path, (epoch, epoch), follow_symlinks=False)
    root.chmod(0o755)
    os.utime(root, (epoch, epoch))

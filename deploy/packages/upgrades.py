"""What operators do with the packages, tried in Debians that have nothing yet: `make upgrades`.

Takes the commit that is checked out, and older ones of the history. Builds a controller of each
version, and a node, and has try-upgrades.sh install, upgrade, refuse and purge them in a chroot.
Takes root's rights. Writes nowhere but to .cache/packages and to artefacts/packages. What is
mounted and started ends with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from deploy import fresh
from deploy.packages.builds import KEPT, Order, alone, build, say
from deploy.packages.kinds import CONTROLLER, NODE, RELEASES, Release
from deploy.packages.sources import CHECKOUT

RESULTS = CHECKOUT / "artefacts/packages"
SCRIPTS = ("try-upgrades.sh", "try-role.sh")
# The last commit whose database has only the migrations up to 0021, as history has it.
OLDEST = "b1f082a3"
# Versions made of this commit without its newest migrations: what only upgrades pass through.
WITHOUT = {"0.0.2": "0025", "0.0.3": "0026"}
INSIDE = "srv/packages"


def _drop_newer(newest: str, sources: Path) -> None:
    for path in (sources / "alembic/versions").glob("[0-9]*.py"):
        if path.name.partition("_")[0] > newest:
            path.unlink()


def versions(release: Release, folder: Path) -> None:
    """The oldest first; those that only pass do without native loops, as they compute nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    to = folder / "controllers"
    old = Order([CONTROLLER], [release], to, native=False, loose=True)
    build(replace(old, commit=OLDEST, version="0.0.1"))
    for version, newest in WITHOUT.items():
        build(replace(old, version=version, change=partial(_drop_newer, newest)))
    build(replace(old, native=True))
    build(Order([NODE], [release], folder / "nodes", loose=True))


def _mirror(release: Release, lists: list[tuple[str, str, str]]) -> str:
    return next(uri for uri, name, _ in lists if name == release.codename)


def try_in(release: Release, folder: Path, script: str) -> int:
    """In a copy of a minimal Debian of that release."""
    base = KEPT / f"debian-{release.codename}"
    lists = [
        (uri, name.replace(fresh.SUITE, release.codename), component)
        for uri, name, component in fresh.sources()
    ]
    if not (base / "etc/debian_version").exists() or not base.with_suffix(".made").exists():
        fresh.remove(base)
        say(f"makes a minimal Debian ({release.codename})")
        with (RESULTS / "debootstrap.log").open("w") as log:
            subprocess.run(
                [
                    *("debootstrap", "--variant=minbase", release.codename),
                    *(str(base), _mirror(release, lists)),
                ],
                stdout=log,
                stderr=log,
                check=True,
            )
        base.with_suffix(".made").touch()
    root = KEPT / f"tried-{release.codename}"
    fresh.remove(root)
    subprocess.run(["cp", "--archive", "--reflink=auto", str(base), str(root)], check=True)
    fresh.carry_apt(root, lists)
    fresh.carry_files(root)
    fresh.mount(root, "proc", "-t", "proc", "proc")
    fresh.mount(root, "dev", "--rbind", "/dev")
    fresh.mount(root, "dev/shm", "-t", "tmpfs", "tmpfs")
    debs = KEPT / "downloaded"
    debs.mkdir(exist_ok=True)
    fresh.mount(root, "var/cache/apt/archives", "--bind", str(debs))
    shutil.copytree(folder, root / INSIDE)
    shutil.copytree(CHECKOUT / "deploy/ansible", root / INSIDE / "ansible")
    shutil.copy(Path(__file__).parent / script, root / INSIDE)
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    command = f"apt-get -q update >/dev/null && /{INSIDE}/{script} /{INSIDE}"
    code = subprocess.run(
        ["chroot", str(root), "sh", "-c", command],
        env={"PATH": path, "HOME": "/root", **fresh.carried()},
        stdin=subprocess.DEVNULL,
        check=False,
    ).returncode
    if code == 0:
        fresh.remove(root)
    return code


def main(arguments: list[str]) -> int:
    if why := fresh.why_not():
        say(f"upgrades were not tried: {why}")
        return 1
    if arguments[:1] != ["--apart"]:
        os.execvp(
            fresh.APART[0],
            [
                *(*fresh.APART, sys.executable, "-m", "deploy.packages.upgrades"),
                *("--apart", *arguments),
            ],
        )
    RESULTS.mkdir(parents=True, exist_ok=True)
    code = 0
    for number in map(int, arguments[1:] or ["12"]):
        release, folder = RELEASES[number], KEPT / f"versions-{number}"
        if not folder.exists() or "KEEP" not in os.environ:
            with alone():
                versions(release, folder)
        for script in SCRIPTS:
            say(f"{script} in Debian {number}")
            code = code or try_in(release, folder, script)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

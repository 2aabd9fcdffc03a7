"""Two nodes for the commands of deploy/hooks: folders of one machine, that are reached as mounted
disks or by ssh, with the shipped settings and what differs here.

Takes a folder. Runs the shipped commands on it. Servers are private ones: see servers.py.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HOOKS = Path(__file__).resolve().parents[2] / "deploy/hooks"
SITE = "shop.example"
NOT_NOW, NEVER, TAKE_BACK = 75, 78, 70
# Seconds, far beyond what one takes on a busy machine.
PATIENCE = 300

MOUNTED = """
run_on() { shift; "$@"; }
fetch() {
    local lock=$3
    shift 3
    "${LOCKED[@]}" "$lock" rsync "$@"
}
"""
PLACES = """
lock_of() { printf '%s' "@/$1/lock-$2"; }
kept_of() { printf '%s' "@/$1/kept"; }
files_of() { printf '%s' "@/$1/www/$2"; }
vhost_of() { printf '%s' "@/$1/vhosts/$2"; }
certificate_of() { printf '%s' "@/$1/certificates/$2"; }
cron_of() { printf '%s' "@/$1/cron/$(printf '%s' "$2" | tr . _)"; }
"""


@dataclass(eq=False)
class TwoNodes:
    """`n1` has the sites, `n2` gets them."""

    folder: Path
    reached: str = MOUNTED
    more: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, str] = ("n1", "n2")

    def begin(self) -> TwoNodes:
        shutil.copytree(HOOKS, self.folder / "hooks")
        for node in self.names:
            for part in ("www", "vhosts", "certificates", "cron", "kept"):
                (self.folder / node / part).mkdir(parents=True)
        self.set()
        return self

    def set(self, more: str = "") -> None:
        """The shipped settings, with these at their end."""
        self.more += more
        here = PLACES.replace("@", str(self.folder))
        shipped = (HOOKS / "settings.sh").read_text()
        (self.folder / "hooks/settings.sh").write_text(shipped + self.reached + here + self.more)

    def run(
        self, hook: str, *words: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "hooks" / hook, *words],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            env={
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": str(self.folder),
                **self.environment,
                **(environment or {}),
            },
            start_new_session=True,
        )

    def ends(self, code: int, hook: str, *words: str) -> str:
        """What it says."""
        done = self.run(hook, *words)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stderr

    def at(self, node: str, *parts: str) -> Path:
        return self.folder.joinpath(node, *parts)

    def site(self, node: str, site: str = SITE) -> dict[str, bytes]:
        """What is in its folder, by path."""
        root = self.at(node, "www", site)
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file()
        }

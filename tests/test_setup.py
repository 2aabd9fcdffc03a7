"""Set-up asks each tool that the tests rely on whether it runs. Beside it stand tools that are
none, in a folder.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BROUGHT_BY = {
    "named": "bind9",
    "dig": "bind9-dnsutils",
    "nsupdate": "bind9-dnsutils",
    "initdb": "postgresql",
    "postgres": "postgresql",
    "haproxy": "haproxy",
    "knotd": "knot",
    "knotc": "knot",
    "chromium": "chromium",
    "node": "libatomic1",
    "curl": "curl",
    "rsync": "rsync",
    "sshd": "openssh-server",
    "nginx": "nginx",
    "apache2": "apache2-bin",
    "php-fpm": "php-fpm",
    "mariadbd": "mariadb-server-core",
    "mariadb-dump": "mariadb-client",
    "mariadb": "mariadb-client",
}


BROKEN = "echo 'error while loading shared libraries' >&2; exit 127"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def installed(checkout: Path, broken: str) -> tuple[str, str]:
    """What set-up installs where all tools are there and this one does not start, and what it
    says.
    """
    (checkout / "deploy").mkdir()
    shutil.copy(ROOT / "deploy/setup.sh", checkout / "deploy/setup.sh")
    tools, asked = checkout / "tools", checkout / "asked"
    for name in BROUGHT_BY:
        program(
            tools / name,
            "echo 'error while loading shared libraries' >&2; exit 127"
            if name == broken
            else "exit 0",
        )
    program(tools / "apt-get", f'echo "$@" >> {asked}')
    program(tools / "sudo", 'shift; exec "$@"')
    program(tools / "update-rc.d", "exit 0")
    # What asks Playwright where its own Node.js is.
    program(checkout / ".venv/bin/python", f"echo {tools}/node")
    done = subprocess.run(
        ["bash", str(checkout / "deploy/setup.sh"), "servers"],
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return asked.read_text(encoding="utf-8") if asked.exists() else "", done.stderr


@pytest.mark.parametrize("tool", BROUGHT_BY)
def test_a_tool_that_is_there_and_does_not_start_is_installed_and_told_of_if_that_does_not_help(
    tool: str, tmp_path: Path
) -> None:
    asked, said = installed(tmp_path, tool)
    (line,) = asked.splitlines()
    assert line.partition(" install ")[2] == BROUGHT_BY[tool]
    assert "does not start: error while loading shared libraries" in said


def test_where_every_tool_runs_nothing_is_installed(tmp_path: Path) -> None:
    assert installed(tmp_path, "none") == ("", "")
